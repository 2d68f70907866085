"""How asking ends: one class for each outcome, to be taken apart with `match`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

Inquiry = Mapping[str, Any]
"""An inquiry as the API shows it; docs/api.md describes its fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    id: str
    ref: str
    """What a person types to mean this inquiry."""

    inquiry: Inquiry = field(repr=False, compare=False)
    """The whole inquiry as the API shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(_Ended, Generic[T_co]):
    """A person answered. `by` is their name, `via` the channel, or `default` where the question's default was used.

    >>> match an_answer:
    ...     case Answered(text=words, by=person):
    ...         print(words, "says", person)
    Redis says ana
    """

    text: str
    """The answer in words: the chosen label or what was typed; several choices separated by commas, questions by lines."""

    values: tuple[tuple[str, ...], ...]
    """For each question, the labels that were chosen or the text that was written."""

    value: T_co
    """What `response` asked for; without it, the same as `text`."""

    note: str
    """Words beside a choice; empty where there are none."""

    by: str
    via: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected(_Ended):
    """A person declined to answer."""

    reason: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired(_Ended):
    """The ttl ended without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled(_Ended):
    """The question was withdrawn: by the asker, an admin, or a daemon that does not keep questions."""

    reason: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(_Ended):
    """The question could not be put to a person."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked(_Ended):
    """No answer yet: the timeout ended, or Upcall was put down. The question stays open; asking again with its key rejoins it."""


Outcome = Answered[T_co] | Rejected | Expired | Cancelled | Failed | Parked


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The action is allowed, by a person or by a rule that a person had remembered: run exactly this `input`."""

    input: Mapping[str, Any]
    """What the tool is given, which is what was asked for unless the person edited it."""

    note: str
    by: str
    """The person who allowed it, or who made the rule."""

    outcome: Outcome[str] | None = field(repr=False)
    """None where no person was asked."""

    rule: str = ""
    """The id of the remembered rule that allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """The action must not run. A person said no, or no person has said yes; `outcome` tells which."""

    reason: str
    by: str
    outcome: Outcome[str] = field(repr=False)


Verdict = Allowed | Denied


def outcome(inquiry: Inquiry) -> Outcome[str]:
    """The outcome of an inquiry as it stands; an open one is parked."""
    named: dict[str, Any] = {"id": inquiry["id"], "ref": inquiry["ref"], "inquiry": inquiry}
    closing: Mapping[str, Any] = inquiry["resolution"] or {}
    reason, by = closing.get("reason") or "", closing.get("by") or ""
    match inquiry["state"]:
        case "answered":
            return _answered(inquiry["answer"], named)
        case "rejected":
            return Rejected(reason=reason, by=by, **named)
        case "cancelled":
            return Cancelled(reason=reason, by=by, **named)
        case "expired":
            return Expired(**named)
        case "failed":
            return Failed(reason=reason, **named)
        case _:
            return Parked(**named)


def verdict(ended: Outcome[str], given: Mapping[str, Any]) -> Verdict:
    """What the outcome of an approval means for the action: anything but a yes is a denial."""
    match ended:
        case Answered(values=(("Approve",),)):
            edit = ended.inquiry["answer"].get("edit")
            exactly = given if edit is None else edit["input"]
            return Allowed(input=exactly, note=ended.note, by=ended.by, outcome=ended)
        case Answered():
            return Denied(reason=_why(ended), by=ended.by, outcome=ended)
        case Rejected():
            return Denied(reason=ended.reason or "a person declined to decide", by=ended.by, outcome=ended)
        case Expired():
            return Denied(reason="no person decided in time", by="", outcome=ended)
        case Cancelled():
            return Denied(reason=ended.reason or "it was withdrawn", by=ended.by, outcome=ended)
        case Failed():
            return Denied(reason=ended.reason or "it could not be put to a person", by="", outcome=ended)
        case Parked():
            return Denied(reason="no person has decided yet", by="", outcome=ended)


def allowed(why: Mapping[str, Any], given: Mapping[str, Any]) -> Allowed:
    """The verdict where what stands already allows an action, as the API tells it."""
    return Allowed(input=given, note="", by=why["by"] or "", outcome=None, rule=why["rule"] or "")


def _why(denied: Answered[str]) -> str:
    """The words of a denial; one that suggests another input has it in them."""
    edit = denied.inquiry["answer"].get("edit")
    if edit is None:
        return denied.note or "a person denied it"
    note = f" ({denied.note})" if denied.note else ""
    return f"call it again with {json.dumps(edit['input'], ensure_ascii=False)} instead{note}"


def _answered(answer: Mapping[str, Any], named: dict[str, Any]) -> Answered[str]:
    values = tuple(tuple(each) for each in answer["answers"])
    text = "\n".join(", ".join(each) for each in values)
    return Answered(
        text=text,
        values=values,
        value=text,
        note=answer.get("note") or "",
        by=answer["by"],
        via=answer["via"],
        at=answer["at"],
        **named,
    )
