"""Labels and texts at the limits of each vendor, in characters that vendors count twice: nothing of them is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.channels import discord_limits, fake_telegram, fake_whatsapp, slack_limits
from tests.channels.looks import WORDS
from tests.channels.test_telegram_messages import sent
from tests.domain.test_degrading import an_inquiry
from upcall.channels.discord import messages as discord_messages
from upcall.channels.slack import blocks as slack_blocks
from upcall.channels.telegram import messages as telegram_messages
from upcall.channels.whatsapp import messages as whatsapp_messages
from upcall.domain.channel.degrading import view
from upcall.domain.channel.showing import Capabilities, View
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.text.display import shortened, units

EMOJI, MARKED, WIDE = "💶", "a\u0301", "語"


def in_slack(shown: View) -> str | None:
    form = slack_limits.problem_with(slack_blocks.form(shown, "C1/1", WORDS)["blocks"], 100)
    return slack_limits.problem_with(slack_blocks.message(shown, WORDS), 50) or form


def in_discord(shown: View) -> str | None:
    form = discord_limits.problem_with_form(discord_messages.form(shown, WORDS))
    return discord_limits.problem_with(discord_messages.message(shown, WORDS)) or form


def in_telegram(shown: View) -> str | None:
    return fake_telegram.problem_with(sent(telegram_messages.message(shown, WORDS)))


def in_whatsapp(shown: View) -> str | None:
    return fake_whatsapp.problem_with(whatsapp_messages.message(shown, WORDS))


VENDORS: dict[str, tuple[Capabilities, Callable[[View], str | None]]] = {
    "slack": (slack_blocks.CAPABILITIES, in_slack),
    "discord": (discord_messages.CAPABILITIES, in_discord),
    "telegram": (telegram_messages.CAPABILITIES, in_telegram),
    "whatsapp": (whatsapp_messages.CAPABILITIES, in_whatsapp),
}


def asked(character: str, width: int, count: int, **more: Any) -> Inquiry:
    """A question with labels and descriptions of so many characters each."""
    options = [
        {"label": f"{number}" + character * (width - 1), "description": character * min(4 * width, 150)}
        for number in range(count)
    ]
    return an_inquiry(question="Which?", options=options, **more)


@pytest.mark.promise("trust/62")
@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("character", [EMOJI, MARKED, WIDE], ids=["emoji", "marked", "wide"])
@pytest.mark.parametrize("width", [9, 10, 12, 13, 20, 21, 24, 25, 37])
@pytest.mark.parametrize(("count", "multi"), [(2, False), (5, False), (9, False), (3, True)])
def test_what_is_sent_fits_as_the_vendor_counts(
    vendor: str, character: str, width: int, count: int, *, multi: bool
) -> None:
    can, problem = VENDORS[vendor]
    shown = view(asked(character, width, count, multiSelect=multi), can, WORDS)
    assert problem(shown) is None
    # A label that does not fit gives way to its number, and is never cut.
    (question,) = shown.questions
    for number, choice in enumerate(question.choices, 1):
        assert choice.label in {choice.full, str(number)}


@pytest.mark.promise("trust/62")
@pytest.mark.parametrize(("character", "numbered"), [("x", False), (EMOJI, True)])
def test_a_label_of_twelve_emoji_is_too_long_for_a_button_of_twenty(
    character: str, *, numbered: bool
) -> None:
    shown = view(asked(character, 12, 2), whatsapp_messages.CAPABILITIES, WORDS)
    assert shown.questions[0].numbered is numbered


@pytest.mark.promise("trust/62")
@pytest.mark.parametrize("character", ["x", EMOJI, MARKED, WIDE])
@pytest.mark.parametrize("most", [1, 2, 3, 20, 61])
def test_what_is_cut_is_cut_between_characters(character: str, most: int) -> None:
    cut = shortened(character * 100, most)
    assert units(cut) <= most
    assert cut.endswith("…")
    assert "\N{REPLACEMENT CHARACTER}" not in cut
    cut.encode()
