"""Failures of a command: one line with the next step, and an exit code."""

import os
import sys

from upcall.domain.errors import UpcallError
from upcall.home.program import NAME, keeping, passing_runner, program

FAILED = 1


class CommandFailed(UpcallError):
    """A command failed; `exit_code` tells scripts why."""

    code = "command_failed"

    def __init__(self, message: str, *, hint: str | None = None, exit_code: int = FAILED) -> None:
        super().__init__(message, hint=hint)
        self.exit_code = exit_code


class Unreachable(UpcallError):
    """The daemon cannot be reached at its address."""

    code = "unreachable"


class DaemonRefused(UpcallError):
    """The daemon refused a request; `reply` is its error code."""

    code = "refused"

    def __init__(self, message: str, *, hint: str | None = None, reply: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.reply = reply
        self.status = status


def tell(error: Exception) -> int:
    """Print a failure to standard error and return the exit code."""
    if isinstance(error, UpcallError):
        message, hint = error.message, error.hint
    elif isinstance(error, OSError):
        message, hint = _of_system(error), None
    else:
        message = f"this is a fault in Upcall itself: {type(error).__name__}: {error}"
        hint = "report it with what UPCALL_DEBUG=1 prints"
    if os.environ.get("UPCALL_DEBUG"):
        import traceback

        traceback.print_exception(error)
    print(line(message, hint), file=sys.stderr)
    return error.exit_code if isinstance(error, CommandFailed) else FAILED


def line(message: str, hint: str | None) -> str:
    """The problem and the next step in one line."""
    said = "; ".join(part.strip() for part in message.splitlines() if part.strip())
    end = "" if said.endswith((".", "!", "?")) else "."
    following = f" Next: {' '.join(spelled(hint).split())}" if hint else ""
    return f"upcall: {said}{end}{following}"


def need_lasting_program(deed: str) -> None:
    """Refuse to write down where this program is, if it is in a cache and may be gone tomorrow.

    Raises:
        CommandFailed: if it is.
    """
    runner = passing_runner()
    if runner:
        raise CommandFailed(
            f"this Upcall was installed by {runner} for the moment only, so {deed} would soon lead nowhere",
            hint=f"`{keeping(runner)}`, then the same command without `{runner}`",
        )


def spelled(sentence: str) -> str:
    """A sentence of ours, with its commands as this installation has to be typed."""
    typed = program()
    if typed == NAME:
        return sentence
    import re

    from upcall.cli.table import commands

    names = "|".join(commands())
    return re.sub(rf"(?<![\w./-]){NAME}(?= (?:{names})\b)", lambda _: typed, sentence)


def _of_system(error: OSError) -> str:
    what = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {what}" if error.filename else what
