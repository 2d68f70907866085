"""The hooks by which the dialogs of terminals, and the permissions of `claude -p`, reach people; opencode has a plugin instead."""

import json
import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files

from upcall.setup.edits import Edit, JsonGroup

AWAY, PERMISSIONS = "away", "permissions"
DAY = 24 * 3600 + 60
"""Seconds that Claude Code waits for a hook: longer than a question can be answered by default."""

BRIEFLY = 5
"""Seconds for a hook that only reports."""

_HELD: Mapping[str, object] = {"timeout": DAY}
_BRIEF: Mapping[str, object] = {"timeout": BRIEFLY}
_REPORTING: Mapping[str, object] = {"timeout": BRIEFLY, "async": True}
_WAKING: Mapping[str, object] = {"timeout": DAY, "asyncRewake": True}
EVENTS: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    AWAY: {
        # The dialog is on the screen while this hook waits.
        "PermissionRequest": _HELD,
        # The prompt is free while this one waits, and its words wake the model.
        "Stop": _WAKING,
        "PostToolUse": _REPORTING,
        "PostToolUseFailure": _REPORTING,
        "UserPromptSubmit": _REPORTING,
        "SessionEnd": _BRIEF,
    },
    # No person waits at a screen here, so the model is told what was changed before it goes on.
    PERMISSIONS: {"PermissionRequest": _HELD, "PostToolUse": _BRIEF, "PostToolUseFailure": _BRIEF},
}
"""The events that each kind of hook of Claude Code is for, with how it waits for it."""

CODEX_EVENTS: Mapping[str, Mapping[str, object]] = {
    "PermissionRequest": {},
    "PreToolUse": {"matcher": "^request_user_input$"},
    "Stop": {},
    "UserPromptSubmit": {},
}
"""The events of Codex, each with the tool that it is for. All of its hooks end at once."""

GEMINI_EVENTS: Mapping[str, Mapping[str, object]] = {
    "BeforeTool": {"matcher": "^ask_user$"},
    "AfterAgent": {},
    "BeforeAgent": {},
}
"""The events of Gemini CLI, each with the tool that it is for."""

COPILOT_EVENTS: Mapping[str, Mapping[str, object]] = {
    "permissionRequest": {"timeoutSec": DAY},
    "preToolUse": {"matcher": "^ask_user$", "timeoutSec": DAY},
    "agentStop": {"timeoutSec": DAY},
    "userPromptSubmitted": {"timeoutSec": BRIEFLY},
}
"""The events of Copilot CLI, each with how long it waits for its hook."""

COPILOT_MARK = (
    "Written by `upcall setup copilot --away`; `upcall setup copilot --remove` takes this file away."
)

KINDS: Mapping[str, Sequence[str]] = {
    "claude": (AWAY, PERMISSIONS),
    "codex": (AWAY,),
    "opencode": (AWAY,),
    "gemini": (AWAY,),
    "copilot": (AWAY,),
}
"""The kinds of hooks that each program can have."""


def hook_edits(kinds: Sequence[str], command: Sequence[str], environment: Mapping[str, str]) -> list[Edit]:
    """The entries of these kinds in Claude Code's settings. `command` starts this Upcall."""
    return [
        JsonGroup(
            ("hooks", event),
            {"hooks": [{**_hook(_line(command, environment, kind)), **how}]},
            f" hook {kind}",
        )
        for kind in kinds
        for event, how in EVENTS[kind].items()
    ]


def codex_edits(command: Sequence[str], environment: Mapping[str, str]) -> list[Edit]:
    """The entries in the file of Codex's hooks."""
    hook = {**_hook(_line(command, environment, AWAY, "codex")), **_BRIEF}
    return [
        JsonGroup(("hooks", event), {**tools, "hooks": [hook]}, f" hook {AWAY}")
        for event, tools in CODEX_EVENTS.items()
    ]


def gemini_edits(command: Sequence[str], environment: Mapping[str, str]) -> list[Edit]:
    """The entries in Gemini CLI's settings, which count a timeout in milliseconds."""
    hook = {**_hook(_line(command, environment, AWAY, "gemini")), "timeout": DAY * 1000}
    return [
        JsonGroup(("hooks", event), {**tools, "hooks": [hook]}, f" hook {AWAY}")
        for event, tools in GEMINI_EVENTS.items()
    ]


def copilot_hooks(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The file of hooks for Copilot CLI."""
    hooks = {
        event: [{"type": "command", "bash": _line(command, environment, AWAY, "copilot", event), **how}]
        for event, how in COPILOT_EVENTS.items()
    }
    return json.dumps({"$comment": COPILOT_MARK, "version": 1, "hooks": hooks}, indent=2) + "\n"


def opencode_plugin(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The plugin for opencode's terminal, which starts this Upcall."""
    template = files("upcall.setup").joinpath("opencode_away.js").read_text("utf-8")
    line = json.dumps([*command, "hook", AWAY, "opencode"])
    return template.replace("$COMMAND", line).replace("$ENVIRONMENT", json.dumps(dict(environment)))


def _hook(command: str) -> dict[str, object]:
    return {"type": "command", "command": command}


def _line(command: Sequence[str], environment: Mapping[str, str], *words: str) -> str:
    variables = [f"{name}={value}" for name, value in environment.items()]
    return shlex.join([*(["env", *variables] if variables else []), *command, "hook", *words])
