"""Names the branch of the folder that a question comes from, as it is asked: people see it from the first moment."""

import asyncio
from dataclasses import replace
from functools import partial

from upcall.domain.inquiry.inquiry import LOCAL_AGENT, Origin
from upcall.ports.branches import branch_of

PATIENCE = 0.25
"""Seconds that asking waits for a folder; one on a network that does not answer is not worth more."""

FRESH = 1.0
"""Seconds for which a branch is not read again: many agents may ask from one folder at once."""

AT_ONCE = 4
MOST_KNOWN = 1000
ELSEWHERE = "http"
"""The door whose askers may be on another machine, and tell their branch themselves; those of this machine's own token are here."""


class Placing:
    """Reads branches in threads, a few folders at a time: where these hang, the next question goes without."""

    def __init__(self) -> None:
        self._reading: dict[str, asyncio.Future[str]] = {}
        self._known: dict[str, tuple[float, str]] = {}

    async def placed(self, origin: Origin) -> Origin:
        """The origin with its branch, as far as the folder is here and has one."""
        # A program without a folder of its own is at the root.
        folder = (origin.workspace or "").rstrip("/")
        here = origin.door != ELSEWHERE or origin.agent == LOCAL_AGENT
        if origin.branch or not here or not folder.startswith("/"):
            return origin
        until, branch = self._known.get(folder, (0.0, ""))
        if asyncio.get_running_loop().time() < until:
            return _on(branch, origin)
        if folder not in self._reading and len(self._reading) >= AT_ONCE:
            return origin
        reading = self._reading.get(folder) or self._read(folder)
        done, _ = await asyncio.wait((reading,), timeout=PATIENCE)
        return _on(reading.result(), origin) if done else origin

    def _read(self, folder: str) -> asyncio.Future[str]:
        reading = self._reading[folder] = asyncio.ensure_future(asyncio.to_thread(branch_of, folder))
        reading.add_done_callback(partial(self._have_read, folder))
        return reading

    def _have_read(self, folder: str, reading: asyncio.Future[str]) -> None:
        del self._reading[folder]
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        if not reading.cancelled():
            self._known[folder] = asyncio.get_running_loop().time() + FRESH, reading.result()


def _on(branch: str, origin: Origin) -> Origin:
    # Without a branch it stays the one that the asker has: thousands may wait, and each keeps both.
    return replace(origin, branch=branch) if branch else origin
