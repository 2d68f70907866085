"""The lines of `upcall status`: open questions, runs, and what was settled today."""

from collections import Counter
from typing import Any, NamedTuple

from upcall.cli.render.drawing import RunDrawing
from upcall.cli.render.inquiries import Inquiry, answer_command, asker, given, is_denied, name_of, votes
from upcall.cli.render.runs import Run
from upcall.cli.render.terminal import Paint
from upcall.domain.text.display import one_line
from upcall.domain.text.times import moment, since, span
from upcall.home.program import program

SOON = 3600.0


class Status(NamedTuple):
    """Open questions, runs, and what was settled today. `runs` has the runs with an open question, by number."""

    waiting: list[Inquiry]
    running: list[Run]
    done: list[dict[str, Any]]
    runs: dict[int, Run]


def status_lines(
    status: Status, now: float, paint: Paint, width: int | None, drawing: RunDrawing
) -> list[str]:
    """Open questions, then runs, then what was settled today."""
    lines: list[str] = []
    if status.waiting:
        lines.append(paint.bold("WAITING FOR INPUT:"))
        open_by_run = Counter(inquiry["run"] for inquiry in status.waiting if inquiry["run"] is not None)
        for inquiry in status.waiting:
            name = name_of(inquiry, open_by_run)
            run = status.runs.get(inquiry["run"])
            lines += _waiting(inquiry, name, drawing.asker(inquiry, run), now, paint, width)
    elif not status.running:
        lines.append(
            f"Nothing is waiting. When an agent asks, its question shows here; `{program()} ask` tries it out."
        )
    if status.running:
        lines += [*([""] if lines else []), paint.bold("RUNNING:")]
        lines += [drawing.line(run, now, paint, width) for run in status.running]
    done = [
        drawing.ended_line(each, now, paint, width) if is_a_run(each) else _done(each, now, paint, width)
        for each in status.done
        if is_a_run(each) or drawing.lists_questions
    ]
    if done:
        lines += ["", paint.bold(drawing.done_heading), *done]
    return lines


def is_a_run(document: dict[str, Any]) -> bool:
    """Whether it is a run, among questions and runs."""
    return "number" in document


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
    # A person sees an action whole before approving it.
    unseen = inquiry["kind"] == "approval" and (
        inquiry["context"] or inquiry["attachments"] or one_line(texts[0], room) != texts[0]
    )
    command = f"{program()} show {name}" if unseen else answer_command(inquiry, name)
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
