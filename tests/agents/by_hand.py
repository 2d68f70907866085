"""How a person who reads the manuals gives each program our door: flags and files, and nothing of Upcall's own."""

import json
import sys

from tests.agents.programs import CLAUDE, CODEX, GEMINI, OPENCODE, Desk, Program
from tests.agents.work import Work
from upcall.home import Home

PIPE = ("-m", "upcall", "mcp", "--wait", "block")
DAY_MS = 86_400_000


def start(program: Program, desk: Desk, home: Home, task: str, *words: str) -> Work:
    """Start a program on a task, with our door open."""
    return {
        CLAUDE: start_claude,
        CODEX: start_codex,
        OPENCODE: start_opencode,
        GEMINI: start_gemini,
    }[program](desk, home, task, *words)


def start_claude(desk: Desk, home: Home, task: str, *words: str) -> Work:
    """Claude Code: a server in `--mcp-config` that is always loaded, and leave to use its tool."""
    server = {"command": sys.executable, "args": PIPE, "env": _variables(home)}
    config = {"mcpServers": {"upcall": server | {"alwaysLoad": True, "timeout": DAY_MS}}}
    flags = ("--output-format", "stream-json", "--verbose", "--mcp-config", json.dumps(config))
    return desk.start(CLAUDE, "-p", *flags, "--allowedTools", "mcp__upcall__ask_human", *words, stdin=task)


def start_codex(desk: Desk, home: Home, task: str, *words: str) -> Work:
    """Codex: a server in `-c`, kept out of the places where models do not look."""
    server = (
        f"{{command={json.dumps(sys.executable)}, args={json.dumps(PIPE)},"
        f" env={{UPCALL_HOME={json.dumps(str(home.path))}}}, required=true, startup_timeout_sec=30,"
        ' tool_timeout_sec=86400, default_tools_approval_mode="approve",'
        ' omit_tools_from=["deferred", "code_mode"]}'
    )
    return desk.start(CODEX, "exec", *words, "--json", "-c", f"mcp_servers.upcall={server}", "-", stdin=task)


def start_opencode(desk: Desk, home: Home, task: str, *words: str) -> Work:
    """opencode: a server in the variable that adds to its settings."""
    command = [sys.executable, *PIPE]
    server = {"type": "local", "command": command, "environment": _variables(home), "timeout": DAY_MS}
    settings = json.dumps({"mcp": {"upcall": server}})
    return desk.start(
        OPENCODE, "run", "--format", "json", *words, stdin=task, OPENCODE_CONFIG_CONTENT=settings
    )


def start_gemini(desk: Desk, home: Home, task: str, *words: str) -> Work:
    """Gemini CLI: a trusted server in the settings of its home."""
    server = {"command": sys.executable, "args": PIPE, "env": _variables(home)}
    file = desk.home / ".gemini/settings.json"
    settings = json.loads(file.read_text("utf-8"))
    settings["mcpServers"] = {"upcall": server | {"trust": True, "timeout": DAY_MS}}
    file.write_text(json.dumps(settings), "utf-8")
    return desk.start(GEMINI, "-o", "stream-json", *words, "-p", task)


def _variables(home: Home) -> dict[str, str]:
    return {"UPCALL_HOME": str(home.path)}
