"""What opencode is told through its environment: settings for one process, on top of the user's own files."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from upcall.agents.opencode.plans import EXPERIMENT
from upcall.domain.errors import InvalidRequest
from upcall.domain.run.program import Door, Permission

CONTENT = "OPENCODE_CONFIG_CONTENT"
PASSWORD = "OPENCODE_SERVER_PASSWORD"  # noqa: S105 - the variable's name
SERVER = "upcall"

MARGIN = 60.0
"""Seconds by which opencode waits longer than we do, so that it is always us who end a wait."""

EVERYTHING = "**"
READ = "rea?"
HARMLESS = ("read", "glob", "grep", "list", "lsp", "skill", "task", "todowrite", "question", "plan_exit")
"""What needs no approval: looking, planning, asking, and starting subagents; their own actions are put to people."""

ASKING: Mapping[str, object] = {
    # Of all rules that fit, opencode takes the last, and entries of one name replace each other. These are spelled
    # with wildcards, so that they come after the user's own entries and replace none of them.
    EVERYTHING: "ask",
    **{f"{name[:-1]}?": "allow" for name in HARMLESS},
    READ: {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
}
OURS = f"{SERVER}_*"
"""Our own tools, as opencode names them."""


def environment(door: Door, permission: Permission, already: Mapping[str, str]) -> dict[str, str]:
    """The variables for one process; `already` is what it has of the user's.

    Raises:
        InvalidRequest: if the user has settings there to which ours cannot be added.
    """
    users = _users(already.get(CONTENT, ""))
    merged = _merged(users, _settings(door, permission))
    return {
        **door.environment,
        "UPCALL_TOKEN": door.token,
        EXPERIMENT: "1",
        CONTENT: json.dumps(merged, ensure_ascii=False, separators=(",", ":")),
    }


def password(door: Door) -> str:
    """The password of one run's server. The next daemon computes it again."""
    return hashlib.sha256(f"opencode {door.token}".encode()).hexdigest()


def _settings(door: Door, permission: Permission) -> dict[str, object]:
    entry = {
        "type": "local",
        "enabled": True,
        "command": list(door.command),
        "environment": {**door.environment, "UPCALL_TOKEN": door.token},
        "timeout": round((door.wait + MARGIN) * 1000),
    }
    if permission is Permission.AUTONOMOUS:
        return {"mcp": {SERVER: entry}, "permission": {OURS: "allow"}}
    return {
        "mcp": {SERVER: entry},
        "permission": {**ASKING, OURS: "allow"},
        # Otherwise a denied action or a declined question ends the turn, and the model never learns why.
        "experimental": {"continue_loop_on_deny": True},
    }


def _users(content: str) -> dict[str, Any]:
    if not content.strip():
        return {}
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    permission = found.get("permission", {}) if isinstance(found, dict) else None
    if not isinstance(permission, dict | str):
        raise InvalidRequest(
            f"{CONTENT} in the environment is not plain JSON, so Upcall's settings cannot be added to it",
            hint="move it to a file and name that in OPENCODE_CONFIG, or unset it",
        )
    settings = cast("dict[str, Any]", found)
    if isinstance(permission, str):
        # How opencode itself reads one word for everything.
        settings["permission"] = {"*": permission}
    return settings


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        known = merged.get(name)
        merged[name] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
