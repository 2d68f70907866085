"""The seams to agents' programs: what an adapter offers, and what a program that is talked to needs of us."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from upcall.domain.answer.outcome import Outcome
from upcall.domain.run.program import Action, Command, Noticed, Session, Task, Verdict


class Reader(Protocol):
    """Reads one process's output, line by line."""

    def notice(self, line: str) -> Iterable[Noticed]:
        """What a line tells; one that makes no sense is `Unreadable` and never an exception."""
        ...


class Console(Protocol):
    """The running process of a program that is talked to."""

    async def read(self) -> str | None:
        """The next line that it writes; None once it has ended."""
        ...

    async def write(self, line: str) -> None:
        """Give it a line to read."""
        ...


class Desk(Protocol):
    """Where a program's own questions go. It knows which run is asking; a program that asks again under a key rejoins its question."""

    async def ask(self, fields: Mapping[str, object], key: str, *, wait: float | None = None) -> Outcome:
        """Put questions as the program's own tool has them; after `wait` seconds without an answer, it is parked.

        Never refused for length, and never raises for what the program sent: such an outcome is `failed`.
        """
        ...

    async def approve(self, action: Action, key: str, *, wait: float | None = None) -> Verdict:
        """Have an action decided: by a remembered rule, by the run's mode, or by a person."""
        ...

    async def put_plan(
        self, plan: str, key: str, *, edits: bool = True, wait: float | None = None
    ) -> Verdict:
        """Have a plan decided by a person, whatever the run's mode; the reason of a no has their comments.

        `edits` says whether the program can be told to change files without asking further.
        """
        ...


class SessionDesk(Desk, Protocol):
    """The desk of one session."""

    async def begin_turn(self) -> None:
        """A person has spoken to the session, so it may ask anew for what was denied."""
        ...

    async def remark(self, tool: str, given: Mapping[str, object]) -> str:
        """What the model is to be told after a tool has run with this input; empty where there is nothing. Told once."""
        ...


class Driver(Protocol):
    """Talks to one process of a program that serves a protocol, from its start to the end of its work."""

    async def drive(self, console: Console, desk: Desk, notice: Callable[[Noticed], None]) -> None:
        """Do the work; returns when it is finished, and the process can be ended. Cancelled when we close.

        It may begin in the middle: the process of a daemon that died is taken over by the next one, with its session
        and without a message once that is known. The console then has what the process wrote from its start.
        """
        ...

    async def say(self, text: str) -> bool:
        """Tell the live program something; False where it cannot be told before its turn is over."""
        ...


def is_silent(driver: Driver) -> bool:
    """Whether a process says nothing of its work in its output, so that only its driver knows: `silent = True` there."""
    return getattr(driver, "silent", False) is True


class Agent(Protocol):
    """Knows one program: how it is started with our door in its hands, read, talked to and resumed."""

    name: str
    install_hint: str
    """What to do when the program is not there."""
    rest: float
    """Seconds after its first start in which a session must not be resumed; 0 where it can be at any time."""
    hides_results: bool
    """Whether an answer may reach a model without a word of that in the output, as those of subagents often do."""

    def program(self) -> str:
        """What is started: the name of an executable, or its path."""
        ...

    def version_problem(self, version: str) -> str | None:
        """What is wrong with an installed version, from what it prints for `--version`; None if it will do."""
        ...

    def start(self, task: Task) -> Command:
        """How a task is begun, without touching any of the user's own files."""
        ...

    def resume(self, session: Session, message: str | None) -> Command:
        """How a session is taken up again; without a message where a deferred call is to be decided."""
        ...

    def attach(self, session: Session) -> Command:
        """How a person takes the session over in a terminal."""
        ...

    def reader(self) -> Reader:
        """Reads the output of one process."""
        ...

    def driver(self, told: Task | Session, message: str | None) -> Driver | None:
        """Talks to one process; None for programs that are only read."""
        ...


def packages_of(agent: Agent) -> Mapping[str, str]:
    """The Python packages without which an agent cannot be talked to, and how each is installed.

    An adapter that needs any says so: `packages = {"acp": "pip install 'upcall[acp]'"}`.
    """
    packages: Mapping[str, str] = getattr(agent, "packages", {})
    return packages
