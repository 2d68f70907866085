"""What an ACP agent's requests mean to us: actions to approve, options to choose from, forms to ask about."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import quote, urlsplit

from upcall.agents.acp.elicitation import YES, Choice, Field, Value
from upcall.domain.run.program import Action

QUESTIONS = 4
"""How many an inquiry has at most."""

DONE = "Done"
"""What a person chooses who has opened a link."""

_IN_LINKS = "!#$%&'()*+,/:;=?@[]~-._"
ACCEPT_EDITS = "acceptEdits"
"""The mode, and so the option, in which Claude Code changes files without asking."""

DENIED = "Actions of yours were denied. Do not try them again; the reasons:"
NOTED = "Beside an answer of theirs, the person wrote:"
GO_ON = "If something is left of your task, go on with it in another way."

_TOOLS = "ask_human|confirm_action|wait_for_answer|notify_human"
_OURS = re.compile(rf"(?:mcp__)?upcall(?:__|[_./:])(?:{_TOOLS})|(?:{_TOOLS}) \(upcall MCP Server\)")
_SENSITIVE = {"edit", "delete", "move", "execute"}


def plan_in(call: Mapping[str, object]) -> str:
    """The plan that a call submits; empty for any other. An agent that tells only the file of its plan submits an action."""
    given = call.get("rawInput")
    plan = cast("Mapping[str, object]", given).get("plan") if isinstance(given, dict) else None
    return plan.strip() if isinstance(plan, str) and call.get("kind") == "switch_mode" else ""


def is_ours(call: Mapping[str, object]) -> bool:
    """Whether a call only asks a person something, through our own door."""
    return call.get("kind") not in _SENSITIVE and _OURS.fullmatch(str(call.get("title", ""))) is not None


def way_to(offered: Sequence[tuple[str, str]], *, allow: bool) -> str | None:
    """The option, of (kind, id), that says yes to this one action, or no; None if there is none.

    A yes is never turned into a standing one: what is always allowed, Upcall remembers by rules of its own.
    """
    kinds = ("allow_once",) if allow else ("reject_once", "reject_always")
    return next((name for kind in kinds for each, name in offered if each == kind), None)


def way_with_edits(offered: Sequence[tuple[str, str]]) -> str | None:
    """The option that approves a plan and accepts edits of files; no other standing yes is ever chosen."""
    return next((name for kind, name in offered if kind == "allow_always" and name == ACCEPT_EDITS), None)


class Denials:
    """Reasons and notes that the protocol has no place for: the agent is told of each once, after its turn."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self._notes: list[str] = []
        self._told: set[str] = set()

    def add(self, action: Action, reason: str) -> None:
        """Keep a reason to tell."""
        if reason:
            self._reasons[f"{action.tool} {dict(action.input)!r}"] = f"- {action.tool}: {reason}"

    def note(self, question: str, note: str) -> None:
        """Keep what a person wrote beside an answer."""
        if note:
            self._notes.append(f"- {question}: {note}")

    def words(self) -> str:
        """What the agent is to be told now, if anything."""
        fresh = {key: line for key, line in self._reasons.items() if key not in self._told}
        self._told |= fresh.keys()
        notes, self._notes = self._notes, []
        denied = [DENIED, *fresh.values()] if fresh else []
        noted = [NOTED, *notes] if notes else []
        return "\n".join([*denied, *noted, GO_ON]) if denied or noted else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """As many fields of a form as fit into one inquiry."""

    message: str
    fields: tuple[Field, ...]
    alone: bool

    def asked(self, problem: str = "") -> dict[str, object]:
        """The questions; with what was wrong the last time."""
        wording = self.message if self.alone else ""
        context = "" if self.alone else self.message
        if problem:
            context = f"{context}\n\nThe last answer did not fit. {problem}".strip()
        return {"questions": [field.question(wording) for field in self.fields], "context": context}

    def content(self, answers: Sequence[Sequence[str]]) -> dict[str, Value]:
        """What the form takes.

        Raises:
            NotFilledIn: if an answer is not of that kind.
        """
        filled: dict[str, Value] = {}
        for field, given in zip(self.fields, answers, strict=False):
            filled |= field.content(given)
        return filled


def visit(message: str, url: str) -> dict[str, object] | None:
    """A request to open an address, as a question with the link; None if it is no address of the web."""
    try:
        is_web = urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        return None
    if not is_web:
        return None
    asked = {
        "header": "Link",
        "question": message or "Open this link?",
        "options": [{"label": DONE, "description": "The link was opened, and what it asks for is done."}],
        "custom": False,
    }
    # In angle brackets it is a link and nothing else, also where its text has a meaning in Markdown.
    return {"questions": [asked], "context": f"<{quote(url, safe=_IN_LINKS)}>"}


def question_groups(message: str, fields: Sequence[Field]) -> Iterator[Group]:
    """A form, in inquiries. One without fields is a question whether to go on."""
    if not fields:
        fields = [Field(name="", kind="boolean", label="Confirm", choices=(Choice(label=YES, value=True),))]
    # A field that is described says for itself what it is about; one with a name only is asked for in the form's words.
    alone = len(fields) == 1 and not fields[0].description
    for start in range(0, len(fields), QUESTIONS):
        yield Group(message=message, fields=tuple(fields[start : start + QUESTIONS]), alone=alone)
