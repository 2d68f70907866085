"""What Claude Code asks on its own account: its question tool and its permission prompts, put to a desk.

The hook or the tool that carries them gets a verdict. An unclear request is denied.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, cast

from upcall.domain.answer.outcome import PARKED, Outcome
from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.limits import NATIVE
from upcall.domain.roles import Caller
from upcall.domain.run.program import Action, Verdict
from upcall.ports.agent import Desk, SessionDesk

QUESTION_TOOL = "AskUserQuestion"
PLAN_TOOL = "ExitPlanMode"
ACCEPTING_EDITS = [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
"""The change of permissions for a plan whose edits are accepted. No plan leads to any other mode."""

LONGEST_KEY = 200

Fields = Mapping[str, object]

log = logging.getLogger(__name__)


class DeskFor(Protocol):
    """Finds the desk that decides the questions and actions of a session, of a supervised run or of a person's own."""

    def __call__(
        self,
        *,
        caller: Caller,
        session: str,
        door: str,
        workspace: str | None,
        client: str = "",
        program: str = "",
        runner: str = "",
    ) -> SessionDesk:
        """The desk for an asker; the last three are as in `Origin`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool that a program wants to use; `key` is its own id for the call, and the same when it asks again."""

    tool: str
    input: Fields
    key: str
    cwd: str = ""
    reason: str = ""


def call_in(sent: object, input_name: str = "input", cwd: object = None) -> Call | Verdict:
    """The call that was described, or why it cannot be allowed."""
    fields = cast("Fields", sent) if isinstance(sent, Mapping) else {}
    tool, given, key = fields.get("tool_name"), fields.get(input_name), fields.get("tool_use_id")
    if not isinstance(tool, str) or not tool:
        return denied("`tool_name` is missing")
    if not isinstance(given, Mapping):
        return denied(f"`{input_name}` is not an object")
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY:
        return denied("`tool_use_id` is missing")
    where, reason = cwd if isinstance(cwd, str) else "", fields.get("reason")
    why = reason if isinstance(reason, str) else ""
    return Call(tool=tool, input=cast("Fields", given), key=key, cwd=where, reason=why)


def denied(why: str) -> Verdict:
    """A no to what cannot be understood."""
    return Verdict(allowed=False, reason=f"Upcall could not decide this, so it is denied: {why}.")


async def decide(
    call: Call,
    desk: Desk,
    wait: float,
    hears: Literal["", "with_yes", "after"] = "after",
    *,
    editable: bool = True,
) -> Verdict:
    """Have a call decided within `wait` seconds. Never raises, except when it is cancelled.

    `hears` is how words beside a yes reach the model, and `editable` whether an edit can be run, as in `Action`.
    """
    try:
        if call.tool == QUESTION_TOOL:
            if _have_equal_words(call.input.get("questions")):
                return denied("two questions have the same words")
            return answered(
                call, await desk.ask({"questions": call.input.get("questions")}, call.key, wait=wait)
            )
        if (plan := plan_in(call)) is not None:
            return replace(await desk.put_plan(plan, call.key, wait=wait), input=call.input)
        action = Action(
            tool=call.tool,
            input=call.input,
            cwd=call.cwd,
            reason=call.reason,
            editable=editable,
            hears=hears,
        )
        verdict = await desk.approve(action, call.key, wait=wait)
        # The input goes back as it was approved, to the last byte.
        return verdict if verdict.input is not None else replace(verdict, input=call.input)
    except UpcallError as error:
        return denied(error.message)
    except Exception:
        log.exception("the call of %s could not be decided", call.tool[:100])
        return denied("something went wrong, and the daemon's log says what")


def permission_text(verdict: Verdict) -> str:
    """A verdict as the one text that a permission prompt tool returns."""
    return json.dumps(permission(verdict))


def permission(verdict: Verdict) -> Fields:
    """A verdict in the words of Claude Code's permission prompts."""
    if not verdict.allowed:
        return {"behavior": "deny", "message": verdict.reason}
    allow: Fields = {"behavior": "allow", "updatedInput": verdict.input}
    return {**allow, "updatedPermissions": ACCEPTING_EDITS} if verdict.accepts_edits else allow


def plan_in(call: Call) -> str | None:
    """The plan that a call submits; None for any other call."""
    plan = call.input.get("plan") if call.tool == PLAN_TOOL else None
    return plan if isinstance(plan, str) and plan.strip() else None


def answered(call: Call, outcome: Outcome) -> Verdict:
    """The questions with their answers, which is how Claude Code's question tool is used."""
    if (given := outcome.worded) is None:
        return Verdict(allowed=False, reason=outcome.text, open=outcome.status == PARKED)
    questions = call.input.get("questions")
    texts = _texts(questions)
    if len(texts) != len(given):
        return denied("the answers do not fit the questions")
    answers = {text: ", ".join(values) for text, values in zip(texts, given, strict=True)}
    return Verdict(allowed=True, input={"questions": questions, "answers": answers})


def _have_equal_words(questions: object) -> bool:
    """Whether Claude Code, which finds an answer by the words of its question, could not tell two answers apart."""
    if not isinstance(questions, list) or len(questions) > NATIVE.questions:
        return False  # the desk refuses it
    texts = _texts(cast("list[object]", questions))
    return len(set(texts)) < len(texts)


def _texts(questions: object) -> list[str]:
    """Each question as it was given, since that is the name of its answer."""
    items = cast("Sequence[object]", questions) if isinstance(questions, list) else ()
    fields = [cast("Fields", item) if isinstance(item, Mapping) else {} for item in items]
    return [text for item in fields if isinstance(text := item.get("question"), str)]
