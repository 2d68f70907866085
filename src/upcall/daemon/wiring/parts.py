"""The only place where the parts meet: settings in, a running broker with its doors out."""

import asyncio
import logging
import os
import pwd
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from socket import gethostname
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from upcall import __version__
from upcall.access.connected import Held
from upcall.access.tokens import Access, digest
from upcall.agents.catalogue import agent_named
from upcall.approvals.desk import ApprovalDesk
from upcall.broker.broker import Broker, Policy
from upcall.broker.pacing import Pacing
from upcall.broker.retention import Retention
from upcall.config.settings import AgentSettings, Config
from upcall.daemon.wiring.channels import channel_routing, channels_at_work, follow_up, subscriptions
from upcall.daemon.wiring.store import is_postgres, open_store
from upcall.dispatch.answer_links import AnswerLinks
from upcall.dispatch.forgetting import forget
from upcall.dispatch.service import Dispatch
from upcall.domain.answer.reading import ReadingRules
from upcall.domain.consequences import FollowUp
from upcall.domain.errors import InvalidSetting
from upcall.domain.inquiry.inquiry import LOCAL_AGENT, OnExpiry
from upcall.domain.inquiry.refs import REF_REST_DAYS
from upcall.domain.roles import Caller, Role
from upcall.domain.run.program import Permission
from upcall.domain.run.run import Run
from upcall.doors.files.door import FileDoor
from upcall.doors.hooks import HookDoor
from upcall.doors.mcp.late import LateDoor
from upcall.doors.mcp.tools import Tools
from upcall.doors.native import DeskFor
from upcall.doors.pipe.http import PipeDoor
from upcall.doors.pipe.server import PipeServer
from upcall.home.files import Home
from upcall.http.gate import Gate, most_connections
from upcall.ports.background import Background
from upcall.ports.store import Store
from upcall.runs.book import Book
from upcall.runs.process.host import RunHost, RunSettings
from upcall.runs.service import RunService
from upcall.setup.work_tree import WorkTree
from upcall.web.api.sign_in_links import sign_in_path
from upcall.web.app import WebSettings, create_app

DAY = 86400
TOKENS_EVERY = 5.0
"""Seconds after which a token that was made or revoked at another daemon is known here."""

log = logging.getLogger("upcall.wiring")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A running broker and everything that leads to it."""

    url: str
    app: ASGIApp
    broker: Broker
    pipes: PipeServer
    files: FileDoor
    runs: RunService
    dispatch: Dispatch
    access: Access
    public_url: str
    agent_token: str

    async def sign_in_link(self) -> str:
        """A fresh link that lets the owner in, once."""
        code = await self.access.codes.issue(Caller(name=_owner(), role=Role.ADMIN))
        return f"{self.public_url or self.url}{sign_in_path(code)}"

    async def settle(self, *, end: bool) -> None:
        """Give everybody who waits a typed result. Pipes and runs survive a restart, so they are told only of an end."""
        await self.runs.close(end=end)
        await self.pipes.close(end=end)
        await self.files.close(end=end)
        await self.dispatch.close()
        await self.broker.close()


@asynccontextmanager
async def assembled(home: Home, config: Config, url: str) -> AsyncIterator[Assembly]:
    """Put everything together for one home; it is taken apart in the opposite order."""
    kept = _kept_for(config)
    async with AsyncExitStack() as leaving:
        store = await open_store(home, config)
        leaving.push_async_callback(store.close)
        shared = is_postgres(config.database)
        access = Access(store, store.now, shared=shared)
        await access.load()
        await _adopt_local_tokens(home, access, shared=shared)
        if shared:
            refreshing = Background("reading the tokens", partial(_refresh, access), log)
            refreshing.start()
            leaving.push_async_callback(refreshing.close)
        agent_token, routing = home.read_secret(home.agent_token_file), channel_routing(config)
        broker = _broker(store, config, agent_token if shared else "", follow_up(routing))
        await broker.start()
        leaving.push_async_callback(broker.close)
        desk_for = partial(_desk, broker, access)
        tools = _tools(broker, config, desk_for, runner_name(home))
        files = _file_door(home, config, broker, tools)
        await files.start()
        leaving.push_async_callback(files.close, end=False)
        pipes = _pipe_server(tools, access, config)
        await pipes.start()
        leaving.push_async_callback(pipes.close, end=False)
        runs = supervised(home, config, url, broker, access, pipes.held)
        await runs.open()
        leaving.push_async_callback(runs.close)
        if kept:
            retention = Retention(store, kept * DAY, runs.prune, partial(forget, store))
            await retention.start()
            leaving.push_async_callback(retention.close)
        links, pushed = AnswerLinks(broker, access), subscriptions(config, store, access)
        at_work = channels_at_work(broker, config, url, routing, links, pushed, _owner(), shared=shared)
        dispatch = await leaving.enter_async_context(at_work)
        hooks, door = HookDoor(broker, access, desk_for, wait=config.hook_wait), _mcp(tools, access, config)
        app = create_app(
            broker=broker,
            access=access,
            runs=runs,
            dispatch=dispatch,
            links=links,
            pushed=pushed,
            settings=_web_settings(config),
            extra_routes=[*PipeDoor(tools, access).routes(), *hooks.routes(), *door.routes()],
            lifespan=door.lifespan,
        )
        yield Assembly(
            url=url,
            app=app,
            broker=broker,
            pipes=pipes,
            files=files,
            runs=runs,
            dispatch=dispatch,
            access=access,
            public_url=config.public_url.rstrip("/"),
            agent_token=agent_token,
        )


def _desk(
    broker: Broker, access: Access, *, caller: Caller, session: str, door: str, workspace: str | None = None
) -> ApprovalDesk:
    """Where somebody's own questions go. A run has one desk for all its processes and doors."""
    return ApprovalDesk(
        broker,
        caller=caller,
        session=session if caller.run is None else f"run-{caller.run}",
        door=door,
        workspace=workspace,
        has_people=access.has_people,
    )


def _tools(broker: Broker, config: Config, desk_for: DeskFor, runner: str) -> Tools:
    return Tools(
        broker,
        slice_seconds=config.slice,
        aliases=config.tool_aliases,
        desk_for=desk_for,
        runner=runner,
        resumes_all=config.resume == "auto",
    )


def _broker(store: Store, config: Config, shared_by: str, consequences: FollowUp) -> Broker:
    """The broker; where homes share a database, the token of ours tells it from others, and stays."""
    return Broker(
        store,
        policy(config),
        pacing=Pacing(**asdict(config.rates), attachment_bytes=config.caps.attachment_bytes),
        follow_up=consequences,
        installation=digest(shared_by)[:16] if shared_by else "",
    )


def _pipe_server(tools: Tools, access: Access, config: Config) -> PipeServer:
    gate = Gate(most_connections(config.connections))
    return PipeServer(tools, access, gate=gate, waits=config.caps.waits)


def _mcp(tools: Tools, access: Access, config: Config) -> LateDoor:
    return LateDoor(
        tools,
        access,
        replica=config.replica,
        token_in_path=config.token_in_path,
        sessions=config.caps.mcp_sessions,
    )


def _file_door(home: Home, config: Config, broker: Broker, tools: Tools) -> FileDoor:
    agents = {settings.group: name for name, settings in config.agents.items() if settings.group}
    book = Book(broker.store, runner_name(home), broker.now)

    async def asker(group: str) -> Caller | None:
        """The newest live run of the group's agent, the agent without a run, or None for a group without an agent."""
        agent = agents.get(group)
        if agent is None:
            return None
        run = await book.newest_alive(agent)
        return Caller(name=agent, role=Role.AGENT) if run is None else run.caller

    return FileDoor(tools, broker.collect, file_roots(home, config), asker=asker)


def supervised(
    home: Home, config: Config, url: str, broker: Broker, access: Access, held: Held
) -> RunService:
    """The runs of one home."""

    def permission(agent: str) -> Permission:
        settings = config.agents.get(agent, AgentSettings())
        return Permission(settings.permission or config.permission)

    def arguments(agent: str) -> tuple[str, ...]:
        return config.agents.get(agent, AgentSettings()).arguments

    def desk(run: Run) -> ApprovalDesk:
        return _desk(broker, access, caller=run.caller, session="", door="native", workspace=run.cwd)

    work_tree = WorkTree(config.work_tree_server, url)

    def folder_setup(agent: str) -> WorkTree | None:
        adapter = config.agents.get(agent, AgentSettings()).adapter or agent
        return work_tree if config.work_tree_server and adapter == "claude" else None

    settings = RunSettings(
        limit=config.runs.limit,
        permission=permission,
        arguments=arguments,
        resume_message=config.resume_message,
        advice=config.advice,
        aliases=config.tool_aliases,
        server=config.work_tree_server,
        wait=config.block_timeout,
    )
    host = RunHost(
        home=home,
        url=url,
        runner=runner_name(home),
        settings=settings,
        access=access,
        agents=lambda name: agent_named(name, config.agents, config.marker),
        desks=desk,
        held=held,
        folder_setup=folder_setup,
    )
    return RunService(host, broker)


def runner_name(home: Home) -> str:
    """What this home's machine is called among those that share a database: chosen once, whatever becomes of it."""
    path = home.path / "runner"
    if not path.exists():
        home.write_private(path, f"{gethostname()}-{secrets.token_hex(3)}\n")
    return path.read_text().strip()


def policy(config: Config) -> Policy:
    """What the settings say of asking and answering."""
    return Policy(
        ttl=config.ttl,
        block_timeout=config.block_timeout,
        on_block_end=config.on_block_end,
        on_expiry=OnExpiry(config.on_expiry),
        on_restart=config.on_restart,
        quorum=max(config.approvals.quorum, 1),
        asker_may_approve=config.approvals.asker_may_approve,
        reading=ReadingRules(unknown_approval=config.unknown_approval, numbers=config.numbers),
        limits=config.limits,
        threads=config.threads,
        permission=lambda agent: config.agents.get(agent, AgentSettings()).permission or config.permission,
    )


def file_roots(home: Home, config: Config) -> list[Path]:
    """Where to look for the folders of groups; a name that is not absolute counts from the home."""
    return [home.path / Path(root).expanduser() for root in config.files.roots] or [home.ipc_folder]


def _kept_for(config: Config) -> int:
    """For how many days what is over is kept; 0 is for ever."""
    days = config.retention.days
    if days < 0 or 0 < days < REF_REST_DAYS:
        raise InvalidSetting(
            f"retention.days: a question is kept for {REF_REST_DAYS} days at least, as long as its ref means it",
            hint=f"use {REF_REST_DAYS} or more, or 0 for ever",
        )
    return days


def _web_settings(config: Config) -> WebSettings:
    names = {config.host, urlsplit(config.public_url).hostname}
    return WebSettings(
        allowed_hosts=frozenset(name for name in names if name),
        allowed_origins=frozenset({config.public_url.rstrip("/")} if config.public_url else ()),
        public_url=config.public_url.rstrip("/"),
        version=__version__,
        label_cards=config.label_cards,
    )


async def _refresh(access: Access) -> None:
    """Learn of tokens that other daemons on the same database have made or revoked."""
    await asyncio.sleep(TOKENS_EVERY)
    await access.load()


async def _adopt_local_tokens(home: Home, access: Access, *, shared: bool) -> None:
    """The owner's credentials and the ask-only ones of local agents: made once, found in the home's files.

    Where homes share a database, each has its own: a name that is another home's gets something added.

    Raises:
        InvalidSetting: if a file holds no secret, or both hold the same one.
    """
    known = {token.name: token.digest for token in await access.tokens()}
    taken: dict[str, Path] = {}
    for path, name, role in (
        (home.owner_token_file, _owner(), Role.ADMIN),
        (home.agent_token_file, LOCAL_AGENT, Role.AGENT),
    ):
        if not path.exists():
            home.write_private(path, f"upcall_{role.value}_{secrets.token_urlsafe(32)}\n")
        secret = home.read_secret(path)
        other = taken.setdefault(secret, path)
        if other != path:
            # Agents would be let in as the owner.
            raise InvalidSetting(
                f"{path}: the secret in it is that of {other} as well",
                hint=f"delete {path}, or mount another",
            )
        if shared and known.get(name, digest(secret)) != digest(secret):
            name = f"{name}.{digest(secret)[:8]}"
        if known.get(name) != digest(secret):
            await access.adopt(name, role, secret)


def _owner() -> str:
    """What the owner of the home is called: as the system calls them."""
    name = pwd.getpwuid(os.getuid()).pw_name
    return "owner" if name == LOCAL_AGENT else name
