"""The `upcall` command: finds the one that was meant, runs it, and turns every failure into one line.

Only the chosen command's module is imported and only its own arguments are built, so that a command starts in
little more than the interpreter's own time.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from upcall.cli.command import USAGE, Command, execute

INTERRUPTED = 130
PIPE_CLOSED = 141

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "for people": {
        "inbox": ("inbox", "open the inbox in your browser"),
        "status": ("look", "what waits for you, what works, and what was settled today"),
        "show": ("look", "one question, or one run, with everything that belongs to it"),
        "answer": ("settle", "answer a question; without arguments, pick one from a list"),
        "reject": ("settle", "decline to answer, with a reason for the agent"),
        "snooze": ("settle", "keep quiet about a question for a while; it stays open"),
        "extend": ("settle", "give a question more time before it expires"),
    },
    "agents at work": {
        "run": ("runs", "start an agent on a task, in the background"),
        "runs": ("runs", "the latest runs"),
        "log": ("run_log", "what a run has written"),
        "say": ("steering", "tell a run something, or continue one that has finished"),
        "retry": ("steering", "try again what a run was to do, or to deliver an answer"),
        "attach": ("steering", "take a run's session over, in this terminal"),
        "cancel": ("asking", "end a run, or withdraw a question that you asked"),
    },
    "for agents and scripts": {
        "ask": ("asking", "ask a person and print the answer"),
        "wait": ("asking", "go on waiting for a question that was asked before"),
        "mcp": ("mcp", "the MCP server on standard input and output"),
    },
    "to run it": {
        "setup": ("setup", "let an agent that you start yourself ask you"),
        "doctor": ("doctor", "check everything, and have an agent ask a test question"),
        "up": ("running", "run the daemon in the foreground"),
        "down": ("running", "end the daemon"),
        "service": ("service", "start the daemon at every login"),
        "config": ("upkeep", "check the settings"),
        "rules": ("rules", "list, make and revoke what agents may do without asking"),
        "channels": ("channels", "where people answer beside the inbox, and whether it works"),
        "people": ("people", "who may answer in channels"),
        "tokens": ("tokens", "make, list and revoke tokens"),
        "backup": ("upkeep", "copy the database while it is in use"),
        "restore": ("upkeep", "put a backup in the database's place"),
        "migrate": ("moving", "move everything into a PostgreSQL database"),
        "demo": ("demo", "watch an agent ask, a person answer, and the agent go on"),
        "completion": ("completion", "print a completion script for your shell"),
        "version": ("version", "print the version"),
    },
}
HIDDEN = {
    "refs": ("look", "the refs of open questions, for completion"),
    "numbers": ("look", "the numbers of runs, for completion"),
    "agents": ("look", "the names of agents, for completion"),
}


def commands() -> dict[str, tuple[str, str]]:
    """Every command that is shown, with its module and its summary."""
    return {name: entry for group in GROUPS.values() for name, entry in group.items()}


def load(name: str, module: str) -> Command:
    """Import what a command needs and return it."""
    found: dict[str, Command] = import_module(f"upcall.cli.{module}").COMMANDS
    return found[name]


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
    entry = commands().get(name) or HIDDEN.get(name)
    if entry is None:
        return _unknown(name)
    module, summary = entry
    if name == "mcp":
        from upcall.cli.mcp import run_pipe

        return run_pipe(argv[1:])
    return execute(name, summary, load(name, module), argv[1:])


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
        lines += [f"  {name:<11} {summary}" for name, (_, summary) in group.items()]
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
