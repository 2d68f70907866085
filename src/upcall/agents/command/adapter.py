"""Any command as an agent: its command lines are templates, and of its output only what was agreed on is read.

Nothing goes through a shell, and what is filled in is never looked at again: a task may contain anything.
"""

import json
import re
from collections.abc import Mapping

from upcall.agents.prompt import marker_advice, with_advice
from upcall.domain.errors import InvalidRequest
from upcall.domain.run.markers import Marked, MarkedBadly, Markers
from upcall.domain.run.program import (
    Asked,
    Command,
    Door,
    Noticed,
    Said,
    Session,
    SessionSeen,
    Task,
    Unreadable,
)
from upcall.ports.agent import Driver, Reader

SEARCHED_CHARACTERS = 1000
"""How much of a line a pattern is tried on: some patterns take their time."""

_PLACE = re.compile(r"\{(task|session|message|cwd)\}")


class CommandReader:
    """Watches a program's text for its session and for a question."""

    def __init__(self, session_pattern: str, marker: str) -> None:
        self._pattern = re.compile(session_pattern) if session_pattern else None
        self._markers = Markers(marker) if marker else None
        self._marker = marker

    def notice(self, line: str) -> list[Noticed]:
        """What a line tells."""
        noticed: list[Noticed] = []
        if self._pattern and (found := self._pattern.search(line[:SEARCHED_CHARACTERS])) and found[1]:
            self._pattern = None
            noticed.append(SessionSeen(id=found[1]))
        match None if self._markers is None else self._markers.read(f"{line}\n"):
            case Marked(fields=fields):
                noticed.append(Asked(fields=fields))
            case MarkedBadly(problem=problem):
                noticed.append(Unreadable(line=f"{self._marker}: {problem}"))
            case None:
                pass
        if not noticed and line.strip():
            # Every other line is what the program says.
            noticed.append(Said(text=line))
        return noticed


class CommandAgent:
    """A program known by its command lines. A task or a message that has no place in them is on standard input."""

    def __init__(
        self,
        start: tuple[str, ...],
        *,
        name: str = "command",
        resume: tuple[str, ...] = (),
        resume_file: str = "",
        session_pattern: str = "",
        marker: str = "",
    ) -> None:
        self.name = name
        self.rest = 0.0
        self.hides_results = True
        self.install_hint = f"install {start[0]!r}, or correct `start` in [agents.{name}]"
        self._start = start
        self._resume = resume
        self._resume_file = resume_file
        self._pattern = session_pattern
        self._marker = marker

    def program(self) -> str:
        """The first word of the command line."""
        return self._start[0]

    def version_problem(self, version: str) -> str | None:
        """Nothing is known of its versions."""
        return None

    def start(self, task: Task) -> Command:
        """Its command line with the task in it, and how to ask where a marker was agreed on."""
        advice = task.door.advice or (marker_advice(self._marker) if self._marker else "")
        words = with_advice(task.prompt, advice) if advice else task.prompt
        filled = {"task": words, "session": task.session, "message": "", "cwd": task.cwd}
        return Command(
            argv=(*_filled(self._start, filled), *task.arguments),
            cwd=task.cwd,
            environment=_environment(task.door),
            stdin="" if _has(self._start, "task") else words,
        )

    def resume(self, session: Session, message: str | None) -> Command:
        """Its other command line, with the session and what it is told."""
        if message is None:
            raise InvalidRequest(
                f"{self.name} is resumed with a message", hint="say what it is to go on with"
            )
        if not self._resume:
            raise InvalidRequest(
                f"{self.name} cannot be resumed",
                hint=f"set `resume` and `session_pattern` in [agents.{self.name}]",
            )
        filled = {"task": "", "session": session.id, "message": message, "cwd": session.cwd}
        is_placed = _has(self._resume, "message") or self._resume_file
        return Command(
            argv=(*_filled(self._resume, filled), *session.arguments),
            cwd=session.cwd,
            environment=_environment(session.door),
            stdin="" if is_placed else message,
            files={self._resume_file: self._letter(session, message)} if self._resume_file else {},
        )

    def attach(self, session: Session) -> Command:
        """Not possible: the settings have no command for it."""
        raise InvalidRequest(
            f"a session of {self.name} cannot be taken over in a terminal", hint="`upcall say` continues it"
        )

    def reader(self) -> Reader:
        """Reads the output of one process."""
        return CommandReader(self._pattern, self._marker)

    def driver(self, told: Task | Session, message: str | None) -> Driver | None:
        """It is only read."""
        return None

    def _letter(self, session: Session, message: str) -> str:
        if not self._resume_file.endswith(".json"):
            return message
        return json.dumps({"session_id": session.id, "message": message}, ensure_ascii=False)


def _filled(template: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(_PLACE.sub(lambda place: values[place[1]], item) for item in template)


def _has(template: tuple[str, ...], name: str) -> bool:
    return any(f"{{{name}}}" in item for item in template)


def _environment(door: Door) -> dict[str, str]:
    """With these, `upcall ask` and `upcall mcp` work inside."""
    return {**door.environment, "UPCALL_URL": door.url, "UPCALL_TOKEN": door.token}
