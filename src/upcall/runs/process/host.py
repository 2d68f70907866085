"""This machine as the host of runs: their folders, their adapters, and how a process is prepared."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, cast
from uuid import uuid4

from upcall.access.connected import ConnectedSessions
from upcall.access.tokens import Access
from upcall.domain.errors import UpcallError
from upcall.domain.run.program import Command, Door, Permission, Session, Task
from upcall.domain.run.run import Run
from upcall.home.files import Home
from upcall.home.saved_environments import SavedEnvironments
from upcall.ports.agent import Agent, Driver, SessionDesk
from upcall.runs.process.folder import RunFolder, Start
from upcall.runs.process.keeper import start_keeper
from upcall.runs.process.keeper_server import KeeperOwner, KeeperServer


class FolderSetup(Protocol):
    """Files in the working directory of a run, there only while a process works in it."""

    def furnish(self, folder: str, token: str) -> None:
        """Write them, before a process is started."""
        ...

    def clear(self, folder: str, token: str) -> None:
        """Remove them, after it has ended."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """What a process is started with. `message` is None for a new task, and for a resume that needs no words.

    `delivers` are the inquiries that the message has the answers of. `said` are messages of people, which are part of the
    message and are not kept.
    """

    resumes: bool
    message: str | None = None
    delivers: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    def adding(self, said: Sequence[str]) -> "TurnInput":
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What the owner has set for runs.

    `limit` is the number of runs that work at once. `permission` and `arguments` are those of an agent, by its name.
    `resume_message` is what a session is told with an answer, and `advice` what a task is told about asking. `aliases` are
    further names of the tool that asks, and `server` is a further name of our MCP server. A call blocks for at most `wait`
    seconds. A process is ended after `orphan_grace` seconds without a daemon, and killed `kill_grace` seconds after it was
    told to end. `activity` says whether it is read what led to questions.
    """

    limit: int
    permission: Callable[[str], Permission] = lambda _: Permission.APPROVAL
    arguments: Callable[[str], tuple[str, ...]] = lambda _: ()
    resume_message: str = ""
    advice: str = ""
    aliases: tuple[str, ...] = ()
    server: str = ""
    wait: float = 24 * 3600.0
    orphan_grace: float = 60.0
    kill_grace: float = 10.0
    activity: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHost:
    """What the daemon gives to its runs. `runner` is the name of this machine, and `held` the connected sessions."""

    home: Home
    url: str
    runner: str
    settings: RunSettings
    access: Access
    agents: Callable[[str], Agent]
    desks: Callable[[Run], SessionDesk]
    held: ConnectedSessions = field(default_factory=ConnectedSessions)
    folder_setup: Callable[[str], FolderSetup | None] = lambda _: None
    """The files that an agent needs in its working directory, by the agent's name."""

    @property
    def path(self) -> Path:
        """The folder of all runs."""
        return self.home.path / "runs"

    def folder(self, number: int) -> RunFolder:
        """The folder of a run."""
        return RunFolder(self.path / str(number))

    def keeper_server(self, owner: KeeperOwner) -> KeeperServer:
        """The listener that the keepers of this machine find the daemon by."""
        return KeeperServer(self.home, owner)

    def start_keeper(self, number: int) -> int:
        """Start the keeper of a run that is prepared; its exit code if that was at once, else 0.

        Raises:
            OSError: if no process can be started.
        """
        return start_keeper(self.home.path, self.folder(number))

    def with_environment(self) -> list[int]:
        """The runs for which variables are kept."""
        found = self.path.glob("*/environment.json")
        return [int(file.parent.name) for file in found if file.parent.name.isdecimal()]

    def session_of(self, run: Run) -> Session:
        """The session of a run, as it was begun."""
        return _session(run, self._door(run, self.folder(run.number).token()))

    def rested_at(self, run: Run) -> float:
        """From when on the session of a run may be resumed."""
        try:
            return (run.started_at or run.created_at) + self.agents(run.agent).rest
        except UpcallError:
            return 0.0  # the start fails, and says why

    def input_of(self, run: Run) -> TurnInput:
        """What the run's latest process was started with; nothing, where the daemon did not get so far as to write that."""
        read = self.folder(run.number).read_input()
        if read is None or read["number"] != run.starts:
            return TurnInput(resumes=bool(run.session))
        message = read["message"]
        return TurnInput(
            resumes=bool(read["resumes"]),
            message=None if message is None else str(message),
            delivers=_texts(read["delivers"]),
        )

    def driver_of(self, run: Run, given: TurnInput, *, is_new: bool) -> Driver | None:
        """The driver of a run's process, if it needs one; a process that is not new was driven before."""
        if run.session and not is_new:
            given = TurnInput(resumes=True)
        subject = self._subject(run, given, run.session)
        return self.agents(run.agent).driver(subject, given.message)

    def begun(self, run: Run, given: TurnInput) -> tuple[int, bool]:
        """Where the output of a run's latest process begins, and whether the process has a driver."""
        try:
            start = self.folder(run.number).read_start()
        except FileNotFoundError:
            # A daemon has read everything and cleared the folder, and could not say in the book that the process has ended.
            return run.read, self.driver_of(run, given, is_new=False) is not None
        return start.begins, start.talking

    def loses_touch(self, run: Run) -> bool:
        """Whether only the daemon that started a process can drive it, so that the next daemon has to end it."""
        try:
            driver = self.driver_of(run, TurnInput(resumes=True), is_new=False)
        except (UpcallError, OSError):
            return False
        return bool(getattr(driver, "loses_touch", False))

    def prepare(self, run: Run, given: TurnInput) -> None:
        """Write everything that the next keeper of a run needs.

        Raises:
            OSError: if it cannot be written.
            UpcallError: if the agent cannot be started like that.
        """
        folder = self.folder(run.number)
        token = folder.token()
        subject = self._subject(run, given, str(uuid4()))
        agent = self.agents(run.agent)
        command = agent.start(subject) if isinstance(subject, Task) else agent.resume(subject, given.message)
        for name, text in command.files.items():
            _place(Path(command.cwd), name, text)
        if (setup := self.folder_setup(run.agent)) is not None:
            setup.furnish(run.cwd, token)
        folder.write_input(given.as_json(run.starts))
        talking = agent.driver(subject, given.message) is not None
        folder.write_start(self._start(run, command, token, talking=talking))

    def create_folder(self, run: Run, secret: str, environment: Mapping[str, str] | None) -> None:
        """Make the folder of a new run, with its token and the environment that it was given."""
        folder = self.folder(run.number)
        folder.create()
        folder.write_token(secret)
        if environment is not None:
            folder.write_environment(environment)

    def take_over(self, run: Run, inquiry: str) -> None:
        """Move what the pipe of a session has left with a question into the folder of the session's run."""
        saved = SavedEnvironments(self.home.path)
        started = saved.read(inquiry)
        if started is None:
            return
        folder = self.folder(run.number)
        folder.write_environment(
            started.environment if started.whole else {**os.environ, **started.environment}
        )
        folder.write_arguments(started.arguments)
        saved.forget(inquiry)

    def clear(self, run: Run) -> None:
        """Remove the files of a run's process that has ended.

        Raises:
            OSError: if they cannot be removed.
            UpcallError: if a file of ours holds something else by now.
        """
        self.folder(run.number).forget_start()
        if (setup := self.folder_setup(run.agent)) is not None:
            setup.clear(run.cwd, self.folder(run.number).token())

    def environment(self, run: Run) -> dict[str, str]:
        """What a run's process inherits: never a person's credentials, nor the way to another Upcall."""
        given = self.folder(run.number).read_environment() or dict(os.environ)
        return {name: value for name, value in given.items() if not name.startswith("UPCALL_")}

    def _start(self, run: Run, command: Command, token: str, *, talking: bool) -> Start:
        return Start(
            number=run.starts,
            run=run.number,
            argv=list(command.argv),
            cwd=command.cwd,
            environment={
                **self.environment(run),
                **self._door(run, token).environment,
                **command.environment,
            },
            stdin=command.stdin,
            talking=talking,
            token=token,
            home=str(self.home.path),
            begins=self.folder(run.number).size(),
            orphan_grace=self.settings.orphan_grace,
            kill_grace=self.settings.kill_grace,
        )

    def _subject(self, run: Run, given: TurnInput, fresh_session: str) -> Task | Session:
        """What an adapter is given: the task, or the session as it was begun, with the flags that only processes get."""
        folder = self.folder(run.number)
        door = self._door(run, folder.token())
        subject = _session(run, door) if given.resumes else _task(run, door, fresh_session)
        return replace(subject, arguments=(*folder.read_arguments(), *subject.arguments))

    def _door(self, run: Run, token: str) -> Door:
        home, settings = str(self.home.path), self.settings
        return Door(
            command=(sys.executable, "-P", "-m", "upcall", "mcp"),
            environment={"UPCALL_HOME": home, "UPCALL_TOKEN": token, "UPCALL_RUN": str(run.number)},
            url=self.url,
            token=token,
            wait=settings.wait,
            aliases=settings.aliases,
            server=settings.server,
            advice=settings.advice.strip().replace("{agent_id}", run.agent),
        )


def _session(run: Run, door: Door) -> Session:
    return Session(id=run.session, cwd=run.cwd, door=door, permission=run.permission, arguments=run.arguments)


def _task(run: Run, door: Door, session: str) -> Task:
    return Task(
        prompt=run.task,
        cwd=run.cwd,
        door=door,
        session=session,
        permission=run.permission,
        arguments=run.arguments,
    )


def _texts(read: object) -> tuple[str, ...]:
    return tuple(str(text) for text in cast("list[object]", read)) if isinstance(read, list) else ()


def _place(folder: Path, name: str, text: str) -> None:
    """Write a file that an agent finds in its working directory, or remove it."""
    path = folder / name
    if path.resolve().parent != folder.resolve():
        raise OSError(f"{name!r} is not a file of the working directory")
    if text:
        # An answer may be in it.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
    else:
        path.unlink(missing_ok=True)
