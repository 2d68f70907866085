"""What every channel must do, as a pytest class for the authors of channels.

    class TestMyChannel(ChannelContract):
        @pytest.fixture
        async def vendor(self):
            async with a_fake_of_the_vendor() as vendor:
                yield vendor

The `Vendor` is the other side of the wire: it takes what the channel sends, holds it against the vendor's limits, and
does what people do there, pressing only what is really shown. One that calls us is a `CallingVendor` as well;
where people write to the app alone, take a `DirectVendor` and `DirectChannelContract`.
Everything between it and the store is real.

Needs anyio's pytest plugin. For readable failures, say
`pytest.register_assert_rewrite("upcall.testing.channel_contract", "upcall.testing.channel_house")` in a conftest.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from upcall.broker.broker import Reply
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.ports.channel import HasAccount
from upcall.testing.channel_house import (
    ASKER,
    NAME,
    SECONDS,
    WEB,
    DirectVendor,
    House,
    Message,
    Vendor,
    a_house,
)

__all__ = ["ChannelContract", "DirectChannelContract"]


class ChannelContract:
    """Override `vendor`."""

    @pytest.fixture
    async def vendor(self) -> AsyncIterator[Vendor]:
        """The other side of the wire."""
        raise NotImplementedError("override the fixture `vendor`")
        yield

    async def test_every_kind_of_question_can_be_answered(self, vendor: Vendor, tmp_path: Path) -> None:
        """One choice, several, an approval and free text, each as the channel shows it."""
        many = [f"Option {number}" for number in range(1, 10)]
        cases: list[tuple[dict[str, Any], list[str]]] = [
            ({"options": ["Redis", "Memcached"]}, ["Memcached"]),
            ({"options": many}, ["Option 7"]),
            ({"options": ["lint", "tests", "docs"], "multiSelect": True}, ["lint", "docs"]),
            ({"kind": "approval", "question": "Deploy?", "context": "rm -rf build"}, ["Approve"]),
            ({"kind": "approval", "question": "Deploy?", "context": "rm -rf /"}, ["Deny"]),
            ({"kind": "text", "question": "What is the name?"}, ["Ada Lovelace"]),
        ]
        async with a_house(vendor, tmp_path) as house:
            for number, (fields, wanted) in enumerate(cases):
                inquiry = await house.ask(**fields)
                await self.counted(vendor, vendor.messages, number + 1)
                message = vendor.messages()[-1]
                assert str(fields.get("question", "Which cache?")) in message.text
                await vendor.answer(vendor.known, message.name, [wanted])
                assert await house.answers(inquiry) == [wanted]

    async def test_several_questions_are_answered_together(self, vendor: Vendor, tmp_path: Path) -> None:
        """One answer for each, chosen, written or both."""
        questions = [
            {"question": "Which cache?", "options": ["Redis", "Memcached"]},
            {"question": "Which checks?", "options": ["lint", "tests"], "multiSelect": True},
            {"question": "What name?", "options": []},
        ]
        wanted = [["Redis"], ["lint", "tests"], ["billing"]]
        async with a_house(vendor, tmp_path) as house:
            origin = Origin(agent=ASKER.name, session="s-1", door="test")
            inquiry = (await house.broker.ask(draft({"questions": questions}), origin)).inquiry
            message = await self.shown(vendor)
            await vendor.answer(vendor.known, message.name, wanted)
            assert await house.answers(inquiry) == wanted

    async def test_words_in_reply_to_a_message_answer_it(self, vendor: Vendor, tmp_path: Path) -> None:
        """With two open, the message that was replied to says which one is meant."""
        async with a_house(vendor, tmp_path) as house:
            first = await house.ask(options=["Redis", "Memcached"])
            await self.shown(vendor)
            await house.ask(options=["Redis", "Memcached"], context="another one")
            await vendor.until(lambda: len(vendor.messages()) == 2)
            await vendor.reply(vendor.known, vendor.messages()[0].name, "neither <of> these & co")
            assert await house.answers(first) == [["neither <of> these & co"]]

    async def test_a_stranger_is_told_so_and_changes_nothing(self, vendor: Vendor, tmp_path: Path) -> None:
        """Until they have sent their code; and no longer once they were removed."""
        async with a_house(vendor, tmp_path) as house:
            inquiry = await house.ask(options=["Redis", "Memcached"])
            message = await self.shown(vendor)
            await vendor.answer(vendor.stranger, message.name, [["Redis"]])
            await vendor.until(lambda: len(vendor.told(vendor.stranger)) == 1)
            assert "do not know you" in vendor.told(vendor.stranger)[0]
            assert (await house.broker.store.get(inquiry.id)).is_open

            code = await house.people.add("bo")
            await vendor.write(vendor.stranger, code)
            await vendor.until(lambda: "Welcome, bo" in vendor.told(vendor.stranger)[-1])
            await house.people.remove("bo")
            await vendor.answer(vendor.stranger, message.name, [["Redis"]])
            await vendor.until(lambda: "do not know you" in vendor.told(vendor.stranger)[-1])
            assert (await house.broker.store.get(inquiry.id)).is_open

    async def test_a_code_works_once_and_guessing_is_stopped(self, vendor: Vendor, tmp_path: Path) -> None:
        """Five wrong ones, and even the right one has to wait."""
        async with a_house(vendor, tmp_path) as house:
            code = await house.people.add("bo")
            for number in range(5):
                await vendor.write(vendor.stranger, f"WRNGWRNG{number + 22}")
                await self.counted(vendor, lambda: vendor.told(vendor.stranger), number + 1)
                assert "wrong" in vendor.told(vendor.stranger)[-1]
            await vendor.write(vendor.stranger, code)
            await vendor.until(lambda: len(vendor.told(vendor.stranger)) == 6)
            assert "Too many" in vendor.told(vendor.stranger)[-1]

    async def test_the_same_thing_delivered_twice_counts_once(self, vendor: Vendor, tmp_path: Path) -> None:
        """And the person is not told that they were too late for their own answer."""
        async with a_house(vendor, tmp_path) as house:
            inquiry = await house.ask(options=["Redis", "Memcached"])
            message = await self.shown(vendor)
            await vendor.answer(vendor.known, message.name, [["Redis"]])
            assert await house.answers(inquiry) == [["Redis"]]
            another = await house.ask(options=["Redis", "Memcached"], context="another one")
            await vendor.until(lambda: len(vendor.messages()) == 2)
            await vendor.repeat()
            await self.closed(vendor)
        # After a restart nothing is known by heart.
        async with a_house(vendor, tmp_path) as house:
            await vendor.repeat()
            other = vendor.stranger
            await vendor.write(other, "hello")
            await vendor.until(lambda: bool(vendor.told(other)))
            assert list(vendor.told(vendor.known)) == []
            assert (await house.broker.store.get(another.id)).is_open

    async def test_a_late_answer_hears_the_one_that_stands(self, vendor: Vendor, tmp_path: Path) -> None:
        """A person who presses an outdated button is told who was first, and with what."""
        async with a_house(vendor, tmp_path) as house:
            inquiry = await house.ask(options=["Redis", "Memcached"])
            message = await self.shown(vendor)
            answering = asyncio.create_task(
                house.broker.receive(inquiry.id, Reply(text="Memcached", via="web"), WEB)
            )
            # Pressed before the message could be brought up to date.
            await answering
            await vendor.reply(vendor.known, message.name, "Redis")
            await vendor.until(lambda: bool(vendor.told(vendor.known)))
            assert "Memcached — by web" in vendor.told(vendor.known)[-1]
            assert "Memcached — by web" in (await self.closed(vendor)).text

    async def test_a_question_survives_a_restart(self, vendor: Vendor, tmp_path: Path) -> None:
        """Shown once, answered after the restart, by what was shown before it."""
        async with a_house(vendor, tmp_path) as house:
            inquiry = await house.ask(options=["Redis", "Memcached"])
            message = await self.shown(vendor)
        async with a_house(vendor, tmp_path) as house:
            await vendor.answer(vendor.known, message.name, [["Redis"]])
            assert await house.answers(inquiry) == [["Redis"]]
            await self.closed(vendor)
            assert len(vendor.messages()) == 1
            (delivery,) = await house.dispatch.deliveries(inquiry.id)
            assert delivery["message_id"] == message.name
            assert (delivery["channel"], delivery["place"], delivery["error"]) == (NAME, vendor.place, None)
            assert delivery["shown_at"] is not None

    async def test_text_that_is_too_long_is_cut_and_an_approval_is_refused(
        self, vendor: Vendor, tmp_path: Path
    ) -> None:
        """With a link to the whole; an approval has to be seen whole."""
        long = "begin " + "lorem ipsum \n" * 1200 + " end"
        async with a_house(vendor, tmp_path) as house:
            inquiry = await house.ask(options=["Redis", "x" * 75], context=long, header="Cache")
            message = await self.shown(vendor)
            assert "begin" in message.text
            assert " end" in message.text
            assert f"http://x/i/{inquiry.id}" in message.text
            assert "x" * 75 in message.text
            await vendor.answer(vendor.known, message.name, [["Redis"]])
            assert await house.answers(inquiry) == [["Redis"]]

            refused = await house.ask(kind="approval", question="Run it?", context=long)
            delivery = await self.undelivered(house, refused)
            assert "too long" in str(delivery["error"])
            assert (await house.broker.store.get(refused.id)).is_open

    async def test_an_agent_can_neither_ping_nor_link_nor_pretend(
        self, vendor: Vendor, tmp_path: Path
    ) -> None:
        """What it wrote is shown as it is, less what cannot be seen; the vendor refuses anything it would parse."""
        hostile = (
            "<!channel> <@U1> <https://evil.example|fine> *bold* `code` @here &amp; \u202egnorw\u202c\x1b[31m"
        )
        async with a_house(vendor, tmp_path) as house:
            inquiry = await house.ask(
                question=hostile,
                options=[{"label": hostile[:70], "description": hostile}, "no"],
                context=hostile,
            )
            message = await self.shown(vendor)
            assert "<!channel> <@U1> <https://evil.example|fine> *bold*" in message.text
            assert "\u202e" not in message.text
            assert "\x1b" not in message.text
            await vendor.reply(vendor.known, message.name, hostile)
            await house.settled(inquiry)
            await self.closed(vendor)

    async def test_every_outcome_reaches_the_message(self, vendor: Vendor, tmp_path: Path) -> None:
        """Answered elsewhere, declined, withdrawn, expired: nothing is left to press."""
        async with a_house(vendor, tmp_path) as house:
            broker = house.broker
            asked = [await house.ask(options=["Redis", "Memcached"], context=str(n)) for n in range(3)]
            await vendor.until(lambda: len(vendor.messages()) == 3)
            # Asked when nothing else is in its way: it has to be shown before it expires.
            asked.append(await house.ask(options=["Redis", "Memcached"], ttl="2s"))
            await vendor.until(lambda: len(vendor.messages()) == 4)
            await broker.receive(asked[0].id, Reply(text="1", via="web"), WEB)
            await broker.reject(asked[1].id, WEB, reason="not now")
            await broker.cancel(asked[2].id, ASKER)
            await vendor.until(lambda: not any(message.answerable for message in vendor.messages()))
            texts = [message.text for message in vendor.messages()]
            for text, outcome in zip(
                texts, ("Redis — by web", "not now", "Cancelled", "Expired"), strict=True
            ):
                assert outcome in text

    async def test_unavailable_is_tried_again_and_refused_is_not(
        self, vendor: Vendor, tmp_path: Path
    ) -> None:
        """Both are on record; only the first one is shown once the vendor is back."""
        async with a_house(vendor, tmp_path) as house:
            vendor.fail("refused")
            refused = await house.ask(options=["Redis", "Memcached"], context="first")
            assert (await self.undelivered(house, refused))["message_id"] is None
            vendor.fail("unavailable")
            retried = await house.ask(options=["Redis", "Memcached"], context="second")
            assert (await self.undelivered(house, retried))["message_id"] is None
            vendor.fail(None)
            message = await self.shown(vendor)
            assert "second" in message.text
            await vendor.answer(vendor.known, message.name, [["Redis"]])
            assert await house.answers(retried) == [["Redis"]]
            assert len(vendor.messages()) == 1

    async def test_a_bad_credential_keeps_what_is_asked_until_it_is_mended(
        self, vendor: Vendor, tmp_path: Path
    ) -> None:
        """Nothing is lost by then: questions are shown, and what was answered elsewhere is brought up to date."""
        async with a_house(vendor, tmp_path) as house:
            answered = await house.ask(options=["Redis", "Memcached"], context="before")
            await self.logged(house, answered, "shown")
            vendor.fail("signed_out")
            await house.broker.receive(answered.id, Reply(text="Memcached", via="web"), WEB)
            kept = await house.ask(options=["Redis", "Memcached"], context="meanwhile")
            assert (await self.undelivered(house, kept))["message_id"] is None
            (fault,) = [each for each in await house.dispatch.faults(NAME) if each.side == "sending"]
            assert fault.signed_out
        # A credential is mended in the settings, and the daemon starts with it.
        vendor.fail(None)
        async with a_house(vendor, tmp_path) as house:
            await self.counted(vendor, vendor.messages, 2)
            assert "Memcached — by web" in (await self.closed(vendor)).text
            message = vendor.messages()[1]
            assert "meanwhile" in message.text
            await vendor.answer(vendor.known, message.name, [["Redis"]])
            assert await house.answers(kept) == [["Redis"]]
            assert await house.dispatch.faults(NAME) == []

    async def test_it_says_of_itself_whether_it_can_be_used(self, vendor: Vendor, tmp_path: Path) -> None:
        """A check finds nothing wrong with what works, and an app that people write to has a name."""
        channel = vendor.channel()
        findings = await channel.check()
        name = await channel.account() if isinstance(channel, HasAccount) else "none"
        await channel.close()
        assert name.strip()
        assert findings
        assert [finding for finding in findings if not finding.ok] == []

    async def counted(self, vendor: Vendor, things: Callable[[], Sequence[object]], count: int) -> None:
        """Wait until there are so many."""
        await vendor.until(lambda: len(things()) == count)

    async def shown(self, vendor: Vendor) -> Message:
        """The one message, once it is there."""
        await vendor.until(lambda: len(vendor.messages()) > 0)
        return vendor.messages()[0]

    async def closed(self, vendor: Vendor) -> Message:
        """The first message, once nothing can be pressed in it."""
        await vendor.until(lambda: not vendor.messages()[0].answerable)
        return vendor.messages()[0]

    async def undelivered(self, house: House, inquiry: Inquiry) -> dict[str, object]:
        """The record of a delivery that failed, as soon as the log says so."""
        await self.logged(house, inquiry, "undelivered")
        (delivery,) = await house.dispatch.deliveries(inquiry.id)
        return delivery

    async def logged(self, house: House, inquiry: Inquiry, kind: str) -> None:
        """Wait until the log says so of an inquiry."""
        after = 0
        async with asyncio.timeout(SECONDS):
            while True:
                for event in await house.broker.store.events(after, wait=SECONDS):
                    after = event.seq
                    if event.type == kind and event.inquiry == inquiry.id:
                        return


class DirectChannelContract(ChannelContract):
    """The same, and what people write to the app alone. Override `vendor` with a `DirectVendor`."""

    async def answered_by_bare_words(self, vendor: DirectVendor, house: House) -> None:
        """Ask, and answer in words that reply to nothing."""
        inquiry = await house.ask(kind="text", question="What is the name?")
        await self.shown(vendor)
        await vendor.write(vendor.known, "Ada Lovelace")
        assert await house.answers(inquiry) == [["Ada Lovelace"]]

    async def test_bare_words_answer_the_only_question_of_a_direct_message(
        self, vendor: DirectVendor, tmp_path: Path
    ) -> None:
        """They reply to nothing and name nothing: where they stand says what they are about."""
        async with a_house(vendor, tmp_path, address=vendor.direct) as house:
            await self.answered_by_bare_words(vendor, house)

    async def test_bare_words_delivered_twice_answer_no_other_question(
        self, vendor: DirectVendor, tmp_path: Path
    ) -> None:
        """Not even after a restart, when nothing is known by heart."""
        async with a_house(vendor, tmp_path, address=vendor.direct) as house:
            await self.answered_by_bare_words(vendor, house)
            another = await house.ask(kind="text", question="And the other one?")
            await vendor.until(lambda: len(vendor.messages()) == 2)
        async with a_house(vendor, tmp_path, address=vendor.direct) as house:
            await vendor.repeat()
            # What comes after it has been heard, so it has been, too.
            await vendor.write(vendor.stranger, "hello")
            await vendor.until(lambda: bool(vendor.told(vendor.stranger)))
            assert (await house.broker.store.get(another.id)).is_open
