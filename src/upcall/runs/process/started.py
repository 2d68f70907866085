"""What a process of a run was started with, so that the next daemon can go on with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from upcall.domain.run.program import Command, Door, Session, Task
from upcall.domain.run.run import Run
from upcall.ports.agent import Agent
from upcall.runs.process.folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The words of a start: None is a new task's own, or a resume that needs none. `delivers` are inquiries.

    `said` is what people had to say, which is part of the message; nobody needs it apart once the process is started.
    """

    resumes: bool
    message: str | None = None
    delivers: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    def adding(self, said: Sequence[str]) -> "Told":
        """The same with what people have said meanwhile."""
        words = "\n\n".join(filter(None, (self.message, *said)))
        return replace(self, message=words, said=tuple(said)) if said else self

    def as_json(self, start: int) -> Mapping[str, object]:
        """As it is kept in the run's folder, for the start of that number."""
        return {
            "number": start,
            "resumes": self.resumes,
            "message": self.message,
            "delivers": self.delivers,
        }


def told_for(run: Run, folder: RunFolder) -> Told:
    """What the run's latest process was told; where we did not get so far as to write that down, nothing was."""
    read = folder.read_told()
    if read is None or read["number"] != run.starts:
        return Told(resumes=bool(run.session))
    message = read["message"]
    return Told(
        resumes=bool(read["resumes"]),
        message=None if message is None else str(message),
        delivers=_texts(read["delivers"]),
    )


def _texts(read: object) -> tuple[str, ...]:
    return tuple(str(text) for text in cast("list[object]", read)) if isinstance(read, list) else ()


def subject_of(run: Run, door: Door, told: Told, fresh_session: str) -> Task | Session:
    """What an adapter is given: the task, or the session as it was begun."""
    if told.resumes:
        return Session(
            id=run.session, cwd=run.cwd, door=door, permission=run.permission, arguments=run.arguments
        )
    return Task(
        prompt=run.task,
        cwd=run.cwd,
        door=door,
        session=fresh_session,
        permission=run.permission,
        arguments=run.arguments,
    )


def command_for(agent: Agent, subject: Task | Session, message: str | None) -> Command:
    """How to start it."""
    return agent.start(subject) if isinstance(subject, Task) else agent.resume(subject, message)
