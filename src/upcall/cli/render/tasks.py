"""Runs as tasks, for whoever has set `drawing = "tasks"`: no more of each than its number, its name and how far it is."""

import os
from typing import Any

from upcall.cli.client import Client
from upcall.cli.render.terminal import Paint
from upcall.cli.render.times import since
from upcall.domain.text.display import one_line

Run = dict[str, Any]
NAME = 60
_SAID_BY = (b"drawing", b"preset")


def draws_tasks(client: Client) -> bool:
    """Whether this home speaks of tasks. Its settings are read only where they may say so: loading them takes time."""
    if client.remote:
        return False
    given = "UPCALL_DRAWING" in os.environ or "UPCALL_PRESET" in os.environ
    try:
        written = client.home.config_file.read_bytes()
    except OSError:
        written = b""
    if not given and not any(word in written for word in _SAID_BY):
        return False
    from upcall.config.settings import load
    from upcall.domain.errors import InvalidSetting

    try:
        return load(client.home).drawing == "tasks"
    except InvalidSetting:
        # Whoever starts the daemon is told.
        return False


def task_line(run: Run, paint: Paint) -> str:
    """A task that is not over."""
    turns = run["turns"]
    notes = [f"{turns} turn{'' if turns == 1 else 's'}", *_cost(run)]
    return f"  {_name(run, paint)} {paint.dim('(' + ', '.join(notes) + ')')}"


def ended_task_line(run: Run, paint: Paint) -> str:
    """A task that is over."""
    if run["state"] == "completed":
        return f"  {_name(run, paint)} {paint.good('✓')}"
    reason = f": {one_line(run['reason'], NAME)}" if run["reason"] else ""
    return f"  {_name(run, paint)} {paint.bad('✗')} {run['state']}{reason}"


def task_facts(run: Run, now: float, paint: Paint) -> list[str]:
    """Everything about a task but its question."""
    facts = [paint.bold(f"Task #{run['number']}: {one_line(run['task'], NAME)}")]
    reason = f": {one_line(run['reason'], 200)}" if run["reason"] else ""
    facts.append(f"Status: {run['state']}{reason}")
    if branch := run.get("branch"):
        facts.append(f"Branch: {one_line(branch)}")
    if run["started_at"]:
        facts.append(f"Started: {since(run['started_at'], now)} ago")
    facts.append(f"Turns: {run['turns']}")
    return [*facts, *(f"Cost: {cost}" for cost in _cost(run))]


def _name(run: Run, paint: Paint) -> str:
    return f"{paint.name('#' + str(run['number']))} {one_line(run['task'], NAME)}"


def _cost(run: Run) -> list[str]:
    return [] if run["cost"] is None else [f"${run['cost']:.2f}"]
