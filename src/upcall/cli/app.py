"""The `upcall` command: finds a command, runs it, and prints every failure as one line.

Only the chosen command's module is imported and only its own arguments are built, so that a command starts in
little more than the interpreter's own time.
"""

import os
import sys
from collections.abc import Mapping, Sequence

from upcall.cli.command import USAGE, execute, load
from upcall.cli.table import GROUPS, HIDDEN, commands

INTERRUPTED = 130
PIPE_CLOSED = 141


def run(argv: Sequence[str]) -> int:
    """Run one command and return its exit code. No exception leaves it."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")
    try:
        code = _dispatch(list(argv))
        sys.stdout.flush()
        return code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone; at exit, Python must not flush into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    # A person never sees a traceback: any other exception is reported as a fault in Upcall.
    except Exception as error:  # noqa: BLE001
        from upcall.cli.failures import tell

        return tell(error)


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in {"-h", "--help", "help"}:
        if argv[1:] and argv[1] in commands():
            return _dispatch([argv[1], "--help"])
        print(_overview([]) if argv else _arrival())
        return 0
    name = "version" if argv[0] in {"--version", "-V"} else argv[0]
    summary = commands().get(name) or HIDDEN.get(name)
    if summary is None:
        return _unknown(name)
    if name == "mcp":
        from upcall.cli.commands.mcp import run_pipe

        return run_pipe(argv[1:])
    return execute(name, summary, load(name), argv[1:])


def _unknown(name: str) -> int:
    from difflib import get_close_matches

    from upcall.home.program import program

    close = get_close_matches(name, commands(), n=1)
    hint = f"did you mean `{program()} {close[0]}`?" if close else f"`{program()}` alone lists the commands"
    print(f"upcall: there is no command {name!r}. Next: {hint}", file=sys.stderr)
    return USAGE


def _arrival() -> str:
    """What waits, and the commands: only their names where the window has no room for more below what waits."""
    from upcall.cli.render.overview import state
    from upcall.cli.render.terminal import height

    waits, rows = state(), height()
    whole = _overview(waits)
    # The last row is for the prompt.
    return whole if rows is None or whole.count("\n") + 1 < rows else _overview(waits, names_only=True)


def _overview(state: list[str], *, names_only: bool = False) -> str:
    from upcall.home.program import program

    typed = program()
    lines = ["Upcall lets your agents ask you, and go on with your answer.", *state, ""]
    for title, group in GROUPS.items():
        lines.append(f"{title}:")
        if names_only:
            lines += _names(group)
        else:
            lines += [f"  {name:<11} {summary}" for name, summary in group.items()] + [""]
    lines += [""] if names_only else []
    lines += [
        "Try:",
        f"  {typed} demo                                    watch it work",
        f'  {typed} ask "Deploy?" -o staging -o production  ask, in one terminal',
        f"  {typed} answer                                  answer, in another",
        "",
        f"`{typed} COMMAND --help` explains each command, with examples.",
    ]
    if names_only:
        lines[-1] += f" `{typed} --help` lists them."
    return "\n".join(lines)


def _names(group: Mapping[str, str]) -> list[str]:
    from textwrap import wrap

    return wrap(" ".join(group), initial_indent="  ", subsequent_indent="  ")
