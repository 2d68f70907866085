"""Every command with its summary. Its module under `commands/` has the same name and is imported when the command runs."""

from importlib import import_module

from upcall.cli.command import Command

GROUPS: dict[str, dict[str, str]] = {
    "for people": {
        "inbox": "open the inbox in your browser",
        "status": "what waits for you, what works, and what was settled today",
        "show": "one question, or one run, with everything that belongs to it",
        "answer": "answer a question; without arguments, pick one from a list",
        "reject": "decline to answer, with a reason for the agent",
        "snooze": "keep quiet about a question for a while; it stays open",
        "extend": "give a question more time before it expires",
    },
    "agents at work": {
        "run": "start an agent on a task, in the background",
        "runs": "the latest runs",
        "log": "what a run has written",
        "say": "tell a run something, or continue one that has finished",
        "retry": "try again what a run was to do, or to deliver an answer",
        "attach": "take a run's session over, in this terminal",
        "cancel": "end a run, or withdraw a question that you asked",
    },
    "for agents and scripts": {
        "ask": "ask a person and print the answer",
        "wait": "go on waiting for a question that was asked before",
        "mcp": "the MCP server on standard input and output",
    },
    "to run it": {
        "setup": "let an agent that you start yourself ask you",
        "doctor": "check everything, and have an agent ask a test question",
        "up": "run the daemon in the foreground",
        "down": "end the daemon",
        "service": "start the daemon at every login",
        "config": "check the settings",
        "rules": "list, make and revoke what agents may do without asking",
        "channels": "where people answer beside the inbox, and whether it works",
        "people": "who may answer in channels",
        "tokens": "make, list and revoke tokens",
        "backup": "copy the database while it is in use",
        "restore": "put a backup in the database's place",
        "migrate": "move everything into a PostgreSQL database",
        "demo": "watch an agent ask, a person answer, and the agent go on",
        "completion": "print a completion script for your shell",
        "version": "print the version",
    },
}
HIDDEN = {
    "refs": "the refs of open questions, for completion",
    "numbers": "the numbers of runs, for completion",
    "agents": "the names of agents, for completion",
}


def commands() -> dict[str, str]:
    """Every command that is shown, with its summary."""
    return {name: summary for group in GROUPS.values() for name, summary in group.items()}


def load(name: str) -> Command:
    """Import what a command needs and return it."""
    if name in HIDDEN:
        hidden: dict[str, Command] = import_module("upcall.cli.commands.completion").LISTS
        return hidden[name]
    command: Command = import_module(f"upcall.cli.commands.{name}").COMMAND
    return command
