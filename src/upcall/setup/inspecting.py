"""Reads the settings of other programs: how they start our server, and which of their lists forbid it."""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

from upcall.setup.clients import SERVER, TOOLS, UserFolders
from upcall.setup.errors import MalformedError
from upcall.setup.json_reading import read
from upcall.setup.plan import PlannedFile

PATIENCE = {"claude": 1800.0, "codex": 300.0, "opencode": 60.0, "gemini": 600.0}
"""Seconds after which each program gives a call up, unless its settings say otherwise."""

MANAGED = Path("/etc/claude-code/managed-settings.json")
"""The settings of an administrator for every user of Claude Code on this machine."""

_Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownServer:
    """How our server is started, and how many seconds a call may take."""

    command: tuple[str, ...]
    patience: float
    home: str

    @property
    def blocks(self) -> bool:
        """Whether calls are held until there is an answer."""
        return "block" in self.command


def server_of(name: str, file: PlannedFile) -> KnownServer | None:
    """Our server in the first settings file of a program; None if it is not there or the file cannot be read."""
    document = _document(file.path)
    servers = (_fields(document.get(key)) for key in ("mcpServers", "mcp_servers", "mcp"))
    entry = next((_fields(known[SERVER]) for known in servers if SERVER in known), None)
    if entry is None:
        return None
    environment = _fields(entry.get("env") or entry.get("environment"))
    return KnownServer(
        command=(*_command_words(entry.get("command")), *_command_words(entry.get("args"))),
        patience=_seconds(entry) or PATIENCE[name],
        home=str(environment.get("UPCALL_HOME", "")),
    )


def _seconds(entry: _Fields) -> float:
    milliseconds, seconds = entry.get("timeout"), entry.get("tool_timeout_sec")
    if isinstance(milliseconds, int | float):
        return milliseconds / 1000
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def _command_words(value: object) -> tuple[str, ...]:
    return (
        tuple(map(str, cast("list[object]", value)))
        if isinstance(value, list)
        else (str(value),)
        if value
        else ()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """A setting that forbids our tools: its file, its value, and the next step."""

    path: Path
    says: str
    next: str


def exclusions(name: str, place: UserFolders, work: Path, settings: Path) -> list[Exclusion]:
    """The settings that forbid our tools: in the program's own files, the first of them `settings`, and in the folder of work."""
    return list(_EXCLUSIONS[name](place, work, settings))


def _claude(place: UserFolders, work: Path, settings: Path) -> Iterator[Exclusion]:
    folder = place.folder("CLAUDE_CONFIG_DIR", ".claude")
    local = work / ".claude"
    for path in (folder / "settings.json", local / "settings.json", local / "settings.local.json", MANAGED):
        permissions = _fields(_document(path).get("permissions"))
        for rule in _words(permissions.get("deny")):
            if _forbids(rule, f"mcp__{SERVER}"):
                yield Exclusion(
                    path=path, says=f"permissions.deny has {rule!r}", next="take that out of the list"
                )
    projects = _fields(_document(settings).get("projects"))
    if SERVER in _words(_fields(projects.get(str(work))).get("disabledMcpServers")):
        yield Exclusion(
            path=settings,
            says=f"{SERVER} is disabled in {work}",
            next="enable it there, by `/mcp` in claude",
        )


def _codex(place: UserFolders, work: Path, settings: Path) -> Iterator[Exclusion]:
    server = _fields(_fields(_document(settings).get("mcp_servers")).get(SERVER))
    yield from _server(settings, server, f"mcp_servers.{SERVER}", ("disabled_tools", "enabled_tools"))


def _opencode(place: UserFolders, work: Path, settings: Path) -> Iterator[Exclusion]:
    for path in (settings, work / "opencode.json", work / "opencode.jsonc"):
        document = _document(path)
        yield from _server(path, _fields(_fields(document.get("mcp")).get(SERVER)), f"mcp.{SERVER}", ("", ""))
        for key, forbidden in (("permission", "deny"), ("tools", False)):
            decided = _last_of(_fields(document.get(key)))
            if decided is not None and decided[1] == forbidden:
                yield Exclusion(
                    path=path,
                    says=f"{key} has {decided[0]!r}: {json.dumps(forbidden)}",
                    next=f'put "{SERVER}_*": {json.dumps("allow" if key == "permission" else True)} after it',
                )


def _gemini(place: UserFolders, work: Path, settings: Path) -> Iterator[Exclusion]:
    for path in (settings, work / ".gemini/settings.json"):
        document = _document(path)
        servers = _fields(document.get("mcp"))
        if SERVER in _words(servers.get("excluded")):
            yield Exclusion(path=path, says=f"mcp.excluded has {SERVER!r}", next="take that out of the list")
        if "allowed" in servers and SERVER not in _words(servers.get("allowed")):
            yield Exclusion(path=path, says=f"mcp.allowed lacks {SERVER!r}", next="put it into the list")
        server = _fields(_fields(document.get("mcpServers")).get(SERVER))
        yield from _server(path, server, f"mcpServers.{SERVER}", ("excludeTools", "includeTools"))


_EXCLUSIONS: Mapping[str, Callable[[UserFolders, Path, Path], Iterator[Exclusion]]] = {
    "claude": _claude,
    "codex": _codex,
    "opencode": _opencode,
    "gemini": _gemini,
}


def _server(path: Path, server: _Fields, name: str, lists: tuple[str, str]) -> Iterator[Exclusion]:
    """Exclusions in the entry of our server itself."""
    without, only = lists
    if server.get("enabled") is False:
        yield Exclusion(path=path, says=f"{name}.enabled is false", next="set it to true")
    for tool in TOOLS:
        if tool in _words(server.get(without)):
            yield Exclusion(
                path=path, says=f"{name}.{without} has {tool!r}", next="take that out of the list"
            )
        if only in server and tool not in _words(server.get(only)):
            yield Exclusion(path=path, says=f"{name}.{only} lacks {tool!r}", next="put it into the list")


def _forbids(rule: str, server: str) -> bool:
    """Whether a rule of Claude Code's is about our server as a whole, or about one of its tools."""
    return rule == server or any(fnmatchcase(f"{server}__{tool}", rule) for tool in TOOLS)


def _last_of(rules: _Fields) -> tuple[str, object] | None:
    """The rule of opencode's that decides about asking: of all that fit, the last one."""
    found = None
    for pattern, action in rules.items():
        if fnmatchcase(f"{SERVER}_{TOOLS[0]}", pattern):
            found = pattern, action
    return found


def _document(path: Path) -> _Fields:
    try:
        text = path.read_text("utf-8")
        return _fields(tomllib.loads(text) if path.suffix == ".toml" else read(text).value)
    except (OSError, ValueError, MalformedError):
        return {}  # the module that changes the file reports what is wrong with it


def _fields(value: object) -> _Fields:
    return cast("_Fields", value) if isinstance(value, dict) else {}


def _words(value: object) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
