"""The settings each program needs to ask: our MCP server, a long timeout, and permission to call its tools."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from upcall.setup import json_editing
from upcall.setup.edits import Edit, JsonDialect, JsonEntry, JsonItem, MarkedLines, ProseDialect, WholeFile
from upcall.setup.errors import MalformedError
from upcall.setup.hooks import (
    COPILOT_MARK,
    codex_edits,
    copilot_hooks,
    gemini_edits,
    hook_edits,
    opencode_plugin,
)
from upcall.setup.plan import PlannedFile
from upcall.setup.toml_editing import TomlDialect, TomlTable

SERVER = "upcall"
TOOLS = ("ask_human", "confirm_action", "wait_for_answer", "notify_human")
PATIENCE = 24 * 3600 + 60
"""Seconds that a program waits for a call: longer than Upcall ever holds one, so Upcall always ends the wait."""

REMOTE = ("UPCALL_URL", "UPCALL_TOKEN")
MARK = "# Written by `upcall setup codex`; `upcall setup codex --remove` takes this table out."
INLINE_MARK = (
    "# `upcall setup codex` wrote the entry `upcall` below; `upcall setup codex --remove` takes it out."
)

PLUGIN_MARK = "// Written by `upcall setup opencode --away`"

ASKING = """\
When you are blocked by a decision that is mine, or by something that you cannot find out yourself, and I do not answer \
here, call the tool ask_human of the MCP server upcall: it reaches me wherever I am. Say in `context` what I need to \
know, offer concrete options and mark the one you would take as recommended. Never ask what you can find out, and never \
guess where you should ask. A result that says "parked" is not an answer: call wait_for_answer with its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCommand:
    """The command that starts our MCP server, with the variables that choose the installation."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    inherited: tuple[str, ...] = ()
    """Variables that it inherits from the program's environment: a token has no place in a settings file."""
    hooks: tuple[str, ...] = ()
    """The kinds of hooks that are wanted beside it; `KINDS` of `hooks.py` has those of each program."""

    @property
    def upcall(self) -> tuple[str, ...]:
        """The command of this Upcall, without the words that make it a server."""
        return self.command[: self.command.index("mcp")]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFolders:
    """The home folder of a user, and the variables that choose other folders."""

    home: Path
    environment: Mapping[str, str]

    def folder(self, variable: str, usual: str) -> Path:
        """A folder that a variable may name."""
        chosen = self.environment.get(variable, "")
        return Path(chosen).expanduser() if chosen else self.home / usual


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """The settings files of a program with their edits; `memory` is its file of standing instructions."""

    files: list[PlannedFile]
    memory: Path


def own_server(environment: Mapping[str, str]) -> ServerCommand:
    """The pipe of the Upcall that is running now, by its full path: a program may have another PATH."""
    script = Path(sys.executable).with_name("upcall")
    command = (str(script),) if script.exists() else (sys.executable, "-P", "-m", "upcall")
    home = environment.get("UPCALL_HOME", "")
    return ServerCommand(
        command=(*command, "mcp", "--wait", "block"),
        environment={"UPCALL_HOME": str(Path(home).expanduser().absolute())} if home else {},
        inherited=REMOTE if environment.get("UPCALL_URL") else (),
    )


def files_for(
    name: str, place: UserFolders, door: ServerCommand, *, prompt: bool, hooks: Sequence[str] = ()
) -> list[PlannedFile]:
    """The files of a program with their edits; with `prompt`, also the instructions on when to ask, and hooks of these kinds.

    Raises:
        UnknownProgram: if we know no such program.
    """
    known = {**CLIENTS, **ONLY_HOOKS} if hooks else CLIENTS
    if name not in known:
        # It loads every way to drive an agent, which only a wrong name needs here.
        from upcall.agents.catalogue import UnknownProgram  # noqa: PLC0415

        raise UnknownProgram(name, known)
    needs = known[name](place, replace(door, hooks=tuple(hooks)))
    lines = PlannedFile(path=needs.memory, dialect=ProseDialect(), edits=[MarkedLines(ASKING)])
    return [*needs.files, lines] if prompt else needs.files


def _claude(place: UserFolders, door: ServerCommand) -> Needs:
    folder = place.folder("CLAUDE_CONFIG_DIR", ".claude")
    # Beside the folder, unless the folder was chosen: then inside.
    state = folder if place.environment.get("CLAUDE_CONFIG_DIR") else place.home
    allowed = [JsonItem(("permissions", "allow"), f"mcp__{SERVER}__{tool}") for tool in TOOLS]
    # In the background, what arrives later would not count as an answer.
    stay = JsonEntry(("env", "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS"), "0")
    server = JsonEntry(("mcpServers", SERVER), claude_server(door))
    hooks = hook_edits(door.hooks, door.upcall, door.environment)
    plain = JsonDialect(comments=False)
    files = [
        PlannedFile(path=state / ".claude.json", dialect=plain, edits=[server]),
        PlannedFile(path=folder / "settings.json", dialect=plain, edits=[*allowed, stay, *hooks]),
    ]
    return Needs(files=files, memory=folder / "CLAUDE.md")


def claude_server(door: ServerCommand) -> dict[str, object]:
    """The server, in the words of Claude Code. `alwaysLoad` keeps its tools from being hidden behind a search."""
    command, *arguments = door.command
    return {
        "type": "stdio",
        "command": command,
        "args": arguments,
        "env": dict(door.environment),
        "timeout": PATIENCE * 1000,
        "alwaysLoad": True,
    }


def _codex(place: UserFolders, door: ServerCommand) -> Needs:
    folder = place.folder("CODEX_HOME", ".codex")
    command, *arguments = door.command
    values: dict[str, object] = {
        "command": command,
        "args": arguments,
        **({"env": dict(door.environment)} if door.environment else {}),
        # It hands on only what it is told to.
        **({"env_vars": list(door.inherited)} if door.inherited else {}),
        # Otherwise it begins without the tools when they are listed a moment too late.
        "required": True,
        "startup_timeout_sec": 30,
        "tool_timeout_sec": PATIENCE,
        "default_tools_approval_mode": "approve",
        # Otherwise the model has to search for the tools, or looks away from them after half a minute.
        "omit_tools_from": ["deferred", "code_mode"],
    }
    table = TomlTable(("mcp_servers", SERVER), MARK, INLINE_MARK, values)
    planned = [PlannedFile(path=folder / "config.toml", dialect=TomlDialect(), edits=[table])]
    if door.hooks:
        hooks = codex_edits(door.upcall, door.environment)
        planned.append(
            PlannedFile(path=folder / "hooks.json", dialect=JsonDialect(comments=False), edits=hooks)
        )
    return Needs(files=planned, memory=folder / "AGENTS.md")


def _opencode(place: UserFolders, door: ServerCommand) -> Needs:
    folder = place.folder("XDG_CONFIG_HOME", ".config") / "opencode"
    known = (folder / "opencode.jsonc", folder / "opencode.json")
    path = next((file for file in known if file.exists()), known[-1])
    edits: list[Edit] = [JsonEntry(("mcp", SERVER), opencode_server(door))]
    if _has_rules(path):
        # Of all rules that fit the last one counts, and this becomes the last one.
        edits.append(JsonEntry(("permission", f"{SERVER}_*"), "allow"))
    planned = [PlannedFile(path=path, dialect=JsonDialect(comments=True), edits=edits)]
    if door.hooks:
        plugin = WholeFile(opencode_plugin(door.upcall, door.environment), PLUGIN_MARK)
        planned.append(
            PlannedFile(path=folder / "plugins" / "upcall-away.js", dialect=ProseDialect(), edits=[plugin])
        )
    return Needs(files=planned, memory=folder / "AGENTS.md")


def opencode_server(door: ServerCommand) -> dict[str, object]:
    """The server, in the words of opencode."""
    return {
        "type": "local",
        "command": list(door.command),
        "environment": dict(door.environment),
        "enabled": True,
        "timeout": PATIENCE * 1000,
    }


def _has_rules(path: Path) -> bool:
    """Whether opencode has permission rules; without any it may call all tools."""
    try:
        rules = json_editing.find(path.read_text("utf-8"), ("permission",))
    except (OSError, ValueError, MalformedError):
        return False  # the module that changes the file reports what is wrong with it
    return rules is not None and isinstance(rules.value, dict)


def _gemini(place: UserFolders, door: ServerCommand) -> Needs:
    chosen = place.environment.get("GEMINI_CLI_HOME", "")
    folder = (Path(chosen).expanduser() if chosen else place.home) / ".gemini"
    server = JsonEntry(("mcpServers", SERVER), gemini_server(door))
    hooks = gemini_edits(door.upcall, door.environment) if door.hooks else []
    edits: list[Edit] = [server, *hooks]
    file = PlannedFile(path=folder / "settings.json", dialect=JsonDialect(comments=True), edits=edits)
    return Needs(files=[file], memory=folder / "GEMINI.md")


def gemini_server(door: ServerCommand) -> dict[str, object]:
    """The server, in the words of Gemini CLI, which neither sees nor calls the tools of one it does not trust."""
    command, *arguments = door.command
    return {
        "command": command,
        "args": arguments,
        # It keeps what looks like a secret from servers, unless it is named.
        "env": {**door.environment, **{name: f"${name}" for name in door.inherited}},
        "timeout": PATIENCE * 1000,
        "trust": True,
    }


def _copilot(place: UserFolders, door: ServerCommand) -> Needs:
    folder = place.folder("COPILOT_HOME", ".copilot")
    hooks = WholeFile(copilot_hooks(door.upcall, door.environment), f'{{\n  "$comment": "{COPILOT_MARK}"')
    path = folder / "hooks" / "upcall-away.json"
    return Needs(
        files=[PlannedFile(path=path, dialect=ProseDialect(), edits=[hooks])],
        memory=folder / "copilot-instructions.md",
    )


CLIENTS: Mapping[str, Callable[[UserFolders, ServerCommand], Needs]] = {
    "claude": _claude,
    "codex": _codex,
    "opencode": _opencode,
    "gemini": _gemini,
}
ONLY_HOOKS: Mapping[str, Callable[[UserFolders, ServerCommand], Needs]] = {"copilot": _copilot}
"""Programs whose dialogs reach people, and that Upcall does not connect otherwise."""
