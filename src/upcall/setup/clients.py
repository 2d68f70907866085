"""What each program needs so that it can ask when a person starts it: our server, patience, and leave to call it."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from upcall.agents.catalogue import UnknownProgram
from upcall.setup import json_editing
from upcall.setup.edits import Edit, Entry, Item, Json, Lines, Prose, Table, Toml
from upcall.setup.faults import MalformedError
from upcall.setup.plan import File

SERVER = "upcall"
TOOLS = ("ask_human", "confirm_action", "wait_for_answer", "notify_human")
PATIENCE = 24 * 3600 + 60
"""Seconds that a program waits for a call: longer than we ever do, so that it is always us who end a wait."""

MARK = "# Written by `upcall setup codex`; `upcall setup codex --remove` takes this table out."

ASKING = """\
When you are blocked by a decision that is mine, or by something that you cannot find out yourself, and I do not answer \
here, call the tool ask_human of the MCP server upcall: it reaches me wherever I am. Say in `context` what I need to \
know, offer concrete options and mark the one you would take as recommended. Never ask what you can find out, and never \
guess where you should ask. A result that says "parked" is not an answer: call wait_for_answer with its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """How our server is started, and for which installation."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Whose settings these are: a home folder and the variables that lead elsewhere."""

    home: Path
    environment: Mapping[str, str]

    def folder(self, variable: str, usual: str) -> Path:
        """A folder that a variable may name."""
        chosen = self.environment.get(variable, "")
        return Path(chosen).expanduser() if chosen else self.home / usual


Needs = Callable[[Place, Door, bool], list[File]]


def own_door(environment: Mapping[str, str]) -> Door:
    """The pipe of the Upcall that is running now, by its full path: a program may have another PATH."""
    script = Path(sys.executable).with_name("upcall")
    command = (str(script),) if script.exists() else (sys.executable, "-P", "-m", "upcall")
    home = environment.get("UPCALL_HOME", "")
    return Door(
        command=(*command, "mcp", "--wait", "block"),
        environment={"UPCALL_HOME": str(Path(home).expanduser().absolute())} if home else {},
    )


def files_for(name: str, place: Place, door: Door, *, prompt: bool) -> list[File]:
    """What belongs into which file; with `prompt`, also when to ask.

    Raises:
        UnknownProgram: if we know no such program.
    """
    if name not in CLIENTS:
        raise UnknownProgram(name, CLIENTS)
    return CLIENTS[name](place, door, prompt)


def _claude(place: Place, door: Door, prompt: bool) -> list[File]:
    folder = place.folder("CLAUDE_CONFIG_DIR", ".claude")
    # Beside the folder, unless the folder was chosen: then inside.
    state = folder if place.environment.get("CLAUDE_CONFIG_DIR") else place.home
    allowed = [Item(("permissions", "allow"), f"mcp__{SERVER}__{tool}") for tool in TOOLS]
    # In the background, what arrives later would not count as an answer.
    stay = Entry(("env", "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS"), "0")
    server = Entry(("mcpServers", SERVER), claude_server(door))
    return [
        File(path=state / ".claude.json", dialect=Json(comments=False), edits=[server]),
        File(path=folder / "settings.json", dialect=Json(comments=False), edits=[*allowed, stay]),
        *_memory(folder / "CLAUDE.md", prompt),
    ]


def claude_server(door: Door) -> dict[str, object]:
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


def _codex(place: Place, door: Door, prompt: bool) -> list[File]:
    folder = place.folder("CODEX_HOME", ".codex")
    command, *arguments = door.command
    environment = ", ".join(f"{name} = {_toml(value)}" for name, value in door.environment.items())
    values = {
        "command": _toml(command),
        "args": _toml(arguments),
        **({"env": f"{{ {environment} }}"} if environment else {}),
        "startup_timeout_sec": "30",
        "tool_timeout_sec": str(PATIENCE),
        "default_tools_approval_mode": _toml("approve"),
        # Otherwise the model has to search for the tools, or looks away from them after half a minute.
        "omit_tools_from": _toml(["deferred", "code_mode"]),
    }
    table = Table(("mcp_servers", SERVER), MARK, values)
    return [
        File(path=folder / "config.toml", dialect=Toml(), edits=[table]),
        *_memory(folder / "AGENTS.md", prompt),
    ]


def _toml(value: object) -> str:
    # What JSON escapes, TOML reads; but it has no halves of characters, which ASCII would make of the rarer ones.
    return json.dumps(value, ensure_ascii=False)


def _opencode(place: Place, door: Door, prompt: bool) -> list[File]:
    folder = place.folder("XDG_CONFIG_HOME", ".config") / "opencode"
    known = (folder / "opencode.jsonc", folder / "opencode.json")
    path = next((file for file in known if file.exists()), known[-1])
    edits: list[Edit] = [Entry(("mcp", SERVER), opencode_server(door))]
    if _has_rules(path):
        # Of all rules that fit the last one counts, and this becomes the last one.
        edits.append(Entry(("permission", f"{SERVER}_*"), "allow"))
    return [
        File(path=path, dialect=Json(comments=True), edits=edits),
        *_memory(folder / "AGENTS.md", prompt),
    ]


def opencode_server(door: Door) -> dict[str, object]:
    """The server, in the words of opencode."""
    return {
        "type": "local",
        "command": list(door.command),
        "environment": dict(door.environment),
        "enabled": True,
        "timeout": PATIENCE * 1000,
    }


def _has_rules(path: Path) -> bool:
    """Whether somebody has said what opencode may do; otherwise it may call tools anyway."""
    try:
        rules = json_editing.find(path.read_text("utf-8"), ("permission",))
    except (OSError, ValueError, MalformedError):
        return False  # whoever reads the file to change it says what is wrong with it
    return rules is not None and isinstance(rules.value, dict)


def _gemini(place: Place, door: Door, prompt: bool) -> list[File]:
    chosen = place.environment.get("GEMINI_CLI_HOME", "")
    folder = (Path(chosen).expanduser() if chosen else place.home) / ".gemini"
    server = Entry(("mcpServers", SERVER), gemini_server(door))
    return [
        File(path=folder / "settings.json", dialect=Json(comments=True), edits=[server]),
        *_memory(folder / "GEMINI.md", prompt),
    ]


def gemini_server(door: Door) -> dict[str, object]:
    """The server, in the words of Gemini CLI, which neither sees nor calls the tools of one it does not trust."""
    command, *arguments = door.command
    return {
        "command": command,
        "args": arguments,
        "env": dict(door.environment),
        "timeout": PATIENCE * 1000,
        "trust": True,
    }


def _memory(path: Path, prompt: bool) -> list[File]:
    return [File(path=path, dialect=Prose(), edits=[Lines(ASKING)])] if prompt else []


CLIENTS: Mapping[str, Needs] = {"claude": _claude, "codex": _codex, "opencode": _opencode, "gemini": _gemini}
