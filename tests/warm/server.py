"""Forks daemons that have imported all of Upcall already: of a second that a start takes, nine tenths are imports.

What is forked is a process of its own like any other, in its own session, with the descriptors, the folder and the environment
of the command that starts it. It is killed, halted and restarted like any other, too. Tests of starting itself are marked `cold`.
"""

import fcntl
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import time
from itertools import chain
from select import select

from starlette.routing import compile_path

from upcall.__main__ import main as upcall
from upcall.web.api.routes import TABLE
from upcall.web.pages.rendering import environment

LOADED = (
    "upcall.cli.app",
    "upcall.cli.commands.up",
    "upcall.daemon.process",
    "upcall.daemon.server",
    "upcall.doors.mcp.server",
    "upcall.web.pages",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.loops.uvloop",
)
HIGH = 500
"""Descriptors from here on are none of those that a command hands over."""


def load() -> None:
    """Import what a daemon imports at its start, with its first page and with its first MCP session; compile its pages and paths."""
    for name in LOADED:
        module = importlib.import_module(name)
        for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
            importlib.import_module(f"{name}.{found.name}")
    templates = environment()
    for name in templates.list_templates():
        templates.get_template(name)
    for each in chain.from_iterable(TABLE.values()):
        compile_path(each.path)
    gc.collect()
    gc.freeze()


def asked(listening: socket.socket) -> socket.socket | None:
    """In a new process, the connection of a command that wants a daemon; None once standard input ends."""
    # No child is waited for: each of them ends as soon as the daemon has detached itself.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        readable, _, _ = select([listening, sys.stdin], [], [])
        if sys.stdin in readable:
            return None
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            return connection
        connection.close()


def become(connection: socket.socket) -> list[str]:
    """Take the place of the process that asked; returns its arguments."""
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 16)
    said = b""
    while part := connection.recv(65_536):
        said += part
    request = json.loads(said)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, HIGH) for descriptor in descriptors]
    answering = socket.socket(fileno=fcntl.fcntl(connection, fcntl.F_DUPFD_CLOEXEC, HIGH))
    for descriptor in [connection.detach(), *descriptors]:
        os.close(descriptor)
    for descriptor, wanted in zip(high, request["descriptors"], strict=True):
        os.dup2(descriptor, wanted)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    with answering:
        answering.sendall(b".")
    arguments: list[str] = request["arguments"]
    return arguments


def main(address: str) -> int:
    """Serve until standard input ends."""
    load()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        connection = asked(listening)
    if connection is None:
        return 0
    sys.argv = ["upcall", *become(connection)]
    return upcall()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
