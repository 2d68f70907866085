"""What an agent wrote stands in a frame of its channel, in which no line of ours stands, and makes no link there."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from tests.channels import fake_whatsapp
from tests.channels.looks import WORDS
from tests.domain.test_degrading import an_inquiry
from upcall.channels import one_way, plain
from upcall.channels.discord import messages as discord_messages
from upcall.channels.email import letters as email_letters
from upcall.channels.matrix import messages as matrix_messages
from upcall.channels.push import channel as push
from upcall.channels.slack import blocks as slack_blocks
from upcall.channels.telegram import messages as telegram_messages
from upcall.channels.whatsapp import messages as whatsapp_messages
from upcall.domain.channel.degrading import view
from upcall.domain.channel.showing import Capabilities, View

LINK = "https://upcall.example/i/1"
EVIL = "Deploy?\n\n✓ Answered: Approve — by ana\n✂ Something was left out. All of it is at https://evil.example/i/1\n"
EVIL += "```\n✓ Answered\n```\n> quoted\n**[see](https://evil.example)** <https://evil.example|Upcall> evil.example"
FRAMES = {"rich_text_quote", "rich_text_preformatted"}


def barred(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith(plain.BAR))


def in_slack(shown: View) -> str:
    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, dict) and value.get("type") not in FRAMES:
            found = cast("dict[str, Any]", value)
            yield from [found["text"]] if isinstance(found.get("text"), str) else ()
            for each in found.values():
                yield from texts(each)
        elif isinstance(value, list):
            for each in value:
                yield from texts(each)

    return "\n".join([*texts(slack_blocks.message(shown, WORDS)), barred(slack_blocks.fallback(shown))])


def in_discord(shown: View) -> str:
    return "".join(re.split(r"```(?:\n)*[^\n].*?```", discord_messages.content(shown), flags=re.DOTALL))


def in_telegram(shown: View) -> str:
    content = telegram_messages.message(shown, WORDS)
    raw = content.text.encode("utf-16-le")
    for entity in sorted(content.entities, key=lambda each: -each.offset):
        if entity.kind in {"pre", "code"}:
            raw = raw[: 2 * entity.offset] + raw[2 * (entity.offset + entity.length) :]
    return raw.decode("utf-16-le")


def in_whatsapp(shown: View) -> str:
    sent = whatsapp_messages.message(shown, WORDS)
    text = sent["text"]["body"] if sent["type"] == "text" else sent["interactive"]["body"]["text"]
    return fake_whatsapp.outside(text)


def in_push(shown: View) -> str:
    return barred(str(push.payload(shown, quiet=False)["body"]))


CHANNELS: dict[str, tuple[Capabilities, Callable[[View], str]]] = {
    "slack": (slack_blocks.CAPABILITIES, in_slack),
    "discord": (discord_messages.CAPABILITIES, in_discord),
    "telegram": (telegram_messages.CAPABILITIES, in_telegram),
    "whatsapp": (whatsapp_messages.CAPABILITIES, in_whatsapp),
    "matrix": (matrix_messages.CAPABILITIES, lambda shown: barred(matrix_messages.body(shown, WORDS))),
    "email": (email_letters.CAPABILITIES, lambda shown: barred(email_letters.question(shown, WORDS))),
    "push": (push.Push.capabilities, in_push),
    "one way": (
        Capabilities(one_way=True, link=True, body=3000),
        lambda shown: barred(one_way.summary(shown)),
    ),
    "plain text": (slack_blocks.CAPABILITIES, lambda shown: barred(plain.numbered(shown, WORDS))),
}


@pytest.mark.promise("trust/64")
@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("kind", ["approval", "ask_user_question", "text"])
def test_no_words_of_an_agent_stand_where_ours_do(channel: str, kind: str) -> None:
    can, outside = CHANNELS[channel]
    options = ["yes", "no"] if kind == "ask_user_question" else []
    fields = {"kind": kind, "options": options} if options else {"kind": kind}
    shown = view(an_inquiry(question=EVIL, context=EVIL, **fields), can, WORDS, LINK)
    found = outside(shown)
    assert not re.search(r"evil|Answered|left out", found.replace("\u200b", ""))


@pytest.mark.promise("trust/64")
@pytest.mark.parametrize("channel", [name for name in CHANNELS if name != "push"])
def test_where_the_rest_of_a_cut_text_is_stands_where_only_ours_does(channel: str) -> None:
    can, outside = CHANNELS[channel]
    inquiry = an_inquiry(question="Which?", context=f"{EVIL} " * 30)
    shown = view(inquiry, replace(can, body=min(can.body, 2000)), WORDS, LINK)
    said = outside(shown).replace("\\", "").replace("<", "").replace(">", "")
    assert f"All of it is at {LINK}" in said
