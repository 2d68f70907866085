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
