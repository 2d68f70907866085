"""Serves HTTP until a signal, then settles every waiting call before it ends."""

import asyncio
import gc
import json
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from types import FrameType
from typing import cast

import uvicorn
import uvloop
from typing_extensions import override

from upcall import __version__
from upcall.config.settings import Config
from upcall.daemon.hangup import reload_on_hangup
from upcall.daemon.memory import FreedMemory, give_back
from upcall.daemon.wiring.assembly import Assembly, assembled
from upcall.home.files import Home, Running
from upcall.http.connection import HttpConnection

GRACE = 5
"""Seconds for connections to finish after every waiter has been settled."""

Ready = Callable[[str, Callable[[], Awaitable[str]]], Awaitable[None]]
"""Gets the address, and a function that makes a sign-in link."""

log = logging.getLogger("upcall.server")


def run(
    home: Home, config: Config, read: Callable[[], Config], listening: socket.socket, ready: Ready
) -> None:
    """Serve on a socket until a signal says to stop; `ready` gets the address as soon as it accepts connections.

    `read` reads the settings again, for a reload.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(home, config, read, listening, ready))


async def _serve(
    home: Home, config: Config, read: Callable[[], Config], listening: socket.socket, ready: Ready
) -> None:
    host, port = listening.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    async with assembled(home, config, url, read) as assembly:

        async def on_started() -> None:
            home.write_private(home.runtime_file, json.dumps(_running(assembly)._asdict()))
            # Objects of the start stay; later collections skip them.
            gc.freeze()
            gc.set_threshold(50_000, 50, 100)
            await ready(assembly.url, assembly.sign_in_link)

        async def settle() -> None:
            end = home.down_mark.exists()
            log.info("shutting down %s", "for good" if end else "for a restart")
            await assembly.settle(end=end)

        server = _DaemonServer(assembly)
        freed = FreedMemory(partial(len, assembly.pipes.gate), give_back)
        freed.start()
        try:
            with reload_on_hangup(assembly.reloading, server.stop):
                await server.run_until_told(listening, on_started, settle)
        finally:
            await freed.close()


class _DaemonServer(uvicorn.Server):
    """Uvicorn, except that a signal first settles every waiting call and only then closes the listening socket."""

    def __init__(self, assembly: Assembly) -> None:
        super().__init__(
            uvicorn.Config(
                assembly.app,
                # Uvicorn wants a class; ours needs the gate as well, so it is a partial.
                http=cast("type[asyncio.Protocol]", partial(HttpConnection, assembly.pipes.gate)),
                ws="none",
                loop="none",
                access_log=False,
                log_config=None,
                server_header=False,
                # Any client can write X-Forwarded-For, so it proves no address.
                proxy_headers=False,
                backlog=4096,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=GRACE,
            )
        )
        self._told = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._on_started: Callable[[], Awaitable[None]] | None = None

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop at the first signal; the second one stops without waiting."""
        if self._told.is_set():
            self.force_exit = True
        self._loop.call_soon_threadsafe(self._told.set)

    def stop(self) -> None:
        """Begin to stop, as at the first signal."""
        self._told.set()

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, then report it."""
        await super().startup(sockets)
        if self.started and self._on_started is not None:
            await self._on_started()

    async def run_until_told(
        self,
        listening: socket.socket,
        on_started: Callable[[], Awaitable[None]],
        settle: Callable[[], Awaitable[None]],
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


def _running(assembly: Assembly) -> Running:
    return Running(
        pid=os.getpid(),
        url=assembly.url,
        pipe_port=assembly.pipes.port,
        token=assembly.agent_token,
        version=__version__,
    )
