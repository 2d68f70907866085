"""What a process of a run was started with, so that the next daemon can go on with it."""

from collections.abc import Mapping
from dataclasses import dataclass

from upcall.agent_ports import Agent
from upcall.domain.program import Command, Door, Session, Task
from upcall.domain.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The words of a start: None is a new task's own, or a resume that needs none. `delivers` are inquiries."""

    resumes: bool
    message: str | None = None
    delivers: tuple[str, ...] = ()

    def as_json(self) -> Mapping[str, object]:
        """As it is kept in the run's folder."""
        return {"resumes": self.resumes, "message": self.message, "delivers": list(self.delivers)}


def told_in(read: Mapping[str, object]) -> Told:
    """What `as_json` made."""
    delivers = read["delivers"]
    message = read["message"]
    return Told(
        resumes=bool(read["resumes"]),
        message=None if message is None else str(message),
        delivers=tuple(str(name) for name in delivers) if isinstance(delivers, list) else (),
    )


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
