"""Discord, through discord.py and over real sockets, against a Discord that enforces its limits."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from tests.channels.fake_discord import TOKEN, FakeDiscord
from tests.channels.inboxes import BareInbox
from tests.domain.test_degrading import an_inquiry
from upcall.broker.broker import Reply
from upcall.channels.discord import channel as channel_module
from upcall.channels.discord.channel import Discord
from upcall.channels.words import sentences
from upcall.domain.channel.degrading import view
from upcall.domain.channel.showing import Heard, Inbound, Reference, View
from upcall.domain.errors import InvalidSetting
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Origin
from upcall.ports.channel import Line, Refused, Unavailable
from upcall.testing.channel_contract import DirectChannelContract
from upcall.testing.channel_house import WEB, House, a_house

pytestmark = pytest.mark.promise("spec/80")
WORDS = sentences("en")


class TestDiscord(DirectChannelContract):
    @pytest.fixture
    @override
    async def vendor(self) -> AsyncIterator[FakeDiscord]:
        async with FakeDiscord().served() as discord:
            yield discord


@pytest.fixture
async def discord() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord().served() as discord:
        yield discord


async def shown_in(house: House, discord: FakeDiscord) -> View:
    """A question as the channel would be given it."""
    inquiry = await house.ask(question="Another?", options=["a", "b"])
    return view(inquiry, Discord.capabilities, WORDS)


async def test_a_rate_limit_is_waited_for_in_order_and_of_a_long_one_we_are_told(
    discord: FakeDiscord, tmp_path: Path
) -> None:
    discord.be_busy(0.01, 0.01)
    async with a_house(discord, tmp_path) as house:
        for number in range(3):
            await house.ask(question=f"Question {number}?", options=["a", "b"])
        await discord.until(lambda: len(discord.messages()) == 3)
        shown = [f"Question {number}?" in message.text for number, message in enumerate(discord.messages())]
        assert shown == [True] * 3
        asked = await shown_in(house, discord)
        await discord.until(lambda: len(discord.messages()) == 4)
        channel = discord.channel()
        discord.be_busy(45)
        with pytest.raises(Unavailable) as caught:
            await channel.show(asked, "200")
        assert caught.value.after == 45
        await channel.close()


async def test_a_connection_that_is_taken_up_again_has_missed_nothing(
    discord: FakeDiscord, tmp_path: Path
) -> None:
    async with a_house(discord, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await discord.until(lambda: len(discord.messages()) == 1)
        await discord.disconnect()
        await discord.until(lambda: discord.resumed == 1 and discord.listening())
        assert discord.identified == 1
        await discord.answer(discord.known, discord.messages()[0].name, [["Redis"]])
        assert await house.answers(inquiry) == [["Redis"]]

        again = await house.ask(question="Again?", options=["Redis", "Memcached"])
        await discord.until(lambda: len(discord.messages()) == 2)
        await discord.forget()
        await discord.until(lambda: discord.identified == 2 and discord.listening())
        await discord.answer(discord.known, discord.messages()[1].name, [["Memcached"]])
        assert await house.answers(again) == [["Memcached"]]


async def test_what_takes_long_is_acknowledged_within_the_time_that_discord_gives(
    discord: FakeDiscord,
) -> None:
    class Busy(BareInbox):
        def __init__(self) -> None:
            super().__init__()
            self.go_on = asyncio.Event()

        @override
        async def receive(self, inbound: Inbound) -> Heard:
            await self.go_on.wait()
            await super().receive(inbound)
            return Heard(line="late", accepted=False)

        @override
        async def view(self, inquiry: str) -> View | None:
            await self.go_on.wait()
            return None

        @override
        async def say(self, line: Line) -> None:
            await channel.say(line.to, line.text)

    channel, inbox = discord.channel(), Busy()
    listening = asyncio.create_task(channel.listen(inbox))
    await discord.until(discord.listening)
    asked = view_of(options=["a", "b"])
    message = (await channel.show(asked, discord.place)).message
    # The acknowledgement is waited for here, while the press is not dealt with yet.
    await discord.answer(discord.known, message, [["a"]])
    assert inbox.received == []
    # A form that cannot be opened in time is told so, within the time that Discord gives.
    await discord.own_words(discord.known, message, "c")
    assert list(discord.told(discord.known)) == [WORDS["unavailable"]]
    inbox.go_on.set()
    await discord.until(lambda: "late" in discord.told(discord.known))
    assert [inbound.user for inbound in inbox.received] == [discord.known]
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await channel.close()


@pytest.mark.promise("trust/54")
async def test_a_press_is_acknowledged_once_its_answer_is_kept(
    discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Keeping(BareInbox):
        def __init__(self) -> None:
            super().__init__()
            self.asked, self.go_on = asyncio.Event(), asyncio.Event()

        @override
        async def receive(self, inbound: Inbound) -> Heard:
            self.asked.set()
            await self.go_on.wait()
            await super().receive(inbound)
            return Heard(line="kept", accepted=True)

    monkeypatch.setattr(channel_module, "ACKNOWLEDGE_SECONDS", 60.0)
    channel, inbox = discord.channel(), Keeping()
    listening = asyncio.create_task(channel.listen(inbox))
    await discord.until(discord.listening)
    message = (await channel.show(view_of(options=["a", "b"]), discord.place)).message
    pressing = asyncio.create_task(discord.answer(discord.known, message, [["a"]]))
    await inbox.asked.wait()
    assert not any(path.endswith("/callback") for _, path, _ in discord.calls)
    inbox.go_on.set()
    await pressing
    assert (len(inbox.received), list(discord.told(discord.known))) == (1, ["kept"])
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await channel.close()


@pytest.mark.promise("trust/54")
async def test_a_press_counts_though_it_cannot_be_acknowledged_or_names_no_channel(
    discord: FakeDiscord, tmp_path: Path
) -> None:
    async with a_house(discord, tmp_path) as house:
        first = await house.ask(question="First?", options=["Redis", "Memcached"])
        second = await house.ask(question="Second?", options=["Redis", "Memcached"])
        await discord.until(lambda: len(discord.messages()) == 2)
        one, two = (message.name for message in discord.messages())
        discord.acknowledging = False
        await discord.answer(discord.known, one, [["Redis"]])
        assert await house.answers(first) == [["Redis"]]
        # What there is to say is said beside the question.
        await discord.until(lambda: not discord.messages()[0].answerable)
        await discord.press_what_is_gone(discord.known, one, f"pick:{first.id}:1")
        await discord.until(lambda: any("Redis — by" in line for line in discord.told(one.partition("/")[2])))
        discord.acknowledging, discord.names_channels = True, False
        await discord.answer(discord.known, two, [["Memcached"]])
        assert await house.answers(second) == [["Memcached"]]
        await discord.until(lambda: not discord.messages()[1].answerable)
        assert not any("None" in path for _, path, _ in discord.calls)


@pytest.mark.promise("trust/63")
async def test_where_discord_refuses_the_components_the_options_are_sent_by_number(
    discord: FakeDiscord, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_house(discord, tmp_path) as house:
        formed = await house.ask(question="What name?", kind="text")
        await discord.until(lambda: len(discord.messages()) == 1)
        discord.takes_components = False
        await discord.own_form(discord.known, discord.messages()[0].name)
        assert discord.told(discord.known)[-1].endswith(f"answer in the inbox: http://x/i/{formed.id}")
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await discord.until(lambda: len(discord.messages()) == 2)
        message = discord.messages()[1]
        assert "1. Redis\n2. Memcached" in message.text
        assert WORDS["reply.one.custom"] in message.text
        assert caplog.text.count(f"{inquiry.ref} is sent to Discord as plain text") == 1
        await discord.reply(discord.known, message.name, "2")
        assert await house.answers(inquiry) == [["Memcached"]]
        await discord.until(lambda: "✓ Answered: Memcached" in discord.messages()[1].text)


def view_of(**fields: Any) -> View:
    return view(an_inquiry(**fields), Discord.capabilities, WORDS)


async def test_own_words_can_be_written_without_a_reply(discord: FakeDiscord, tmp_path: Path) -> None:
    async with a_house(discord, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await discord.until(lambda: len(discord.messages()) == 1)
        await discord.own_words(discord.known, discord.messages()[0].name, "neither *of* these")
        assert await house.answers(inquiry) == [["neither *of* these"]]


async def test_a_form_says_what_is_wrong_with_it_and_can_be_sent_again(
    discord: FakeDiscord, tmp_path: Path
) -> None:
    questions = [{"question": "One?", "options": ["a", "b"], "custom": False}, {"question": "Two?"}]
    async with a_house(discord, tmp_path) as house:
        origin = Origin(agent="bot", session="s", door="test")
        inquiry = (await house.broker.ask(draft({"questions": questions}), origin)).inquiry
        await discord.until(lambda: len(discord.messages()) == 1)
        message = discord.messages()[0].name
        await discord.answer(discord.known, message, [["a"], ["   "]])
        await discord.until(lambda: bool(discord.told(discord.known)))
        assert "empty" in discord.told(discord.known)[-1]
        await discord.answer(discord.known, message, [["a"], ["yes"]])
        assert await house.answers(inquiry) == [["a"], ["yes"]]


async def test_what_is_pressed_too_late_hears_the_answer_that_stands(
    discord: FakeDiscord, tmp_path: Path
) -> None:
    async with a_house(discord, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await discord.until(lambda: len(discord.messages()) == 1)
        await house.broker.receive(inquiry.id, Reply(text="Memcached", via="web"), WEB)
        await discord.until(lambda: not discord.messages()[0].answerable)
        message = discord.messages()[0].name
        await discord.press_what_is_gone(discord.known, message, f"pick:{inquiry.id}:0")
        await discord.until(lambda: len(discord.told(discord.known)) == 1)
        await discord.press_what_is_gone(discord.known, message, f"own:{inquiry.id}")
        await discord.until(lambda: len(discord.told(discord.known)) == 2)
        assert all("Memcached — by web" in line for line in discord.told(discord.known))
        await discord.press_what_is_gone(discord.known, message, "own:nothing")
        await discord.until(lambda: len(discord.told(discord.known)) == 3)
        assert discord.told(discord.known)[-1] == WORDS["no_question"]


async def test_other_peoples_words_are_left_alone_and_those_to_the_bot_are_not(
    discord: FakeDiscord, tmp_path: Path
) -> None:
    async with a_house(discord, tmp_path) as house:
        first = await house.ask(question="First?", options=["Redis", "Memcached"])
        second = await house.ask(question="Second?", options=["Redis", "Memcached"])
        await discord.until(lambda: len(discord.messages()) == 2)
        await discord.say(discord.stranger, "lunch?")
        await discord.reply(discord.stranger, f"{discord.place}/1", "yes, lunch")
        await discord.mention(discord.known, f"{first.ref} memcached")
        assert await house.answers(first) == [["Memcached"]]
        await discord.write(discord.known, f"{second.ref} redis")
        assert await house.answers(second) == [["Redis"]]
        assert list(discord.told(discord.stranger)) == []


async def test_the_same_message_again_is_that_message_and_a_person_is_a_place(discord: FakeDiscord) -> None:
    channel = discord.channel()
    asked = view_of(options=["a", "b"])
    first = await channel.show(asked, "@7")
    assert (first.place, first.message.partition("/")[0]) == ("@7", "507")
    assert await channel.show(asked, "@7") == first
    await channel.tell(first, "Still waiting")
    assert discord.calls[-1][2]["message_reference"]["message_id"] == first.message.partition("/")[2]
    await channel.close()


async def test_what_is_too_long_even_so_is_refused_and_its_end_is_shown(discord: FakeDiscord) -> None:
    channel = discord.channel()
    asked = view_of(context="`" * 1400, options=["a", "b"])
    with pytest.raises(Refused, match="2000"):
        await channel.show(asked, discord.place)
    await channel.close()


async def test_what_is_missing_is_found_by_a_check_and_by_listening(discord: FakeDiscord) -> None:
    wrong = Discord(bot_token="wrong", api_url=discord.url)
    (finding,) = await wrong.check()
    assert (finding.ok, finding.text) == (False, "bot_token: Discord says 401")
    await wrong.close()

    discord.flags, discord.intent_granted = 0, False
    deaf = Discord(bot_token=TOKEN, api_url=discord.url)
    assert [(found.ok, found.text) for found in await deaf.check()] == [
        (True, "signed in as upcall"),
        (False, "it may not read what people write"),
    ]
    async with asyncio.timeout(10):
        with pytest.raises(Refused, match="Message Content Intent"):
            await deaf.listen(UnusedInbox())
    await deaf.close()


class UnusedInbox:
    """An inbox to which nothing is handed."""

    async def receive(self, inbound: Inbound) -> Heard:
        raise AssertionError(inbound)

    async def view(self, inquiry: str) -> View | None:
        raise AssertionError(inquiry)

    async def knows(self, user: str) -> bool:
        raise AssertionError(user)

    async def failed(self, message: str, reason: str) -> bool:
        return True

    async def found(self, inquiry: str, place: str, message: str) -> None:
        """Nothing is adopted."""

    async def say(self, line: Line) -> None:
        """Nothing is said."""

    async def connected(self) -> None:
        """Nothing was put off."""

    async def bookmark(self) -> str:
        raise AssertionError

    async def keep(self, bookmark: str) -> None:
        raise AssertionError(bookmark)


async def test_a_channel_where_it_may_not_write_says_what_to_do(discord: FakeDiscord) -> None:
    channel = discord.channel()
    discord.fail("refused")
    with pytest.raises(Refused, match="View Channel"):
        await channel.show(view_of(options=["a", "b"]), discord.place)
    discord.fail(None)
    with pytest.raises(Refused, match="Unknown Message"):
        await channel.refresh(Reference(place="100", message="100/1"), view_of(options=["a", "b"]))
    await channel.close()


async def test_a_vendor_that_cannot_be_reached_is_unavailable_and_not_refused() -> None:
    nowhere = Discord(bot_token=TOKEN, api_url="http://127.0.0.1:9")
    with pytest.raises(Unavailable):
        await nowhere.tell(Reference(place="100", message="100/1"), "hello")
    await nowhere.close()


def test_a_token_is_not_sent_in_the_clear() -> None:
    with pytest.raises(InvalidSetting) as caught:
        Discord(bot_token=TOKEN, api_url="http://discord.example")
    assert "https://" in str(caught.value.hint)
