"""How a person who reads the manuals gives each program our door: flags and files, and nothing of Upcall's own."""

import json
import re
import sys
from pathlib import Path

from tests.agents.programs import CLAUDE, CODEX, GEMINI, OPENCODE, Desk, Program
from tests.agents.work import Work
from upcall.home.files import Home

PIPE = ("-m", "upcall", "mcp", "--wait", "block")
DAY_MS = 86_400_000
PAGE = Path(__file__).parents[2] / "docs/agents.md"


def start(
    program: Program, desk: Desk, home: Home, task: str, *words: str, session: str = "", **variables: str
) -> Work:
    """Start a program on a task with our door open, or go on with a session."""
    command = {CLAUDE: _claude, CODEX: _codex, OPENCODE: _opencode, GEMINI: _gemini}[program]
    return desk.start(
        program, *command(home, session), *words, stdin=task, **_around(program, desk, home), **variables
    )


def _claude(home: Home, session: str) -> list[str]:
    """A server that is always loaded, and leave to use its tool."""
    server = {"command": sys.executable, "args": PIPE, "env": _variables(home)}
    config = {"mcpServers": {"upcall": server | {"alwaysLoad": True, "timeout": DAY_MS}}}
    resuming = ["--resume", session] if session else []
    flags = ["--output-format", "stream-json", "--verbose", "--mcp-config", json.dumps(config)]
    return ["-p", *flags, "--allowedTools", "mcp__upcall__ask_human", *resuming]


def _codex(home: Home, session: str) -> list[str]:
    """A server that is kept out of the places where models do not look."""
    server = (
        f"{{command={json.dumps(sys.executable)}, args={json.dumps(PIPE)},"
        f" env={{UPCALL_HOME={json.dumps(str(home.path))}}}, required=true, startup_timeout_sec=30,"
        ' tool_timeout_sec=86400, default_tools_approval_mode="approve",'
        ' omit_tools_from=["deferred", "code_mode"]}'
    )
    flags = ["--json", "-c", f"mcp_servers.upcall={server}"]
    return ["exec", "resume", *flags, session, "-"] if session else ["exec", *flags, "-"]


def _opencode(home: Home, session: str) -> list[str]:
    """Nothing but the session: the server is in a variable."""
    return ["run", "--format", "json", *(["--session", session] if session else [])]


def _gemini(home: Home, session: str) -> list[str]:
    """Nothing but the session: the server is in a file. The task comes from standard input."""
    return ["--output-format", "stream-json", *(["--resume", session] if session else [])]


def _around(program: Program, desk: Desk, home: Home) -> dict[str, str]:
    """What a program is not told on its command line: its file is written, its variables are returned."""
    if program is OPENCODE:
        # What our page shows, with this Upcall in place of the one that its reader has.
        (shown,) = re.findall(r"OPENCODE_CONFIG_CONTENT='(.*?)'", PAGE.read_text("utf-8"))
        content = json.loads(shown)
        content["mcp"]["upcall"] |= {"command": [sys.executable, *PIPE], "environment": _variables(home)}
        return {"OPENCODE_CONFIG_CONTENT": json.dumps(content)}
    if program is GEMINI:
        server = {"command": sys.executable, "args": PIPE, "env": _variables(home)}
        servers = {"upcall": server | {"trust": True, "timeout": DAY_MS}}
        desk.change_gemini_settings({"mcpServers": servers})
    return {}


def _variables(home: Home) -> dict[str, str]:
    return {"UPCALL_HOME": str(home.path)}
