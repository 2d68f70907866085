"""`upcall.claude`: permissions and questions of the Claude Agent SDK (`pip install upcall[claude]`).

`can_use_tool()` holds a call while a person decides. A process that is killed then has lost the call, so `options()` and
`query()` defer it instead: Claude Code ends, the call stays in the session, and resuming the session puts it to the hook again.
"""

# The library is in an environment of its own: see `frameworks` in pyproject.toml.
# pyright: reportMissingImports=false

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Unpack, cast

import anyio
from claude_agent_sdk import (
    CanUseTool,
    ClaudeAgentOptions,
    HookCallback,
    HookContext,
    HookInput,
    HookJSONOutput,
    HookMatcher,
    Message,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultMessage,
    ToolPermissionContext,
    query as query_once,
)

from upcall.client.bridges.claude_calls import ASK, Fields, of_session, put_call
from upcall.client.bridges.plans import accepts_edits
from upcall.client.bridges.putting import connected, consent, denial, is_open
from upcall.client.client import Client
from upcall.client.outcome import Allowed, Verdict
from upcall.client.request import Waiting

TOOLS = f"Bash|Edit|Write|NotebookEdit|WebFetch|{ASK}|mcp__.*"
"""The calls that `options()` puts to a person: those that change something or leave the machine, and questions."""

ACCEPTING_EDITS = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
"""For a plan whose edits are accepted. No plan leads to a mode in which nothing is asked."""

ONE_AT_A_TIME = "Another call waits for a person. Make this call again when that one is decided."

HOOK_SECONDS = 24 * 3600.0  # only the call of a subagent, which cannot be deferred, is held

TAKEN_UP_SECONDS = 120.0
"""How long a session that is resumed without a prompt may take to put its call to the hook. Without such a call it would wait
for ever."""


def can_use_tool(client: Client | None = None, **waiting: Unpack[Waiting]) -> CanUseTool:
    """A callback for `ClaudeAgentOptions(can_use_tool=…)` that holds the call until a person has decided.

    A held call ends with its process, so its question has no key, and is withdrawn where Claude Code gives the call up.
    """

    async def decide(tool: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        async with connected(client) as broker:
            decided = await put_call(broker, tool, given, "", waiting)
        if isinstance(decided, Allowed):
            changes = [ACCEPTING_EDITS] if accepts_edits(decided) else None
            return PermissionResultAllow(updated_input=dict(decided.input), updated_permissions=changes)
        return PermissionResultDeny(message=denial(decided))

    return decide


def options(
    given: ClaudeAgentOptions | None = None,
    *,
    tools: str = TOOLS,
    client: Client | None = None,
    **waiting: Unpack[Waiting],
) -> ClaudeAgentOptions:
    """These options, with a hook that defers calls of `tools` (a pattern) until a person has decided them.

    Other calls for which Claude Code wants a permission are held by `can_use_tool()`. `query()` uses them for each process
    that it starts; a program that does without it waits and resumes the session by itself.
    """
    base = given or ClaudeAgentOptions()
    hooks = dict(base.hooks or {})
    # Where the hook fails, the call must not run.
    ours = HookMatcher(
        matcher=tools, hooks=[_hook(client, waiting)], timeout=HOOK_SECONDS, on_failure="block"
    )
    hooks["PreToolUse"] = [*hooks.get("PreToolUse", []), ours]
    return replace(base, hooks=hooks, can_use_tool=base.can_use_tool or can_use_tool(client, **waiting))


async def query(
    *,
    prompt: str | None,
    options: ClaudeAgentOptions | None = None,
    tools: str = TOOLS,
    client: Client | None = None,
    **waiting: Unpack[Waiting],
) -> AsyncIterator[Message]:
    """As `claude_agent_sdk.query`, with calls of `tools` put to a person and the session resumed when they are decided.

    A program that was started again gives the `resume` of its session in the options and None for the prompt: the call that
    it waited for is taken up, and runs once. If a `timeout` ends first, the last message says which call is deferred.

    Raises:
        LookupError: if there is no prompt, and no call in the session that waits for a person.
    """
    base = options or ClaudeAgentOptions()
    while True:
        deferred: ResultMessage | None = None
        ours = _options(base, tools=tools, client=client, **waiting)
        async for message in _turn(prompt, ours):
            if isinstance(message, ResultMessage) and message.deferred_tool_use is not None:
                deferred = message
            else:
                yield message
        if deferred is None or deferred.deferred_tool_use is None:
            return
        call = deferred.deferred_tool_use
        async with connected(client) as broker:
            held = of_session(deferred.session_id, waiting)
            if is_open(await put_call(broker, call.name, call.input, call.id, held)):
                yield deferred
                return
        prompt, base = None, replace(base, resume=deferred.session_id, session_id=None)


_options = options


async def _turn(prompt: str | None, options: ClaudeAgentOptions) -> AsyncIterator[Message]:
    """What one process says. Without a prompt, its input is held open for the hook's replies."""
    taken_up, over = anyio.Event(), anyio.Event()

    async def nothing() -> AsyncIterator[dict[str, Any]]:
        with anyio.move_on_after(TAKEN_UP_SECONDS):
            await taken_up.wait()
        if taken_up.is_set():
            await over.wait()
        none: tuple[dict[str, Any], ...] = ()
        for message in none:
            yield message

    async def notice(sent: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        taken_up.set()
        return {}

    hooks = dict(options.hooks or {})
    hooks["PreToolUse"] = [HookMatcher(hooks=[notice]), *hooks.get("PreToolUse", [])]
    said = nothing() if prompt is None else prompt
    async for message in query_once(prompt=said, options=replace(options, hooks=hooks)):
        taken_up.set()
        if isinstance(message, ResultMessage):
            over.set()
        yield message
    if not taken_up.is_set():
        raise LookupError(
            f"no call of session {options.resume!r} waits for a person: resume it with a prompt"
        )


def _hook(client: Client | None, waiting: Waiting) -> HookCallback:
    """The hook of one process. It can defer one call, and loses any other."""
    deferred, one_at_a_time = list[str](), anyio.Lock()

    async def decide(sent: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        call = cast("Fields", sent)
        at = tool_use_id or str(call["tool_use_id"])
        if call.get("agent_id"):
            return _reply(await put(call, "", waiting))
        async with one_at_a_time:
            if deferred:
                # It is not put to a person: the model makes it again under another id, and the question would be left over.
                return _output(permissionDecision="deny", permissionDecisionReason=ONE_AT_A_TIME)
            decided = await put(call, at, {**of_session(call["session_id"], waiting), "timeout": 0})
            if not is_open(decided):
                return _reply(decided)
            deferred.append(at)
            return _output(permissionDecision="defer")

    async def put(call: Fields, at: str, held: Waiting) -> Verdict:
        async with connected(client) as broker:
            return await put_call(broker, call["tool_name"], call["tool_input"], at, held)

    return decide


def _reply(decided: Verdict) -> HookJSONOutput:
    if isinstance(decided, Allowed):
        told, exactly = consent(decided), dict(decided.input)
        return _output(permissionDecision="allow", updatedInput=exactly, additionalContext=told)
    return _output(permissionDecision="deny", permissionDecisionReason=denial(decided))


def _output(**decision: object) -> HookJSONOutput:
    return cast("HookJSONOutput", {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}})
