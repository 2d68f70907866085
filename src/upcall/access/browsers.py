"""Which browser each session belongs to, and when it was last here, so that a person can tell them apart."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from upcall.access.tokens import SESSION_SECONDS
from upcall.domain.errors import StorageError
from upcall.domain.records import Effects, Record
from upcall.ports.paging import each_record
from upcall.ports.store import Store

KIND = "browser"
NOTED_EVERY = 300.0
"""Seconds between two notes of the same session: a page asks for many things."""

# The first that fits: browsers name those they descend from, too.
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser/": "Samsung Internet",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "CriOS/": "Chrome",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "CrOS": "ChromeOS",
    "Mac OS X": "macOS",
    "Linux": "Linux",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """The browser of a session; what it does not tell is empty."""

    browser: str
    system: str
    seen_at: float


class Browsers:
    """The browsers of all sessions. Of what a browser sends about itself, two names are kept."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._noted: dict[str, float] = {}

    async def note(self, session: str, user_agent: str) -> None:
        """Keep that this session was here just now."""
        now = self._clock()
        if now - self._noted.get(session, -NOTED_EVERY) < NOTED_EVERY:
            return
        self._noted[session] = now
        body = {"browser": _first(BROWSERS, user_agent), "system": _first(SYSTEMS, user_agent)}
        seen = Record(kind=KIND, key=session, at=now, body=body)
        # Where no more can be written, what is kept can still be read.
        with suppress(StorageError):
            await self._store.revise(KIND, session, lambda _: Effects(records=(seen,)))

    async def known(self) -> Mapping[str, SignedIn]:
        """The browser of each session, by the name of the session."""
        return {
            record.key: SignedIn(
                browser=str(record.body["browser"]), system=str(record.body["system"]), seen_at=record.at
            )
            async for record in each_record(self._store, KIND)
        }

    async def tidy(self) -> None:
        """Forget the browsers of sessions that must be over by now."""
        oldest = self._clock() - SESSION_SECONDS
        over = tuple([(KIND, each.key) async for each in each_record(self._store, KIND) if each.at < oldest])
        self._noted = {name: at for name, at in self._noted.items() if at >= oldest}
        if over:
            await self._store.revise(KIND, over[0][1], lambda _: Effects(forgotten=over))


def _first(names: Mapping[str, str], user_agent: str) -> str:
    return next((name for sign, name in names.items() if sign in user_agent), "")
