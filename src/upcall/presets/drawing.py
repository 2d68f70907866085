"""`drawing = "tasks"`: the command line draws runs as tasks, each with its number, its name and how far it is."""

import os
from typing import Any, Protocol

from upcall.domain.text.display import one_line
from upcall.domain.text.times import since
from upcall.home.files import Home
from upcall.home.program import program

Run = dict[str, Any]
NAME = 60
_SAID_BY = (b"drawing", b"preset")


class Colours(Protocol):
    """Colours of a terminal."""

    def bold(self, text: str) -> str:
        """Headings."""
        ...

    def dim(self, text: str) -> str:
        """Notes."""
        ...

    def good(self, text: str) -> str:
        """Success."""
        ...

    def bad(self, text: str) -> str:
        """Failure."""
        ...

    def name(self, text: str) -> str:
        """Refs, numbers and commands."""
        ...


def draws_tasks(home: Home) -> bool:
    """Whether the settings of a home ask for tasks. They are loaded only if the file may say so, since loading takes time."""
    given = "UPCALL_DRAWING" in os.environ or "UPCALL_PRESET" in os.environ
    try:
        written = home.config_file.read_bytes()
    except OSError:
        written = b""
    if not given and not any(word in written for word in _SAID_BY):
        return False
    from upcall.config.settings import load  # noqa: PLC0415 - see above
    from upcall.domain.errors import InvalidSetting  # noqa: PLC0415 - see above

    try:
        return load(home).drawing == "tasks"
    except InvalidSetting:
        # The daemon reports settings that cannot be used when it starts.
        return False


class TaskDrawing:
    """Runs as tasks. Questions that were settled today are not listed."""

    done_heading = "COMPLETED TODAY:"
    lists_questions = False

    def asker(self, inquiry: dict[str, Any], run: Run | None) -> str:
        """The name of the task; a question without a task has its agent and its header."""
        if run is not None:
            return str(run["task"])
        header, agent = inquiry["questions"][0]["header"], str(inquiry.get("asker") or inquiry["agent"])
        return f"{agent}: {header}" if header else agent

    def answer_command(self, inquiry: dict[str, Any], name: str) -> str:
        """Answers with words; a secret has no place in a command."""
        return f"{program()} answer {name}" + ("" if inquiry["secret"] else ' "your response"')

    def resuming(self, number: int) -> str:
        """By the task's number."""
        return f"Resuming task #{number} with your answer..."

    def line(self, run: Run, now: float, paint: Colours, width: int | None) -> str:
        """With its turns and its cost."""
        turns = run["turns"]
        notes = [f"{turns} turn{'' if turns == 1 else 's'}", *_cost(run)]
        return f"  {_name(run, paint)} {paint.dim('(' + ', '.join(notes) + ')')}"

    def ended_line(self, run: Run, now: float, paint: Colours, width: int | None) -> str:
        """With the reason of its failure."""
        if run["state"] == "completed":
            return f"  {_name(run, paint)} {paint.good('✓')}"
        reason = f": {one_line(run['reason'], NAME)}" if run["reason"] else ""
        return f"  {_name(run, paint)} {paint.bad('✗')} {run['state']}{reason}"

    def facts(self, run: Run, now: float, paint: Colours) -> list[str]:
        """Its state, branch, start, turns and cost."""
        facts = [paint.bold(f"Task #{run['number']}: {one_line(run['task'], NAME)}")]
        reason = f": {one_line(run['reason'], 200)}" if run["reason"] else ""
        facts.append(f"Status: {run['state']}{reason}")
        if branch := run.get("branch"):
            facts.append(f"Branch: {one_line(branch)}")
        if run["started_at"]:
            facts.append(f"Started: {since(run['started_at'], now)} ago")
        facts.append(f"Turns: {run['turns']}")
        return [*facts, *(f"Cost: {cost}" for cost in _cost(run))]


def _name(run: Run, paint: Colours) -> str:
    return f"{paint.name('#' + str(run['number']))} {one_line(run['task'], NAME)}"


def _cost(run: Run) -> list[str]:
    return [] if run["cost"] is None else [f"${run['cost']:.2f}"]
