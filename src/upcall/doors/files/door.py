"""The door for containers without network: folders under the configured roots, one for each group.

It watches the roots for groups and each group for tasks. Nothing that happens to a folder ends the watching.
"""

import asyncio
import logging
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from upcall.doors.files.exchange import ID, TASKS, Exchange
from upcall.doors.files.folder_watch import FolderWatch
from upcall.doors.files.group import FindAsker, Group, no_agent
from upcall.doors.files.inotify import ATTRIB, CLOSE_WRITE, CREATE, MOVED_TO
from upcall.doors.mcp.evidence import Collect
from upcall.doors.mcp.tools import Tools

SWEEP_EVERY = 3600.0
"""Seconds between two sweeps for responses that were not fetched."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Open:
    group: Group
    identity: tuple[int, int]
    unwatch: Callable[[], None]


class FileDoor:
    """Serves every group under its roots from `start` to `close`."""

    def __init__(
        self,
        tools: Tools,
        collect: Collect,
        roots: Sequence[Path],
        *,
        asker: FindAsker = no_agent,
        watch: Callable[[], FolderWatch] = FolderWatch,
    ) -> None:
        self._asker = asker
        self._tools = tools
        self._collect = collect
        # The same folder under two names would be served twice.
        self._roots = list(dict.fromkeys(os.path.realpath(root) for root in roots))
        self._make_watch = watch
        self._watch: FolderWatch | None = None
        self._open: dict[tuple[str, str], _Open] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._refused: set[str] = set()
        self._sweeping: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Begin to watch. A root that cannot be used is logged, and looked at again."""
        self._watch = self._make_watch()
        for root in self._roots:
            _make(root)
            self._watch.add(root, partial(self._look, root), CREATE | MOVED_TO | ATTRIB)
            self._look(root)
        self._sweep_later()

    async def close(self, *, end: bool = False) -> None:
        """Stop. At an end every waiting task is told that its question is parked."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        if self._sweeping is not None:
            self._sweeping.cancel()
        opened, self._open = list(self._open.values()), {}
        await asyncio.gather(*(each.group.close(end=end) for each in opened), *self._ending)

    def _look(self, root: str, changed: str | None = None) -> None:
        """Find the groups that are new, and let go of those that are gone."""
        found: dict[str, tuple[int, int]] = {}
        try:
            with os.scandir(root) as entries:
                for entry in entries:
                    seen = entry.stat(follow_symlinks=False)
                    if not stat.S_ISDIR(seen.st_mode) or entry.name.startswith("."):
                        continue
                    if ID.fullmatch(entry.name):
                        found[entry.name] = (seen.st_dev, seen.st_ino)
                    elif entry.path not in self._refused:
                        self._refused.add(entry.path)
                        log.warning(
                            "%r cannot be the name of a group; it has to be like %s", entry.path, ID.pattern
                        )
        except OSError as problem:
            if root not in self._refused:
                log.warning("the root %r for files cannot be read: %s", root, problem)
            self._refused.add(root)
        else:
            self._refused.discard(root)
        for key, opened in list(self._open.items()):
            if key[0] == root and found.get(key[1]) != opened.identity:
                self._drop(key)
        for name in found:
            if (root, name) not in self._open:
                self._serve(root, name)
            elif name == changed:
                # It may have been opened to others, and what is in it has to follow.
                self._open[root, name].group.look(None)

    def _serve(self, root: str, name: str) -> None:
        if self._watch is None:
            return
        path = f"{root}/{name}"
        try:
            folder = Exchange(path)
        except OSError as problem:
            log.warning("the group %r cannot be served: %s", path, problem)
            return
        group = Group(name, folder, self._tools, self._collect, self._asker)
        # What is missing is made before it can be watched; what is there is looked at again after it is.
        group.look(None)

        def look(arrived: str | None) -> None:
            if arrived is None and folder.is_gone():
                self._look(root)
            else:
                group.look(arrived)

        unwatch = self._watch.add(f"{path}/{TASKS}", look, MOVED_TO | CLOSE_WRITE)
        self._open[root, name] = _Open(group, folder.identity(), unwatch)
        group.look(None)
        log.info("serving the group %r", path)

    def _drop(self, key: tuple[str, str]) -> None:
        opened = self._open.pop(key)
        opened.unwatch()
        log.info("the group %r is gone", "/".join(key))
        ending = asyncio.get_running_loop().create_task(opened.group.close(end=False))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    def _sweep_later(self) -> None:
        self._sweeping = asyncio.get_running_loop().call_later(SWEEP_EVERY, self._sweep)

    def _sweep(self) -> None:
        for opened in self._open.values():
            try:
                opened.group.sweep()
            except OSError as problem:
                log.warning("a group cannot be swept: %s", problem)
        self._sweep_later()


def _make(root: str) -> None:
    try:
        Path(root).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        log.warning("the root %r for files cannot be made: %s", root, problem)
