"""`upcall setup` as people run it: it shows, asks, writes, and takes back."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.test_terminal import Terminal
from upcall.setup.clients import CLIENTS


@pytest.fixture
def home(tmp_path: Path, upcall: Program) -> Path:
    """The home folder of a user of Gemini CLI."""
    folder = tmp_path / "user"
    settings = folder / ".gemini/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{\n  "ui": {}\n}\n')
    program = folder / "bin/gemini"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    upcall.environment |= {"HOME": str(folder), "PATH": f"{program.parent}:{upcall.environment['PATH']}"}
    return folder


@pytest.mark.promise("doorway/16")
@pytest.mark.parametrize("agent", list(CLIENTS))
def test_without_the_program_it_says_so_and_claims_no_success(
    upcall: Program, tmp_path: Path, agent: str
) -> None:
    upcall.environment |= {"HOME": str(tmp_path / "user"), "PATH": str(tmp_path)}
    for _ in range(2):
        done = upcall("setup", agent, "--yes")
        assert done.returncode == 1
        assert f"{agent} cannot ask yet: '{agent}' is not installed, or not on PATH. Next: " in done.stderr
        assert "can ask you now" not in done.stdout
        assert "set up already" not in done.stdout
    assert upcall("setup", agent, "--yes", "--remove").returncode == 0


def test_a_dry_run_shows_a_diff_and_writes_nothing(upcall: Program, home: Path) -> None:
    done = upcall("setup", "gemini", "--dry-run")
    settings = home / ".gemini/settings.json"

    assert done.returncode == 0
    assert done.stdout.startswith(f"--- {settings}\n+++ {settings}\n@@ ")
    assert '+    "upcall": {' in done.stdout
    assert settings.read_text() == '{\n  "ui": {}\n}\n'


def test_nothing_is_written_where_nobody_can_agree(upcall: Program, home: Path) -> None:
    done = upcall("setup", "gemini")

    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert "upcall" not in (home / ".gemini/settings.json").read_text()


def test_a_second_run_has_nothing_to_do(upcall: Program, home: Path) -> None:
    first, second = (upcall("setup", "gemini", "--yes") for _ in range(2))
    removed, again = (upcall("setup", "gemini", "--yes", "--remove") for _ in range(2))

    assert "upcall doctor gemini --ask" in first.stdout
    assert second.stdout == "Nothing to do for gemini: its files are as they have to be.\n"
    assert removed.returncode == 0
    assert again.stdout == "Nothing to do for gemini: nothing of Upcall's is in its files.\n"
    assert (home / ".gemini/settings.json").read_text() == '{\n  "ui": {}\n}\n'


def test_somebody_at_a_terminal_is_asked_first(upcall: Program, home: Path) -> None:
    settings = home / ".gemini/settings.json"
    with Terminal(upcall, "setup", "gemini") as terminal:
        terminal.until("Write this? [y/N] ")
        terminal.type("\n")
        assert terminal.end() == 1
    assert "upcall" not in settings.read_text()
    with Terminal(upcall, "setup", "gemini") as terminal:
        terminal.until("Write this? [y/N] ")
        terminal.type("y\n")
        assert terminal.end() == 0
    server = json.loads(settings.read_text())["mcpServers"]["upcall"]
    assert Path(server["command"]).is_absolute()
    assert server["env"] == {"UPCALL_HOME": str(upcall.home)}


def test_a_broken_file_is_named_with_its_line_and_left_alone(upcall: Program, home: Path) -> None:
    settings = home / ".gemini/settings.json"
    settings.write_text('{\n  "ui": {}\n  "x": 1\n}\n')
    done = upcall("setup", "gemini", "--yes")

    assert done.returncode == 1
    assert f"{settings}, line 3: a comma is missing" in done.stderr
    assert settings.read_text() == '{\n  "ui": {}\n  "x": 1\n}\n'


def test_an_agent_that_nobody_knows_gets_the_nearest_name(upcall: Program, home: Path) -> None:
    for words in (("setup", "gemni"), ("setup", "gemni", "--ci"), ("doctor", "gemni")):
        done = upcall(*words)
        assert done.returncode == 1
        assert "did you mean 'gemini'?" in done.stderr


@pytest.mark.promise("raised/1")
def test_the_hooks_of_claude_stand_beside_those_that_were_there_and_are_removed_to_the_letter(
    upcall: Program, home: Path
) -> None:
    settings = home / ".claude/settings.json"
    settings.parent.mkdir()
    own = {"hooks": [{"type": "command", "command": "say done"}]}
    before = json.dumps({"hooks": {"Stop": [own]}}, indent=2) + "\n"
    settings.write_text(before)
    shown = upcall("setup", "claude", "--away", "--dry-run")
    assert "hook away" in shown.stdout
    assert settings.read_text() == before

    for _ in range(2):
        upcall("setup", "claude", "--away", "--permissions", "--yes")
    hooks = json.loads(settings.read_text())["hooks"]
    assert hooks["Stop"][0] == own
    assert [len(groups) for groups in hooks.values()] == [2, 2, 2, 2, 1, 1]
    commands = [hook["command"] for group in hooks["PermissionRequest"] for hook in group["hooks"]]
    assert [command.split()[-2:] for command in commands] == [["hook", "away"], ["hook", "permissions"]]

    assert upcall("setup", "claude", "--remove", "--yes").returncode == 0
    assert settings.read_text() == before


@pytest.mark.promise("raised/10")
def test_the_hooks_of_codex_stand_beside_those_that_were_there_and_are_removed_to_the_letter(
    upcall: Program, home: Path
) -> None:
    file = home / ".codex/hooks.json"
    file.parent.mkdir()
    own = {"hooks": [{"type": "command", "command": "say done"}]}
    before = json.dumps({"hooks": {"Stop": [own]}}, indent=2) + "\n"
    file.write_text(before)
    assert "hook away codex" in upcall("setup", "codex", "--away", "--dry-run").stdout
    assert file.read_text() == before

    for _ in range(2):
        upcall("setup", "codex", "--away", "--yes")
    hooks = json.loads(file.read_text())["hooks"]
    assert {name: len(groups) for name, groups in hooks.items()} == {
        "Stop": 2,
        "PermissionRequest": 1,
        "PreToolUse": 1,
        "UserPromptSubmit": 1,
    }
    assert upcall("setup", "codex", "--remove", "--yes").returncode == 0
    assert file.read_text() == before


@pytest.mark.promise("raised/10")
def test_the_plugin_of_opencode_is_a_file_of_its_own_and_never_replaces_another(
    upcall: Program, home: Path
) -> None:
    folder = Path(upcall.environment.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"
    file = folder / "plugins/upcall-away.js"
    assert "+const COMMAND = [" in upcall("setup", "opencode", "--away", "--dry-run").stdout
    assert not file.exists()
    upcall("setup", "opencode", "--away", "--yes")
    assert '"hook", "away", "opencode"]' in file.read_text()
    assert upcall("setup", "opencode", "--remove", "--yes").returncode == 0
    assert not file.exists()

    file.write_text("export const Mine = async () => ({})\n")
    done = upcall("setup", "opencode", "--away", "--yes")
    assert done.returncode == 1
    assert "it was not written by Upcall" in done.stderr
    assert file.read_text() == "export const Mine = async () => ({})\n"


@pytest.mark.promise("raised/10")
def test_the_hooks_of_gemini_are_among_those_of_its_user_and_go_again(upcall: Program, home: Path) -> None:
    file = home / ".gemini/settings.json"
    file.parent.mkdir(exist_ok=True)
    theirs = {"hooks": {"AfterAgent": [{"hooks": [{"type": "command", "command": "notify-send done"}]}]}}
    file.write_text(json.dumps(theirs))
    upcall("setup", "gemini", "--away", "--yes")
    hooks = json.loads(file.read_text())["hooks"]
    assert [len(groups) for groups in hooks.values()] == [2, 1, 1]
    assert hooks["BeforeTool"][0]["matcher"] == "^ask_user$"
    upcall("setup", "gemini", "--remove", "--yes")
    assert json.loads(file.read_text()) == theirs


@pytest.mark.promise("raised/10")
def test_the_hooks_of_copilot_are_a_file_of_their_own_and_nothing_else_is_set_up(
    upcall: Program, home: Path
) -> None:
    file = Path(upcall.environment.get("COPILOT_HOME") or home / ".copilot") / "hooks/upcall-away.json"
    done = upcall("setup", "copilot", "--yes")
    assert done.returncode == 1
    assert "setup copilot --away" in done.stderr
    done = upcall("setup", "copilot", "--away", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    hooks = json.loads(file.read_text())["hooks"]
    assert hooks["agentStop"][0]["bash"].endswith("hook away copilot agentStop")
    assert upcall("setup", "copilot", "--remove", "--yes").returncode == 0
    assert not file.exists()


def test_hooks_are_refused_for_a_program_that_cannot_have_them(upcall: Program, home: Path) -> None:
    done = upcall("setup", "cursor", "--away", "--yes")
    assert done.returncode == 1
    assert "--away works with claude, codex, opencode, gemini, copilot, and not with cursor" in done.stderr
    done = upcall("setup", "codex", "--permissions", "--yes")
    assert "--permissions works with claude, and not with codex" in done.stderr
