"""`upcall mcp`: the stdio door. Its start is counted against a bare interpreter's, so it imports next to nothing."""

import os
import sys
from collections.abc import Sequence

USAGE = 2
HELP = """\
usage: upcall mcp [--wait block|TIME] [--ipc DIR]

The MCP server on standard input and output: put `upcall mcp` into your agent's list of MCP servers. It passes
everything on to the daemon, starts one when none runs, and survives its restarts.

options:
  --wait block      hold a call until there is an answer, as long as the settings allow
  --wait TIME       hold a call this long (90, 90s, 10m), then tell the agent to wait again
  --ipc DIR         for a container without network: reach the daemon through this folder, which is mounted from
                    where the daemon looks (`UPCALL_HOME/ipc/GROUP`)
  -h, --help        show this help

UPCALL_URL and UPCALL_TOKEN lead to a daemon elsewhere; UPCALL_HOME chooses the installation here.

examples:
  claude mcp add upcall -- upcall mcp
  codex mcp add upcall -- upcall mcp
  upcall mcp --ipc /ipc --wait block"""


def run_pipe(argv: Sequence[str]) -> int:
    """Be the pipe between an MCP client and the daemon until the client hangs up."""
    words = [part for word in argv for part in (word.split("=", 1) if word.startswith("--") else [word])]
    folder = ""
    while words:
        word = words.pop(0)
        if word in {"-h", "--help"}:
            return _help()
        if word == "--ipc":
            folder = words.pop(0) if words else ""
            if not os.path.isdir(folder):  # noqa: PTH112 - pathlib costs more than the rest of this start
                return _refuse(
                    f"--ipc takes the folder that is shared with the daemon, and {folder!r} is none",
                    "mount it, then see upcall mcp --help",
                )
            continue
        if word != "--wait":
            return _refuse(f"unknown argument {word!r}", "upcall mcp --help")
        wait = words.pop(0) if words else ""
        if wait != "block" and not _is_time(wait):
            return _refuse(
                f"--wait takes `block` or a time such as 90s or 10m, not {wait!r}", "upcall mcp --help"
            )
        os.environ["UPCALL_WAIT"] = wait
    if folder:
        return _run_in_container(folder)
    from upcall.doors.pipe.pipe import main
    from upcall.home.files import default_home

    return main(default_home())


def _help() -> int:
    from upcall.cli.failures import spelled

    usage, gap, rest = HELP.partition("\n\n")
    print(usage, spelled(rest), sep=gap)
    return 0


def _run_in_container(folder: str) -> int:
    from upcall.domain.errors import InvalidSetting
    from upcall.doors.files.pipe import main

    try:
        return main(folder)
    except InvalidSetting as problem:
        return _refuse(" ".join(problem.message.split()), problem.hint or "upcall mcp --help")
    except OSError as problem:
        return _refuse(
            f"the folder {folder!r} cannot be used: {problem}", "mount it so that this user can write there"
        )


def _is_time(word: str) -> bool:
    number = word[:-1] if word[-1:] in ("s", "m", "h", "d") else word
    return number.isascii() and number.isdigit() and 0 < int(number) <= 86400


def _refuse(message: str, hint: str) -> int:
    from upcall.cli.failures import line

    print(line(message, hint), file=sys.stderr)
    return USAGE
