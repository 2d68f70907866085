"""A worker that was halted between taking a job up and doing it: what is another's by then it leaves alone."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.dispatch.scripted_channel import SECONDS, ScriptedChannel
from tests.dispatch.test_dispatch import ONE, Hall, a_hall, no_link
from upcall.channels.words import sentences
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.messages import CALL_SECONDS, LEASE
from upcall.dispatch.worker import Worker
from upcall.domain.channel.routing import Route, Routing
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Happening, Job
from upcall.ports.store import Store
from upcall.testing.examples import Clock

OVER = "held up past its lease"


class Halt:
    """Stops the worker that takes up a job where it looks at the inquiry, until it is told to go on."""

    def __init__(self, hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
        self._store = hall.broker.store
        self._get, self._claim = self._store.get, self._store.claim
        self._patch = monkeypatch
        self._reached = asyncio.Event()
        self._on = asyncio.Event()

    def begin(self) -> None:
        self._patch.setattr(self._store, "get", self._halted)
        self._patch.setattr(self._store, "claim", self._claimed)

    async def _claimed(
        self, kinds: Sequence[str], *, runner: str, now: float, lease: float, limit: int
    ) -> Sequence[Job]:
        jobs = await self._claim(kinds, runner=runner, now=now, lease=lease, limit=limit)
        if any(job.kind.endswith(f":{ONE.channel}") for job in jobs):
            self._reached.set()
        return jobs

    async def _halted(self, name: str) -> Inquiry:
        await self._on.wait()
        return await self._get(name)

    async def reached(self) -> None:
        """Wait until a job is taken up, by whom nothing is done about it yet."""
        async with asyncio.timeout(SECONDS):
            await self._reached.wait()

    async def taken(self, kind: str, clock: Clock) -> Job:
        """The job that was taken up, in the hands of another, who takes it as soon as the lease is over."""
        await self.reached()
        assert await self._claim([kind], runner="", now=clock.now, lease=LEASE, limit=1) == []
        clock.now += LEASE
        (job,) = await self._claim([kind], runner="", now=clock.now, lease=LEASE, limit=1)
        return job

    def end(self) -> None:
        self._patch.setattr(self._store, "get", self._get)
        self._patch.setattr(self._store, "claim", self._claim)
        self._on.set()


class Idle:
    """Notices when a worker has found nothing to do, and asks when there will be something."""

    def __init__(self, store: Store, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._next_due, self._kind, self._asked = store.next_due, kind, asyncio.Event()
        monkeypatch.setattr(store, "next_due", self._noticed)

    async def _noticed(self, kinds: Sequence[str], runner: str) -> float | None:
        if self._kind in kinds:
            self._asked.set()
        return await self._next_due(kinds, runner)

    async def reached(self) -> None:
        async with asyncio.timeout(SECONDS):
            await self._asked.wait()


async def shown(hall: Hall) -> Inquiry:
    """A question that is shown, and of which nothing is left to be done for the moment."""
    inquiry = await hall.ask()
    await hall.said("shown", 0)
    async with asyncio.timeout(SECONDS):
        while await hall.broker.store.jobs("refresh:one", inquiry.id):
            pass
    return inquiry


async def next_is_shown(hall: Hall) -> None:
    """Wait until the worker has gone on to what is asked next, and so has left what it had."""
    await hall.ask("And then?")
    await hall.one.until(lambda: "And then?" in hall.one.questions)


async def test_what_another_shows_by_then_is_not_shown_a_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    async with a_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        halt = Halt(hall, monkeypatch)
        halt.begin()
        await hall.ask()
        theirs = await halt.taken("show:one", clock)
        halt.end()
        await next_is_shown(hall)
        assert hall.one.questions == ["And then?"]
        assert f"{theirs.id} was {OVER}" in caplog.text
        assert await hall.broker.store.settle(theirs)


async def test_what_another_brings_up_to_date_by_then_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    async with a_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        inquiry = await shown(hall)
        halt = Halt(hall, monkeypatch)
        halt.begin()
        await hall.answer(inquiry)
        theirs = await halt.taken("refresh:one", clock)
        halt.end()
        await next_is_shown(hall)
        assert hall.one.outcomes == [None, None]
        assert f"{theirs.id} was {OVER}" in caplog.text
        # And when that one fails, it is done after all.
        await hall.broker.store.renew(theirs, clock.now)
        await next_is_shown(hall)
        await hall.one.until(lambda: hall.one.outcomes[0] == "✓ Answered: Redis — by ana")


async def test_nobody_is_reminded_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    async with a_hall(tmp_path, Route(places=(ONE,), remind=60.0), clock=clock) as hall:
        await shown(hall)
        halt = Halt(hall, monkeypatch)
        halt.begin()
        clock.now += 60.0
        # Any event of the dispatcher makes workers look for what is due.
        await hall.broker.store.record(Happening(type="tick", at=clock.now, data={}))
        theirs = await halt.taken("remind:one", clock)
        halt.end()
        await next_is_shown(hall)
        assert hall.one.told == []
        assert f"{theirs.id} was {OVER}" in caplog.text


async def test_whoever_was_held_up_and_still_has_the_job_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    async with a_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        halt = Halt(hall, monkeypatch)
        halt.begin()
        inquiry = await hall.ask()
        await halt.reached()
        clock.now += CALL_SECONDS
        halt.end()
        await hall.one.until(lambda: hall.one.questions == ["Which cache?"])
        await hall.answer(inquiry)
        await hall.one.until(lambda: hall.one.outcomes == ["✓ Answered: Redis — by ana"])
        assert OVER not in caplog.text


async def test_what_a_slow_vendor_is_still_at_is_not_shown_again_by_a_daemon_that_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that starts claims early what was put off; a job in the middle of a call is not among that."""
    clock = Clock()
    async with a_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        hall.one.hold.clear()
        await hall.ask()
        await hall.one.until(lambda: hall.one.attempts == 1)
        # The call takes its whole time. Only the clock of the store moves.
        clock.now += CALL_SECONDS
        other = ScriptedChannel()
        post = ConfiguredChannel(name=ONE.channel, channel=other, words=sentences("en"), link=no_link)
        routing = Routing(routes=(), channels=(ONE.channel,))
        idle = Idle(hall.broker.store, f"show:{ONE.channel}", monkeypatch)
        started = Worker(hall.broker.store, post, CurrentRouting(routing), clock, alone=False)
        started.start()
        await idle.reached()
        hall.one.hold.set()
        await hall.one.until(lambda: hall.one.questions == ["Which cache?"])
        await started.close()
        assert other.attempts == 0
