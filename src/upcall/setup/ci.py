"""The script of a CI job in which an agent can ask: two variables and one command. It changes no settings of a person."""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from upcall.agents.catalogue import UnknownProgram, agent_named
from upcall.agents.opencode import run as opencode_run
from upcall.agents.opencode.settings import CONTENT
from upcall.agents.prompt import ASKING_ONCE, with_advice
from upcall.domain.run.program import Command, Door, Permission, Task
from upcall.setup.clients import CLIENTS, REMOTE, SERVER, ServerCommand, opencode_server

PIPE = ("upcall", "mcp", "--wait", "block")
OF_RUNS = ("--session-id", "--permission-prompt-tool", "--settings")
"""Options of Claude Code that only supervised runs have: the session's id, and the receiver of its prompts and questions."""

TASK = "Say here what is to be done."

HEAD = """\
# The job needs two variables, the second from your CI's store of secrets:
#   UPCALL_URL    where the job reaches your daemon; see "From another machine" in docs/configuration.md
#   UPCALL_TOKEN  a token that can only ask: upcall tokens create --role agent --name ci
# A call waits for an answer as long as `block_timeout` of the daemon says, then the agent waits again: the job has to be
# allowed to take as long as your people need.
: "${UPCALL_URL:?}" "${UPCALL_TOKEN:?}"
# Installed before: pip install upcall"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _JobCommand:
    """A command of the job, and the lines before it."""

    command: Command
    before: str = ""


def job_for(name: str) -> str:
    """A script for the job.

    Raises:
        UnknownProgram: if we know no such program.
    """
    if name not in CLIENTS:
        raise UnknownProgram(name, CLIENTS)
    steps = {"claude": _claude, "codex": _codex, "opencode": _opencode, "gemini": _gemini}
    return "\n".join(_lines(steps[name](), agent_named(name, {}).install_hint))


def _lines(step: _JobCommand, hint: str) -> Iterator[str]:
    yield HEAD
    yield f"#   {hint}"
    if step.before:
        yield step.before
    for variable, value in step.command.environment.items():
        if variable not in REMOTE:
            yield f"export {variable}={shlex.quote(value)}"
    yield f"{shlex.join(step.command.argv)} <<'TASK'"
    yield step.command.stdin
    yield "TASK"


def _task(permission: Permission) -> Task:
    variables: Mapping[str, str] = dict.fromkeys(REMOTE, "")
    door = Door(command=PIPE, environment=variables, url="", token="", advice=ASKING_ONCE)
    return Task(prompt=TASK, cwd=".", door=door, session="", permission=permission)


def _claude() -> _JobCommand:
    """As we start it ourselves, except for what needs a run: permission prompts are Claude Code's own to deny."""
    command = agent_named("claude", {}).start(_task(Permission.APPROVAL))
    words = list(command.argv)
    for flag in OF_RUNS:
        at = words.index(flag)
        del words[at : at + 2]
    return _JobCommand(command=replace(command, argv=tuple(words)))


def _codex() -> _JobCommand:
    """As an unsupervised start of ours."""
    return _JobCommand(command=agent_named("codex", {}).start(_task(Permission.AUTONOMOUS)))


def _opencode() -> _JobCommand:
    """Its settings are in a variable, to which it adds what it has of its own."""
    server = opencode_server(ServerCommand(command=PIPE, environment={}))
    content = json.dumps({"mcp": {SERVER: server}})
    argv = ("opencode", *opencode_run.arguments((), None))
    return _JobCommand(
        command=Command(
            argv=argv, cwd=".", environment={CONTENT: content}, stdin=with_advice(TASK, ASKING_ONCE)
        )
    )


def _gemini() -> _JobCommand:
    """It reads servers from files only; those in the home of a job belong to no person."""
    command = Command(argv=("gemini",), cwd=".", stdin=with_advice(TASK, ASKING_ONCE))
    return _JobCommand(command=command, before="upcall setup gemini --yes")
