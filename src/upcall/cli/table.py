"""Every command by name: its module under `commands/`, and its summary. A module is imported when its command runs."""

from importlib import import_module

from upcall.cli.command import Command

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "for people": {
        "inbox": ("inbox", "open the inbox in your browser"),
        "status": ("status", "what waits for you, what works, and what was settled today"),
        "show": ("status", "one question, or one run, with everything that belongs to it"),
        "answer": ("answer", "answer a question; without arguments, pick one from a list"),
        "reject": ("answer", "decline to answer, with a reason for the agent"),
        "snooze": ("answer", "keep quiet about a question for a while; it stays open"),
        "extend": ("answer", "give a question more time before it expires"),
    },
    "agents at work": {
        "run": ("run", "start an agent on a task, in the background"),
        "runs": ("run", "the latest runs"),
        "log": ("log", "what a run has written"),
        "say": ("say", "tell a run something, or continue one that has finished"),
        "retry": ("say", "try again what a run was to do, or to deliver an answer"),
        "attach": ("say", "take a run's session over, in this terminal"),
        "cancel": ("ask", "end a run, or withdraw a question that you asked"),
    },
    "for agents and scripts": {
        "ask": ("ask", "ask a person and print the answer"),
        "wait": ("ask", "go on waiting for a question that was asked before"),
        "mcp": ("mcp", "the MCP server on standard input and output"),
    },
    "to run it": {
        "setup": ("setup", "let an agent that you start yourself ask you"),
        "doctor": ("doctor", "check everything, and have an agent ask a test question"),
        "up": ("up", "run the daemon in the foreground"),
        "down": ("up", "end the daemon"),
        "service": ("service", "start the daemon at every login"),
        "config": ("backup", "check the settings"),
        "rules": ("rules", "list, make and revoke what agents may do without asking"),
        "channels": ("channels", "where people answer beside the inbox, and whether it works"),
        "people": ("people", "who may answer in channels"),
        "tokens": ("tokens", "make, list and revoke tokens"),
        "backup": ("backup", "copy the database while it is in use"),
        "restore": ("backup", "put a backup in the database's place"),
        "migrate": ("migrate", "move everything into a PostgreSQL database"),
        "demo": ("demo", "watch an agent ask, a person answer, and the agent go on"),
        "completion": ("completion", "print a completion script for your shell"),
        "version": ("version", "print the version"),
    },
}
HIDDEN = {
    "refs": ("status", "the refs of open questions, for completion"),
    "numbers": ("status", "the numbers of runs, for completion"),
    "agents": ("status", "the names of agents, for completion"),
}


def commands() -> dict[str, tuple[str, str]]:
    """Every command that is shown, with its module and its summary."""
    return {name: entry for group in GROUPS.values() for name, entry in group.items()}


def load(name: str, module: str) -> Command:
    """Import what a command needs and return it."""
    found: dict[str, Command] = import_module(f"upcall.cli.commands.{module}").COMMANDS
    return found[name]
