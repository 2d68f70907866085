"""Starts every part of a daemon in order, and closes them in the opposite order."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from upcall import __version__
from upcall.access.tokens import Access
from upcall.approvals.away import AwaySwitch
from upcall.broker.answer_files import forget_copies
from upcall.broker.broker import Broker
from upcall.broker.indexing import Indexing
from upcall.broker.retention import Retention
from upcall.config.settings import Config
from upcall.daemon.wiring.broker import days_kept, new_broker
from upcall.daemon.wiring.channels import channel_maker, channel_routing, follow_up, subscriptions
from upcall.daemon.wiring.credentials import loaded_access, owner_name
from upcall.daemon.wiring.doors import agent_tools, file_door, hook_routes, mcp_door, pipe_server
from upcall.daemon.wiring.notifications import notification_places, notification_posts
from upcall.daemon.wiring.reloading import ReadSettings, Reloading, running_channels
from upcall.daemon.wiring.runs import desk, runner_name, supervised_runs
from upcall.daemon.wiring.store import is_postgres, open_store
from upcall.daemon.wiring.telemetry import watched
from upcall.dispatch.answer_links import AnswerLinks
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.forgetting import forget
from upcall.domain.roles import Caller, Role
from upcall.doors.files.door import FileDoor
from upcall.doors.pipe.http import PipeDoor
from upcall.doors.pipe.server import PipeServer
from upcall.home.files import Home
from upcall.home.program import NAME, program
from upcall.ports.store import Store
from upcall.presets.label_cards import card_label
from upcall.runs.service import RunService
from upcall.web.api.sign_in_links import sign_in_path
from upcall.web.app import WebSettings, create_app

DAY = 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """The running parts of a daemon."""

    url: str
    app: ASGIApp
    broker: Broker
    pipes: PipeServer
    files: FileDoor
    runs: RunService
    dispatch: Dispatch
    reloading: Reloading
    access: Access
    public_url: str
    agent_token: str

    async def sign_in_link(self) -> str:
        """A new link that signs the owner in once."""
        code = await self.access.codes.issue(Caller(name=owner_name(), role=Role.ADMIN))
        return f"{self.public_url or self.url}{sign_in_path(code)}"

    async def settle(self, *, end: bool) -> None:
        """Settle every waiting call. Pipes and runs survive a restart, so only an `end` settles theirs."""
        await self.runs.close(end=end)
        await self.pipes.close(end=end)
        await self.files.close(end=end)
        await self.reloading.close()
        await self.dispatch.close()
        await self.broker.close()


@asynccontextmanager
async def assembled(home: Home, config: Config, url: str, read: ReadSettings) -> AsyncIterator[Assembly]:
    """Start the daemon's parts for one home, and close them on exit. `read` reads the settings again.

    Raises:
        InvalidSetting: if the settings cannot be used together.
        StorageError: if the database cannot be opened.
    """
    kept, routing = days_kept(config), CurrentRouting(channel_routing(config))
    async with AsyncExitStack() as leaving:
        store = await open_store(home, config)
        leaving.push_async_callback(store.close)
        shared = is_postgres(config.database)
        access = await leaving.enter_async_context(loaded_access(home, store, shared=shared))
        agent_token, notified = home.read_secret(home.agent_token_file), notification_places(config, home)
        broker = new_broker(home, store, config, agent_token if shared else "", follow_up(routing, notified))
        await _started(leaving, broker, Indexing(store))
        desk_for, links = partial(desk, broker, access), AnswerLinks(broker, access)
        tools = agent_tools(broker, config, desk_for, runner_name(home), links, url)
        files = file_door(home, config, broker, tools)
        await _started(leaving, files, end=False)
        pipes = pipe_server(tools, access, config)
        await _started(leaving, pipes, end=False)
        runs = supervised_runs(home, config, url, broker, access, pipes.held)
        leaving.push_async_callback(runs.close)
        await runs.open()
        if kept:
            await leaving.enter_async_context(_retention(home, store, kept, runs))
        pushed = subscriptions(store, access)
        switch, mcp = AwaySwitch(store, after=config.away_after), mcp_door(tools, access, config)
        maker, told = channel_maker(config, url, links, pushed), notification_posts(config, url, links, home)
        channels = running_channels(broker, config, read, routing, maker, told, shared=shared)
        dispatch, reloading = await leaving.enter_async_context(channels)
        hooks = hook_routes(broker, access, desk_for, config, switch, pipes.held)
        app = create_app(
            broker=broker,
            access=access,
            runs=runs,
            dispatch=dispatch,
            links=links,
            pushed=pushed,
            reload=reloading.reload,
            away=switch,
            metrics=await leaving.enter_async_context(watched(store, config, lambda: dispatch.names)),
            settings=_web_settings(config),
            extra_routes=[*PipeDoor(tools, access).routes(), *hooks, *mcp.routes()],
            lifespan=mcp.lifespan,
        )
        yield Assembly(
            url=url,
            app=app,
            broker=broker,
            pipes=pipes,
            files=files,
            runs=runs,
            dispatch=dispatch,
            reloading=reloading,
            access=access,
            public_url=config.public_url.rstrip("/"),
            agent_token=agent_token,
        )


async def _started(
    leaving: AsyncExitStack, *parts: Broker | FileDoor | Indexing | PipeServer, **closing: bool
) -> None:
    """Start parts, and have each closed on exit."""
    for part in parts:
        # Before its start, which may fail half-way: what has begun by then must not outlive the store.
        leaving.push_async_callback(part.close, **closing)
        await part.start()


@asynccontextmanager
async def _retention(home: Home, store: Store, days: int, runs: RunService) -> AsyncIterator[None]:
    """Forget what is over and older than these days."""
    copies = partial(forget_copies, home.answers_folder)
    retention = Retention(store, days * DAY, runs.prune, partial(forget, store), copies)
    await retention.start()
    try:
        yield
    finally:
        await retention.close()


def _web_settings(config: Config) -> WebSettings:
    names = {config.host, urlsplit(config.public_url).hostname}
    return WebSettings(
        allowed_hosts=frozenset(name for name in names if name),
        allowed_origins=frozenset({config.public_url.rstrip("/")} if config.public_url else ()),
        public_url=config.public_url.rstrip("/"),
        version=__version__,
        card_label=card_label(config),
        undo=config.undo,
        # Where others reach the pages, a path of this machine helps no reader.
        program=NAME if config.public_url else program(),
    )
