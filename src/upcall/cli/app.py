"""The `upcall` command: finds the one that was meant, runs it, and turns every failure into one line.

Only the chosen command's module is imported and only its own arguments are built, so that a command starts in
little more than the interpreter's own time.
"""

import os
import sys
from collections.abc import Sequence

from upcall.cli.command import USAGE, execute
from upcall.cli.table import GROUPS, HIDDEN, commands, load

INTERRUPTED = 130
PIPE_CLOSED = 141


def run(argv: Sequence[str]) -> int:
    """Run one command and return its exit code. Nothing is raised, whatever happens."""
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
        # Whoever read our output is gone; nothing may be flushed into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    # A person never sees a traceback: what is not one of our errors is reported as a fault of ours.
    except Exception as error:  # noqa: BLE001
        from upcall.cli.failures import tell

        return tell(error)


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in {"-h", "--help", "help"}:
        if argv[1:] and argv[1] in commands():
            return _dispatch([argv[1], "--help"])
        print(_overview())
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

    close = get_close_matches(name, commands(), n=1)
    hint = f"did you mean `upcall {close[0]}`?" if close else "`upcall` alone lists the commands"
    print(f"upcall: there is no command {name!r}. Next: {hint}", file=sys.stderr)
    return USAGE


def _overview() -> str:
    lines = ["Upcall lets your agents ask you, and go on with your answer.", ""]
    for title, group in GROUPS.items():
        lines.append(f"{title}:")
        lines += [f"  {name:<11} {summary}" for name, summary in group.items()]
        lines.append("")
    lines += [
        "Try:",
        "  upcall demo                                    see it work",
        '  upcall ask "Deploy?" -o staging -o production  ask, in one terminal',
        "  upcall answer                                  answer, in another",
        "",
        "`upcall COMMAND --help` tells more about each, with examples.",
    ]
    return "\n".join(lines)
