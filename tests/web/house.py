"""Everything behind the HTTP API, with people and agents who hold tokens, and a clock that tests move."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import anyio
import httpx2
import uvicorn
from starlette.types import ASGIApp

from tests.plain_http import plain_client
from tests.prompt_server import PromptServer
from tests.web.runs import MemoryRuns
from upcall.access.tokens import Access
from upcall.broker.broker import Broker, Policy
from upcall.dispatch.answer_links import AnswerLinks
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.people import People
from upcall.dispatch.subscriptions import Subscriptions
from upcall.domain.channel.routing import Routing
from upcall.domain.consequences import nothing_more
from upcall.domain.roles import Role
from upcall.stores.sqlite.store import SqliteStore
from upcall.web.app import WebSettings, create_app

ROLES = {
    "builder": Role.AGENT,
    "painter": Role.AGENT,
    "ana": Role.PERSON,
    "ben": Role.PERSON,
    "root": Role.ADMIN,
    "watcher": Role.MONITOR,
}
SETTINGS = WebSettings(version="1.2.3", heartbeat=0.05)
_PREPARED: list[tuple[bytes, dict[str, str]]] = []
"""A database in which only tokens are kept, and their secrets: made once for all houses."""

CHOICE: dict[str, Any] = {"question": "Which cache?", "options": ["Redis", "Memcached"]}


async def _tokens(access: Access) -> dict[str, str]:
    """Make a token for each of them, and return the secrets."""
    await access.load()
    return {name: await access.create(name, role) for name, role in ROLES.items()}


async def _prepare(database: Path) -> dict[str, str]:
    """Write a database with their tokens, and return the secrets."""
    if not _PREPARED:
        store = await SqliteStore.open(database, clock=Clock())
        secrets = await _tokens(Access(store, Clock()))
        await store.close()
        _PREPARED.append((await anyio.Path(database).read_bytes(), secrets))
    content, secrets = _PREPARED[0]
    await anyio.Path(database).write_bytes(content)
    return dict(secrets)


class Clock:
    """Wall time that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class House:
    """One installation; `as_(name)` is a client with that one's token."""

    store: SqliteStore
    broker: Broker
    access: Access
    runs: MemoryRuns
    app: ASGIApp
    clock: Clock
    dispatch: Dispatch | None = None
    secrets: dict[str, str] = field(default_factory=dict)
    url: str = "http://127.0.0.1:8000"
    over_socket: bool = False
    _clients: dict[str, httpx2.AsyncClient] = field(default_factory=dict)

    @classmethod
    @asynccontextmanager
    async def open(cls, folder: Path, **settings: Any) -> AsyncIterator[Self]:
        clock = Clock()
        database = folder / "upcall.db"
        secrets = {} if database.exists() else await _prepare(database)
        store = await SqliteStore.open(database, clock=clock)
        policy, pacing = settings.pop("policy", Policy()), settings.pop("pacing", None)
        posts, off = settings.pop("posts", ()), settings.pop("off", {})
        routing = Routing(routes=settings.pop("routes", ()), channels=tuple(post.name for post in posts))
        at_work = settings.pop("at_work", False)
        follow_up = routing.consequences if at_work else nothing_more
        broker = Broker(store, policy, pacing=pacing, clock=clock, follow_up=follow_up)
        access = Access(store, clock)
        await broker.start()
        dispatch = (
            Dispatch(broker, People(store, clock), posts, CurrentRouting(routing), off=off)
            if posts or off
            else None
        )
        runs = MemoryRuns()
        app = create_app(
            broker=broker,
            access=access,
            links=AnswerLinks(broker, access),
            runs=runs,
            dispatch=dispatch,
            pushed=Subscriptions(store, access, lambda: ("private", "public-key")),
            settings=replace(SETTINGS, **settings),
        )
        if secrets:
            await access.load()
        else:
            # A folder that was used before has their old tokens.
            for name in ROLES:
                await store.drop_token(name)
            secrets = await _tokens(access)
        house = cls(store, broker, access, runs, app, clock, dispatch, secrets)
        if dispatch is not None and at_work:
            await dispatch.start()
        try:
            yield house
        finally:
            for client in house._clients.values():
                await client.aclose()
            if dispatch is not None and at_work:
                await dispatch.close()
            await broker.close()
            await store.close()

    def as_(self, name: str | None) -> httpx2.AsyncClient:
        """A client with the token of that name, or without one."""
        key = name or ""
        if key not in self._clients:
            headers = {"Authorization": f"Bearer {self.secrets[name]}"} if name is not None else {}
            transport = None if self.over_socket else httpx2.ASGITransport(self.app)
            self._clients[key] = plain_client(
                base_url=self.url, headers=headers, transport=transport, timeout=30, trust_env=False
            )
        return self._clients[key]

    async def asked(self, by: str = "builder", **body: Any) -> dict[str, Any]:
        """A question that was put."""
        response = await self.as_(by).post("/v1/inquiries", json=body or CHOICE)
        assert response.status_code == 201, response.text
        document: dict[str, Any] = response.json()
        return document

    async def post(self, by: str, path: str, **body: Any) -> httpx2.Response:
        """The response to a POST below `/v1/inquiries`."""
        return await self.as_(by).post(f"/v1/inquiries/{path}", json=body)

    async def answered(self, name: str, answer: str = "Redis", by: str = "ana") -> dict[str, Any]:
        """An inquiry that was answered."""
        response = await self.post(by, f"{name}/answer", text=answer)
        assert response.json()["accepted"], response.text
        document: dict[str, Any] = response.json()["inquiry"]
        return document


@asynccontextmanager
async def serving(house: House) -> AsyncIterator[PromptServer]:
    """The house's application on a real socket."""
    listener = socket.create_server(("127.0.0.1", 0))
    house.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    house.over_socket = True
    server = PromptServer(uvicorn.Config(house.app, log_config=None, lifespan="off"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, [listener])
        await until(lambda: server.started)
        yield server
        await house.broker.close()
        server.should_exit = True


async def until(fact: Callable[[], bool]) -> None:
    """Let others run until something has become true."""
    with anyio.fail_after(10):
        # What is awaited is the state of a program that tells no one when it changes.
        while not fact():  # noqa: ASYNC110
            await anyio.sleep(0.001)


def code(response: httpx2.Response) -> tuple[int, str]:
    """The status and code of an error, once it is known to have the form of one."""
    error = response.json()["error"]
    assert set(error) == {"code", "message", "hint"}, response.text
    assert error["message"]
    assert "Traceback" not in response.text
    return response.status_code, error["code"]


def message(response: httpx2.Response) -> str:
    """What an error says."""
    said: str = response.json()["error"]["message"]
    return said
