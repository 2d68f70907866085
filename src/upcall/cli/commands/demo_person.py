"""The person at the demo's terminal, who may be overtaken by somebody in another one."""

import select
import socket
import sys
import termios
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from upcall.cli.client import Client, inquiry_path
from upcall.cli.commands.replies import VERDICTS, is_unclear, neither
from upcall.cli.failures import Refused
from upcall.cli.render.terminal import paint


def at_the_terminal(client: Client, inquiry: dict[str, Any], call: Future[dict[str, Any]]) -> None:
    """Ask for an answer until one counts, or until the agent's call has returned with somebody else's."""
    woken, wake = socket.socketpair()

    def returned(_: object) -> None:
        # Whoever has left the demo meanwhile need not be woken.
        with suppress(OSError):
            wake.send(b".")

    with woken, wake:
        call.add_done_callback(returned)
        # What was typed before this question was on the screen answers it by accident only.
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        while not call.done():
            print(f"{paint().good('you')}    ", end="", flush=True)
            ready, _, _ = select.select([sys.stdin, woken], [], [])
            if woken in ready:
                print("(answered elsewhere)")
                return
            line = sys.stdin.readline()
            if not line:
                raise KeyboardInterrupt
            if is_unclear(inquiry, line):
                print(f"       {neither(line)}: say one of {VERDICTS}")
                continue
            try:
                client.post(inquiry_path(inquiry["id"], "answer"), {"text": line, "via": "terminal"})
            except Refused as refused:
                print(f"       {refused.message}: {refused.hint}")
                continue
            # The agent's call returns now, whoever's answer it was.
            woken.recv(1)
