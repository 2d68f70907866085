"""Every command with its summary. Its module under `commands/` has the same name and is imported when the command runs."""

GROUPS: dict[str, dict[str, str]] = {
    "for people": {
        "inbox": "open the inbox in your browser",
        "url": "print the address of the inbox",
        "status": "show what waits for you, what runs, and what was settled today",
        "show": "show one question or one run in full",
        "answer": "answer a question; without arguments, pick one from a list",
        "reject": "decline to answer, with a reason for the agent",
        "snooze": "pause the reminders of a question; it stays open",
        "correct": "tell the agent that an answer was wrong, and what is right",
        "extend": "give a question more time before it expires",
        "away": "say whether the dialogs of your terminals reach you elsewhere",
    },
    "agents at work": {
        "run": "start an agent on a task, in the background",
        "runs": "list the latest runs",
        "log": "print what a run has written",
        "say": "send a message to a run, or continue a finished one",
        "retry": "repeat a failed run, or try again to deliver an answer",
        "attach": "take over a run's session in this terminal",
        "cancel": "end a run, or withdraw a question that you asked",
    },
    "for agents and scripts": {
        "ask": "ask a person and print the answer",
        "wait": "wait for a question that was asked before",
        "mcp": "run the MCP server on standard input and output",
        "langgraph": "put interrupted threads of a LangGraph server to a person",
        "human": "answer by the rules of a script, to try agents and for CI",
    },
    "to run it": {
        "setup": "connect an agent that you start yourself, or prepare a channel",
        "doctor": "check the installation and the agents",
        "up": "run the daemon, in the foreground or in the background",
        "down": "end the daemon",
        "service": "start the daemon at every login",
        "config": "check the settings, and have the daemon read them again",
        "rules": "list, add and revoke rules for what agents may do without asking",
        "channels": "add, list and test the channels where people answer",
        "people": "add, list and remove people who answer in channels",
        "tokens": "create, list and revoke tokens",
        "backup": "copy the database while it is in use",
        "restore": "replace the database with a backup",
        "migrate": "move all data into a PostgreSQL database",
        "new": "write a package for a channel or an agent of your own",
        "demo": "watch an agent ask, a person answer, and the agent go on",
        "completion": "print a completion script for your shell",
        "version": "print the version",
    },
}
HIDDEN = {
    "refs": "the refs of open questions, for completion",
    "labels": "the options of an open question, for completion",
    "numbers": "the numbers of runs, for completion",
    "agents": "the names of agents, for completion",
}


def commands() -> dict[str, str]:
    """Every command that is shown, with its summary."""
    return {name: summary for group in GROUPS.values() for name, summary in group.items()}
