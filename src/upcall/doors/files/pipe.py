"""`upcall mcp --ipc DIR`: the MCP server in a container without network, which reaches the daemon through a folder.

Unlike the plain pipe it answers itself every request that needs no human, since there may be no daemon at the other side.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from upcall.config.settings import Config, load
from upcall.domain.roles import Caller, Role
from upcall.doors.files.exchange import RESPONSES, STAGING, TASKS, Exchange
from upcall.doors.files.folder_watch import FolderWatch
from upcall.doors.files.inbox import Inbox
from upcall.doors.files.tools import FileTools
from upcall.doors.mcp.asker import PIPE, Asker
from upcall.doors.mcp.conversation import Conversation
from upcall.doors.mcp.link import PlainLink
from upcall.doors.mcp.meta import wait_of
from upcall.doors.mcp.wire import INVALID_REQUEST, encoded, error
from upcall.doors.pipe.agent_side import LONGEST_LINE
from upcall.home.files import Home, default_home


def main(folder: str) -> int:
    """Serve one agent on standard input and output until it hangs up.

    Raises:
        InvalidSetting: if a variable cannot be used.
        OSError: if the folder cannot be.
    """
    config = load(_home())
    path = os.path.realpath(folder)
    exchange = Exchange(path)
    exchange.prepare(TASKS, RESPONSES, STAGING)
    asyncio.run(_serve(exchange, path, config))
    return 0


async def _serve(exchange: Exchange, path: str, config: Config) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    watch = FolderWatch()
    tools = FileTools(
        exchange,
        Inbox(exchange, path, watch),
        limits=config.limits,
        aliases=config.tool_aliases,
        slice_seconds=config.slice,
        block_timeout=config.block_timeout,
    )

    def write(line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(1, rest) :]
        except OSError:
            # The agent is gone, and with it everything that this process is for.
            ended.set()

    conversation = Conversation(tools, _asker(), PlainLink("stdio", write))

    def receive(line: bytes | None) -> None:
        if line is None:
            ended.set()
        elif len(line) > LONGEST_LINE:
            write(encoded(error(None, INVALID_REQUEST, f"a line has at most {LONGEST_LINE} bytes")))
        elif line.strip():
            conversation.receive(line)

    threading.Thread(
        target=_read, args=(lambda line: loop.call_soon_threadsafe(receive, line),), daemon=True
    ).start()
    await ended.wait()
    conversation.detach()
    await tools.evidence.settled()
    watch.close()


def _read(receive: Callable[[bytes | None], object]) -> None:
    """Hand over every line; one that is too long only with its beginning, and None at the end."""
    # A reader of its own: the interpreter cannot end while its own standard input is being read.
    with open(0, "rb", closefd=False) as source:
        try:
            while line := source.readline(LONGEST_LINE + 1):
                rest = line
                while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
                    rest = source.readline(LONGEST_LINE + 1)
                receive(line)
            receive(None)
        except RuntimeError:
            # The loop has ended already.
            return


def _asker() -> Asker:
    environ = os.environ
    # The daemon knows by the folder which agent this is.
    return Asker.of(
        Caller(name="files", role=Role.AGENT),
        door=PIPE,
        session=environ.get("CLAUDE_CODE_SESSION_ID"),
        workspace=environ.get("CLAUDE_PROJECT_DIR") or _here(),
        wait=wait_of(environ.get("UPCALL_WAIT")),
    )


def _here() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:
        # The folder was deleted under us.
        return None


def _home() -> Home:
    try:
        return default_home()
    except RuntimeError:
        # A user without a home, as containers have them; there are no settings but variables.
        return Home(Path(sys.prefix) / "nowhere")
