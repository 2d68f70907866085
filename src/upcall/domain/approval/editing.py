"""Deciding with changes: an action that a person edits before they approve it.

An edit is an action of the same tool, in the same directory and with the same fields. Where the program cannot run it, the edit
becomes a denial that suggests it.
"""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import cast

from upcall.domain.approval import actions
from upcall.domain.approval.edits import compared
from upcall.domain.errors import InvalidInquiry, NotEditable
from upcall.domain.inquiry.inquiry import APPROVE, DENY, Answer, Edit, Inquiry
from upcall.domain.inquiry.limits import weight
from upcall.domain.run.program import Action
from upcall.domain.text.redaction import redact_action

Input = Mapping[str, object]

MOST_NESTED = 100
"""Levels of objects and lists in a field."""

HINT = "deny it, and write what to do instead"


def edit_of(inquiry: Inquiry, wanted: Input) -> Edit | None:
    """The edit that gives the tool of an inquiry this input; None if that is what was asked for.

    Raises:
        NotEditable: if it cannot be edited, or not like this.
    """
    subject = inquiry.subject
    if subject is None:
        raise NotEditable("only an action of a tool can be edited", hint=HINT)
    if (given := subject.given) is None:
        raise NotEditable(
            "this cannot be edited: it is too long, or something in it is masked or hidden", hint=HINT
        )
    if weight(wanted, actions.MOST_EDITED) > actions.MOST_EDITED:
        raise NotEditable(f"an edited action has at most {actions.MOST_EDITED} characters", hint=HINT)
    asked = Action(tool=subject.tool, input=given, cwd=subject.cwd)
    changed = replace(asked, input=wanted)
    try:
        digest = actions.approval(changed).digest
    except InvalidInquiry as problem:
        raise NotEditable(problem.message, hint=HINT) from None
    if digest == inquiry.digest:
        return None
    _check(given, wanted)
    return Edit(
        input=wanted,
        digest=digest,
        before=actions.whole(asked),
        after=actions.whole(changed),
        difference=difference(given, wanted),
    )


def taken(inquiry: Inquiry, given: Answer, edit: Edit | None) -> Answer:
    """An approval with its edit. For a program that cannot run it, this is a denial that suggests it.

    Raises:
        NotEditable: if it is a denial.
    """
    if edit is None:
        return given
    if given.values != ((APPROVE,),):
        raise NotEditable("only an approval can be edited", hint="approve it, or leave the edit out")
    if inquiry.subject is not None and inquiry.subject.runs_edited:
        return replace(given, edit=edit)
    return replace(given, values=((DENY,),), text=DENY, edit=edit)


def in_text(value: object) -> str:
    """A field as a person edits it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def from_text(given: Input, texts: Mapping[str, str]) -> Input:
    """The input with these fields as a person wrote them; the others stay.

    Raises:
        NotEditable: if a field is none of the input, or not of its type.
    """
    if strange := sorted(texts.keys() - given.keys()):
        raise NotEditable(
            f"{strange[0]!r} is no field of this action", hint=f"its fields are {', '.join(given)}"
        )
    return {
        name: _read(name, value, texts[name]) if name in texts else value for name, value in given.items()
    }


def _read(name: str, value: object, text: str) -> object:
    if isinstance(value, str):
        return text
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        raise NotEditable(f"{name}: this is not JSON", hint=f"for example {in_text(value)[:80]}") from None


def _check(given: Input, wanted: Input) -> None:
    if wanted.keys() != given.keys():
        raise NotEditable(
            "an edited action has the fields of the one that was asked for",
            hint=f"give each of {', '.join(given)}",
        )
    for name, value in wanted.items():
        before = given[name]
        if _is_same(value, before):
            continue
        if _kind(value) is not _kind(before):
            raise NotEditable(f"{name}: not of the type that it had", hint=f"it was {in_text(before)[:80]}")
        if not _is_told_exactly(value):
            raise NotEditable(
                f"{name}: a number in it is too large, or it is nested too deeply", hint="write it as text"
            )
        if not actions.is_plain(value):
            raise NotEditable(
                f"{name}: there is a character in it that cannot be seen",
                hint="type it, instead of pasting it",
            )
        if value in ("", [], {}) or (isinstance(value, str) and not value.strip() and str(before).strip()):
            raise NotEditable(f"{name}: nothing is left of it", hint=HINT)


def _is_same(value: object, other: object) -> bool:
    # True equals 1, but is another thing in JSON.
    return json.dumps(value, sort_keys=True) == json.dumps(other, sort_keys=True)


def _is_told_exactly(value: object) -> bool:
    """Whether a program gets this value as it is: encoders round or replace larger numbers and deeper nesting."""
    level: list[object] = [value]
    for _ in range(MOST_NESTED):
        if any(isinstance(each, int) and not -(2**63) <= each < 2**63 for each in level):
            return False
        if any(isinstance(each, float) and not math.isfinite(each) for each in level):
            return False
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return True
    return False


def _inside(value: object) -> Collection[object]:
    match value:
        case list():
            return cast("list[object]", value)
        case dict():
            return cast("Mapping[str, object]", value).values()
        case _:
            return ()


def _kind(value: object) -> type:
    # A whole number is a number like any other.
    return float if type(value) is int else type(value)


def difference(given: Input, wanted: Input) -> str:
    """How each field that was edited differs from the one that was asked for."""
    changed = "\n".join(
        compared(name, in_text(value), in_text(wanted[name]))
        for name, value in given.items()
        if not _is_same(value, wanted[name])
    )
    # It goes where the action goes as it is shown: into the log, and to the model.
    return redact_action(changed).text
