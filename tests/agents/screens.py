"""A real program on a pseudo-terminal, with a person who types: what stands on the screen, and keys."""

import json
import os
import pty
import re
import subprocess
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from fcntl import ioctl
from functools import partial
from pathlib import Path
from select import select
from struct import pack

from tests.agents.programs import KEY, Desk, Program, need

PATIENCE = 60.0
# Seconds after which a person presses a key again that has done nothing.
PRESSED_AGAIN = 3.0
LOOK_EVERY = 0.02
ARROWS = ("\x1b[B", "\x1b[A")
_MARKED = re.compile(r"\u203a(\d+)\.")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?<>=]*[a-zA-Z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[=>()][0-9AB]?|[78])")
_GAPS = re.compile(r"\s+")


class Screen:
    """A program with a terminal of its own. Words are looked for without white space, which programs draw by moving the cursor."""

    def __init__(self, desk: Desk, program: Program, *words: str, **variables: str) -> None:
        need(program)
        self._master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, pack("HHHH", 50, 160, 0, 0))
        self._process = subprocess.Popen(
            # `setsid --ctty` makes it the controlling terminal, as a person's is.
            ["setsid", "--ctty", desk.program_file(program), *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=desk.work,
            env=desk.environment | {"TERM": "xterm-256color"} | variables,
        )
        os.close(slave)
        self._news = threading.Condition()
        self._drawn = ""
        self._seen = 0
        self._open = True
        self._hung_up, self._hanging_up = os.pipe()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def ended(self) -> bool:
        """Whether the program has closed the terminal."""
        return not self._open

    def calls_of(self, name: str) -> list[list[str]]:
        """What the program's threads of that name have called the system for, each with its arguments; `running` if nothing."""
        found: list[list[str]] = []
        for thread in Path(f"/proc/{self._process.pid}/task").iterdir():
            with suppress(OSError):  # it has ended meanwhile
                if (thread / "comm").read_text().strip() == name:
                    found.append((thread / "syscall").read_text().split())
        return found

    def report(self) -> str:
        """Everything that was drawn, for the message of a failed test."""
        return f"{self._process.args!r} has drawn:\n{_ESCAPES.sub(' ', self._drawn)[-4000:]}"

    def until(self, *texts: str) -> None:
        """Wait until these words were drawn, after those that were waited for before."""
        for text in texts:
            wanted = _GAPS.sub("", text)
            with self._news:
                drawn = self._news.wait_for(partial(self._has, wanted), PATIENCE)
                assert drawn, f"{text!r} was not drawn\n{self.report()}"
                self._seen += self._rest().index(wanted) + len(wanted)

    def until_seen(self, fact: Callable[[], bool]) -> None:
        """Wait until something is true of the program that it does not draw."""
        deadline = time.monotonic() + PATIENCE
        with self._news:
            while not fact():
                assert time.monotonic() < deadline, f"it never came to that\n{self.report()}"
                self._news.wait(LOOK_EVERY)

    def type(self, keys: str) -> None:
        """Press keys, which a terminal that is gone loses."""
        if self._master >= 0:
            os.write(self._master, keys.encode())

    def press(self, keys: str, taken: Callable[[], bool]) -> None:
        """Press keys until the program has taken them, as a person does: programs drop keys in the first moments of a dialog."""
        deadline = time.monotonic() + PATIENCE
        while not taken():
            assert time.monotonic() < deadline, f"{keys!r} was not taken\n{self.report()}"
            self.type(keys)
            with self._news:
                self._news.wait_for(taken, PRESSED_AGAIN)

    def mark(self, choice: str) -> None:
        """Move the mark of a list to this choice."""
        number = re.compile(rf"(\d+)\.{re.escape(_GAPS.sub('', choice))}")
        key, other, deadline = *ARROWS, time.monotonic() + PATIENCE
        with self._news:
            while (marked := self._last(_MARKED)) != self._last(number):
                assert time.monotonic() < deadline, f"{choice!r} was not marked\n{self.report()}"
                self.type(key)
                if not self._news.wait_for(partial(self._is_moved, marked), PRESSED_AGAIN):
                    # Codex drops a key that comes early, and may go on dropping that key as one that is held down.
                    key, other = other, key

    def prompt(self, words: str, taken: Callable[[], bool] | None = None) -> None:
        """Type a prompt and send it: until it is `taken`, where the program may still be at the end of another turn."""
        self.type(words)
        self.until(words)
        if taken is None:
            self.type("\r")
        else:
            self.press("\r", taken)

    def hang_up(self) -> None:
        """Close the terminal, and wait until the program has ended."""
        self.lose()
        self._process.wait(PATIENCE)

    def lose(self) -> None:
        """Close the terminal, as a lost connection does: the device is gone, and the program gets its SIGHUP from the system."""
        os.close(self._hanging_up)
        self._reader.join(PATIENCE)
        os.close(self._master)
        self._master = -1

    def close(self) -> None:
        """End it and everything that it has started."""
        self._process.kill()
        self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        os.close(self._hung_up)
        if self._master >= 0:
            os.close(self._hanging_up)
            os.close(self._master)

    def _has(self, wanted: str) -> bool:
        return wanted in self._rest()

    def _rest(self) -> str:
        return self._text()[self._seen :]

    def _is_moved(self, marked: str) -> bool:
        return self._last(_MARKED) != marked

    def _last(self, what: re.Pattern[str]) -> str:
        return next(reversed(what.findall(self._text())), "")

    def _text(self) -> str:
        return _GAPS.sub("", _ESCAPES.sub("", self._drawn))

    def _read(self) -> None:
        while True:
            ready, _, _ = select([self._master, self._hung_up], [], [])
            try:
                part = b"" if self._hung_up in ready else os.read(self._master, 65536)
            except OSError:
                part = b""
            with self._news:
                self._drawn += part.decode("utf-8", "replace")
                self._open = bool(part)
                self._news.notify_all()
            if not part:
                return


def settle_in(desk: Desk) -> None:
    """Claude Code as after its first start: it asks neither for a theme nor whether the folder is trusted."""
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(desk.work): project},
    }
    (desk.home / ".claude.json").write_text(json.dumps(state), "utf-8")
