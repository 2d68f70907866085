"""Inquiries as lines on a terminal. What agents and people wrote is shown without anything that could act there."""

from collections import Counter
from typing import Any

from upcall.domain.text.display import one_line
from upcall.domain.text.times import since
from upcall.home.program import program

Inquiry = dict[str, Any]
HIDDEN = "(hidden)"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_(")
_HARMLESS = _LETTERS | frozenset(" .,:;/@%+=)&-")
"""Characters without a meaning to a shell between double quotation marks."""


def answer_command(inquiry: Inquiry, name: str | None = None) -> str:
    """A command that answers with each question's first option, safe to be pasted into a shell.

    A secret has no place in a command, and so in the shell's history: without a value, `upcall answer` asks for it.
    """
    if inquiry["secret"]:
        return f"{program()} answer {name or inquiry['ref']}"
    values = " ".join(_value(question) for question in inquiry["questions"])
    return f"{program()} answer {name or inquiry['ref']} {values}"


def name_of(inquiry: Inquiry, open_by_run: Counter[int]) -> str:
    """The name of an open question: the number of its run where that is unambiguous, else its ref."""
    alone = inquiry["run"] is not None and open_by_run[inquiry["run"]] == 1
    return str(inquiry["run"] if alone else inquiry["ref"])


def given(inquiry: Inquiry) -> str:
    """The answer in one line; a secret one is not shown."""
    if inquiry["secret"]:
        return HIDDEN
    answers: list[list[str]] = (inquiry["answer"] or {}).get("answers", [])
    note = (inquiry["answer"] or {}).get("note", "")
    edited = ", edited" if (inquiry["answer"] or {}).get("edit") else ""
    return one_line(
        "; ".join(", ".join(values) for values in answers if values) + edited + (f" — {note}" if note else "")
    )


def votes(inquiry: Inquiry) -> str:
    """How many people have approved, where it takes several; empty otherwise."""
    approvals = inquiry["approvals"]
    if not approvals:
        return ""
    # An edited action takes as many approvals of its own, so those of different actions are not added up.
    counts = Counter(vote.get("sha256", "") for vote in approvals["given"])
    latest = approvals["given"][-1].get("sha256", "") if approvals["given"] else ""
    return f"{counts[latest]} of {approvals['needed']} approvals"


def without_secrets(inquiry: Inquiry) -> Inquiry:
    """The inquiry for people's lists: the answer to a secret question is not in it."""
    if not inquiry["secret"] or inquiry["answer"] is None:
        return inquiry
    hidden: dict[str, Any] = {"answers": [[HIDDEN] for _ in inquiry["questions"]], "text": HIDDEN}
    hidden |= {"content": HIDDEN} if "content" in inquiry["answer"] else {}
    return {**inquiry, "answer": {**inquiry["answer"], **hidden}}


def is_denied(inquiry: Inquiry) -> bool:
    """Whether a person said no to an approval."""
    answer = inquiry["answer"]
    return inquiry["kind"] == "approval" and answer is not None and answer["answers"] == [["Deny"]]


def takes_force(inquiry: Inquiry) -> bool:
    """Whether `--force` can still answer it: it expired without a decision."""
    closing = inquiry["resolution"] or {}
    return inquiry["state"] == "expired" or closing.get("reason") == "input_timeout"


def resolution(inquiry: Inquiry, now: float) -> str:
    """How an inquiry ended, by whom and when."""
    closing = inquiry["resolution"]
    if closing is None:
        return "is open"
    ago = f"{since(closing['at'], now)} ago"
    by = f"by {one_line(closing['by'])} via {one_line(closing['via'])}"
    reason = f": {one_line(closing['reason'])}" if closing["reason"] else ""
    match inquiry["state"]:
        case "answered":
            return f"was answered {by}, {ago}: {given(inquiry)}"
        case "expired":
            return f"expired {ago} without an answer"
        case state:
            return f"was {state} {by}, {ago}{reason}"


def asker(inquiry: Inquiry) -> str:
    """The name of the asker; an older daemon has only that of its token."""
    return str(inquiry.get("asker") or inquiry["agent"])


def _value(question: dict[str, Any]) -> str:
    labels: list[str] = [option["label"] for option in question["options"]]
    if not labels:
        return '"your answer"'
    first = labels[0]
    if first[:1] in _LETTERS and _HARMLESS.issuperset(first):
        return f'"{first}"'
    # An agent's words are not put into a command that a person may paste, unless they are harmless there.
    if any(label.isdigit() for label in labels):
        from shlex import quote

        return quote(one_line(first))
    return "1"
