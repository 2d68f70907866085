"""What a program has been told about our server, by us or by hand."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from upcall.setup.clients import SERVER
from upcall.setup.errors import MalformedError
from upcall.setup.json_reading import read
from upcall.setup.plan import File

PATIENCE = {"claude": 1800.0, "codex": 300.0, "opencode": 60.0, "gemini": 600.0}
"""Seconds after which each program gives a call up, unless it is told otherwise."""

_Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How our server is started, and how many seconds a call may take."""

    command: tuple[str, ...]
    patience: float
    home: str

    @property
    def blocks(self) -> bool:
        """Whether calls are held until there is an answer."""
        return "block" in self.command


def server_of(name: str, file: File) -> Server | None:
    """What the first file of a program says; None if it does not know us, or cannot be read."""
    try:
        text = file.path.read_text("utf-8")
        document = tomllib.loads(text) if file.path.suffix == ".toml" else read(text).value
    except (OSError, ValueError, MalformedError):
        return None  # whoever sets it up is told what is wrong with it
    servers = (_fields(_fields(document).get(key)) for key in ("mcpServers", "mcp_servers", "mcp"))
    entry = next((_fields(known[SERVER]) for known in servers if SERVER in known), None)
    if entry is None:
        return None
    environment = _fields(entry.get("env") or entry.get("environment"))
    return Server(
        command=(*_words(entry.get("command")), *_words(entry.get("args"))),
        patience=_seconds(entry) or PATIENCE[name],
        home=str(environment.get("UPCALL_HOME", "")),
    )


def _seconds(entry: _Fields) -> float:
    milliseconds, seconds = entry.get("timeout"), entry.get("tool_timeout_sec")
    if isinstance(milliseconds, int | float):
        return milliseconds / 1000
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def _words(value: object) -> tuple[str, ...]:
    return (
        tuple(map(str, cast("list[object]", value)))
        if isinstance(value, list)
        else (str(value),)
        if value
        else ()
    )


def _fields(value: object) -> _Fields:
    return cast("_Fields", value) if isinstance(value, dict) else {}
