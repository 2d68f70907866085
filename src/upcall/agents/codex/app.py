"""Codex's app server: a process that is talked to, so that a person can decide what it may do.

It listens on a socket file that only its user can open. The file is named after the run's token, so that a later
connection finds it again, also after a restart of the daemon.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from upcall.agents.codex.events import AppReader
from upcall.agents.codex.settings import setting, settings_for
from upcall.domain.run.program import Command, Door, Noticed, Session, Task
from upcall.ports.agent import Console, Desk

PAUSE = 0.05
"""Seconds between two looks whether the server is listening, which it tells in no other way."""


def serve(program: str, told: Task | Session) -> Command:
    """The server of one session. What it shall do is told to it by its driver."""
    return Command(
        argv=(
            *(program, "app-server", "--listen", f"unix://{socket_of(told.door)}"),
            *settings_for(told.door),
            # Otherwise the model has the tool for its own questions in plan mode only.
            *setting("features.default_mode_request_user_input", "true"),
            *told.arguments,
        ),
        cwd=told.cwd,
        environment=dict(told.door.environment),
    )


def socket_of(door: Door) -> Path:
    """Where the server of a run listens: in our home, which is closed to others."""
    folder = door.environment.get("UPCALL_HOME") or tempfile.gettempdir()
    name = hashlib.sha256(f"codex {door.token}".encode()).hexdigest()[:24]
    return Path(folder) / f"codex-{name}.sock"


class AppDriver:
    """Talks to one process of the app server, over as many connections as it takes."""

    silent = True

    def __init__(self, told: Task | Session, message: str | None) -> None:
        self._told = told
        self._message = message
        self._socket = socket_of(told.door)
        self._reader = AppReader()
        self._over = False
        self._say: Callable[[str], Awaitable[bool]] | None = None

    async def drive(self, console: Console, desk: Desk, notice: Callable[[Noticed], None]) -> None:
        """Do the work, until it is done or the process has ended."""
        working = asyncio.create_task(self._work(desk, notice))
        watching = asyncio.create_task(_ended(console))
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            # A connection that breaks in the moment in which its task is cancelled may hide that from the task.
            self._over = True
            working.cancel()
            watching.cancel()
            await asyncio.gather(working, watching, return_exceptions=True)

    async def say(self, text: str) -> bool:
        """Tell the model something before it goes on; False between its turns, and between connections."""
        return self._say is not None and await self._say(text)

    async def _work(self, desk: Desk, notice: Callable[[Noticed], None]) -> None:
        while not self._over:
            if await self._converse(desk, notice):
                return
            # It is not listening yet, or has dropped us: what it still waits for, it will ask again.
            await asyncio.sleep(PAUSE)

    async def _converse(self, desk: Desk, notice: Callable[[Noticed], None]) -> bool:
        """Talk over one connection; whether the work is done."""
        # Only here is a WebSocket needed, and not every daemon has a Codex to talk to.
        from upcall.agents.codex.conversation import Conversation  # noqa: PLC0415 - see above
        from upcall.agents.codex.link import LinkLost, connected  # noqa: PLC0415 - see above

        done = False
        try:
            async with connected(self._address()) as link:
                conversation = Conversation(link, self._reader, desk, notice)
                self._say = conversation.say
                await conversation.follow(self._told, self._message, self._mark())
                done = True
        except* LinkLost:
            pass  # the caller comes back for as long as the process lives
        finally:
            self._say = None
        return done

    def _address(self) -> str:
        # The system takes only short paths, and where ours is long Codex has left a link to a short one.
        return str(self._socket.resolve())

    def _mark(self) -> str:
        """What our message is called: the same over every connection to this process, and another one in the next."""
        try:
            made = self._socket.stat()
        except OSError:
            return ""
        return str(uuid5(NAMESPACE_OID, f"{made.st_ino} {made.st_mtime_ns} {self._message}"))


async def _ended(console: Console) -> None:
    """Wait for the end of the process; what it writes meanwhile is for the log."""
    while await console.read() is not None:
        pass
