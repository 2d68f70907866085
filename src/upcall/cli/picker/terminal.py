"""The terminal of the picker: the alternate screen and single keys, and what was there before."""

import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

ENTER_SCREEN = "\x1b[?1049h\x1b[?25l\x1b[?2004h"
LEAVE_SCREEN = "\x1b[?2004l\x1b[?25h\x1b[?1049l"


class Terminal:
    """The alternate screen and single keys, and what was there before."""

    def __init__(self) -> None:
        self._handle = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._handle)

    def enter(self) -> None:
        """Switch to them."""
        tty.setcbreak(self._handle)
        # Ctrl-Z would leave a stopped program's screen behind; here it does nothing.
        attributes = termios.tcgetattr(self._handle)
        attributes[6][termios.VSUSP] = b"\0"
        termios.tcsetattr(self._handle, termios.TCSADRAIN, attributes)
        sys.stdout.write(ENTER_SCREEN)
        sys.stdout.flush()

    def leave(self) -> None:
        """Restore what was there."""
        sys.stdout.write(LEAVE_SCREEN)
        sys.stdout.flush()
        termios.tcsetattr(self._handle, termios.TCSADRAIN, self._before)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Lend the terminal to another program."""
        self.leave()
        try:
            yield
        finally:
            self.enter()


@contextmanager
def taken_terminal() -> Iterator[Terminal]:
    """Take the terminal, and give it back at the end, also after an exception."""
    terminal = Terminal()
    ended = signal.signal(signal.SIGTERM, _end)
    try:
        terminal.enter()
        yield terminal
    finally:
        terminal.leave()
        signal.signal(signal.SIGTERM, ended)


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
