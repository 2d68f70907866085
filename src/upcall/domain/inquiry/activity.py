"""What led to an inquiry: the task of its agent, and the last words and tool calls before it asked.

It is made from what the agent's program has written down, which is text like any other of an agent: secrets are masked before it is
kept, its length is bounded, and the places that show it make it harmless.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from upcall.domain.text.display import one_line, visible
from upcall.domain.text.redaction import redact

LONGEST_TASK = 300
LONGEST_BRANCH = 200
LONGEST_MESSAGE = 2000
LONGEST_TOOL = 100
LONGEST_INPUT = 500
MOST_CALLS = 3
MOST_FIELDS = 10
LOOKED_AT = 16 * 1024
"""Characters of one text in which secrets are looked for; what is kept is shorter."""

COMPARED = 80
"""Characters of a question by which its call is recognised."""

ASKING = (
    *("ask_human", "confirm_action", "wait_for_answer", "approve_action"),
    *("AskUserQuestion", "ask_user", "question", "request_user_input", "ExitPlanMode"),
)
"""The tools with which agents ask: such a call is the question itself, and nothing that led to it."""

TOLD_BY = ("command", "cmd", "file_path", "pattern", "query", "url", "path")
"""The fields of an input that say most about a call, the first of them first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A tool call in short: the tool, and what it was used on."""

    tool: str
    input: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What an agent was doing when it asked; what is not known is empty. `turn` counts how often its model has spoken.

    `plan` has the steps that it follows, as Markdown.
    """

    task: str = ""
    branch: str = ""
    turn: int | None = None
    message: str = ""
    calls: tuple[ToolUse, ...] = ()
    plan: str = ""

    def __bool__(self) -> bool:
        return bool(self.task or self.branch or self.turn or self.message or self.calls or self.plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words of the model, from the record of a session."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call, from the record of a session."""

    tool: str
    input: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The plan that a program follows, from the record of a session."""

    text: str


Step = Words | Call | Steps


def activity(
    steps: Iterable[Step], *, task: str = "", branch: str = "", turn: int | None = None, action: str = ""
) -> Activity:
    """The activity at the end of `steps`. `action` is the tool that an approval is about: its call waits for the decision."""
    message, plan, calls = "", "", list[Call]()
    for step in steps:
        match step:
            case Words(text=text):
                message = text if text.strip() else message
            case Steps(text=text):
                plan = text
            case Call():
                calls.append(step)
    if calls and calls[-1].tool == action:
        calls.pop()
    led = [call for call in calls if not is_asking(call.tool)][-MOST_CALLS:]
    return Activity(
        task=_line(task, LONGEST_TASK),
        branch=_line(branch, LONGEST_BRANCH),
        turn=turn,
        message=_kept(message.strip(), LONGEST_MESSAGE),
        plan=_kept(plan.strip(), LONGEST_MESSAGE),
        calls=tuple(
            ToolUse(tool=_line(call.tool, LONGEST_TOOL), input=_line(_told(call.input), LONGEST_INPUT))
            for call in led
        ),
    )


def is_asking(tool: str) -> bool:
    """Whether a tool is one that asks, under any of the prefixes that programs put before its name."""
    return any(tool == name or tool.endswith(("_" + name, "." + name, "/" + name)) for name in ASKING)


def asks_now(steps: Sequence[Step], question: str, action: str = "") -> bool:
    """Whether the last step is the call that asks this, or that waits for the approval of its action.

    The call that submits a plan need not have words of the question in it, which is empty then.
    """
    last = steps[-1] if steps else None
    if not isinstance(last, Call):
        return False
    if action:
        return last.tool == action
    return is_asking(last.tool) and (not question or asks(last.input, question))


def asks(given: object, question: str) -> bool:
    """Whether the input of a call has the words of a question in it."""
    sent = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    words = question[:COMPARED]
    return bool(words) and (words in sent or json.dumps(words, ensure_ascii=False)[1:-1] in sent)


def _told(given: object) -> str:
    """The input of a call in short: the field that says most, or all of them."""
    if isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        return ""
    fields = cast("Mapping[str, object]", given)
    for name in TOLD_BY:
        match fields.get(name):
            case str() as value if value:
                return value
            case list() as words if words:
                return " ".join(map(str, cast("list[object]", words)[:100]))
            case _:
                continue
    return ", ".join(f"{name}: {_value(value)}" for name, value in _some(fields))


def _some(fields: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for number, (name, value) in enumerate(fields.items()):
        if number == MOST_FIELDS:
            return
        yield str(name)[:LONGEST_TOOL], value


def _value(value: object) -> str:
    return value[:LOOKED_AT] if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:LOOKED_AT]


def _line(text: str, most: int) -> str:
    return one_line(redact(text[:LOOKED_AT]).text, most)


def _kept(text: str, most: int) -> str:
    masked = visible(redact(text[:LOOKED_AT]).text)
    return masked if len(masked) <= most else masked[: most - 1].rstrip() + "…"
