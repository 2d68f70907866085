"""Listens to a channel; where daemons share a store, at one of them at a time.

The connection belongs to the daemon that holds the channel's job, for as long as it renews the lease. A daemon that dies,
hangs or cannot hear loses its turn to another within seconds. One that was halted asks the store before it takes what it hears.
"""

import asyncio
import logging
from collections.abc import Sequence

from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.health import LISTENING, Health
from upcall.dispatch.outage import PAUSES
from upcall.domain.channel.showing import Heard, Inbound, View
from upcall.domain.errors import StorageError
from upcall.domain.records import Effects, Job, Record
from upcall.ports.background import Background
from upcall.ports.channel import Inbox, Line, Refused, SignedOut, Unavailable
from upcall.ports.store import Ledger

LEASE = 6.0
"""Seconds after which a daemon that is not heard of has lost its turn."""
KIND = "listening"
REFUSED_PAUSE = 300.0
"""Seconds before another attempt where we may not listen at all: some vendors count these, and lock an account in the end."""

log = logging.getLogger("upcall.dispatch")


class Listener:
    """Of one channel at one daemon. Without a lease there is no other daemon, and the store is not asked."""

    def __init__(
        self,
        store: Ledger,
        configured: ConfiguredChannel,
        inbox: Inbox,
        health: Health,
        *,
        lease: float | None = None,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        self._store = store
        self._configured = configured
        self._inbox = inbox
        self._health = health
        self._lease = lease
        self._pauses = pauses
        self._failures = 0
        self._pause = 0.0
        self._listening = Background(f"the listener of {configured.name}", self._turn, log)

    def start(self) -> None:
        """Begin to listen, whenever it is this daemon's turn; a lost connection is made again."""
        self._listening.start()

    async def close(self) -> None:
        """Hang up, and leave the channel to another daemon."""
        await self._listening.close()

    async def _turn(self) -> None:
        self._pause = 0.0
        if self._lease is None:
            await self._hear(self._inbox)
        else:
            await self._take_turn(self._lease)
        await asyncio.sleep(self._pause)

    async def _take_turn(self, lease: float) -> None:
        """Wait for our turn, and listen until it is over. Who cannot hear gives it back before the pause."""
        held = await self._claimed(lease)
        log.info("listening to %s", self._configured.name)
        turn = _Turn(self._store, held, lease, self._configured, self._inbox)
        tasks = [asyncio.create_task(self._hear(turn)), asyncio.create_task(turn.hold())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._give_back(held)

    async def _claimed(self, lease: float) -> Job:
        store, name = self._store, self._configured.name
        kind = f"listen:{name}"
        first = Job(id=kind, kind=kind, subject=name, due=store.now())

        def begin(kept: Record | None) -> Effects | None:
            # Put a second time, the job would be taken from the daemon that holds it.
            known = Record(kind=KIND, key=name, at=first.due)
            return Effects(records=(known,), jobs=(first,)) if kept is None else None

        await store.revise(KIND, name, begin)
        while True:
            due, now = await store.next_due([kind], ""), store.now()
            if due is not None and due <= now:
                claimed = await store.claim([kind], runner="", now=now, lease=lease, limit=1)
                if claimed:
                    return claimed[0]
            await asyncio.sleep(lease / 3 if due is None else min(max(due - now, 0), lease / 3))

    async def _give_back(self, held: Job) -> None:
        try:
            await self._store.renew(held, self._store.now())
        except StorageError as error:
            log.warning(
                "could not give back the turn to listen to %s: %s", self._configured.name, error.message
            )

    async def _hear(self, inbox: Inbox) -> None:
        """Listen until it ends, and find out how long to leave the channel alone."""
        time = asyncio.get_running_loop().time
        began = time()
        try:
            await self._configured.channel.listen(inbox)
        except SignedOut as problem:
            log.error("%s cannot be heard: %s", self._configured.name, problem)  # noqa: TRY400 - it is no mistake of ours
            await self._health.failed(LISTENING, problem)
            self._failures = len(self._pauses)
        except Unavailable as problem:
            log.warning("%s cannot be heard: %s", self._configured.name, problem)
            await self._health.failed(LISTENING, problem)
        except Refused as problem:
            log.error("%s will not be heard: %s", self._configured.name, problem)  # noqa: TRY400 - it is no mistake of ours
            await self._health.failed(LISTENING, problem)
            self._pause = REFUSED_PAUSE
            return
        except Exception as error:
            log.exception("the listener of %s failed", self._configured.name)
            await self._health.failed(LISTENING, Unavailable(f"the listener failed: {type(error).__name__}"))
        self._pause = self._pauses[min(self._failures, len(self._pauses) - 1)]
        # What was heard for longer than that is a new beginning.
        self._failures = 1 if time() - began > self._pause else self._failures + 1


class _Turn:
    """The inbox of a channel for as long as it is our turn."""

    def __init__(
        self, store: Ledger, held: Job, lease: float, configured: ConfiguredChannel, inbox: Inbox
    ) -> None:
        self._store = store
        self._held = held
        self._lease = lease
        self._configured = configured
        self._inbox = inbox

    async def hold(self) -> None:
        """Renew the lease until it is lost, or the store cannot be asked for its whole length."""
        time = asyncio.get_running_loop().time
        sure = time()
        while True:
            await asyncio.sleep(self._lease / 3)
            asked = time()
            try:
                async with asyncio.timeout_at(max(sure + self._lease, asked + self._lease / 3)):
                    held = await self._renewed()
            except StorageError as error:
                log.warning(
                    "the turn to listen to %s cannot be renewed: %s", self._configured.name, error.message
                )
                held = asked < sure + self._lease
            except TimeoutError:
                held = False
            else:
                sure = asked
            if not held:
                log.warning(
                    "this daemon does not listen to %s any more: its turn is over", self._configured.name
                )
                return

    async def receive(self, inbound: Inbound) -> Heard:
        """Take what a person did. A daemon that was halted does not know that it has lost its turn, so the store is asked."""
        if not await self._is_ours():
            log.warning(
                "what came through %s was not taken: another daemon listens by now", self._configured.name
            )
            return Heard(line=self._configured.words["unavailable"], accepted=False, again=True)
        return await self._inbox.receive(inbound)

    async def view(self, inquiry: str) -> View | None:
        """An inquiry as it would be shown now."""
        return await self._inbox.view(inquiry)

    async def knows(self, user: str) -> bool:
        """Whether a person may answer."""
        return await self._inbox.knows(user)

    async def failed(self, message: str, reason: str) -> bool:
        """Take that a message did not arrive."""
        return await self._inbox.failed(message, reason)

    async def found(self, inquiry: str, place: str, message: str) -> None:
        """Take that a message shows an inquiry."""
        await self._inbox.found(inquiry, place, message)

    async def say(self, line: Line) -> None:
        """Have a line said."""
        await self._inbox.say(line)

    async def connected(self) -> None:
        """Take that the vendor has taken our connection."""
        await self._inbox.connected()

    async def bookmark(self) -> str:
        """Up to where this channel has been read."""
        return await self._inbox.bookmark()

    async def keep(self, bookmark: str) -> None:
        """Remember up to where it was read, unless that is another's to say by now.

        Raises:
            Unavailable: if it is, or it cannot be kept.
        """
        if not await self._is_ours():
            raise Unavailable("another daemon listens by now")
        await self._inbox.keep(bookmark)

    async def _is_ours(self) -> bool:
        try:
            return await self._renewed()
        except StorageError as error:
            log.warning(
                "the turn to listen to %s cannot be renewed: %s", self._configured.name, error.message
            )
            return False

    async def _renewed(self) -> bool:
        return await self._store.renew(self._held, self._store.now() + self._lease)
