"""A dialog put to a desk, and what becomes of it: `say` in the words of Claude Code's hooks, `decision` for the other programs.

Only a person's decision is passed on. Silence, an expired question or an error is `NOTHING`: the dialog in the terminal stays.
"""

import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal, cast

from upcall.domain.answer.outcome import PARKED, Outcome
from upcall.domain.run.program import Verdict
from upcall.doors.native import Call, Fields, answered, decide, permission
from upcall.doors.terminal.programs import CLAUDE, CODEX, COPILOT, GEMINI, OPENCODE
from upcall.ports.agent import Desk, SessionDesk

Reply = Mapping[str, object]
Ask = Callable[[Desk, float], Coroutine[Any, Any, Reply]]

NOTHING: Reply = {}
AGAIN: Reply = {"again": True}
"""Tells the hook to report again."""

NEXT = "{name} has finished its turn. What should it do next?"
TOLD = "The user is away from this terminal and sends their next message from elsewhere: {said}"
HEARS: Mapping[str, Literal["", "with_yes", "after"]] = {
    CLAUDE: "after",
    CODEX: "with_yes",
    OPENCODE: "with_yes",
    GEMINI: "",
    COPILOT: "",
}
"""How words beside a yes reach the model of each program, as in `Action`."""

MOST_WORDS = 12_000
"""Characters of a session's last words that are shown with the question what to do next."""


async def put_question(call: Call, desk: Desk, wait: float) -> Reply:
    """Put the questions of a program's own tool."""
    asked = {name: call.input[name] for name in ("questions", "context", "secret") if name in call.input}
    outcome = await desk.ask(asked, call.key, wait=wait)
    match outcome.status:
        case "answered" | "rejected":
            return _decision(answered(call, outcome), outcome.id, outcome.worded)
        case _:
            return _open_or_nothing(outcome)


async def put_action(
    call: Call, desk: Desk, wait: float, is_decided: Callable[[str], Awaitable[bool]], program: str
) -> Reply:
    """Have a tool's use decided. A no counts if `is_decided` knows it for a person's.

    Claude Code alone runs a tool with another input.
    """
    verdict = await decide(call, desk, wait, HEARS[program], editable=program == CLAUDE)
    if verdict.open:
        return {**AGAIN, "asked": verdict.inquiry}
    if verdict.allowed or (verdict.inquiry and await is_decided(verdict.inquiry)):
        return _decision(verdict, verdict.inquiry)
    return NOTHING


async def put_next(name: str, event: Fields, desk: Desk, wait: float) -> Reply:
    """Ask what a session that has finished its turn should do next, with its last words. `name` is its program's."""
    words = str(event.get("last_assistant_message") or "")[:MOST_WORDS]
    turn = f"{event.get('session_id')}\n{event.get('prompt_id')}\n{words}"
    key = f"finished:{hashlib.sha256(turn.encode()).hexdigest()}"
    outcome = await desk.ask(
        {"question": NEXT.format(name=name), "header": "Finished", "context": words}, key, wait=wait
    )
    if outcome.status != "answered" or not outcome.worded:
        return _open_or_nothing(outcome)
    said = "\n".join(", ".join(values) for values in outcome.worded)
    return {"wake": TOLD.format(said=said), "said": said, "handed": outcome.id}


async def told_after(event: str, tool: str, given: object, desk: SessionDesk) -> Reply:
    """What the model is told of a tool that has run: what a person changed about it, and their note."""
    words = await desk.remark(tool, cast("Fields", given)) if isinstance(given, Mapping) else ""
    if not words:
        return NOTHING
    return {"say": {"hookSpecificOutput": {"hookEventName": event, "additionalContext": words}}}


def _open_or_nothing(outcome: Outcome) -> Reply:
    return {**AGAIN, "asked": outcome.id} if outcome.status == PARKED else NOTHING


def _decision(verdict: Verdict, inquiry: str, answers: Sequence[Sequence[str]] | None = None) -> Reply:
    output = {"hookEventName": "PermissionRequest", "decision": permission(verdict)}
    plain = {"allowed": verdict.allowed, "reason": verdict.reason, "remark": verdict.remark}
    decision = plain if answers is None else {**plain, "answers": [list(values) for values in answers]}
    return {"say": {"hookSpecificOutput": output}, "decision": decision, "handed": inquiry}
