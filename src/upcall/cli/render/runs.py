"""Runs as lines on a terminal. What agents wrote is shown without anything that could act there."""

import time
from typing import Any

from upcall.cli.render.terminal import Paint
from upcall.domain.run.api_errors import waiting_for
from upcall.domain.text.display import one_line, visible
from upcall.domain.text.times import moment, since
from upcall.home.program import program

Run = dict[str, Any]
OVER = frozenset({"completed", "failed", "cancelled"})
NAMES = {"waiting_input": "waiting for input"}
RESULT_LINES = 20


def run_line(run: Run, now: float, paint: Paint, width: int | None) -> str:
    """A run that is not over, in one line: how far it is and what it does."""
    notes = f"({', '.join(_progress(run, now))})"
    return _line(run, "", notes, paint, width)


def ended_line(run: Run, now: float, paint: Paint, width: int | None) -> str:
    """A run that is over, in one line."""
    good = run["state"] == "completed"
    mark = f" {paint.good('✓') if good else paint.bad('✗')}"
    ended = "" if good else f"→ {run['state']}{_because(run)} "
    return _line(run, mark, f"{ended}({since(run['ended_at'], now)} ago)", paint, width)


def run_facts(run: Run, now: float, paint: Paint) -> list[str]:
    """Everything about one run but its questions."""
    facts = [paint.bold(f"Run #{run['number']}: {one_line(run['task'], 60)}")]
    facts.append(f"Status: {NAMES.get(run['state'], run['state'])}{_because(run)}")
    facts.append(f"Agent: {one_line(run['agent'])} ({run['permission']})")
    if run["arguments"]:
        facts.append(f"Arguments: {one_line(' '.join(run['arguments']))}")
    facts.append(f"Folder: {one_line(run['cwd'])}")
    if branch := run.get("branch"):
        facts.append(f"Branch: {one_line(branch)}")
    if run["retry_of"]:
        facts.append(f"Retry of: {run['retry_of']}")
    facts.append(
        f"By: {one_line(run['by'])}, {since(run['created_at'], now)} ago, on {one_line(run['runner'])}"
    )
    if run["started_at"]:
        facts.append(f"Started: {since(run['started_at'], now)} ago")
    if run["ended_at"]:
        facts.append(f"Ended: {since(run['ended_at'], now)} ago")
    if run["session"]:
        facts.append(f"Session: {one_line(run['session'])}")
    facts.append(f"Turns: {run['turns']}")
    if run["cost"] is not None:
        facts.append(f"Cost: {_money(run['cost'])}")
    if run["tokens"]["input"] is not None:
        facts.append(f"Tokens: {run['tokens']['input']} in, {run['tokens']['output'] or 0} out")
    if run["tool"]:
        facts.append(f"Using: {one_line(run['tool'])}")
    if run["task"] != one_line(run["task"], 60):
        facts += ["", paint.bold("TASK:"), *_indented(run["task"])]
    if run["result"]:
        facts += ["", paint.bold("RESULT:"), *_indented(run["result"])]
    return facts


def next_steps(run: Run, paint: Paint) -> str:
    """The next step for a run without an open question."""
    number = run["number"]
    if waits_for_api(run):
        return f"  Try it now with: {paint.name(f'{program()} retry {number}')}"
    if run["state"] not in OVER:
        return f"  Follow with: {paint.name(f'{program()} log {number} -f')}"
    if run["state"] == "completed":
        return f'  Go on with: {paint.name(f"{program()} say {number}")} "…"'
    return f"  Try again with: {paint.name(f'{program()} retry {number}')}"


def ending(run: Run) -> str:
    """How a run ended, as the end of a sentence."""
    return f"{'was cancelled' if run['state'] == 'cancelled' else run['state']}{_because(run)}"


def _line(run: Run, mark: str, notes: str, paint: Paint, width: int | None) -> str:
    agent = one_line(run["agent"], 20)
    used = len(f"  #{run['number']} {agent}: ") + (2 if mark else 0) + len(notes) + 2
    task = one_line(run["task"], None if width is None else max(width - used, 10))
    joint = "" if mark else ":"
    return f"  {paint.name('#' + str(run['number']))} {agent}{joint}{mark} {task} {paint.dim(notes)}"


def _progress(run: Run, now: float) -> list[str]:
    if run["state"] == "queued":
        return [f"queued {since(run['created_at'], now)}"]
    turns = run["turns"]
    notes = [f"{turns} turn{'' if turns == 1 else 's'}"]
    if run["cost"] is not None:
        notes.append(_money(run["cost"]))
    if run["tool"]:
        notes.append(one_line(run["tool"], 30))
    if run["state"] == "waiting_input":
        notes.append(waits_for_api(run) or _asks(run))
    return [*notes, since(run["started_at"] or run["created_at"], now)]


def _asks(run: Run) -> str:
    refs = [f"#{ref}" for ref in run["inquiries"]]
    return f"asks {', '.join(refs[:3])}{' …' if len(refs) > 3 else ''}" if refs else "has an answer coming"


def waits_for_api(run: Run) -> str | None:
    """That a run waits for the API of its model, which has refused its answer, and when it is tried again."""
    told = waiting_for(one_line(run["agent"], 20), run["reason"]) if run.get("next_try") else None
    return None if told is None else f"{one_line(told, 200)}, next try {clock(run['next_try'])}"


def clock(at: str) -> str:
    """The time of day of a moment, in the time zone of this machine."""
    return time.strftime("%H:%M", time.localtime(moment(at)))


def _because(run: Run) -> str:
    if told := waits_for_api(run):
        return f": {told}"
    if run["state"] == "cancelled":
        return f" ({one_line(run['reason'], 60)})" if run["reason"] else ""
    return f": {one_line(run['reason'], 200)}" if run["reason"] else ""


def _money(cost: float) -> str:
    return f"${cost:.2f}"


def _indented(text: str) -> list[str]:
    lines = visible(text).strip("\n").split("\n")
    more = len(lines) - RESULT_LINES
    shown = [f"  {line}" for line in lines[:RESULT_LINES]]
    return [*shown, f"  … and {more} lines more, in `--json`"] if more > 0 else shown
