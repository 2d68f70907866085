"""A daemon small enough to be stopped and started inside a test: the real store, broker and doors, in a thread."""

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
import uvloop
from starlette.types import ASGIApp

from tests.web.runs import MemoryRuns
from upcall.access.tokens import Access
from upcall.approvals.away import AwaySwitch
from upcall.approvals.desk import ApprovalDesk
from upcall.broker.broker import Broker, Policy, Reply, Settled
from upcall.daemon.wiring.doors import answer_address
from upcall.dispatch.answer_links import AnswerLinks
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller, Role
from upcall.doors.hooks import HookDoor
from upcall.doors.mcp.elicitation import Elicitation, Mode
from upcall.doors.mcp.progress import Beat
from upcall.doors.mcp.server import McpDoor
from upcall.doors.mcp.tools import Tools
from upcall.doors.pipe.http import PipeDoor
from upcall.doors.pipe.server import PipeServer
from upcall.doors.terminal.door import TerminalDoor
from upcall.home.files import Home
from upcall.ports.store import Event, Query
from upcall.stores.sqlite.store import SqliteStore
from upcall.web.app import WebSettings, create_app

PATIENCE = 30.0
AGENT_TOKEN = "upcall_agent_test"
OTHER_TOKEN = "upcall_agent_other"
PERSON = Caller(name="ada", role=Role.PERSON)

T = TypeVar("T")


class House:
    """One home with a daemon in it. `stop` and `start` are a restart; `crash` is one without good-byes."""

    def __init__(self, path: Path, *, slice_seconds: float = 50.0, policy: Policy | None = None) -> None:
        self.home = Home(path)
        self.home.create()
        self.slice_seconds = slice_seconds
        self.policy = policy or Policy()
        self.beat = 15.0
        self.hook_wait: float | None = None
        self.elicit: Mode = "auto"
        self.prepare: Callable[[McpDoor], object] = lambda door: None
        self.around: Callable[[ASGIApp], ASGIApp] = lambda app: app
        self.broker: Broker
        self.tools: Tools
        self.pipes: PipeServer
        self.port = 0
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._thread: threading.Thread | None = None
        self._end = False
        self._gracefully = True
        self._announced = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, *, announced: bool = True) -> None:
        self._announced = announced
        ready: Future[None] = Future()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._live(ready)), daemon=True)
        self._thread.start()
        ready.result(PATIENCE)

    def stop(self, *, end: bool = False) -> None:
        self._leave(end=end, gracefully=True)

    def crash(self) -> None:
        """Every connection breaks without a last message."""
        self._leave(end=False, gracefully=False)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Do something in the daemon's own loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def opened(self, count: int = 1) -> Sequence[Inquiry]:
        """The open inquiries, once there are that many."""
        return self.run(self._opened(count))

    def answer(self, name: str, text: str) -> Settled:
        return self.run(self.broker.receive(name, Reply(text=text), PERSON))

    def reply(self, name: str, reply: Reply) -> Settled:
        """Answer as a person, in more than words."""
        return self.run(self.broker.receive(name, reply, PERSON))

    def history(self) -> list[str]:
        """What happened so far, as the log tells it."""
        return [event.type for event in self.run(self._events())]

    def happened(self, kind: str) -> Event:
        """The first event of that kind, once there is one."""
        return self.run(self._happened(kind))

    async def _events(self) -> Sequence[Event]:
        return await self.broker.store.events(0)

    async def _happened(self, kind: str) -> Event:
        async with asyncio.timeout(PATIENCE):
            after = 0
            while True:
                for event in await self.broker.store.events(after, wait=PATIENCE):
                    after = event.seq
                    if event.type == kind:
                        return event

    async def _opened(self, count: int) -> Sequence[Inquiry]:
        async with asyncio.timeout(PATIENCE):
            after = 0
            while True:
                found = (await self.broker.store.find(Query(state="open", limit=200))).items
                if len(found) >= count:
                    return found
                for event in await self.broker.store.events(after, wait=PATIENCE):
                    after = event.seq

    def _leave(self, *, end: bool, gracefully: bool) -> None:
        if self._thread is not None:
            self._end, self._gracefully = end, gracefully
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive()
            self._thread = None

    async def _live(self, ready: "Future[None]") -> None:
        try:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            async with self._furnished():
                ready.set_result(None)
                await self._stop.wait()
        except BaseException as problem:
            if not ready.done():
                ready.set_exception(problem)
            raise

    @asynccontextmanager
    async def _furnished(self) -> AsyncIterator[None]:
        store = await SqliteStore.open(self.home.database_file)
        access = Access(store)
        await access.load()
        await access.adopt("local", Role.AGENT, AGENT_TOKEN)
        await access.adopt("other", Role.AGENT, OTHER_TOKEN)
        self.access = access
        self.broker = Broker(store, self.policy)
        await self.broker.start()
        self.desk_for = partial(ApprovalDesk, self.broker)
        self.switch = AwaySwitch(store, after=60.0)
        self.tools = Tools(
            self.broker,
            slice_seconds=self.slice_seconds,
            beat=Beat(self.beat),
            desk_for=self.desk_for,
            elicitation=Elicitation(self.broker, mode=self.elicit, link=self._link),
        )
        self.pipes = PipeServer(self.tools, access)
        await self.pipes.start()
        server, serving = await self._serve_http(access)
        if self._announced:
            self.announce()
        yield
        if self._gracefully:
            self.home.runtime_file.unlink(missing_ok=True)
            await self.pipes.close(end=self._end)
        else:
            for connection in list(self.pipes.connections):
                connection.abort()
            await self.pipes.close()
            self.home.runtime_file.unlink(missing_ok=True)
        await self.broker.close()
        server.should_exit = True
        await serving
        await store.close()

    async def _link(self, inquiry: Inquiry) -> str:
        return await answer_address(AnswerLinks(self.broker, self.access), self.url, inquiry)

    async def _serve_http(self, access: Access) -> "tuple[uvicorn.Server, asyncio.Task[None]]":
        door = McpDoor(self.tools, access)
        self.prepare(door)
        app = create_app(
            broker=self.broker,
            access=access,
            links=AnswerLinks(self.broker, access),
            runs=MemoryRuns(),
            settings=WebSettings(version="test"),
            extra_routes=[
                *door.routes(),
                *PipeDoor(self.tools, access).routes(),
                *HookDoor(self.broker, access, self.desk_for, wait=self.hook_wait).routes(),
                *TerminalDoor(self.broker, access, self.desk_for, self.switch, self.pipes.held).routes(),
            ],
            lifespan=door.lifespan,
        )
        config = uvicorn.Config(
            self.around(app),
            # The same again after a restart, as with the real one: hooks have it in their settings.
            port=self.port,
            log_config=None,
            lifespan="on",
            ws="none",
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:
            assert not serving.done(), "the server did not start"
            await asyncio.sleep(0.01)
        self.port = server.servers[0].sockets[0].getsockname()[1]
        return server, serving

    def announce(self) -> None:
        """Write down where the daemon is."""
        told = {
            "pid": os.getpid(),
            "url": self.url,
            "pipe_port": self.pipes.port,
            "token": AGENT_TOKEN,
            "version": "test",
        }
        self.home.write_private(self.home.runtime_file, json.dumps(told))
