"""One daemon at a time listens to a channel, and another as soon as that one is gone, halted or deaf."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from typing_extensions import override

from tests.dispatch.scripted_channel import SECONDS, ScriptedChannel
from tests.dispatch.test_dispatch import no_link
from upcall.channels.words import sentences
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.health import Health
from upcall.dispatch.listening import Listener
from upcall.domain.channel.showing import Heard, Inbound, View
from upcall.domain.records import Job
from upcall.ports.channel import Inbox, Line, Unavailable
from upcall.stores.sqlite.store import SqliteStore

LEASE = 0.3
JOB = "listen:one"
PRESS = Inbound(id="press-1", user="U1", place="C1")


class Ear(ScriptedChannel):
    """A channel with an inbox that the test can reach while it listens."""

    def __init__(self) -> None:
        super().__init__()
        self.inbox: Inbox | None = None
        self.deaf = False
        self.tried = 0

    @override
    async def listen(self, inbox: Inbox) -> None:
        self.tried += 1
        self._changed.set()
        if self.deaf:
            raise Unavailable("no way out")
        self.inbox = inbox
        try:
            await asyncio.Event().wait()
        finally:
            self.inbox = None
            self._changed.set()


class Desk:
    """Takes all that it is handed."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.read_to = ""

    async def receive(self, inbound: Inbound) -> Heard:
        self.taken.append(inbound.id)
        return Heard(line="", accepted=True)

    async def view(self, inquiry: str) -> View | None:
        raise AssertionError(f"no form of {inquiry} was opened")

    async def knows(self, user: str) -> bool:
        raise AssertionError(f"{user} was not asked for")

    async def failed(self, message: str, reason: str) -> bool:
        return True

    async def found(self, inquiry: str, place: str, message: str) -> None:
        """Nothing is adopted."""

    async def say(self, line: Line) -> None:
        """Nothing is said."""

    async def connected(self) -> None:
        """Nothing was put off."""

    async def bookmark(self) -> str:
        return self.read_to

    async def keep(self, bookmark: str) -> None:
        self.read_to = bookmark


class Daemon:
    """As much of one as listens."""

    def __init__(self, store: SqliteStore, lease: float | None) -> None:
        self.ear, self.desk = Ear(), Desk()
        post = ConfiguredChannel(name="one", channel=self.ear, words=sentences("en"), link=no_link)
        # Who cannot hear stays away for longer than any test takes.
        health = Health(store, "one", store.now, lambda: None)
        self._listener = Listener(store, post, self.desk, health, lease=lease, pauses=(60.0,))
        self._listener.start()

    async def listens(self) -> Inbox:
        await self.ear.until(lambda: self.ear.inbox is not None)
        assert self.ear.inbox is not None
        return self.ear.inbox

    async def end(self) -> None:
        await self._listener.close()


@asynccontextmanager
async def daemons(
    folder: Path, lease: float | None = LEASE
) -> AsyncIterator[tuple[Daemon, Daemon, SqliteStore]]:
    store = await SqliteStore.open(folder / "upcall.db")
    first = Daemon(store, lease)
    await first.listens()
    second = Daemon(store, lease)
    try:
        yield first, second, store
    finally:
        await first.end()
        await second.end()
        await store.close()


async def test_one_listens_and_the_other_when_it_ends(tmp_path: Path) -> None:
    async with daemons(tmp_path, lease=3600) as (first, second, store):
        inbox = await first.listens()
        assert (await inbox.receive(PRESS)).accepted
        await inbox.keep("7")
        assert await inbox.bookmark() == "7"
        (job,) = await store.jobs(JOB, "one")
        assert job.due > store.now() + 3000
        await first.end()
        # Given back: the other daemon does not wait for the lease to run out.
        (job,) = await store.jobs(JOB, "one")
        assert job.due <= store.now()
        assert (first.desk.taken, second.ear.tried) == (["press-1"], 0)


async def test_the_lease_is_renewed_for_as_long_as_one_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with daemons(tmp_path) as (first, second, store):
        (before,) = await store.jobs(JOB, "one")
        renew, passed = store.renew, asyncio.Event()

        async def renewing(job: Job, until: float) -> bool:
            done = await renew(job, until)
            if store.now() > before.due:
                passed.set()
            return done

        monkeypatch.setattr(store, "renew", renewing)
        async with asyncio.timeout(SECONDS):
            await passed.wait()
        (after,) = await store.jobs(JOB, "one")
        assert (after.fence, after.due > before.due) == (before.fence, True)
        assert (first.ear.inbox is not None, second.ear.tried) == (True, 0)


async def test_whoever_was_halted_takes_nothing_and_listens_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with daemons(tmp_path) as (first, second, store):
        inbox = await first.listens()
        # As if it had been halted until its lease was over, and another daemon was quicker.
        (job,) = await store.claim([JOB], runner="", now=store.now() + 1e6, lease=LEASE - 1e6, limit=1)
        heard = await inbox.receive(PRESS)
        assert (heard.accepted, heard.again, heard.line) == (False, True, sentences("en")["unavailable"])
        with pytest.raises(Unavailable, match="another daemon"):
            await inbox.keep("7")
        assert first.desk.read_to == ""
        await first.ear.until(lambda: first.ear.inbox is None)
        assert first.desk.taken == second.desk.taken == []
        assert "another daemon listens by now" in caplog.text
        assert "its turn is over" in caplog.text
        # Nor has it taken the turn from the daemon that has it.
        assert await store.renew(job, store.now())


async def test_a_mistake_of_ours_is_said_and_ends_no_turn_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with daemons(tmp_path) as (first, second, store):
        renew = store.renew

        async def mistaken(job: Job, until: float) -> bool:
            monkeypatch.setattr(store, "renew", renew)
            raise KeyError("fence")

        monkeypatch.setattr(store, "renew", mistaken)
        # It has given its turn back, and rests for longer than the other sleeps.
        await second.listens()
        assert first.ear.inbox is None
        assert "the listener of one failed" in caplog.text


async def test_whoever_cannot_hear_lets_another_try(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "upcall.db")
    first, second = Daemon(store, LEASE), Daemon(store, LEASE)
    first.ear.deaf = True
    await second.listens()
    await first.end()
    await second.end()
    await store.close()


async def test_a_daemon_alone_asks_nobody(tmp_path: Path) -> None:
    async with daemons(tmp_path, lease=None) as (first, _, store):
        assert (await (await first.listens()).receive(PRESS)).accepted
        assert await store.jobs(JOB, "one") == []
