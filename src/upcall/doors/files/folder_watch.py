"""Watches a folder: inotify where the file system supports it, polling otherwise.

The caller of `add` looks into the folder once right after it: changes before that are not reported.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from upcall.doors.files.inotify import ARRIVED, GONE, OVERFLOW, Inotify, tells_everything

POLL = 1.0
"""Seconds between two looks into a folder that is polled."""

Look = Callable[[str | None], None]
"""Called with the name of what arrived, or with None: anything may have happened, the folder's end included."""

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Watched:
    folder: str
    look: Look
    mask: int
    number: int | None = None
    polled: bool = False


class FolderWatch:
    """Watches folders for one event loop. There is one per process, and no timer unless some folder needs it."""

    def __init__(
        self,
        *,
        poll: float = POLL,
        events: Callable[[], Inotify] = Inotify,
        trusted: Callable[[str], bool] = tells_everything,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._poll = poll
        self._trusted = trusted
        self._watched: set[_Watched] = set()
        self._numbers: dict[int, _Watched] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._events: Inotify | None = None
        try:
            self._events = events()
        except OSError as problem:
            log.warning("no news of files from the system (%s); looking every %g s", problem, poll)
        else:
            self._loop.add_reader(self._events.fileno(), self._heard)

    def add(self, folder: str, look: Look, mask: int = ARRIVED) -> Callable[[], None]:
        """Watch a folder, which need not exist yet, until the function returned here is called."""
        watched = _Watched(folder, look, mask)
        self._watched.add(watched)
        self._begin(watched)

        def end() -> None:
            self._watched.discard(watched)
            self._forget(watched)

        return end

    @property
    def polls(self) -> bool:
        """Whether there is a folder that has to be looked into now and then."""
        return self._timer is not None

    def close(self) -> None:
        """Watch nothing any more."""
        self._watched.clear()
        self._numbers.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._events is not None:
            self._loop.remove_reader(self._events.fileno())
            self._events.close()
            self._events = None

    def _begin(self, watched: _Watched) -> None:
        if self._events is not None:
            try:
                watched.number = self._events.add(watched.folder, watched.mask)
                self._numbers[watched.number] = watched
            except OSError as problem:
                log.debug("%r cannot be watched: %s", watched.folder, problem)
        watched.polled = watched.number is None or not self._trusted(watched.folder)
        self._set_timer()

    def _forget(self, watched: _Watched) -> None:
        if watched.number is not None:
            del self._numbers[watched.number]
            if self._events is not None:
                self._events.remove(watched.number)
            watched.number = None

    def _heard(self) -> None:
        events = self._events.read() if self._events is not None else []
        for event in events:
            if event.mask & OVERFLOW:
                # Too much at once: some of it was not told.
                for each in list(self._watched):
                    self._tell(each, None)
                continue
            watched = self._numbers.get(event.watch)
            if watched is None:
                continue
            if event.mask & GONE:
                self._lost(watched)
            else:
                self._tell(watched, event.name)

    def _lost(self, watched: _Watched) -> None:
        """Its folder went away: look for another of that name until there is one."""
        self._forget(watched)
        watched.polled = True
        self._set_timer()
        self._tell(watched, None)

    def _set_timer(self) -> None:
        if self._timer is None and any(each.polled for each in self._watched):
            self._timer = self._loop.call_later(self._poll, self._look_around)

    def _look_around(self) -> None:
        self._timer = None
        for watched in [each for each in self._watched if each.polled]:
            if watched.number is None:
                self._begin(watched)
            self._tell(watched, None)
        self._set_timer()

    def _tell(self, watched: _Watched, name: str | None) -> None:
        if watched not in self._watched:
            return
        try:
            watched.look(name)
        except Exception:
            # One folder that cannot be looked into must not blind us to the others.
            log.exception("could not look into %r", watched.folder)
