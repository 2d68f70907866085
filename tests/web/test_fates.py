"""What the inbox says of answers that were given, and of channels that do not work: the facts that the API tells."""

from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import pytest

from tests.dispatch.scripted_channel import ScriptedChannel
from tests.web.house import House, serving
from tests.web.visitor import Visitor, words
from upcall.channels.words import sentences
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.health import LISTENING, SENDING, Health
from upcall.domain.channel.off import Off
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.ports.channel import SignedOut
from upcall.web.pages.locales import LANGUAGES


@pytest.fixture
async def ana(live: House) -> AsyncIterator[Visitor]:
    """A person who has signed in."""
    visitor = Visitor(live)
    await visitor.signs_in()
    yield visitor
    await visitor.client.aclose()


@pytest.mark.parametrize(
    ("recipient", "resume", "sentence"),
    [
        ("call", {}, "The agent is being told."),
        ("agent", {}, "The agent is at work, and gets it when it asks again."),
        ("run", {"run": 7}, "It is brought back with it as run 7."),
        ("run", {}, "Its session has ended, and is brought back with it as a run."),
        ("runner", {}, "It is delivered on the machine of the agent."),
        (
            "gone",
            {"command": "cd /shop && claude --resume s-1"},
            "The asker is gone; the answer is kept. To continue: cd /shop && claude --resume s-1",
        ),
        ("gone", {}, "The asker is gone; the answer is kept, for wait_for_answer with id {id}."),
        ("kept", {}, "No call waits for it now; the answer is kept until the agent asks again."),
    ],
)
async def test_after_an_answer_the_page_says_what_happens_to_it(
    live: House, ana: Visitor, recipient: str, resume: dict[str, object], sentence: str
) -> None:
    inquiry = await live.asked()
    live.runs.answers_go_to = recipient
    live.runs.resumes[inquiry["id"]] = resume
    response = await ana.sends(await ana.form("/", "/answer"), ("q0", "1"), ("t0", ""))
    page = unescape(words(await ana.looks(response.headers["location"])))
    assert f"Answered {inquiry['ref']}. {sentence.format(id=inquiry['id'])}" in page


async def test_an_address_with_a_recipient_of_its_own_making_gets_no_sentence_of_its_own(
    live: House, ana: Visitor
) -> None:
    inquiry = await live.asked()
    await live.answered(inquiry["id"])
    page = unescape(words(await ana.looks(f"/?said=answer&about={inquiry['ref']}&told=<b>rm</b>")))
    assert f"Answered {inquiry['ref']}. The agent is being told." in page
    assert "Answered zz9" not in unescape(words(await ana.looks("/?said=answer&about=zz9")))


async def no_link(_inquiry: Inquiry, _address: str) -> str:
    return ""


@pytest.fixture
async def with_slack(tmp_path: Path) -> AsyncIterator[House]:
    """An installation with one channel."""
    post = ConfiguredChannel(name="slack", channel=ScriptedChannel(), words=sentences("en"), link=no_link)
    async with House.open(tmp_path, posts=[post]) as house, serving(house):
        yield house


async def test_the_inbox_begins_with_the_channels_that_do_not_work(with_slack: House) -> None:
    ana = Visitor(with_slack)
    await ana.signs_in()
    assert "slack" not in unescape(words(await ana.looks()))
    health = Health(with_slack.store, "slack", with_slack.clock, lambda: None)
    await health.failed(SENDING, SignedOut("the token was <revoked>"))
    with_slack.clock.now += 720
    page = unescape(words(await ana.looks()))
    (channel,) = (await with_slack.as_("ana").get("/v1/channels")).json()["items"]
    assert [fault["side"] for fault in channel["faults"]] == [SENDING]
    assert "slack cannot send: the token was <revoked> · for 12 min ( 2027-01-15 08:00 UTC )" in page
    assert "Give it a valid credential with `upcall channels add slack`." in page
    assert page.index("slack cannot send") < page.index("Nothing waits for you")
    await health.works(SENDING)
    await health.failed(LISTENING, OSError("no route"))
    page = unescape(words(await ana.looks()))
    assert "slack cannot be heard: no route" in page
    assert "`upcall channels test slack` tries it at once" in page
    assert "cannot send" not in page
    for language in LANGUAGES:
        assert "no route" in unescape(words(await ana.looks(f"/?lang={language}")))
    await ana.client.aclose()


@pytest.mark.promise("doorway/2")
async def test_the_menu_of_every_page_says_which_channel_is_off_and_why(tmp_path: Path) -> None:
    off = {"slack": Off(problem="channels.slack.bot_token: the variable <BOT> is not set", hint="set it")}
    async with House.open(tmp_path, off=off) as house, serving(house):
        ana = Visitor(house)
        await ana.signs_in()
        for path in ("/", "/history", "/runs"):
            menu = words((await ana.looks(path)).partition('class="menu-body"')[2].partition("</details>")[0])
            assert "slack is off: channels.slack.bot_token: the variable <BOT> is not set" in unescape(menu)
            assert "comes on by itself" in menu
        # What is missing in the settings is no alarm above the questions.
        assert "slack" not in words((await ana.looks()).partition("<main")[2])
        await ana.client.aclose()
