"""Keeps one process of an agent: started once, its output on disk, its whole tree ended with it.

    python -m upcall.runs.process.keeper FOLDER

A process of its own, so that a daemon that is killed or restarted takes no agent with it. It tells the daemon when
there is more to read, and does what it is told; without a daemon for too long, it ends the agent. It needs only the
standard library, for there is one of them beside every agent.

Keeper and daemon meet on loopback, which every user of the machine can reach. So each proves that it has the run's secret,
and neither sends it.
"""

import errno
import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

from upcall.runs.process.folder import ERRORS, Exit, Output, RunFolder, Start
from upcall.runs.process.trees import adopt_orphans, die_with_parent, end_descendants

ADDRESS_FILE = "keepers.json"
"""Where in the folder of all runs the daemon says how it is reached."""

BUSY, STALE = 3, 4
"""How a keeper ends that must not start anything: another one lives, or a later start was claimed."""

CANNOT_START = 127
LONGEST_LINE = 16 * 1024 * 1024
DRAIN_SECONDS = 2.0
"""How long after its end a process's output is waited for, which something that it left behind may hold open."""

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
ROOM_AGAIN = 0.5
"""Seconds between looks whether there is room again."""

SHORTEST_NAP, LONGEST_NAP = 0.05, 1.0
KEEPER, DAEMON = "keeper", "daemon"


def key_of(token: str) -> str:
    """The digest of a run's token, which both sides have."""
    return hashlib.sha256(token.encode()).hexdigest()


def proof(key: str, side: str, nonce: str) -> str:
    """What only a side that has the key can send."""
    return hmac.new(key.encode(), f"{side}:{nonce}".encode(), hashlib.sha256).hexdigest()


def proves(sent: object, key: str, side: str, nonce: str) -> bool:
    """Whether the other side has the key."""
    return isinstance(sent, str) and hmac.compare_digest(sent.encode(), proof(key, side, nonce).encode())


class Keeper:
    """One process, from its start to its end."""

    def __init__(self, folder: RunFolder, start: Start, lock: int) -> None:
        self._folder = folder
        self._lock = lock
        self._start = start
        self._output = Output(folder)
        self._errors = Output(folder, ERRORS)
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._sending = threading.Lock()
        self._ending = threading.Lock()
        self._words: SimpleQueue[tuple[str, bool]] = SimpleQueue()
        self._over = threading.Event()
        self._nonce = ""

    def run(self) -> int:
        """Start, keep, and write down how it ended."""
        adopt_orphans()
        signal.signal(signal.SIGTERM, lambda *_: self._end_soon())
        code = self._keep()
        # Without its last words a question would be lost, and without its end a session would be told its answer again.
        _with_room(lambda: self._output.append(b""))
        _with_room(lambda: self._folder.write_exit(Exit(self._start.number, code)))
        return code

    def tell(self, code: int) -> None:
        """Say how it ended. The daemon that hears it may start the next process, so the run's lock is free by then."""
        self._send({"ended": code, "size": self._output.size})
        self._over.set()

    def _keep(self) -> int:
        start = self._start
        try:
            self._process = process = subprocess.Popen(
                start.argv,
                cwd=start.cwd,
                env=start.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # A program that is killed with its keeper dies alone: its children may go on, and then the session is not free.
                pass_fds=(self._lock,),
                # A process group of its own: signals of our terminal do not reach it.
                start_new_session=True,
                # No other thread runs in this process yet, so the fork catches none half-way.
                preexec_fn=die_with_parent,  # noqa: PLW1509
            )
        except OSError as problem:
            self._keep_lines(self._errors, f"cannot start {start.argv[0]}: {problem.strerror}\n".encode())
            return CANNOT_START
        readers = [
            threading.Thread(target=self._copy, args=(process.stdout, self._output), daemon=True),
            threading.Thread(target=self._copy, args=(process.stderr, self._errors), daemon=True),
        ]
        self._words.put((start.stdin, not start.talking))
        talking = threading.Thread(target=self._talk, daemon=True)
        for thread in [*readers, talking, threading.Thread(target=self._stay_in_touch, daemon=True)]:
            thread.start()
        code = process.wait()
        for thread in readers:
            thread.join(DRAIN_SECONDS)
        self._end()
        for thread in readers:
            thread.join(DRAIN_SECONDS)
        return code

    def _copy(self, stream: IO[bytes], output: Output) -> None:
        rest = b""
        while data := os.read(stream.fileno(), 1 << 16):
            lines, newline, rest = (rest + data).rpartition(b"\n")
            if newline or len(rest) > LONGEST_LINE:
                if not newline:
                    lines, rest = rest, b""
                self._keep_lines(output, lines + b"\n")
        if rest:
            self._keep_lines(output, rest + b"\n")

    def _keep_lines(self, output: Output, lines: bytes) -> None:
        # On a full disk the agent goes on: a keeper that stopped reading would stop it too. It can still be ended, and
        # what it said is written with the next lines, or at its end.
        with suppress(OSError):
            output.append(lines)
            if output is self._output:
                self._send({"grew": output.size})

    def _talk(self) -> None:
        """Give the process its words: in a thread of its own, for it may not read them, and must end all the same."""
        while True:
            text, last = self._words.get()
            self._write(text, last=last)

    def _write(self, text: str, *, last: bool) -> None:
        """Give the process something to read; it may be gone, or have stopped reading."""
        stdin = self._process.stdin if self._process else None
        if stdin is None or stdin.closed:
            return
        with suppress(BrokenPipeError, ValueError):
            if text:
                stdin.write(text.encode())
                stdin.flush()
            if last:
                stdin.close()

    def _end_soon(self) -> None:
        threading.Thread(target=self._end, daemon=True).start()

    def _end(self) -> None:
        with self._ending:
            end_descendants(self._start.kill_grace)

    def _stay_in_touch(self) -> None:
        last_met, nap = time.monotonic(), SHORTEST_NAP
        while not self._over.is_set():
            connection = self._connect()
            if connection is not None and self._listen(connection):
                nap = SHORTEST_NAP
                last_met = time.monotonic()
            elif time.monotonic() - last_met > self._start.orphan_grace:
                self._keep_lines(self._errors, b"ended because Upcall was not there for too long\n")
                self._end()
                return
            self._over.wait(nap)
            nap = min(2 * nap, LONGEST_NAP)

    def _connect(self) -> socket.socket | None:
        try:
            address = json.loads((self._folder.path.parent / ADDRESS_FILE).read_text())
            connection = socket.create_connection(("127.0.0.1", address["port"]), timeout=5)
        except (OSError, ValueError, KeyError):
            return None
        connection.settimeout(None)
        start = self._start
        with self._sending:
            self._connection = connection
        self._nonce = os.urandom(16).hex()
        proved = proof(key_of(start.token), KEEPER, self._nonce)
        self._send({"run": start.run, "start": start.number, "nonce": self._nonce, "proof": proved})
        return connection

    def _listen(self, connection: socket.socket) -> bool:
        """Do what the daemon says, as long as it is there; False when it cannot prove that it is the daemon."""
        known = False
        with suppress(OSError, ValueError), connection, connection.makefile("rb") as lines:
            for line in lines:
                told = json.loads(line)
                if not known and not proves(
                    told.get("proof"), key_of(self._start.token), DAEMON, self._nonce
                ):
                    break
                known = True
                self._told(told)
        with self._sending:
            self._connection = None
        return known

    def _told(self, message: dict[str, Any]) -> None:
        if "write" in message or message.get("close"):
            self._words.put((str(message.get("write", "")), bool(message.get("close"))))
        if message.get("end"):
            self._end_soon()

    def _send(self, message: dict[str, Any]) -> None:
        with self._sending:
            if self._connection is not None:
                # A daemon that is away now reads on from its mark when it is back.
                with suppress(OSError):
                    self._connection.sendall(json.dumps(message).encode() + b"\n")


def _with_room(write: Callable[[], None]) -> None:
    """Write something, on a full disk as soon as there is room for it; the run's lock is held until then."""
    while True:
        try:
            return write()
        except OSError as problem:
            if problem.errno not in NO_ROOM:
                raise
        time.sleep(ROOM_AGAIN)


def keeper_command(folder: RunFolder) -> list[str]:
    """The command line of a keeper."""
    return [sys.executable, "-P", "-m", f"{__package__}.keeper", str(folder.path)]


def start_keeper(home: Path, folder: RunFolder) -> int:
    """Start a keeper, which detaches itself: 0, or why it started nothing."""
    started = subprocess.run(
        keeper_command(folder),
        check=False,
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    return started.returncode


def main(path: str) -> int:
    """Start what the folder says, unless another process has the run or a later start was claimed."""
    folder = RunFolder(Path(path))
    with folder.locked() as lock:
        if lock is None:
            return BUSY
        try:
            start = folder.read_start()
        except FileNotFoundError:
            # Removed with the end of the process that it was written for.
            return STALE
        if not folder.claim_start(start.number):
            return STALE
        # The parent ends here: the daemon knows that the start will be made, and has no child to reap.
        if os.fork():
            os._exit(0)
        keeper = Keeper(folder, start, lock)
        code = keeper.run()
    keeper.tell(code)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
