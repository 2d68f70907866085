"""Inquiries as lines on a terminal. What agents and people wrote is shown without anything that could act there."""

from collections import Counter
from typing import Any, NamedTuple

from upcall.cli.render.runs import Run, ended_line, run_line
from upcall.cli.render.tasks import ended_task_line, task_line
from upcall.cli.render.terminal import Paint
from upcall.cli.render.times import moment, since, span
from upcall.domain.text.display import one_line

Inquiry = dict[str, Any]
HIDDEN = "(hidden)"
SOON = 3600.0
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_(")
_HARMLESS = _LETTERS | frozenset(" .,:;/@%+=)&-")
"""What means nothing to a shell between double quotation marks."""


class Status(NamedTuple):
    """What waits, what works, and what was settled today: questions and runs. `runs` has those that are asking."""

    waiting: list[Inquiry]
    running: list[Run]
    done: list[dict[str, Any]]
    runs: dict[int, Run]


def status_lines(
    status: Status, now: float, paint: Paint, width: int | None, *, tasks: bool = False
) -> list[str]:
    """What waits, then what works, then what was settled; as `tasks` without anything but their names."""
    lines: list[str] = []
    if status.waiting:
        lines.append(paint.bold("WAITING FOR INPUT:"))
        open_by_run = Counter(inquiry["run"] for inquiry in status.waiting if inquiry["run"] is not None)
        for inquiry in status.waiting:
            name = name_of(inquiry, open_by_run)
            run = status.runs.get(inquiry["run"])
            who = run["task"] if tasks and run is not None else _who(inquiry, run)
            lines += _waiting(inquiry, name, who, now, paint, width)
    elif not status.running:
        lines.append(
            "Nothing is waiting. When an agent asks, its question shows here; `upcall ask` tries it out."
        )
    if status.running:
        lines += [*([""] if lines else []), paint.bold("RUNNING:")]
        lines += [
            task_line(run, paint) if tasks else run_line(run, now, paint, width) for run in status.running
        ]
    if tasks:
        ended = [ended_task_line(done, paint) for done in status.done if is_a_run(done)]
        lines += ["", paint.bold("COMPLETED TODAY:"), *ended] if ended else []
    elif status.done:
        lines += ["", paint.bold("DONE TODAY:")]
        for done in status.done:
            lines.append((ended_line if is_a_run(done) else _done)(done, now, paint, width))
    return lines


def is_a_run(document: dict[str, Any]) -> bool:
    """Whether it is a run, among questions and runs."""
    return "number" in document


def answer_command(inquiry: Inquiry, name: str | None = None) -> str:
    """A command that answers with each question's first option, safe to be pasted into a shell.

    A secret has no place in a command, and so in the shell's history: without a value, `upcall answer` asks for it.
    """
    if inquiry["secret"]:
        return f"upcall answer {name or inquiry['ref']}"
    values = " ".join(_value(question) for question in inquiry["questions"])
    return f"upcall answer {name or inquiry['ref']} {values}"


def name_of(inquiry: Inquiry, open_by_run: Counter[int]) -> str:
    """What a person calls an open question: its run's number where that says which one, else its ref."""
    alone = inquiry["run"] is not None and open_by_run[inquiry["run"]] == 1
    return str(inquiry["run"] if alone else inquiry["ref"])


def given(inquiry: Inquiry) -> str:
    """The answer in one line; a secret one is not shown."""
    if inquiry["secret"]:
        return HIDDEN
    answers: list[list[str]] = (inquiry["answer"] or {}).get("answers", [])
    return one_line("; ".join(", ".join(values) for values in answers))


def votes(inquiry: Inquiry) -> str:
    """How many have approved, where it takes several; empty otherwise."""
    approvals = inquiry["approvals"]
    return f"{len(approvals['given'])} of {approvals['needed']} approvals" if approvals else ""


def without_secrets(inquiry: Inquiry) -> Inquiry:
    """The inquiry for people's lists: the answer to a secret question is not in it."""
    if not inquiry["secret"] or inquiry["answer"] is None:
        return inquiry
    hidden = {"answers": [[HIDDEN] for _ in inquiry["questions"]], "text": HIDDEN}
    return {**inquiry, "answer": {**inquiry["answer"], **hidden}}


def is_denied(inquiry: Inquiry) -> bool:
    """Whether a person said no to an approval."""
    answer = inquiry["answer"]
    return inquiry["kind"] == "approval" and answer is not None and answer["answers"] == [["Deny"]]


def takes_force(inquiry: Inquiry) -> bool:
    """Whether it can still be answered by force: nobody has decided anything, only the time has passed."""
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
            return f"expired {ago}: nobody answered in time"
        case state:
            return f"was {state} {by}, {ago}{reason}"


def _who(inquiry: Inquiry, run: Run | None) -> str:
    about = inquiry["questions"][0]["header"] if run is None else run["task"]
    return f"{asker(inquiry)}: {about}" if about else asker(inquiry)


def asker(inquiry: Inquiry) -> str:
    """Who asks, as a person knows it; an older daemon tells only the name of the token."""
    return str(inquiry.get("asker") or inquiry["agent"])


def _waiting(inquiry: Inquiry, name: str, who: str, now: float, paint: Paint, width: int | None) -> list[str]:
    left = moment(inquiry["expires_at"]) - now
    notes = [f"waiting {since(inquiry['asked_at'], now)}"]
    if left < SOON:
        notes.append(f"expires in {span(left)}")
    if inquiry["snoozed_until"] and moment(inquiry["snoozed_until"]) > now:
        notes.append(f"snoozed for {span(moment(inquiry['snoozed_until']) - now)}")
    notes += [votes(inquiry)] if votes(inquiry) else []
    agent = one_line(who, None if width is None else max(width // 2, 10))
    lines = [f"  {paint.name('#' + name)} {agent} {paint.dim('(' + ', '.join(notes) + ')')}"]
    questions = inquiry["questions"]
    asked = [f"{number}) {each['question']}" for number, each in enumerate(questions, 1)]
    texts = asked if len(questions) > 1 else [questions[0]["question"]]
    room = None if width is None else width - 9
    lines += [f"      Q: {one_line(text, room)}" for text in texts]
    # Nobody should say yes to what they have not seen whole.
    unseen = inquiry["kind"] == "approval" and (
        inquiry["context"] or inquiry["attachments"] or one_line(texts[0], room) != texts[0]
    )
    command = f"upcall show {name}" if unseen else answer_command(inquiry, name)
    return [*lines, f"      Run: {paint.name(command)}"]


def _done(inquiry: Inquiry, now: float, paint: Paint, width: int | None) -> str:
    state = inquiry["state"]
    good = state == "answered" and not is_denied(inquiry)
    mark = paint.good("✓") if good else paint.bad("✗")
    ended = given(inquiry) if state == "answered" else state
    when = f"({since(inquiry['resolution']['at'], now)} ago)"
    head = f"  #{inquiry['ref']} {one_line(asker(inquiry), 30)} "
    room = None if width is None else max(width - len(head) - len(when) - 8, 10)
    question = one_line(inquiry["questions"][0]["question"], None if room is None else room * 2 // 3)
    ended = one_line(ended, None if room is None else room - len(question))
    shown = f"  {paint.name('#' + inquiry['ref'])} {one_line(asker(inquiry), 30)} {mark}"
    return f"{shown} {question} → {ended} {paint.dim(when)}"


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
