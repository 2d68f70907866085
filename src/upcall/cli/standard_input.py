"""What a command is given on standard input, without ever waiting for input that does not come.

A shell tool of an agent may hand over a pipe that is open and silent for as long as the command runs.
"""

import os
import select
import stat
import sys
import time

from upcall.cli.failures import CommandFailed

USAGE = 2
FIRST_BYTE = 2.0
"""Seconds in which the program before us has to begin."""

WHOLE = 60.0
"""Seconds in which it has to end, once it has begun."""

LARGEST = 1024 * 1024
STDIN = 0


def piped() -> bytes | None:
    """What stands on standard input; None for a terminal, a closed one, a device, or one that stays silent.

    Raises:
        CommandFailed: if it does not end, or is too long.
    """
    try:
        # Where it was closed, the descriptor may be another file by now.
        kind = 0 if sys.stdin is None else os.fstat(STDIN).st_mode
    except OSError:
        return None
    if stat.S_ISREG(kind):
        return _whole(time.monotonic() + WHOLE)
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return None
    if not select.select([STDIN], [], [], FIRST_BYTE)[0]:
        print(
            f"upcall: standard input is open and silent for {FIRST_BYTE:g} s, so it is not shown as context. "
            "Next: `< /dev/null` where there is none, `--context @FILE` where it takes longer",
            file=sys.stderr,
        )
        return None
    return _whole(time.monotonic() + WHOLE)


def _whole(deadline: float) -> bytes:
    content = bytearray()
    while len(content) <= LARGEST:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([STDIN], [], [], left)[0]:
            raise _misuse(
                f"standard input has not ended within {WHOLE:g} seconds",
                "`--context @FILE`, or `< /dev/null`",
            )
        try:
            part = os.read(STDIN, 65536)
        except BlockingIOError:
            continue
        if not part:
            return bytes(content)
        content += part
    raise _misuse(
        f"standard input is longer than {LARGEST} bytes", "shorten it, or name a file with --attach"
    )


def _misuse(message: str, hint: str) -> CommandFailed:
    return CommandFailed(message, hint=hint, exit_code=USAGE)
