"""`POST /hooks/claude`: Claude Code's http hooks, decided by people.

A `PreToolUse` hook holds the call. Where no person decides in time, a supervised run is told to defer, which ends its process
without losing the call; every other session is told no. Only a clear yes becomes an `allow`.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, Self, cast

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.approvals.unnamed import UnnamedCalls
from upcall.broker.broker import Broker
from upcall.domain.errors import InvalidRequest, Unauthenticated
from upcall.domain.roles import Caller
from upcall.domain.run.program import Verdict
from upcall.doors.forms import ELICITATION, FORM, filled_in, unnamed
from upcall.doors.native import Call, DeskFor, Fields, call_in, decide, denied, permission
from upcall.http.bearer import RequiresToken, caller_of, token_of
from upcall.http.body import Json, disconnected, read_body
from upcall.http.errors import MethodNotAllowed, failure
from upcall.ports.json_reading import read_json

PATH = "/hooks/claude"
DOOR = "claude-hook"
OURS = "mcp__upcall__"
PRE_TOOL_USE = "PreToolUse"
PERMISSION_REQUEST = "PermissionRequest"
RAN = ("PostToolUse", "PostToolUseFailure")
EVENTS = (PRE_TOOL_USE, PERMISSION_REQUEST, ELICITATION, *RAN)
PLANNING = "plan"
ONE_AT_A_TIME = (
    "Another question of this session is still open. Ask one at a time: wait for its answer, then ask this."
)

SAME_TURN = 30.0
"""Seconds in which a process that was told to defer has ended. A later call of its session belongs to another turn."""

Reply = Mapping[str, object]


class HookDoor:
    """The door for hooks of Claude Code. `wait` is how many seconds a call is held, unless the policy says less."""

    def __init__(
        self,
        broker: Broker,
        access: Access,
        desk_for: DeskFor,
        *,
        wait: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._broker = broker
        self._access = access
        self._desk_for = desk_for
        self._wait = broker.policy.block_timeout if wait is None else wait
        self._calls = DeferrableCalls(clock)
        self._unnamed = UnnamedCalls(broker.store)

    def routes(self) -> list[Route]:
        """The one path."""
        return [Route(PATH, RequiresToken(self._access, self._serve))]

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await failure(MethodNotAllowed(scope["method"], "POST"))(scope, receive, send)
            return
        sent = _object(await read_body(receive))
        if isinstance(sent, Verdict):
            await Json(_pre_tool_use(sent))(scope, receive, send)
            return
        event = sent.get("hook_event_name", PRE_TOOL_USE)
        if event not in EVENTS:
            hint = f"set this hook for {' or '.join(EVENTS)} alone"
            problem = InvalidRequest(f"nothing is decided here on {event!r}"[:200], hint=hint)
            await failure(problem)(scope, receive, send)
            return
        deciding = asyncio.create_task(self._decided(sent, caller_of(scope)))
        gone = asyncio.create_task(disconnected(receive))
        try:
            await asyncio.wait({deciding, gone}, return_when=asyncio.FIRST_COMPLETED)
            if deciding.done():
                reply = self._still_known(scope, deciding.result(), sent)
                await Json(reply)(scope, receive, send)
        finally:
            # A client that hangs up only detaches: the question stays open, and the same key rejoins it.
            deciding.cancel()
            gone.cancel()
            await asyncio.gather(deciding, gone, return_exceptions=True)

    async def _decided(self, sent: Fields, caller: Caller) -> Reply:
        """The reply to a call. A `PermissionRequest` has no id of its call and gets one here."""
        if sent.get("hook_event_name") == ELICITATION:
            return await self._of_form(sent, caller)
        if sent.get("hook_event_name") in RAN:
            return await self._remark(sent, caller)
        if sent.get("hook_event_name") != PERMISSION_REQUEST or sent.get("tool_use_id") is not None:
            return await self._said(sent, caller)
        async with self._unnamed.named(sent, caller) as call:
            reply = await self._said({**sent, "tool_use_id": call.key}, caller)
            if _is_allowed(reply):
                await self._unnamed.decided(call, self._broker.now())
            return reply

    async def _of_form(self, sent: Fields, caller: Caller) -> Reply:
        """The reply to a form. One that is only a link stays with Claude Code."""
        session, cwd = sent.get("session_id"), sent.get("cwd")
        if sent.get("mode", FORM) != FORM or not isinstance(session, str) or not 0 < len(session) <= 1000:
            return {}
        workspace = cwd if isinstance(cwd, str) and cwd else None
        desk = self._desk_for(
            caller=caller, session=session, door=DOOR, workspace=workspace, client="claude-code"
        )
        async with self._unnamed.named(unnamed(sent), caller) as form:
            wait = min(self._wait, self._broker.policy.block_timeout)
            told = partial(self._broker.collect, caller=caller, evidence="hook")
            reply = await filled_in(sent, form.key, desk, wait, told)
            # Whatever came of it, the same form later is another one.
            await self._unnamed.decided(form, self._broker.now())
            return reply

    async def _remark(self, sent: Fields, caller: Caller) -> Reply:
        """What the model is told of a tool that has run: what a person changed about it, and their note."""
        session, tool, given = sent.get("session_id"), sent.get("tool_name"), sent.get("tool_input")
        if not isinstance(session, str) or not isinstance(tool, str) or not isinstance(given, Mapping):
            return {}
        desk = self._desk_for(caller=caller, session=session, door=DOOR, workspace=None)
        words = await desk.remark(tool, cast("Fields", given))
        return _output(str(sent["hook_event_name"]), {"additionalContext": words}) if words else {}

    async def _said(self, sent: Fields, caller: Caller) -> Reply:
        """The reply to a call; empty for a call of our own tools."""
        call = call_in(sent, "tool_input", sent.get("cwd"))
        session = sent.get("session_id")
        if isinstance(call, Call) and not (isinstance(session, str) and 0 < len(session) <= 1000):
            call = denied("`session_id` is missing")
        if isinstance(call, Verdict):
            return _told(sent, call)
        if call.tool.startswith(OURS):
            # Our tools ask a person themselves; Claude Code's own rules decide whether they may be called.
            return {}
        return await self._put(sent, call, cast("str", session), caller)

    async def _put(self, sent: Fields, call: Call, session: str, caller: Caller) -> Reply:
        desk = self._desk_for(
            caller=caller, session=session, door=DOOR, workspace=call.cwd or None, client="claude-code"
        )
        patience = self._broker.policy.block_timeout
        wait = min(self._wait, patience)
        # Only the reply to this event has a place for words beside a yes.
        before = sent.get("hook_event_name") != PERMISSION_REQUEST
        hears: Literal["with_yes", "after"] = "with_yes" if before else "after"
        if not _may_defer(sent, caller):
            planning = sent.get("permission_mode") == PLANNING and caller.run is not None
            return _told(sent, await decide(call, desk, patience if planning else wait, hears))
        with self._calls.taken(session, call.key) as turn:
            if not turn.is_first:
                return _told(sent, Verdict(allowed=False, reason=ONE_AT_A_TIME))
            verdict = await decide(call, desk, wait, hears)
            if not verdict.open:
                return _told(sent, verdict)
            turn.defer()
            return _output(PRE_TOOL_USE, {"permissionDecision": "defer"})

    def _still_known(self, scope: Scope, reply: Reply, sent: Fields) -> Reply:
        """The reply, or a denial if the token was revoked while the call waited."""
        try:
            self._access.identify(token_of(scope))
        except Unauthenticated as error:
            return _told(sent, denied(error.message))
        return reply


class DeferrableCalls:
    """The calls that sessions have waiting here. Claude Code can defer one call in a turn; it loses any other."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._waiting: dict[str, list[DeferrableCall]] = {}
        self._deferred: dict[str, tuple[str, float]] = {}

    def taken(self, session: str, key: str) -> "DeferrableCall":
        """Register a call. It is the first if no other call of its session waits or was deferred."""
        now = self._clock()
        self._deferred = {name: entry for name, entry in self._deferred.items() if now < entry[1] + SAME_TURN}
        waiting = self._waiting.get(session)
        holder = waiting[0].key if waiting else self._deferred.get(session, ("", 0.0))[0]
        return DeferrableCall(self, session, key, is_first=holder in ("", key))

    def begin(self, session: str, turn: "DeferrableCall") -> None:
        """A call waits; if it was deferred, this is the next process."""
        self._waiting.setdefault(session, []).append(turn)
        self._deferred.pop(session, None)

    def end(self, session: str, turn: "DeferrableCall", *, deferred: bool) -> None:
        """A call was decided or deferred, or its client hung up; the same call may wait here a second time."""
        waiting = self._waiting[session]
        waiting.remove(turn)
        if not waiting:
            del self._waiting[session]
        if deferred:
            self._deferred[session] = (turn.key, self._clock())


class DeferrableCall:
    """One call while it waits."""

    def __init__(self, calls: DeferrableCalls, session: str, key: str, *, is_first: bool) -> None:
        self.is_first = is_first
        self.key = key
        self._calls = calls
        self._session = session
        self._deferred = False

    def __enter__(self) -> Self:
        if self.is_first:
            self._calls.begin(self._session, self)
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_first:
            self._calls.end(self._session, self, deferred=self._deferred)

    def defer(self) -> None:
        """Remember that the call was deferred, which ends the process."""
        self._deferred = True


def _may_defer(sent: Fields, caller: Caller) -> bool:
    """Whether a call may be deferred: only runs are resumed, and the call of a subagent would be lost.

    A session that is resumed is not in plan mode any more, so nothing is put off there.
    """
    return (
        sent.get("hook_event_name") != PERMISSION_REQUEST
        and sent.get("permission_mode") != PLANNING
        and caller.run is not None
        and not sent.get("agent_id")
    )


def _told(sent: Fields, verdict: Verdict) -> Reply:
    if sent.get("hook_event_name") != PERMISSION_REQUEST:
        return _pre_tool_use(verdict)
    return _output(PERMISSION_REQUEST, {"decision": permission(verdict)})


def _is_allowed(reply: Reply) -> bool:
    output = cast("Fields", reply.get("hookSpecificOutput", {}))
    return cast("Fields", output.get("decision", {})).get("behavior") == "allow"


def _pre_tool_use(verdict: Verdict) -> Reply:
    if verdict.allowed:
        allow = {"permissionDecision": "allow", "updatedInput": verdict.input}
        words = {"additionalContext": verdict.remark} if verdict.remark else {}
        return _output(PRE_TOOL_USE, {**allow, **words})
    deny = {"permissionDecision": "deny", "permissionDecisionReason": verdict.reason}
    return _output(PRE_TOOL_USE, deny)


def _output(event: str, fields: Mapping[str, object]) -> Reply:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def _object(body: bytes) -> Fields | Verdict:
    try:
        sent = read_json(body, "what the hook sent")
    except InvalidRequest as problem:
        return denied(problem.message)
    if not isinstance(sent, dict):
        return denied("what the hook sent is not an object")
    return cast("Fields", sent)
