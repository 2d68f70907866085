"""What keeps a program from using our server although it was told about it: its own lists of what it may not do."""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

from upcall.setup.clients import SERVER, TOOLS, Place
from upcall.setup.errors import MalformedError
from upcall.setup.json_reading import read

MANAGED = Path("/etc/claude-code/managed-settings.json")
"""What an administrator decides for every user of Claude Code on this machine."""

_Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """A setting that shuts our tools out: where it is, what it says, and what to do about it."""

    path: Path
    says: str
    next: str


def denials(name: str, place: Place, work: Path, settings: Path) -> list[Denial]:
    """What a program's settings forbid: its own, whose first file is `settings`, and those of the folder of work."""
    return list(_LOOKED_AT[name](place, work, settings))


def _claude(place: Place, work: Path, settings: Path) -> Iterator[Denial]:
    folder = place.folder("CLAUDE_CONFIG_DIR", ".claude")
    local = work / ".claude"
    for path in (folder / "settings.json", local / "settings.json", local / "settings.local.json", MANAGED):
        permissions = _fields(_document(path).get("permissions"))
        for rule in _words(permissions.get("deny")):
            if _shuts_out(rule, f"mcp__{SERVER}"):
                yield Denial(
                    path=path, says=f"permissions.deny has {rule!r}", next="take that out of the list"
                )
    projects = _fields(_document(settings).get("projects"))
    if SERVER in _words(_fields(projects.get(str(work))).get("disabledMcpServers")):
        yield Denial(
            path=settings,
            says=f"{SERVER} is disabled in {work}",
            next="enable it there, by `/mcp` in claude",
        )


def _codex(place: Place, work: Path, settings: Path) -> Iterator[Denial]:
    server = _fields(_fields(_document(settings).get("mcp_servers")).get(SERVER))
    yield from _server(settings, server, f"mcp_servers.{SERVER}", ("disabled_tools", "enabled_tools"))


def _opencode(place: Place, work: Path, settings: Path) -> Iterator[Denial]:
    for path in (settings, work / "opencode.json", work / "opencode.jsonc"):
        document = _document(path)
        yield from _server(path, _fields(_fields(document.get("mcp")).get(SERVER)), f"mcp.{SERVER}", ("", ""))
        for key, forbidden in (("permission", "deny"), ("tools", False)):
            decided = _last_of(_fields(document.get(key)))
            if decided is not None and decided[1] == forbidden:
                yield Denial(
                    path=path,
                    says=f"{key} has {decided[0]!r}: {json.dumps(forbidden)}",
                    next=f'put "{SERVER}_*": {json.dumps("allow" if key == "permission" else True)} after it',
                )


def _gemini(place: Place, work: Path, settings: Path) -> Iterator[Denial]:
    for path in (settings, work / ".gemini/settings.json"):
        document = _document(path)
        servers = _fields(document.get("mcp"))
        if SERVER in _words(servers.get("excluded")):
            yield Denial(path=path, says=f"mcp.excluded has {SERVER!r}", next="take that out of the list")
        if "allowed" in servers and SERVER not in _words(servers.get("allowed")):
            yield Denial(path=path, says=f"mcp.allowed lacks {SERVER!r}", next="put it into the list")
        server = _fields(_fields(document.get("mcpServers")).get(SERVER))
        yield from _server(path, server, f"mcpServers.{SERVER}", ("excludeTools", "includeTools"))


_LOOKED_AT: Mapping[str, Callable[[Place, Path, Path], Iterator[Denial]]] = {
    "claude": _claude,
    "codex": _codex,
    "opencode": _opencode,
    "gemini": _gemini,
}


def _server(path: Path, server: _Fields, name: str, lists: tuple[str, str]) -> Iterator[Denial]:
    """What the entry of our server itself turns off."""
    without, only = lists
    if server.get("enabled") is False:
        yield Denial(path=path, says=f"{name}.enabled is false", next="set it to true")
    for tool in TOOLS:
        if tool in _words(server.get(without)):
            yield Denial(path=path, says=f"{name}.{without} has {tool!r}", next="take that out of the list")
        if only in server and tool not in _words(server.get(only)):
            yield Denial(path=path, says=f"{name}.{only} lacks {tool!r}", next="put it into the list")


def _shuts_out(rule: str, server: str) -> bool:
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
