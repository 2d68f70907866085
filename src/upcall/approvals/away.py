"""The switch of `upcall away`: kept in the ledger, so that a restart changes nothing; dialogs that wait hear of it at once."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from upcall.domain.away import AwayMode
from upcall.domain.records import Effects, Happening, Record
from upcall.ports.store import Ledger

KIND, KEY = "away", "mode"
SWITCHED = "away_switched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """How the switch stands, and who set it when; neither before it was ever set."""

    mode: AwayMode = AwayMode.AUTO
    by: str = ""
    at: float | None = None


class AwaySwitch:
    """One switch for all terminals of a home; `after` is the setting `away_after`."""

    def __init__(self, ledger: Ledger, *, after: float) -> None:
        self.after = after
        self._ledger = ledger
        self._changed = asyncio.Event()

    async def read(self) -> Switched:
        """How it stands."""
        record = await self._ledger.look_up(KIND, KEY)
        if record is None:
            return Switched()
        return Switched(mode=AwayMode(str(record.body["mode"])), by=str(record.body["by"]), at=record.at)

    async def set(self, mode: AwayMode, by: str) -> Switched:
        """Set it, and wake the dialogs that wait."""
        now = self._ledger.now()
        record = Record(kind=KIND, key=KEY, at=now, body={"mode": mode.value, "by": by})
        told = Happening(type=SWITCHED, at=now, data={"mode": mode.value, "by": by})
        await self._ledger.revise(KIND, KEY, lambda _: Effects(records=(record,), happenings=(told,)))
        self._changed.set()
        self._changed = asyncio.Event()
        return Switched(mode=mode, by=by, at=now)

    async def wait(self, seconds: float) -> None:
        """Return when it is set at this daemon, or after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
