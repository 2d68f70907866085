"""Slack, through its own SDK and over real sockets, against a Slack that enforces its limits."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from typing_extensions import override

from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, CallingSlack, FakeSlack
from upcall.broker.broker import Reply
from upcall.channels.slack.app import SCOPES
from upcall.channels.slack.channel import Slack
from upcall.channels.slack.reading import written
from upcall.channels.words import sentences
from upcall.domain.channel.showing import Reference
from upcall.domain.errors import StorageError
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Origin
from upcall.ports.channel import Unavailable
from upcall.testing.channel_contract import DirectChannelContract
from upcall.testing.channel_house import WEB, a_house

WORDS = sentences("en")


class TestSlack(DirectChannelContract):
    @pytest.fixture
    @override
    async def vendor(self) -> AsyncIterator[FakeSlack]:
        async with FakeSlack().served() as slack:
            yield slack


class TestSlackThatCalls(DirectChannelContract):
    @pytest.fixture
    @override
    async def vendor(self) -> AsyncIterator[CallingSlack]:
        async with CallingSlack().served() as slack:
            yield slack


@pytest.mark.promise("spec/134")
async def test_only_what_slack_has_signed_within_five_minutes_is_taken(tmp_path: Path) -> None:
    async with CallingSlack().served() as slack, a_house(slack, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await slack.until(lambda: bool(slack.messages()))
        body = b'{"type": "url_verification", "challenge": "abc"}'
        assert await slack.post(body, slack.signed(body)) == (200, b"abc")
        forged: list[dict[str, str]] = [
            {},
            slack.signed(body, secret="guessed"),
            slack.signed(body, at=time.time() - 301),
            slack.signed(body + b" "),
            slack.signed(body) | {"X-Slack-Request-Timestamp": "²"},
        ]
        for headers in forged:
            status, said = await slack.post(body, headers)
            assert (status, said) == (401, b"the signature is wrong, or too old")
        assert (await slack.post(b"\xff", slack.signed(body)))[0] == 401
        for odd in (b"", b"[]", b"{", b'{"type": "event_callback"}', b'{"type": "app_uninstalled"}'):
            assert (await slack.post(odd, slack.signed(odd)))[0] == 200
        assert (await house.broker.store.get(inquiry.id)).is_open


@pytest.mark.parametrize(
    ("kind", "refused", "said"), [(CallingSlack, AssertionError, "503"), (FakeSlack, TimeoutError, "^$")]
)
async def test_what_cannot_be_kept_is_to_be_delivered_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[FakeSlack],
    refused: type[Exception],
    said: str,
) -> None:
    async with kind().served() as slack, a_house(slack, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await slack.until(lambda: bool(slack.messages()))
        with monkeypatch.context() as patch:

            async def full(*_: object) -> None:
                raise StorageError("the disk is full")

            patch.setattr(house.broker.store, "update", full)
            # Called, we say so; over a connection of ours, Slack waits in vain for us to acknowledge it.
            with pytest.raises(refused, match=said):
                await slack.answer(slack.known, slack.messages()[0].name, [["Redis"]])
        await slack.repeat()
        assert await house.answers(inquiry) == [["Redis"]]


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack().served() as slack:
        yield slack


async def test_a_rate_limit_is_waited_for_and_nothing_is_lost(slack: FakeSlack, tmp_path: Path) -> None:
    slack.be_busy(3)
    async with a_house(slack, tmp_path) as house:
        for number in range(5):
            await house.ask(question=f"Question {number}?", options=["a", "b"])
        await slack.until(lambda: len(slack.messages()) == 5)
        shown = [f"Question {number}?" in message.text for number, message in enumerate(slack.messages())]
        assert shown == [True] * 5


async def test_a_renewed_connection_goes_on_hearing(slack: FakeSlack, tmp_path: Path) -> None:
    async with a_house(slack, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await slack.until(lambda: len(slack.messages()) == 1)
        opened = slack.opened
        await slack.disconnect()
        await slack.until(lambda: slack.opened > opened and slack.listening())
        await slack.answer(slack.known, slack.messages()[0].name, [["Redis"]])
        assert await house.answers(inquiry) == [["Redis"]]


@pytest.mark.promise("pynchy/36", "pynchy/39")
async def test_a_form_says_what_is_wrong_with_it_and_stays_open(slack: FakeSlack, tmp_path: Path) -> None:
    questions = [{"question": "One?", "options": ["a", "b"], "custom": False}, {"question": "Two?"}]
    async with a_house(slack, tmp_path) as house:
        origin = Origin(agent="bot", session="s", door="test")
        inquiry = (await house.broker.ask(draft({"questions": questions}), origin)).inquiry
        await slack.until(lambda: len(slack.messages()) == 1)
        message = slack.messages()[0].name
        await slack.answer(slack.known, message, [["a"], ["   "]])
        assert "empty" in slack.told(slack.known)[-1]
        await slack.answer(slack.known, message, [["a"], ["yes"]])
        assert await house.answers(inquiry) == [["a"], ["yes"]]


FORM = {
    "properties": {
        "port": {"type": "integer", "maximum": 65535, "default": 8080},
        "debug": {"type": "boolean"},
        "mail": {"type": "string", "format": "email"},
        "checks": {"type": "array", "items": {"enum": ["lint", "tests"]}},
        "region": {"enum": ["eu", "us"]},
    },
    "required": ["mail", "debug"],
}


@pytest.mark.promise("raised/29", "raised/30")
async def test_a_typed_form_has_its_defaults_and_says_what_does_not_fit(
    slack: FakeSlack, tmp_path: Path
) -> None:
    async with a_house(slack, tmp_path) as house:
        origin = Origin(agent="bot", session="s", door="test")
        asked = draft({"question": "How shall it run?", "response_schema": FORM})
        inquiry = (await house.broker.ask(asked, origin)).inquiry
        await slack.until(lambda: len(slack.messages()) == 1)
        message = slack.messages()[0].name
        await slack.answer(slack.known, message, [["70000"], ["Yes"], ["ana"], [], []])
        told = slack.told(slack.known)[-1]
        assert "port: at most 65535, got 70000." in told
        assert "mail: an e-mail address, got 'ana'." in told
        await slack.answer(slack.known, message, [["80"], ["Yes"], ["ana@shop.example"], ["tests"], []])
        assert await house.answers(inquiry) == [["80"], ["Yes"], ["ana@shop.example"], ["tests"], []]


QUESTIONS = [{"question": "One?", "options": ["a", "b"]}, {"question": "Two?"}]


@pytest.mark.promise("trust/53")
@pytest.mark.parametrize("kind", [FakeSlack, CallingSlack])
async def test_a_form_that_cannot_be_opened_is_told_with_where_to_answer_instead(
    tmp_path: Path, kind: type[FakeSlack]
) -> None:
    async with kind().served() as slack, a_house(slack, tmp_path) as house:
        origin = Origin(agent="bot", session="s", door="test")
        inquiry = (await house.broker.ask(draft({"questions": QUESTIONS}), origin)).inquiry
        await slack.until(lambda: len(slack.messages()) == 1)
        message = slack.messages()[0].name
        slack.refusing["views.open"] = "expired_trigger_id"
        await slack.press_form(slack.known, message)
        await slack.until(lambda: bool(slack.told(slack.known)))
        said = f"The form could not be opened. Press again, or answer in the inbox: http://x/i/{inquiry.id}"
        assert list(slack.told(slack.known)) == [said]
        # Where nothing can be said to one person alone, it is said in the thread.
        slack.refusing["chat.postEphemeral"] = "user_not_in_channel"
        await slack.press_form(slack.known, message)
        await slack.until(lambda: said in slack.plain().values())
        slack.refusing.clear()
        await slack.answer(slack.known, message, [["a"], ["yes"]])
        assert await house.answers(inquiry) == [["a"], ["yes"]]


@pytest.mark.promise("trust/63")
async def test_where_slack_refuses_the_blocks_the_options_are_sent_by_number(
    slack: FakeSlack, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    slack.takes_blocks = False
    async with a_house(slack, tmp_path) as house:
        evil = "<!channel> see https://evil.example"
        inquiry = await house.ask(question=evil, options=["Redis", "Memcached"])
        await slack.until(lambda: len(slack.plain()) == 1)
        ((name, text),) = slack.plain().items()
        assert text.replace("\u200b", "").split("\n")[1:] == [
            f"│ {evil}",
            "│ 1. Redis",
            "│ 2. Memcached",
            WORDS["reply.one.custom"],
        ]
        assert "https://" not in text
        assert (
            caplog.text.count(f"{inquiry.ref} is sent to Slack as plain text: Slack says invalid_blocks") == 1
        )
        await slack.reply(slack.known, name, "2")
        assert await house.answers(inquiry) == [["Memcached"]]
        await slack.until(lambda: "✓ Answered: Memcached" in slack.plain()[name])


@pytest.mark.promise("spec/56")
async def test_other_peoples_threads_and_our_own_words_are_left_alone(
    slack: FakeSlack, tmp_path: Path
) -> None:
    async with a_house(slack, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await slack.until(lambda: len(slack.messages()) == 1)
        await slack.reply(slack.stranger, "C1/1.000001", "lunch?")
        await slack.write(slack.known, f"{inquiry.ref} memcached")
        assert await house.answers(inquiry) == [["Memcached"]]
        assert list(slack.told(slack.stranger)) == []


async def test_wrong_tokens_are_found_by_a_check(slack: FakeSlack) -> None:
    wrong = Slack(bot_token="xoxb-wrong", app_token=APP_TOKEN, api_url=slack.url)
    (finding,) = await wrong.check()
    assert (finding.ok, finding.text) == (False, "bot_token: Slack says invalid_auth")
    deaf = Slack(bot_token=BOT_TOKEN, app_token="xapp-wrong", api_url=slack.url)
    assert [finding.ok for finding in await deaf.check()] == [True, False]


async def test_a_vendor_that_cannot_be_reached_is_unavailable_and_not_refused() -> None:
    nowhere = Slack(bot_token=BOT_TOKEN, app_token=APP_TOKEN, api_url="http://127.0.0.1:9/api/")
    with pytest.raises(Unavailable):
        await nowhere.tell(Reference(place="C1", message="C1/1.1"), "hello")


def test_slack_says_when_words_were_written() -> None:
    event = {"type": "message", "channel_type": "im", "user": "U1", "channel": "D1", "text": "yes"}
    told = written({"event_id": "Ev1", "event": event | {"ts": "1700000000.250000"}})
    assert told is not None
    assert told.at == 1700000000.25


@pytest.mark.promise("trust/49", "trust/86")
@pytest.mark.parametrize("answered_meanwhile", [False, True])
@pytest.mark.parametrize("address", [FakeSlack.place, FakeSlack.direct])
async def test_after_a_lost_reply_the_message_is_found_and_not_shown_twice(
    slack: FakeSlack, tmp_path: Path, address: str, *, answered_meanwhile: bool
) -> None:
    async with a_house(slack, tmp_path, address=address) as house:
        slack.silent = True
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await slack.until(lambda: len(slack.messages()) == 1)
        # The daemon ends here, and never hears which message that is.
    slack.silent = False
    async with a_house(slack, tmp_path, address=address) as house:
        if answered_meanwhile:
            await house.broker.receive(inquiry.id, Reply(text="Redis", via="web"), WEB)
        else:
            await slack.answer(slack.known, slack.messages()[0].name, [["Redis"]])
            assert await house.answers(inquiry) == [["Redis"]]
        await slack.until(lambda: not slack.messages()[0].answerable)
        await house.ask(options=["Redis", "Memcached"], context="another one")
        await slack.until(lambda: "another one" in slack.messages()[-1].text)
        assert len(slack.messages()) == 2


@pytest.mark.promise("trust/49")
async def test_an_app_that_may_not_open_direct_messages_shows_a_question_twice_and_either_press_closes_both(
    slack: FakeSlack, tmp_path: Path
) -> None:
    slack.scopes = SCOPES
    async with a_house(slack, tmp_path, address=slack.direct) as house:
        slack.silent = True
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await slack.until(lambda: len(slack.messages()) == 1)
    slack.silent = False
    async with a_house(slack, tmp_path, address=slack.direct) as house:
        await slack.until(lambda: len(slack.messages()) == 2)
        assert await house.dispatch.faults("tried") == []
        await slack.answer(slack.known, slack.messages()[0].name, [["Redis"]])
        assert await house.answers(inquiry) == [["Redis"]]
        await slack.until(lambda: not any(message.answerable for message in slack.messages()))
        findings = await house.dispatch.check("tried")
        assert [finding.text for finding in findings if "im:write" in finding.text and finding.ok]


@pytest.mark.promise("trust/52")
async def test_a_person_is_told_although_slack_was_busy(slack: FakeSlack, tmp_path: Path) -> None:
    async with a_house(slack, tmp_path):
        slack.be_busy(5)
        await slack.write(slack.stranger, "hello")
        await slack.write(slack.known, "hello")
        await slack.until(lambda: bool(slack.told(slack.known)))
        assert "do not know you" in slack.told(slack.stranger)[0]
