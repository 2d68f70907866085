"""The daemon's process: claims the home, binds the port, and reports readiness."""

import gc
import json
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from upcall import __version__
from upcall.config.settings import Config, load
from upcall.daemon import log_format
from upcall.domain.errors import UpcallError
from upcall.home.files import Home
from upcall.home.instance import Instance, stop_running
from upcall.home.permissions import secure
from upcall.home.program import program
from upcall.http.gate import allow_many_files

log = logging.getLogger("upcall.daemon")


class CannotListen(UpcallError):
    """The address is taken or not allowed."""

    code = "cannot_listen"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """The options of `upcall up`; None takes the value of the settings."""

    host: str | None = None
    port: int | None = None
    database: str | None = None
    replace: bool = False
    ready_fd: int | None = None


def serve(home: Home, start: StartOptions) -> int:
    """Run the daemon until a signal stops it; if one runs already, only report its address.

    Raises:
        UpcallError: if it cannot start.
    """
    try:
        home.create()
        # Taken before the files are read, so that a file that changes meanwhile does not count as read.
        basis = home.reply_basis()
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
            secure(home)
            _run(home, config, instance, start, basis)
        finally:
            instance.release()
    except UpcallError as error:
        _tell(start, f"failed: {'; '.join(error.message.splitlines())}\n{error.hint or ''}", None)
        raise
    return 0


def _run(home: Home, config: Config, instance: Instance, start: StartOptions, basis: list[object]) -> None:
    # What is imported stays, so a collection meanwhile finds nothing: without it, the daemon starts a tenth faster.
    gc.disable()
    # Only a process that has become the daemon imports it.
    from upcall.daemon.server import run  # noqa: PLC0415 - see above
    from upcall.doors.mcp.definitions import definitions  # noqa: PLC0415 - see above
    from upcall.doors.mcp.wire import first_replies  # noqa: PLC0415 - see above

    gc.enable()
    log_format.install(config.log_level.upper(), as_json=config.log_format == "json")
    allow_many_files()
    # Uvicorn announces each step of its start and end; our own line is enough.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    # httpx logs every address that it calls, and the addresses of some vendors contain a token.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    with suppress(FileNotFoundError):
        home.down_mark.unlink()

    async def ready(url: str, sign_in_link: Callable[[], Awaitable[str]]) -> None:
        # Loaded modules stay. A collection that visits them, because one agent sent many values, would delay all others.
        gc.freeze()
        instance.ready()
        log.info("listening at %s", url)
        inbox = f"{program()} inbox"
        if start.ready_fd is None and sys.stdout.isatty():
            # Only for a terminal: another output may be a log.
            inbox = f"{await sign_in_link()}  (once, within 10 minutes; `{program()} inbox` for another)"
        _tell(
            start,
            "ready",
            f"Upcall {__version__} is listening at {url}\nInbox:       {inbox}\nAnswer with: {program()} answer",
        )

    replies = first_replies(definitions(config.limits, config.tool_aliases))
    home.write_private(home.replies_file, json.dumps({"basis": basis, "replies": replies}))
    listening = _listen(home, config)
    try:
        run(home, config, lambda: _with(load(home), start), listening, ready)
    finally:
        listening.close()
        with suppress(FileNotFoundError):
            home.runtime_file.unlink()


def _listen(home: Home, config: Config) -> socket.socket:
    """A listening socket: on the port of the settings, else on the earlier port of this home, else on a free one."""
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


def _with(config: Config, start: StartOptions) -> Config:
    if start.host is not None:
        config = replace(config, host=start.host)
    if start.port is not None:
        config = replace(config, port=start.port)
    if start.database is not None:
        config = replace(config, database=start.database)
    return config


def _tell(start: StartOptions, word: str, sentence: str | None) -> None:
    """Report the result to the process that started us in the background, or print it."""
    if start.ready_fd is not None:
        # The process that started us may be gone by now.
        with suppress(OSError), os.fdopen(start.ready_fd, "w") as waiting:
            waiting.write(f"{word}\n")
    elif sentence is not None:
        sys.stdout.write(f"{sentence}\n")
        sys.stdout.flush()
