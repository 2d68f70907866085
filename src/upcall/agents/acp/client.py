"""Our side of the Agent Client Protocol, on its Python SDK. Only here is the SDK known; it is the extra `upcall[acp]`.

Messages travel over a console, line by line. What the agent does is read from them as they pass; the SDK sees requests
and replies, and none of the agent's updates.
"""

import asyncio
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast
from uuid import uuid4

from acp import PROTOCOL_VERSION, RequestError, connect_to_agent, text_block
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    CancelElicitationResponse,
    ClientCapabilities,
    CreateTerminalResponse,
    DeclineElicitationResponse,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    ElicitationFormRequestMode,
    ElicitationFormSessionMode,
    ElicitationUrlCapabilities,
    ElicitationUrlRequestMode,
    ElicitationUrlSessionMode,
    EnvVariable,
    FileSystemCapabilities,
    Implementation,
    InitializeResponse,
    McpServerStdio,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)
from pydantic import ValidationError

import upcall
from upcall.agents.acp.actions import action_of
from upcall.agents.acp.elicitation import NotFilledIn, Value, fields_of
from upcall.agents.acp.reading import AcpReader, Message, message_in
from upcall.agents.acp.requests import (
    Denials,
    is_ours,
    plan_in,
    question_groups,
    visit,
    way_to,
    way_with_edits,
)
from upcall.agents.prompt import advice_of, with_advice
from upcall.domain.run.api_errors import awaited
from upcall.domain.run.program import (
    SESSION_GONE,
    ActionRefused,
    Door,
    Finished,
    Noticed,
    Session,
    SessionSeen,
    Task,
    Unreadable,
)
from upcall.ports.agent import Console, Desk

REPLY_TIMEOUT = 120.0
"""How long an agent may take to begin; its first start may still be fetching something."""
GOODBYE_TIMEOUT = 2.0
CANCELLED = "cancelled"
"""How the protocol calls the end of a turn that was stopped."""

Notice = Callable[[Noticed], None]


class ConsoleTransport:
    """Carries the SDK's messages over a console, and shows each of them to `hear`.

    Requests are numbered from a random start: a process may still reply to requests of an earlier driver.
    """

    def __init__(self, console: Console, hear: Callable[[Message], None], notice: Notice) -> None:
        self._console = console
        self._hear = hear
        self._notice = notice
        self._first = secrets.randbelow(2**48)
        self._turn = asyncio.Lock()

    async def send(self, message: dict[str, Any]) -> None:
        """Send a request, a reply or a notification."""
        if "method" in message and "id" in message:
            message = {**message, "id": self._first + message["id"]}
        async with self._turn:
            await self._console.write(json.dumps(message))

    async def receive(self) -> dict[str, Any] | None:
        """The next message that is the SDK's business; None once the process has ended."""
        while (line := await self._console.read()) is not None:
            if not line.strip():
                continue
            message = message_in(line)
            if message is None:
                self._notice(Unreadable(line=line))
                continue
            self._hear(message)
            if message.get("method") == "session/update":
                continue
            if "method" in message:
                return dict(message)
            number = message.get("id")
            if isinstance(number, int) and number >= self._first:
                return {**message, "id": number - self._first}
        return None

    async def close(self) -> None:
        """Does nothing: the supervisor closes the console."""


class Client:
    """Answers what an agent asks of its client. Files and terminals are the agent's own business."""

    def __init__(self, desk: Desk, notice: Notice, reader: AcpReader, cwd: str) -> None:
        self._desk = desk
        self._notice = notice
        self._reader = reader
        self._cwd = cwd
        self.denials = Denials()
        self.agent = ""

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Have the action decided, and choose the option that says no more than that."""
        asked = tool_call.model_dump(mode="json", by_alias=True, exclude_none=True)
        call = {**self._reader.known(tool_call.tool_call_id), **asked}
        action = action_of(call, self._cwd, self.agent)
        offered = [(str(option.kind), option.option_id) for option in options]
        if is_ours(call):
            return _chosen(way_to(offered, allow=True))
        # The protocol never repeats a request, so each is one of its own.
        key, with_edits = f"acp:{uuid4().hex}", way_with_edits(offered)
        if plan := plan_in(call):
            verdict = await self._desk.put_plan(plan, key, edits=with_edits is not None)
            if verdict.accepts_edits:
                return _chosen(with_edits)
        else:
            verdict = await self._desk.approve(replace(action, hears="with_yes"), key)
        if not verdict.allowed:
            self.denials.add(action, verdict.reason)
            return _chosen(way_to(offered, allow=False))
        way = way_to(offered, allow=True)
        if way is None:
            self._notice(ActionRefused(tool=action.tool, reason="the agent offers no way to allow it once"))
            way = way_to(offered, allow=False)
        else:
            self.denials.note(action.tool, verdict.remark)
        return _chosen(way)

    async def create_elicitation(
        self, message: str, mode: Any, **_: Any
    ) -> AcceptElicitationResponse | DeclineElicitationResponse | CancelElicitationResponse:
        """Put a form to a person, or a link to be opened."""
        if isinstance(mode, ElicitationUrlSessionMode | ElicitationUrlRequestMode):
            return await self._visited(message, str(mode.url))
        if not isinstance(mode, ElicitationFormSessionMode | ElicitationFormRequestMode):
            return DeclineElicitationResponse(action="decline")
        schema = mode.requested_schema.model_dump(mode="json", by_alias=True, exclude_none=True)
        key = f"acp:{uuid4().hex}"
        content: dict[str, Value] = {}
        for number, group in enumerate(question_groups(message, fields_of(schema))):
            problem = ""
            while True:
                key_of_try = f"{key}:{number}:{problem}"
                outcome = await self._desk.ask(group.asked(problem), key_of_try)
                if outcome.status == "rejected":
                    return DeclineElicitationResponse(action="decline")
                if outcome.answers is None:
                    return CancelElicitationResponse(action="cancel")
                try:
                    content |= group.content(outcome.answers)
                except NotFilledIn as unfit:
                    problem = str(unfit)
                else:
                    self.denials.note(message, outcome.note)
                    break
        return AcceptElicitationResponse(action="accept", content=cast("Any", content))

    async def _visited(
        self, message: str, url: str
    ) -> AcceptElicitationResponse | DeclineElicitationResponse | CancelElicitationResponse:
        asked = visit(message, url)
        if asked is None:
            return DeclineElicitationResponse(action="decline")
        outcome = await self._desk.ask(asked, f"acp:{uuid4().hex}")
        if outcome.status == "rejected":
            return DeclineElicitationResponse(action="decline")
        if outcome.answers is None:
            return CancelElicitationResponse(action="cancel")
        self.denials.note(message, outcome.note)
        return AcceptElicitationResponse(action="accept")

    async def create_terminal(self, **_: Any) -> CreateTerminalResponse:
        """Refused: we told the agent that there are none."""
        raise RequestError.method_not_found("terminal/create")


class Conversation:
    """One process's work, from the handshake to its end."""

    def __init__(self, console: Console, desk: Desk, notice: Notice, told: Task | Session) -> None:
        self._notice = notice
        self._told = told
        self._reader = AcpReader(resumed=isinstance(told, Session))
        self._live = False
        self._end: Finished | None = None
        self._client = Client(desk, notice, self._reader, told.cwd)
        transport = ConsoleTransport(console, self._hear, notice)
        # The SDK asks for every method of its protocol, and takes a client that has only some of them.
        self._agent: ClientSideConnection = connect_to_agent(
            cast("Any", self._client), transport, use_unstable_protocol=True
        )
        self._session = ""

    async def work(self, message: str | None) -> None:
        """Do what was told; returns when it is over, also when the process is."""
        try:
            await self._work(message)
        except ConnectionError:
            return  # The process has ended, and its exit says how.
        except asyncio.CancelledError:
            await self._say_goodbye()
            raise
        except (RequestError, ValidationError) as problem:
            self._notice(self._end or Finished(ok=False, text=str(problem), reason="protocol_error"))
        except TimeoutError:
            self._notice(Finished(ok=False, text="the agent did not answer", reason="no_reply"))
        finally:
            await self._agent.close()

    async def _work(self, message: str | None) -> None:
        async with asyncio.timeout(REPLY_TIMEOUT):
            offered = await self._agent.initialize(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=ClientCapabilities(
                    fs=FileSystemCapabilities(read_text_file=False, write_text_file=False),
                    terminal=False,
                    elicitation=ElicitationCapabilities(
                        form=ElicitationFormCapabilities(), url=ElicitationUrlCapabilities()
                    ),
                ),
                client_info=Implementation(name="upcall", title="Upcall", version=upcall.__version__),
            )
            self._client.agent = offered.agent_info.name if offered.agent_info else ""
            if not await self._open(offered):
                return
        self._notice(SessionSeen(id=self._session))
        self._live = True
        told = self._told
        words = with_advice(told.prompt, advice_of(told.door)) if isinstance(told, Task) else message or ""
        while words:
            self._end = None
            await self._agent.prompt(session_id=self._session, prompt=[text_block(words)])
            words = self._client.denials.words() if self._goes_on() else ""
        if self._end:
            self._notice(self._end)

    def _goes_on(self) -> bool:
        """Whether it can be told something after its turn; for some agents a no ends the turn in which it was said."""
        return self._end is not None and (self._end.ok or self._end.reason == CANCELLED)

    async def _open(self, offered: InitializeResponse) -> bool:
        """A new session, or the one to go on with; what is replayed of it has been noticed before."""
        servers = cast("Any", [_server(self._told.door)])
        if isinstance(self._told, Task):
            made = await self._agent.new_session(cwd=self._told.cwd, mcp_servers=servers)
            self._session = made.session_id
            return True
        self._session = self._told.id
        capabilities = offered.agent_capabilities
        if capabilities and capabilities.session_capabilities and capabilities.session_capabilities.resume:
            resume = self._agent.resume_session
        elif capabilities and capabilities.load_session:
            resume = cast("Any", self._agent.load_session)
        else:
            self._notice(Finished(ok=False, text="the agent cannot load a session", reason=SESSION_GONE))
            return False
        try:
            await resume(cwd=self._told.cwd, session_id=self._session, mcp_servers=servers)
        except RequestError as problem:
            refused = self._end is not None and awaited(self._end.reason) is not None
            gone = Finished(ok=False, text=_details(problem), reason=SESSION_GONE)
            self._notice(self._end if self._end is not None and refused else gone)
            return False
        return True

    def _hear(self, message: Message) -> None:
        for noticed in self._reader.read(message):
            match noticed:
                case Finished():
                    self._end = noticed
                case SessionSeen():
                    pass
                case _ if self._live:
                    self._notice(noticed)
                case _:
                    pass

    async def _say_goodbye(self) -> None:
        if not self._live:
            return
        # The supervisor ends the process next, so this is a courtesy and may fail.
        with suppress(ConnectionError, OSError, TimeoutError):
            async with asyncio.timeout(GOODBYE_TIMEOUT):
                await self._agent.cancel(session_id=self._session)


def _details(problem: RequestError) -> str:
    return f"{problem}: {json.dumps(problem.data)}" if problem.data else str(problem)


def _server(door: Door) -> McpServerStdio:
    return McpServerStdio(
        name="upcall",
        command=door.command[0],
        args=list(door.command[1:]),
        env=[EnvVariable(name=name, value=value) for name, value in door.environment.items()],
    )


def _chosen(option: str | None) -> RequestPermissionResponse:
    if option is None:
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
    return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option))
