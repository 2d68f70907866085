"""Any agent that is only read, and that may also ask by writing a marker into its text."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from upcall.agents.prompt import marker_advice
from upcall.domain.run.markers import Marked, MarkedBadly, Markers
from upcall.domain.run.program import Asked, Command, Noticed, Said, Session, Task, Unreadable
from upcall.ports.agent import Agent, Driver, Reader
from upcall.ports.transcripts import transcripts_of

Told = TypeVar("Told", Task, Session)


class MarkedReader:
    """Watches what a program's own reader takes for words of the model."""

    def __init__(self, reader: Reader, marker: str) -> None:
        self._reader = reader
        self._markers = Markers(marker)
        self._marker = marker

    def notice(self, line: str) -> Iterator[Noticed]:
        """What a line tells, and a question in it after that."""
        for noticed in self._reader.notice(line):
            yield noticed
            if not isinstance(noticed, Said):
                continue
            match self._markers.read(noticed.text):
                case Marked(fields=fields):
                    yield Asked(fields=fields)
                case MarkedBadly(problem=problem):
                    yield Unreadable(line=f"{self._marker}: {problem}")
                case None:
                    pass


class MarkedAgent:
    """Another agent, except for how it is told to ask and how it is read."""

    def __init__(self, agent: Agent, marker: str) -> None:
        self.name = agent.name
        self.install_hint = agent.install_hint
        self.rest = agent.rest
        self.hides_results = agent.hides_results
        self.transcripts = transcripts_of(agent)
        self._agent = agent
        self._marker = marker

    def program(self) -> str:
        """What is started."""
        return self._agent.program()

    def version_problem(self, version: str) -> str | None:
        """What is wrong with an installed version."""
        return self._agent.version_problem(version)

    def start(self, task: Task) -> Command:
        """As it is started, told of the marker."""
        return self._agent.start(self._advised(task))

    def resume(self, session: Session, message: str | None) -> Command:
        """As it is resumed, told of the marker."""
        return self._agent.resume(self._advised(session), message)

    def attach(self, session: Session) -> Command:
        """As it is taken over."""
        return self._agent.attach(session)

    def reader(self) -> Reader:
        """Reads the output of one process, with what it asks in it."""
        return MarkedReader(self._agent.reader(), self._marker)

    def driver(self, told: Task | Session, message: str | None) -> Driver | None:
        """None: only what is read can have a marker in it."""
        return None

    def _advised(self, told: Told) -> Told:
        return replace(told, door=replace(told.door, advice=told.door.advice or marker_advice(self._marker)))
