"""What Codex is told on its command line, whichever way it is started: our door, and how freely it may work."""

import json
from collections.abc import Sequence

from upcall.domain.run.program import Door

SERVER = "upcall"
"""What our MCP server is called among Codex's own."""

MARGIN = 60
"""Seconds that Codex waits longer than we do, so that it is we who end a wait."""


def settings_for(door: Door) -> tuple[str, ...]:
    """Settings for this process alone; those of the user's own file stand unless they are named here.

    The door's environment is passed on by name: every user of the machine can read the arguments of a process.
    """
    entry = {
        "command": _text(door.command[0]),
        "args": _texts(door.command[1:]),
        "env_vars": _texts(sorted(door.environment)),
        "required": "true",
        "startup_timeout_sec": "30",
        "tool_timeout_sec": str(int(door.wait) + MARGIN),
        "default_tools_approval_mode": _text("approve"),
        # Otherwise the model has to search for the tool, or looks away from it after half a minute.
        "omit_tools_from": _texts(("deferred", "code_mode")),
    }
    server = ",".join(f"{name}={value}" for name, value in entry.items())
    return (
        *setting(f"mcp_servers.{SERVER}", f"{{{server}}}"),
        *setting("sandbox_mode", _text("workspace-write")),
    )


def setting(name: str, value: str) -> tuple[str, str]:
    """One setting as arguments; the value is written as TOML."""
    return ("-c", f"{name}={value}")


def _text(text: str) -> str:
    # What JSON escapes, TOML reads; but it has no halves of characters, which ASCII would make of the rarer ones.
    return json.dumps(text, ensure_ascii=False)


def _texts(texts: Sequence[str]) -> str:
    return f"[{','.join(map(_text, texts))}]"
