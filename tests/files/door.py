"""The door itself in the test's own loop: a real store, broker and watcher over a folder."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from upcall.broker.broker import Broker, Policy, Reply
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller, Role
from upcall.doors.files.door import FileDoor
from upcall.doors.files.folder_watch import FolderWatch
from upcall.doors.mcp.tools import Tools
from upcall.ports.store import Event, Query
from upcall.stores.sqlite.store import SqliteStore

PATIENCE = 30.0
PERSON = Caller(name="ada", role=Role.PERSON)


class Served:
    """A root with a group called `build`, served while `door` is open."""

    def __init__(
        self, root: Path, broker: Broker, watch: Callable[[], FolderWatch], more: Sequence[Path]
    ) -> None:
        self.root = root
        self.more = more
        self.group = root / "build"
        self.broker = broker
        self._watch = watch
        self.door = self._new_door()

    async def restart(self, *, end: bool = False) -> None:
        """Another door takes over, as after a restart of the daemon."""
        await self.door.close(end=end)
        self.door = self._new_door()
        await self.door.start()

    def _new_door(self) -> FileDoor:
        roots = [self.root, *self.more]
        return FileDoor(Tools(self.broker), self.broker.collect, roots, watch=self._watch)

    async def open(self, count: int = 1) -> Sequence[Inquiry]:
        """The open inquiries, once there are that many."""
        async with asyncio.timeout(PATIENCE):
            after = 0
            while True:
                found = (await self.broker.store.find(Query(state="open", limit=200))).items
                if len(found) >= count:
                    return found
                for event in await self.broker.store.events(after, wait=PATIENCE):
                    after = event.seq

    async def answer(self, inquiry: Inquiry, text: str) -> None:
        settled = await self.broker.receive(inquiry.id, Reply(text=text), PERSON)
        assert settled.accepted

    async def asked(self) -> Sequence[Event]:
        """Every question that was ever asked."""
        return [event for event in await self.broker.store.events(0) if event.type == "asked"]


@asynccontextmanager
async def serving(
    folder: Path,
    watch: Callable[[], FolderWatch] = FolderWatch,
    policy: Policy | None = None,
    more: Sequence[Path] = (),
) -> AsyncIterator[Served]:
    root = folder / "root"
    (root / "build").mkdir(parents=True)
    store = await SqliteStore.open(folder / "upcall.db")
    broker = Broker(store, policy or Policy())
    await broker.start()
    served = Served(root, broker, watch, more)
    await served.door.start()
    try:
        yield served
    finally:
        await served.door.close()
        await broker.close()
        await store.close()
