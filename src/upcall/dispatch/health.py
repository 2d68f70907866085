"""Whether a channel works: since when it does not, why, and what to do about it.

A channel sends and listens, and each of the two can fail alone. What fails is a record in the store, so every daemon and
every command sees it; what works has no record.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from upcall.domain.document import timestamp
from upcall.domain.errors import StorageError
from upcall.domain.records import Effects, Record
from upcall.ports.channel import SignedOut
from upcall.ports.store import Ledger

KIND = "health"
SENDING, LISTENING = "sending", "listening"
SIDES = (SENDING, LISTENING)

log = logging.getLogger("upcall.dispatch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a channel does not work, and since when."""

    side: str
    problem: str
    signed_out: bool
    since: float
    remedy: str = ""

    def document(self, channel: str) -> dict[str, object]:
        """A fault as others see it in JSON, with what to do."""
        return {
            "side": self.side,
            "problem": self.problem,
            "since": timestamp(self.since),
            "hint": self.hint(channel),
        }

    def hint(self, channel: str) -> str:
        """What to do about it."""
        if self.remedy:
            return f"{self.remedy}; the channel then comes on by itself, and shows what is still open"
        if self.signed_out:
            return (
                f"give it a valid credential with `upcall channels add {channel}`; "
                "what is asked meanwhile is kept and shown then"
            )
        return (
            f"it is tried again every half minute; `upcall channels test {channel}` tries it at once, "
            "and what is asked meanwhile is kept"
        )


class Health:
    """Of one channel at one daemon. `recovered`, and what is added with `tell`, is called when it works again.

    `errors` counts the calls of each side that failed.
    """

    def __init__(
        self, store: Ledger, channel: str, clock: Callable[[], float], recovered: Callable[[], None]
    ) -> None:
        self._store = store
        self._channel = channel
        self._clock = clock
        self._listeners = [recovered]
        self.errors: dict[str, int] = dict.fromkeys(SIDES, 0)
        # Until the first success an earlier daemon may have left a record.
        self._may_be_down = set[str](SIDES)

    def tell(self, recovered: Callable[[], None]) -> None:
        """Have something else called as well when the channel works again."""
        self._listeners.append(recovered)

    def _recovered(self) -> None:
        for recovered in self._listeners:
            recovered()

    async def failed(self, side: str, problem: Exception) -> None:
        """Keep that the channel does not work; the moment of the first failure stays."""
        self.errors[side] += 1
        self._may_be_down.add(side)
        now = self._clock()
        body = {"problem": str(problem), "signed_out": isinstance(problem, SignedOut)}

        def decide(kept: Record | None) -> Effects | None:
            if kept is not None and kept.body == body:
                return None
            since = now if kept is None else kept.at
            name = f"{self._channel}:{side}"
            return Effects(records=(Record(kind=KIND, key=name, state=self._channel, at=since, body=body),))

        try:
            await self._store.revise(KIND, f"{self._channel}:{side}", decide)
        except StorageError as error:
            log.warning("that %s does not work could not be kept: %s", self._channel, error.message)

    async def works(self, side: str) -> None:
        """Keep that the channel works, and let what was put off be done at once if it did not."""
        if side not in self._may_be_down:
            return
        name = f"{self._channel}:{side}"
        was_down = False

        def decide(kept: Record | None) -> Effects | None:
            nonlocal was_down
            was_down = kept is not None
            return None if kept is None else Effects(forgotten=((KIND, name),))

        try:
            await self._store.revise(KIND, name, decide)
        except StorageError as error:
            log.warning("that %s works again could not be kept: %s", self._channel, error.message)
            return
        self._may_be_down.discard(side)
        if was_down:
            log.info("%s works again", self._channel)
            self._recovered()

    async def connected(self) -> None:
        """The vendor has taken the listener's connection: what could not be sent is tried at once."""
        await self.works(LISTENING)
        self._recovered()

    async def called(self) -> None:
        """The vendor calls us, so it is there: if nothing could be sent, that is tried at once."""
        await self.works(LISTENING)
        if SENDING in self._may_be_down:
            self._recovered()


async def faults(store: Ledger, channel: str) -> list[Fault]:
    """What does not work about a channel, the oldest first."""
    found = [await store.look_up(KIND, f"{channel}:{side}") for side in SIDES]
    kept = sorted((record for record in found if record is not None), key=lambda record: record.at)
    return [
        Fault(
            side=record.key.rpartition(":")[2],
            problem=str(record.body["problem"]),
            signed_out=record.body["signed_out"] is True,
            since=record.at,
        )
        for record in kept
    ]
