"""Where runs live, and how their processes are prepared: what is started, with which environment and which door."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from upcall.domain.errors import UpcallError
from upcall.domain.run.program import Command, Door, Session, Task
from upcall.domain.run.run import Run
from upcall.home.files import Home
from upcall.home.saved_environments import SavedEnvironments
from upcall.ports.agent import Agent, Desk, Driver
from upcall.runs.process.folder import RunFolder, Start
from upcall.runs.process.started import Told, command_for, subject_of


class RunDesk(Desk, Protocol):
    """Where the questions of one run go."""

    async def begin_turn(self) -> None:
        """A person has spoken to the run, so it may ask anew for what was denied."""
        ...


class Furniture(Protocol):
    """What is put into the folder that a run works in, and taken out again."""

    def furnish(self, folder: str, token: str) -> None:
        """Before a process is started."""
        ...

    def clear(self, folder: str, token: str) -> None:
        """After it has ended."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """Of one daemon. `runner` is what this machine is called, and `wait` for how long a call may be blocked.

    `resume_message` is what a session is told with an answer, and `advice` what a task is told about asking, both in
    words of the owner's. `aliases` and `server` are further names of the tool that asks, and of ours.
    """

    home: Home
    url: str
    runner: str
    agents: Callable[[str], Agent]
    desks: Callable[[Run], RunDesk]
    resume_message: str = ""
    advice: str = ""
    aliases: tuple[str, ...] = ()
    server: str = ""
    furniture: Callable[[str], Furniture | None] = lambda _: None
    """What an agent finds in its folder, by its name."""
    wait: float = 24 * 3600.0
    orphan_grace: float = 60.0
    kill_grace: float = 10.0

    def folder(self, number: int) -> RunFolder:
        """The folder of a run."""
        return RunFolder(self.home.path / "runs" / str(number))

    def with_environment(self) -> list[int]:
        """The runs for which variables are kept."""
        found = (self.home.path / "runs").glob("*/environment.json")
        return [int(file.parent.name) for file in found if file.parent.name.isdecimal()]

    def session_of(self, run: Run) -> Session:
        """The session of a run, as it was begun."""
        subject = subject_of(run, self._door(run, self.folder(run.number).token()), Told(resumes=True), "")
        assert isinstance(subject, Session)  # that is what resuming means
        return subject

    def rested_at(self, run: Run) -> float:
        """From when on the session of a run may be resumed."""
        try:
            return (run.started_at or run.created_at) + self.agents(run.agent).rest
        except UpcallError:
            return 0.0  # whoever starts it is told why it cannot be

    def driver_of(self, run: Run, told: Told, *, is_new: bool) -> Driver | None:
        """Who talks to a run's process, if somebody has to; one that is not new has been talked to before."""
        if run.session and not is_new:
            told = Told(resumes=True)
        folder = self.folder(run.number)
        subject = _with_flags(
            subject_of(run, self._door(run, folder.token()), told, run.session), folder.read_arguments()
        )
        return self.agents(run.agent).driver(subject, told.message)

    def begun(self, run: Run, told: Told) -> tuple[int, bool]:
        """Where the output of a run's latest process begins, and whether the process is talked to."""
        try:
            start = self.folder(run.number).read_start()
        except FileNotFoundError:
            # A daemon has read everything and cleared the folder, and could not say in the book that the process has ended.
            return run.read, self.driver_of(run, told, is_new=False) is not None
        return start.begins, start.talking

    def loses_touch(self, run: Run) -> bool:
        """Whether a process that another daemon talked to cannot be gone on with, and is ended when it is found."""
        try:
            driver = self.driver_of(run, Told(resumes=True), is_new=False)
        except (UpcallError, OSError):
            return False
        return bool(getattr(driver, "loses_touch", False))

    def prepare(self, run: Run, told: Told) -> None:
        """Leave everything that the next keeper of a run needs.

        Raises:
            OSError: if it cannot be written.
            UpcallError: if the agent cannot be started like that.
        """
        folder = self.folder(run.number)
        token = folder.token()
        subject = _with_flags(
            subject_of(run, self._door(run, token), told, str(uuid4())), folder.read_arguments()
        )
        agent = self.agents(run.agent)
        command = command_for(agent, subject, told.message)
        for name, text in command.files.items():
            _place(Path(command.cwd), name, text)
        if (furniture := self.furniture(run.agent)) is not None:
            furniture.furnish(run.cwd, token)
        folder.write_told(told.as_json(run.starts))
        talking = agent.driver(subject, told.message) is not None
        folder.write_start(self._start(run, command, token, talking=talking))

    def furnish(self, run: Run, secret: str, environment: Mapping[str, str] | None) -> None:
        """Make the folder of a new run, with its token and the environment that it was given."""
        folder = self.folder(run.number)
        folder.create()
        folder.write_token(secret)
        if environment is not None:
            folder.write_environment(environment)

    def take_over(self, run: Run, inquiry: str) -> None:
        """Give a run what the pipe of its session has left with a question, and leave it nowhere else."""
        handovers = SavedEnvironments(self.home.path)
        handed = handovers.read(inquiry)
        if handed is None:
            return
        folder = self.folder(run.number)
        folder.write_environment(handed.environment if handed.whole else {**os.environ, **handed.environment})
        folder.write_arguments(handed.arguments)
        handovers.forget(inquiry)

    def clear(self, run: Run) -> None:
        """Leave nothing of ours in the folder that a run's process has worked in.

        Raises:
            OSError: if it cannot be changed.
            UpcallError: if somebody has made something else of it.
        """
        self.folder(run.number).forget_start()
        if (furniture := self.furniture(run.agent)) is not None:
            furniture.clear(run.cwd, self.folder(run.number).token())

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
            orphan_grace=self.orphan_grace,
            kill_grace=self.kill_grace,
        )

    def _door(self, run: Run, token: str) -> Door:
        home = str(self.home.path)
        return Door(
            command=(sys.executable, "-P", "-m", "upcall", "mcp"),
            environment={"UPCALL_HOME": home, "UPCALL_TOKEN": token, "UPCALL_RUN": str(run.number)},
            url=self.url,
            token=token,
            wait=self.wait,
            aliases=self.aliases,
            server=self.server,
            advice=self.advice.strip().replace("{agent_id}", run.agent),
        )


def _with_flags(told: Task | Session, flags: tuple[str, ...]) -> Task | Session:
    return replace(told, arguments=(*flags, *told.arguments))


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
