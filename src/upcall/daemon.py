"""The one long-running process of a home: it comes up, says so, and settles everybody before it goes."""

import asyncio
import gc
import json
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from types import FrameType

import uvicorn
import uvloop

from upcall import __version__
from upcall.config import Config, load
from upcall.domain.errors import UpcallError
from upcall.home import Home, Running
from upcall.instance import Instance, stop_running
from upcall.wiring import Assembly, assembled

GRACE = 5
"""Seconds that connections get to finish once every waiter has been settled."""

log = logging.getLogger("upcall.daemon")


class CannotListen(UpcallError):
    """The address is taken, or not ours to listen on."""

    code = "cannot_listen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How the daemon was asked to start; what is None comes from the settings."""

    host: str | None = None
    port: int | None = None
    database: str | None = None
    replace: bool = False
    ready_fd: int | None = None


def serve(home: Home, start: Start) -> int:
    """Run the daemon until it is told to stop; beside a running one, only say where that is.

    Raises:
        UpcallError: if it cannot start.
    """
    try:
        home.create()
        config = _with(load(home), start)
        if start.replace:
            stop_running(home)
        instance = Instance.claim(home)
        if instance is None:
            running = home.running()
            _tell(
                start, "ready", f"Upcall is already running at {running.url if running else 'another place'}"
            )
            return 0
        try:
            _run(home, config, instance, start)
        finally:
            instance.release()
    except UpcallError as error:
        _tell(start, f"failed: {' '.join(error.message.split())}", None)
        raise
    return 0


def _run(home: Home, config: Config, instance: Instance, start: Start) -> None:
    logging.basicConfig(
        level=config.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    with suppress(FileNotFoundError):
        home.down_mark.unlink()

    def ready(assembly: Assembly) -> None:
        instance.ready()
        _tell(
            start, "ready", f"Upcall {__version__} is listening at {assembly.url}\nAnswer with: upcall answer"
        )

    listening = _listen(home, config)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(home, config, listening, ready))
    finally:
        listening.close()
        with suppress(FileNotFoundError):
            home.runtime_file.unlink()


async def _serve(
    home: Home, config: Config, listening: socket.socket, ready: Callable[[Assembly], None]
) -> None:
    host, port = listening.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    async with assembled(home, config, url) as assembly:

        def on_started() -> None:
            home.write_private(home.runtime_file, json.dumps(asdict(_whereabouts(assembly))))
            # What exists by now stays; later collections need not look at it again.
            gc.freeze()
            gc.set_threshold(50_000, 50, 100)
            ready(assembly)

        async def settle() -> None:
            end = home.down_mark.exists()
            log.info("shutting down %s", "for good" if end else "for a restart")
            await assembly.settle(end=end)

        await _Server(assembly).run_until_told(listening, on_started, settle)


class _Server(uvicorn.Server):
    """Uvicorn, except that a signal first settles everybody who waits and only then stops the listening."""

    def __init__(self, assembly: Assembly) -> None:
        super().__init__(
            uvicorn.Config(
                assembly.app,
                http="httptools",
                ws="none",
                loop="none",
                access_log=False,
                log_config=None,
                server_header=False,
                backlog=4096,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=GRACE,
            )
        )
        self._told = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._on_started: Callable[[], None] = lambda: None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take note of a signal; a second one waits for nobody."""
        if self._told.is_set():
            self.force_exit = True
        self._loop.call_soon_threadsafe(self._told.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, then say so."""
        await super().startup(sockets)
        if self.started:
            self._on_started()

    async def run_until_told(
        self, listening: socket.socket, on_started: Callable[[], None], settle: Callable[[], Awaitable[None]]
    ) -> None:
        """Serve until a signal arrives, settle, and finish."""
        self._on_started = on_started
        serving = asyncio.create_task(self.serve(sockets=[listening]))
        told = asyncio.create_task(self._told.wait())
        await asyncio.wait({serving, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if not serving.done():
            await settle()
            self.should_exit = True
        await serving


def _listen(home: Home, config: Config) -> socket.socket:
    """A listening socket: on the port that is set, else on the one this home has always had, else on any."""
    kept = 0
    with suppress(OSError, ValueError):
        kept = int(home.port_file.read_text())
    for port in dict.fromkeys([config.port] if config.port else [kept, 0]):
        try:
            listening = _bound(config.host, port)
        except OSError as problem:
            if config.port or not port:
                raise CannotListen(
                    f"cannot listen on {config.host}:{port}: {problem.strerror}",
                    hint="choose another with `upcall up --port N`",
                ) from problem
            log.warning("port %s is taken; hooks that name it must be set up again", port)
            continue
        home.write_private(home.port_file, f"{listening.getsockname()[1]}\n")
        return listening
    raise AssertionError("unreachable: port 0 either binds or raises")


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError:
        listening.close()
        raise
    return listening


def _with(config: Config, start: Start) -> Config:
    if start.host is not None:
        config = replace(config, host=start.host)
    if start.port is not None:
        config = replace(config, port=start.port)
    if start.database is not None:
        config = replace(config, database=start.database)
    return config


def _whereabouts(assembly: Assembly) -> Running:
    return Running(
        pid=os.getpid(),
        url=assembly.url,
        pipe_port=assembly.pipes.port,
        token=assembly.agent_token,
        version=__version__,
    )


def _tell(start: Start, word: str, sentence: str | None) -> None:
    """Say how it went: to the process that started us in the background, or to the person who did."""
    if start.ready_fd is not None:
        # Whoever started us may be gone by now.
        with suppress(OSError), os.fdopen(start.ready_fd, "w") as waiting:
            waiting.write(f"{word}\n")
    elif sentence is not None:
        sys.stdout.write(f"{sentence}\n")
        sys.stdout.flush()
