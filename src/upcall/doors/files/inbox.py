"""The responses that the calls of one process wait for: each resolves its future, is read once and removed."""

import asyncio
import logging

from upcall.doors.files.exchange import RESPONSES, SUFFIX, Exchange, Fields, InvalidFile, decoded, id_in
from upcall.doors.files.folder_watch import FolderWatch

log = logging.getLogger(__name__)


class Inbox:
    """The waiters of one process. The folder is watched from the start, so before anything is asked."""

    def __init__(self, exchange: Exchange, path: str, watch: FolderWatch) -> None:
        self._exchange = exchange
        self._waiting: dict[str, asyncio.Future[Fields]] = {}
        watch.add(f"{path}/{RESPONSES}", self._look)

    def expect(self, request: str) -> "asyncio.Future[Fields]":
        """What will be the response to a request; say `forget` when it is no longer waited for."""
        arrival: asyncio.Future[Fields] = asyncio.get_running_loop().create_future()
        self._waiting[request] = arrival
        # The watcher did not report a response that came before its future was there.
        self._take(request, arrival)
        return arrival

    def is_expected(self, request: str) -> bool:
        """Whether a call waits for the response."""
        return request in self._waiting

    def forget(self, request: str) -> None:
        """Remove the future: its call waits no longer."""
        self._waiting.pop(request, None)

    def look_again(self, request: str) -> None:
        """Look for a response without being told by the watcher."""
        self._take(request, self._waiting[request])

    def _look(self, name: str | None) -> None:
        wanted = list(self._waiting) if name is None else [id_in(name) or ""]
        for request in wanted:
            arrival = self._waiting.get(request)
            if arrival is not None:
                self._take(request, arrival)

    def _take(self, request: str, arrival: "asyncio.Future[Fields]") -> None:
        if arrival.done():
            return
        name = request + SUFFIX
        try:
            response = decoded(self._exchange.read(RESPONSES, name))
        except FileNotFoundError:
            return
        except InvalidFile as refusal:
            # The daemon may still be writing it; the watcher reports when the file is closed.
            log.debug("the response %r cannot be read: %s", name, refusal)
            return
        except OSError as problem:
            log.warning("the response %r cannot be read: %s", name, problem)
            return
        arrival.set_result(response)
        try:
            self._exchange.remove(RESPONSES, name)
        except OSError as problem:
            log.warning("the response %r was read but cannot be removed: %s", name, problem)
