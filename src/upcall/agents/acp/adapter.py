"""Any agent that speaks the Agent Client Protocol on its standard input and output."""

import asyncio
from collections.abc import Callable
from types import ModuleType

from upcall.agents.acp.reading import AcpReader
from upcall.domain.errors import InvalidRequest
from upcall.domain.run.program import LOST_TOUCH, Command, Finished, Noticed, Session, Task
from upcall.home.program import installing
from upcall.ports.agent import Console, Desk, Driver, Reader

EXTRA_HINT = installing("acp")
PACKAGES = {"acp": EXTRA_HINT}
"""What the extra brings, and how it is installed."""


class AcpDriver:
    """Talks to one process of an ACP agent: a new session for a task, or one that is loaded and told a message.

    A session without a message is a process that another daemon has driven before. Its requests went to that daemon and are
    not repeated, so its work ends here, to be resumed.
    """

    def __init__(self, told: Task | Session, message: str | None = None) -> None:
        self._told = told
        self._message = message

    @property
    def loses_touch(self) -> bool:
        """Whether the process is ended at once, so that nothing must be answered to it any more."""
        return isinstance(self._told, Session) and self._message is None

    async def drive(self, console: Console, desk: Desk, notice: Callable[[Noticed], None]) -> None:
        """Do the work; returns when it is finished."""
        if self.loses_touch:
            notice(Finished(ok=False, text="the daemon was restarted meanwhile", reason=LOST_TOUCH))
            return
        try:
            # Loading the SDK takes a second, in which the event loop has other calls to serve.
            client = await asyncio.to_thread(_client)
        except ImportError as problem:
            text = f"agents that speak ACP need the ACP SDK, which cannot be loaded ({problem}): {EXTRA_HINT}"
            notice(Finished(ok=False, text=text, reason="missing_extra"))
            return
        await client.Conversation(console, desk, notice, self._told).work(self._message)

    async def say(self, text: str) -> bool:
        """The protocol has no word for an agent in the middle of its turn."""
        return False


class Acp:
    """An agent that is started by a command line and speaks the protocol from then on."""

    def __init__(self, start: tuple[str, ...], *, name: str = "acp") -> None:
        self.name = name
        self._start = start
        self.rest = 0.0
        self.hides_results = True
        self.packages = PACKAGES
        self.install_hint = f"install {start[0]!r}, or correct `start` in [agents.{name}]"

    def program(self) -> str:
        """The first word of the command line."""
        return self._start[0]

    def version_problem(self, version: str) -> str | None:
        """The protocol has a version of its own, which is agreed on when we talk."""
        return None

    def start(self, task: Task) -> Command:
        """The same process for every task: what to do is told by the driver."""
        return Command(
            argv=(*self._start, *task.arguments), cwd=task.cwd, environment=dict(task.door.environment)
        )

    def resume(self, session: Session, message: str | None) -> Command:
        """The same process again; the session is loaded by the driver."""
        if message is None:
            raise InvalidRequest(
                f"{self.name} is resumed with a message", hint="say what it is to go on with"
            )
        return Command(
            argv=(*self._start, *session.arguments),
            cwd=session.cwd,
            environment=dict(session.door.environment),
        )

    def attach(self, session: Session) -> Command:
        """Not possible: a process that speaks a protocol has nothing to show a person."""
        raise InvalidRequest(
            f"a session of {self.name} cannot be taken over in a terminal", hint="`upcall say` continues it"
        )

    def reader(self) -> Reader:
        """Reads the messages that a process sends."""
        return AcpReader()

    def driver(self, told: Task | Session, message: str | None) -> Driver | None:
        """Always: these programs are talked to."""
        return AcpDriver(told, message)


def _client() -> ModuleType:
    # An extra, and slow to load.
    from upcall.agents.acp import client as acp_client  # noqa: PLC0415

    return acp_client
