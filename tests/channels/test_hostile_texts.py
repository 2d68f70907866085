"""Every hostile text at every place of a question, in every channel: it stays in its frame, hides nothing and is not refused."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, cast

import pytest

from tests.adversary.texts import EVIL, HOSTILE
from tests.channels import discord_limits, fake_telegram, fake_whatsapp, slack_limits
from tests.channels.looks import WORDS
from tests.channels.test_framing import CHANNELS, LINK
from tests.channels.test_telegram_messages import sent as telegram_sent
from tests.domain.test_degrading import an_inquiry
from upcall.channels import one_way, plain
from upcall.channels.discord import messages as discord_messages
from upcall.channels.email import letters as email_letters
from upcall.channels.matrix import messages as matrix_messages
from upcall.channels.notifications import channel as notifications
from upcall.channels.push import channel as push
from upcall.channels.slack import blocks as slack_blocks
from upcall.channels.telegram import messages as telegram_messages
from upcall.channels.webhook import channel as webhook
from upcall.channels.whatsapp import messages as whatsapp_messages
from upcall.config.channels import KINDS
from upcall.domain.channel.degrading import TooLong, view
from upcall.domain.channel.showing import View
from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.inquiry import Answer, Answered, Attachment, Cancelled, Closing, Inquiry, Open
from upcall.domain.text.display import visible

ASKED: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "a question": lambda text: {
        "question": text,
        "context": text,
        "options": [{"label": "a", "description": text}, "b"],
    },
    "a text": lambda text: {"kind": "text", "question": text, "header": text[:30]},
    "an approval": lambda text: {"kind": "approval", "question": text, "context": text},
    "a label": lambda text: {"question": "Which?", "options": [text[:70], "no"]},
    "many labels": lambda text: {"question": "Which?", "options": [f"{n}{text[:30]}" for n in range(9)]},
    "choices": lambda text: {"question": "Which?", "options": [text[:70], "no"], "multiSelect": True},
    "several questions": lambda text: {
        "questions": [{"question": text}, {"question": "b", "options": [text[:70], "c"]}]
    },
}
"""Where in a question a text stands."""

CONTROLS = {"a label", "many labels", "choices", "several questions"}
"""Where a text stands on what can be pressed, as it has to."""

ON_A_FIELD = ("slack", "a text")
"""A field of a form is named after what it asks for."""


@cache
def asked_with(place: str, text: str) -> Inquiry | None:
    """A question with this text in it; None if it is refused before anything is shown."""
    try:
        return an_inquiry(**ASKED[place](text))
    except UpcallError:
        return None


def strings(value: object) -> Iterator[str]:
    """Every text in what is sent."""
    match value:
        case str():
            yield value
        case Mapping():
            yield from (each for one in cast("Mapping[str, object]", value).values() for each in strings(one))
        case list() | tuple():
            yield from (each for one in cast("list[object]", value) for each in strings(one))
        case _:
            pass


def told(shown: View) -> dict[str, object]:
    """What a channel that only tells is given."""
    return {"title": shown.heading, "message": one_way.summary(shown), "link": shown.link}


def letter(shown: View) -> object:
    subject = shown.questions[0].text
    made = email_letters.letter(
        "upcall@example.org", "ana@example.org", subject, email_letters.question(shown, WORDS), name="<1@x>"
    )
    raw = made.as_bytes()
    head = raw.partition(b"\r\n\r\n")[0].decode("ascii")
    names = [line.partition(":")[0] for line in head.split("\r\n") if not line.startswith(" ")]
    assert sorted(set(names)) == sorted(names), "no header is there twice"
    assert not {"Bcc", "Cc", "Reply-To"} & set(names)
    assert made.get_content_type() == "text/plain"
    return [str(made["Subject"]), made.get_content().replace("\r\n", "\n")]


def notice(shown: View) -> object:
    told = notifications.Notice(
        title="Upcall",
        text=f"{shown.asker} needs input",
        question=shown.questions[0].text,
        ref="a7",
        agent="bot",
        run=None,
    )
    for code in ("9", "777", "99"):
        written = notifications.escape_sequence(code, told)
        parts = written.removeprefix("\x1b]").removesuffix("\x1b\\").replace("\x1b\\\x1b]99;", "")
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", parts)
    return []


SENT: Mapping[str, tuple[str, Callable[[View], object]]] = {
    "slack": ("slack", lambda shown: [slack_blocks.message(shown, WORDS), slack_blocks.fallback(shown)]),
    "discord": ("discord", lambda shown: discord_messages.message(shown, WORDS)),
    "telegram": ("telegram", lambda shown: telegram_sent(telegram_messages.message(shown, WORDS))),
    "whatsapp": ("whatsapp", lambda shown: whatsapp_messages.message(shown, WORDS)),
    "matrix": ("matrix", lambda shown: matrix_messages.message(shown, WORDS)),
    "email": ("email", letter),
    "push": ("push", lambda shown: push.payload(shown, quiet=False)),
    "ntfy": ("one way", told),
    "webhook": ("plain text", webhook.as_document),
    "notifications": ("one way", notice),
}
"""Each kind of channel: whose frame it has, and all that it sends."""

LIKE_NTFY = {"apprise", "desktop"}
"""They send the same text."""

PROBLEMS: Mapping[str, Callable[[Any], str | None]] = {
    "slack": lambda sent: slack_limits.problem_with(sent[0], 50),
    "discord": discord_limits.problem_with,
    "telegram": fake_telegram.problem_with,
    "whatsapp": fake_whatsapp.problem_with,
}
"""What a vendor would say about a message."""


def seen_in(channel: str, inquiry: Inquiry) -> tuple[View, list[str]] | None:
    """What a channel is given, and every text that it sends; None for an approval that is too long for it."""
    can, _ = CHANNELS[SENT[channel][0]]
    try:
        shown = view(inquiry, can, WORDS, LINK)
        sent = SENT[channel][1](shown)
    except (TooLong, whatsapp_messages.Unshowable):
        return None
    assert not (problem := PROBLEMS.get(channel, lambda _: None)(sent)), problem
    return shown, list(strings(sent))


def harmless(text: str) -> None:
    """Nothing in it is hidden or moves anything, and it can be sent."""
    text.encode()
    bare = text.replace("\u200b", "")
    assert visible(bare) == bare


def test_every_kind_of_channel_is_tried() -> None:
    assert set(KINDS) <= {*SENT, *LIKE_NTFY}


@pytest.mark.promise("proof/3")
@pytest.mark.parametrize("channel", SENT)
@pytest.mark.parametrize("place", ASKED)
def test_a_hostile_text_hides_nothing_and_stays_where_it_stands(channel: str, place: str) -> None:
    _, outside = CHANNELS[SENT[channel][0]]
    for name, text in HOSTILE.items():
        inquiry = asked_with(place, text)
        seen = None if inquiry is None else seen_in(channel, inquiry)
        if seen is None:
            continue
        shown, texts = seen
        for each in texts:
            harmless(each)
        if place not in CONTROLS and (channel, place) != ON_A_FIELD:
            assert EVIL not in outside(shown).replace("\u200b", "").casefold(), name


ORIGINS: Mapping[str, Callable[[Inquiry, str], Inquiry]] = {
    "workspace": lambda inquiry, text: replace(
        inquiry, origin=replace(inquiry.origin, workspace=text[:1000])
    ),
    "program": lambda inquiry, text: replace(
        inquiry, origin=replace(inquiry.origin, agent="local", client=text[:200])
    ),
    "a file": lambda inquiry, text: replace(
        inquiry, attachments=(Attachment(name=text[:200], media_type="text/plain", size=1, digest="0"),)
    ),
    "a voter": lambda inquiry, text: replace(
        inquiry, quorum=2, state=Open(votes=(Closing(by=text[:100], via="web", at=1.0),))
    ),
    "a reason": lambda inquiry, text: replace(
        inquiry, state=Cancelled(closing=Closing(by="bot", via="api", at=1.0, reason=text))
    ),
    "an answer": lambda inquiry, text: replace(
        inquiry,
        state=Answered(
            closing=Closing(by="ana", via="web", at=1.0), answer=Answer(values=((text,),), text=text)
        ),
    ),
}
"""What else comes from outside and stands in lines of ours."""

LINKS = re.compile(r"(?i)evil\.(?:example|live)|://\S*evil|@evil")


def looked_through(channel: str, shown: View) -> str:
    """The lines of ours in which a vendor looks for addresses and names."""
    match channel:
        case "slack":
            # In the blocks it looks for none: they are plain text and rich text.
            return slack_blocks.fallback(shown)
        case "discord":
            # A character behind a backslash is no part of anything.
            return re.sub(r"\\.", " ", CHANNELS["discord"][1](shown))
        case "push" | "webhook" | "notifications":
            # It looks for none in a notification, and a document is for programs: the plain text that others fall back to.
            return plain.numbered(shown, WORDS)
        case _:
            return CHANNELS[SENT[channel][0]][1](shown)


@pytest.mark.promise("proof/3")
@pytest.mark.parametrize("channel", SENT)
@pytest.mark.parametrize("place", ORIGINS)
def test_a_name_from_outside_makes_no_link_in_a_line_of_ours(channel: str, place: str) -> None:
    for name, text in HOSTILE.items():
        seen = seen_in(channel, ORIGINS[place](an_inquiry(question="Which?"), text))
        assert seen is not None
        shown, texts = seen
        for each in texts:
            harmless(each)
        assert not LINKS.search(looked_through(channel, shown)), name
