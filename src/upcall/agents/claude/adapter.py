"""Claude Code: one command line with our door, its own questions and its permission prompts all leading to people.

Nothing secret is in the arguments, which every user of the machine can read: the run's token is in the environment,
which MCP servers inherit and from which the hook's header is filled in.
"""

import json
import os
import re

from upcall.agents.claude.stream import ClaudeReader
from upcall.agents.claude.transcript import ClaudeTranscripts
from upcall.agents.prompt import advice_of
from upcall.domain.run.program import Command, Door, Permission, Session, Task
from upcall.ports.agent import Driver, Reader

SERVER = "upcall"
TOOLS = ("ask_human", "confirm_action", "wait_for_answer", "notify_human")
"""Tools that need no approval: they are how the agent asks."""

PERMISSION_TOOL = "approve_action"
"""Where permission prompts and plans go. Naming one is also what makes Claude Code offer its own question tool at all."""

QUESTION_TOOL = "AskUserQuestion"
"""Its own question tool, which our hook answers, or defers until a person does."""

OLDEST = (2, 1, 89)
"""The first version in which a hook can defer."""

PROVED = "2.1.325"
MARGIN = 60.0
"""Seconds by which Claude Code waits longer than we do, so that it is always us who end a wait."""

TOLD_SECONDS = 10
"""How long Claude Code waits for a hook that only adds words."""

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", re.ASCII)


class ClaudeCode:
    """Starts, reads and resumes `claude -p`."""

    name = "claude"
    install_hint = f"npm install -g @anthropic-ai/claude-code@{PROVED}, with Node.js 22 or newer"
    rest = 0.0
    hides_results = False
    transcripts = ClaudeTranscripts()

    def __init__(self, executable: str = "") -> None:
        self._executable = executable or "claude"

    def program(self) -> str:
        """What is started."""
        return self._executable

    def version_problem(self, version: str) -> str | None:
        """Too old to defer, or no version at all."""
        oldest = ".".join(map(str, OLDEST))
        found = _VERSION.search(version)
        if found is None:
            return f"{version.strip()[:80]!r} is no version of Claude Code; {PROVED} is known to work"
        if tuple(map(int, found.groups())) < OLDEST:
            return f"Claude Code {found[0]} is too old: it takes {oldest} or newer, and {PROVED} is known to work"
        return None

    def start(self, task: Task) -> Command:
        """Begin a session under the id that was chosen for it."""
        return self._command(task, ("--session-id", task.session), task.prompt)

    def resume(self, session: Session, message: str | None) -> Command:
        """Go on with a session; without a message, a deferred call is put to its hook again."""
        return self._command(session, ("--resume", session.id), message or "")

    def attach(self, session: Session) -> Command:
        """The session in a terminal, where a person answers for themselves."""
        argv = (self._executable, *session.arguments, "--resume", session.id)
        return Command(argv=argv, cwd=session.cwd)

    def reader(self) -> Reader:
        """Reads its stream of JSON."""
        return ClaudeReader()

    def driver(self, told: Task | Session, message: str | None) -> Driver | None:
        """None: it is only read. While its input is open it does not end, and so could not defer either."""
        return None

    def _command(self, told: Task | Session, which: tuple[str, str], words: str) -> Command:
        """Words go through standard input: they may be long, begin with a dash, or be confidential."""
        free = told.permission is Permission.AUTONOMOUS
        argv = (
            self._executable,
            *told.arguments,
            "-p",
            *which,
            *("--output-format", "stream-json", "--verbose"),
            *("--mcp-config", _compact(_servers(told.door))),
            *("--allowedTools", ",".join(_allowed(told.door))),
            *("--permission-prompt-tool", f"mcp__{SERVER}__{PERMISSION_TOOL}"),
            # Said in any case, so that no settings of the user's make it freer than its run.
            *("--permission-mode", "bypassPermissions" if free else "default"),
            *("--settings", _compact(_settings(told.door))),
            *("--append-system-prompt", advice_of(told.door)),
        )
        return Command(argv=argv, cwd=told.cwd, environment=_environment(told.door, free=free), stdin=words)


def _allowed(door: Door) -> list[str]:
    servers = [SERVER, *([door.server] if door.server else [])]
    return [f"mcp__{server}__{tool}" for server in servers for tool in (*TOOLS, *door.aliases)]


def _servers(door: Door) -> dict[str, object]:
    command, *arguments = door.command
    entry = {
        "type": "stdio",
        "command": command,
        "args": arguments,
        # Otherwise our tools would be hidden behind a search.
        "alwaysLoad": True,
        "timeout": round((door.wait + MARGIN) * 1000),
    }
    return {"mcpServers": {SERVER: entry}}


def _settings(door: Door) -> dict[str, object]:
    hook = {
        "type": "http",
        "url": f"{door.url}/hooks/claude",
        "headers": {"Authorization": "Bearer $UPCALL_TOKEN"},
        "allowedEnvVars": ["UPCALL_TOKEN"],
        "timeout": round(door.wait + MARGIN),
        # Where we cannot be reached nothing is allowed; older versions than 2.1.295 turn to the permission tool then.
        "onFailure": "block",
    }
    # A permission prompt has no place for what a person changed or wrote beside a yes: the model is told when the tool has run.
    told = {name: value for name, value in hook.items() if name != "onFailure"} | {"timeout": TOLD_SECONDS}
    # A form of another server would be cancelled without one.
    return {
        "hooks": {
            "PreToolUse": [{"matcher": QUESTION_TOOL, "hooks": [hook]}],
            "Elicitation": [{"hooks": [hook]}],
            "PostToolUse": [{"hooks": [told]}],
            "PostToolUseFailure": [{"hooks": [told]}],
        }
    }


def _environment(door: Door, *, free: bool) -> dict[str, str]:
    environment = {
        **door.environment,
        "UPCALL_TOKEN": door.token,
        # It waits as long as we do, so a call need not come back every minute.
        "UPCALL_WAIT": "block",
        # A call that waits for a person is the work, and nothing to go on without.
        "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "0",
        # Nor is a subagent: in the background it would be ended ten minutes after its caller, even while it waits.
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    }
    if free and os.geteuid() == 0:
        # Claude Code lets root do without permissions only where it is told that this is a sandbox.
        environment["IS_SANDBOX"] = "1"
    return environment


def _compact(settings: dict[str, object]) -> str:
    return json.dumps(settings, separators=(",", ":"))
