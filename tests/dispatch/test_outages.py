"""Outages of a vendor: what is kept, what is tried, and how soon everything is shown when it is over."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from typing_extensions import override

from tests.dispatch.scripted_channel import SECONDS, ScriptedChannel
from tests.dispatch.test_dispatch import ANA, ONE, TWO, Hall, a_hall
from upcall.dispatch.messages import LONGEST_PAUSE
from upcall.dispatch.outage import PAUSES
from upcall.domain.channel.routing import Route
from upcall.domain.channel.showing import Reference, View
from upcall.ports.channel import Refused, SignedOut, Unavailable
from upcall.testing.examples import Clock

DOWN = "no reply"


class Vendor:
    """Says the same to everything while it is down."""

    def __init__(self, channel: ScriptedChannel, monkeypatch: pytest.MonkeyPatch) -> None:
        self.problem: Exception | None = None
        self.calls = 0
        self._called = asyncio.Event()
        show, refresh = channel.show, channel.refresh

        async def showing(view: View, place: str) -> Reference:
            self._say()
            return await show(view, place)

        async def refreshing(reference: Reference, view: View) -> None:
            self._say()
            await refresh(reference, view)

        monkeypatch.setattr(channel, "show", showing)
        monkeypatch.setattr(channel, "refresh", refreshing)

    async def called(self, before: int) -> None:
        """Wait until it was called once more than that."""
        async with asyncio.timeout(SECONDS):
            while self.calls <= before:
                self._called.clear()
                await self._called.wait()

    def _say(self) -> None:
        self.calls += 1
        self._called.set()
        if self.problem is not None:
            raise self.problem


@asynccontextmanager
async def a_stopped_hall(folder: Path, *routes: Route, clock: Clock) -> AsyncIterator[Hall]:
    """A hall in which no time passes: what is put off is done only if something else than time says so."""
    async with a_hall(folder, *routes, clock=clock) as hall:
        await hall.one.until(lambda: hall.one.inbox is not None)
        yield hall


async def undelivered(hall: Hall, count: int) -> None:
    after = 0
    for _ in range(count):
        after = await hall.said("undelivered", after)


@pytest.mark.promise("trust/48")
async def test_the_listeners_reconnection_shows_what_was_put_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_stopped_hall(tmp_path, Route(places=(ONE,)), clock=Clock()) as hall:
        vendor = Vendor(hall.one, monkeypatch)
        shown = await hall.ask("before")
        await hall.said("shown", 0)
        vendor.problem = Unavailable(DOWN)
        asked = [f"question {number}" for number in range(5)]
        for question in asked:
            await hall.ask(question)
        await undelivered(hall, len(asked))
        await hall.answer(shown)
        assert hall.one.questions == ["before"]
        vendor.problem = None
        assert hall.one.inbox is not None
        await hall.one.inbox.connected()
        await hall.one.until(lambda: sorted(hall.one.questions) == ["before", *asked])
        await hall.one.until(lambda: hall.one.outcomes[0] is not None)


@pytest.mark.promise("trust/48")
async def test_the_first_message_that_is_taken_brings_all_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the vendor has no connection that could be made again."""
    clock = Clock()
    async with a_stopped_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        vendor = Vendor(hall.one, monkeypatch)
        vendor.problem = Unavailable(DOWN)
        for number in range(4):
            await hall.ask(f"question {number}")
        await undelivered(hall, 4)
        vendor.problem = None
        # Long enough for the first of them, and for nothing that was put off later.
        clock.now += PAUSES[0]
        await hall.ask("afterwards")
        await hall.one.until(lambda: len(hall.one.shown) == 5)


@pytest.mark.promise("trust/48")
async def test_no_pause_is_longer_than_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LONGEST_PAUSE <= 60
    clock = Clock()
    async with a_stopped_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        vendor = Vendor(hall.one, monkeypatch)
        vendor.problem = Unavailable(DOWN)
        for number in range(2 * len(PAUSES)):
            calls = vendor.calls
            await hall.ask(f"question {number}")
            # However long the outage, a minute later the vendor is asked again.
            await vendor.called(calls)
            await undelivered(hall, number + 1)
            clock.now += 60


@pytest.mark.promise("trust/47")
async def test_during_an_outage_the_vendor_is_left_alone_and_new_questions_take_the_next_route(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    routes = (Route(places=(ONE,)), Route(places=(TWO,)))
    async with a_stopped_hall(tmp_path, *routes, clock=Clock()) as hall:
        vendor = Vendor(hall.one, monkeypatch)
        vendor.problem = SignedOut("token_revoked")
        asked = [await hall.ask(f"question {number}") for number in range(5)]
        await hall.two.until(lambda: len(hall.two.shown) == 5)
        assert vendor.calls == 1
        errors = {each["channel"]: each["error"] for each in await hall.dispatch.deliveries(asked[-1].id)}
        assert errors["one"] == "token_revoked"


@pytest.mark.promise("trust/47")
async def test_what_a_bad_credential_kept_back_is_done_after_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    async with a_stopped_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        vendor = Vendor(hall.one, monkeypatch)
        shown = await hall.ask("before")
        await hall.said("shown", 0)
        vendor.problem = SignedOut("token_revoked")
        await hall.ask("meanwhile")
        await undelivered(hall, 1)
        await hall.answer(shown)
        clock.now += 12 * 3600
        await hall.ask("another day")
        await undelivered(hall, 2)
    async with a_stopped_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        await hall.one.until(lambda: {"meanwhile", "another day"} <= set(hall.one.questions))
        await hall.one.until(lambda: "✓ Answered: Redis — by ana" in hall.one.outcomes)


@pytest.mark.promise("trust/49")
@pytest.mark.thorough
async def test_what_an_earlier_daemon_was_at_is_done_at_once_after_a_start(tmp_path: Path) -> None:
    clock = Clock()
    async with a_stopped_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        hall.one.hold.clear()
        await hall.ask()
        # Killed while the message is on its way: the job is under its lease.
        await hall.one.until(lambda: hall.one.attempts == 1)
    async with a_stopped_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        await hall.one.until(lambda: hall.one.questions == ["Which cache?"])


async def test_a_question_that_may_not_be_shown_yet_holds_up_no_other_after_an_outage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    async with a_stopped_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        vendor = Vendor(hall.one, monkeypatch)
        vendor.problem = Unavailable(DOWN)
        snoozed, _ = await hall.ask("not yet"), await hall.ask("now")
        await undelivered(hall, 2)
        # Until before the moment to which the other one was put off.
        await hall.broker.snooze(snoozed.id, ANA, PAUSES[0] / 2)
        vendor.problem = None
        assert hall.one.inbox is not None
        await hall.one.inbox.connected()
        await hall.one.until(lambda: hall.one.questions == ["now"])
        clock.now += LONGEST_PAUSE
        await hall.ask("next")
        await hall.one.until(lambda: sorted(hall.one.questions) == ["next", "not yet", "now"])


async def test_a_damaged_question_holds_up_the_escalation_of_no_other(tmp_path: Path) -> None:
    clock = Clock()
    routes = Route(places=(ONE,), escalate_after=60), Route(places=(TWO,))
    async with a_stopped_hall(tmp_path, *routes, clock=clock) as hall:
        damaged, _ = await hall.ask("damaged"), await hall.ask("sound")
        await hall.one.until(lambda: len(hall.one.shown) == 2)
    with closing(sqlite3.connect(tmp_path / "upcall.db")) as db, db:
        db.execute("UPDATE inquiry SET body = '{}' WHERE id = ?", (damaged.id,))
    clock.now += 60
    async with a_hall(tmp_path, *routes, clock=clock) as hall:
        await hall.two.until(lambda: hall.two.questions == ["sound"])


@pytest.mark.parametrize("mood", ["hangs", "fails"])
async def test_a_channel_that_cannot_be_closed_does_not_keep_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, mood: str
) -> None:
    class Stuck(ScriptedChannel):
        @override
        async def close(self) -> None:
            if mood == "hangs":
                await asyncio.Event().wait()
            raise OSError("no such connection")

    monkeypatch.setattr("tests.dispatch.test_dispatch.ScriptedChannel", Stuck)
    monkeypatch.setattr("upcall.dispatch.channel_at_work.CLOSE_WITHIN", 0.1)
    async with asyncio.timeout(SECONDS):
        async with a_hall(tmp_path, Route(places=(ONE,))):
            pass
    assert "could not be closed" in caplog.text


class Finding(ScriptedChannel):
    """Can say whether it shows a question already, and is never asked in vain."""

    async def find(self, view: View, place: str) -> Reference | None:
        raise Unavailable(DOWN)


WEEKS = 30 * 24 * 3600.0


@pytest.mark.parametrize(
    ("problem", "later"), [(SignedOut("token_revoked"), 60.0), (Unavailable(DOWN), WEEKS)]
)
async def test_what_is_over_is_not_kept_for_ever_for_a_channel_that_never_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception, later: float
) -> None:
    monkeypatch.setattr("tests.dispatch.test_dispatch.ScriptedChannel", Finding)
    clock = Clock()
    async with a_stopped_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        vendor = Vendor(hall.one, monkeypatch)
        vendor.problem = problem
        asked = [await hall.ask(f"question {number}") for number in range(3)]
        await undelivered(hall, 3)
        for inquiry in asked:
            await hall.answer(inquiry)
        clock.now += later
        # Its job is due after all the others.
        await hall.ask("later")
        await undelivered(hall, 4)
        assert [await hall.broker.store.jobs("show:one", inquiry.id) for inquiry in asked] == [[], [], []]


async def test_one_message_that_fails_for_ever_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fussy(ScriptedChannel):
        @override
        async def show(self, view: View, place: str) -> Reference:
            if view.questions[0].text == "poison":
                raise Unavailable("500")
            return await super().show(view, place)

    monkeypatch.setattr("tests.dispatch.test_dispatch.ScriptedChannel", Fussy)
    async with a_stopped_hall(tmp_path, Route(places=(ONE,)), clock=Clock()) as hall:
        await hall.ask("poison")
        await undelivered(hall, 1)
        for number in range(3):
            await hall.ask(f"question {number}")
            await hall.one.until(lambda: len(hall.one.shown) == number + 1)  # noqa: B023 - awaited here


@pytest.mark.promise("trust/50")
async def test_a_fault_is_on_record_from_its_first_moment_until_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    began = clock.now
    async with a_stopped_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        vendor = Vendor(hall.one, monkeypatch)
        assert await hall.dispatch.faults("one") == []
        vendor.problem = Unavailable(DOWN)
        await hall.ask("first")
        await undelivered(hall, 1)
        clock.now += 100
        vendor.problem = SignedOut("token_revoked")
        await hall.ask("second")
        await undelivered(hall, 2)
        (fault,) = await hall.dispatch.faults("one")
        assert (fault.side, fault.problem, fault.since) == ("sending", "token_revoked", began)
        assert "`upcall channels add one`" in fault.hint("one")
        vendor.problem = None
        assert hall.one.inbox is not None
        await hall.one.inbox.connected()
        await hall.one.until(lambda: len(hall.one.shown) == 2)
        assert await hall.dispatch.faults("one") == []


@pytest.mark.promise("trust/50")
@pytest.mark.parametrize("problem", [SignedOut("no such token"), Refused("not allowed"), Unavailable("gone")])
async def test_a_channel_that_cannot_be_heard_is_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    class Deaf(ScriptedChannel):
        @override
        async def listen(self, inbox: object) -> None:
            raise problem

    monkeypatch.setattr("tests.dispatch.test_dispatch.ScriptedChannel", Deaf)
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        async with asyncio.timeout(SECONDS):
            while not (found := await hall.dispatch.faults("one")):
                pass
        assert [(fault.side, fault.problem) for fault in found] == [("listening", str(problem))]
