"""The doors of agents: one set of tools, served through pipes, MCP over HTTP, and files; and hooks."""

from contextlib import suppress
from functools import partial
from pathlib import Path

from starlette.routing import Route

from upcall.access.connected import ConnectedSessions
from upcall.access.tokens import Access
from upcall.approvals.away import AwaySwitch
from upcall.broker.broker import Broker
from upcall.config.settings import Config
from upcall.daemon.wiring.credentials import owner_name
from upcall.daemon.wiring.runs import runner_name
from upcall.dispatch.answer_links import AnswerLinks
from upcall.domain.errors import UnknownPerson
from upcall.domain.inquiry.inquiry import LOCAL_AGENT, Inquiry
from upcall.domain.roles import Caller, Role
from upcall.doors.files.door import FileDoor
from upcall.doors.hooks import HookDoor
from upcall.doors.mcp.elicitation import VIA, Elicitation, is_question
from upcall.doors.mcp.lazy import LazyDoor
from upcall.doors.mcp.tools import Tools
from upcall.doors.native import DeskFor
from upcall.doors.pipe.server import PipeServer
from upcall.doors.terminal.door import TerminalDoor
from upcall.home.files import Home
from upcall.http.gate import Gate, most_connections
from upcall.presets.token_in_path import token_routes
from upcall.runs.book import Book


def agent_tools(
    broker: Broker, config: Config, desk_for: DeskFor, runner: str, links: AnswerLinks, url: str
) -> Tools:
    """The tools that every door serves."""
    base = config.public_url.rstrip("/") or url
    return Tools(
        broker,
        slice_seconds=config.slice,
        aliases=config.tool_aliases,
        desk_for=desk_for,
        runner=runner,
        resumes_all=config.resume == "auto",
        elicitation=Elicitation(broker, mode=config.elicit, link=partial(answer_address, links, base)),
    )


async def answer_address(links: AnswerLinks, base: str, inquiry: Inquiry) -> str:
    """The address that a client shows to the person in front of it, of a question that is no form there.

    It passes through the agent's own program. So the owner's link, with which a question is answered without signing in, is given to
    sessions that the owner has started, and never for an approval: that has its address in the inbox, where people are known.
    """
    if is_question(inquiry) and inquiry.origin.agent == LOCAL_AGENT:
        with suppress(UnknownPerson):
            return f"{base}{await links.path(inquiry, owner_name(), via=VIA)}"
    return f"{base}/i/{inquiry.id}"


def pipe_server(tools: Tools, access: Access, config: Config) -> PipeServer:
    """The listener of pipes, with the gate that counts all connections."""
    gate = Gate(most_connections(config.connections))
    return PipeServer(tools, access, gate=gate, waits=config.caps.waits)


def hook_routes(
    broker: Broker,
    access: Access,
    desk_for: DeskFor,
    config: Config,
    switch: AwaySwitch,
    held: ConnectedSessions,
) -> list[Route]:
    """The hooks of Claude Code: of runs, and of sessions that people started."""
    hooks = HookDoor(broker, access, desk_for, wait=config.hook_wait)
    return [*hooks.routes(), *TerminalDoor(broker, access, desk_for, switch, held).routes()]


def mcp_door(tools: Tools, access: Access, config: Config) -> LazyDoor:
    """MCP over HTTP."""
    return LazyDoor(
        tools,
        access,
        replica=config.replica,
        further=partial(token_routes, config, access),
        sessions=config.caps.mcp_sessions,
    )


def file_door(home: Home, config: Config, broker: Broker, tools: Tools) -> FileDoor:
    """The folders of containers without network."""
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


def file_roots(home: Home, config: Config) -> list[Path]:
    """The folders that contain the folders of groups; a relative name counts from the home."""
    return [home.path / Path(root).expanduser() for root in config.files.roots] or [home.ipc_folder]
