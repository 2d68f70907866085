"""Printed commands work as printed, for each way of installing Upcall."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from upcall.cli.commands.demo import next_steps
from upcall.cli.failures import CommandFailed, line, need_lasting_program
from upcall.home import program as named
from upcall.home.program import installing, passing_runner, program

SCRIPT = Path(sys.executable).with_name("upcall")
CACHE = "/home/ana/.cache/uv/archive-v0/Qx7"


@pytest.fixture
def name() -> Iterator[None]:
    """The name is found anew in the test, and after it."""
    program.cache_clear()
    yield
    program.cache_clear()


@pytest.mark.usefixtures("name")
def test_the_name_is_short_where_a_shell_finds_this_installation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "upcall").symlink_to(SCRIPT)
    monkeypatch.setenv("PATH", f"/nowhere:{tmp_path}")
    assert program() == "upcall"


@pytest.mark.usefixtures("name")
def test_the_name_is_the_path_where_a_shell_finds_none_or_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    assert program() == str(SCRIPT)
    program.cache_clear()
    (tmp_path / "upcall").write_text("#!/bin/sh\n")
    (tmp_path / "upcall").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == str(SCRIPT)


@pytest.mark.usefixtures("name")
def test_a_path_with_a_space_is_quoted_and_an_installation_without_a_script_is_a_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    spoken = subprocess.run(
        ["sh", "-c", f"printf %s {program()}"], capture_output=True, text=True, check=True
    )
    assert spoken.stdout == f"{folder / 'python'}-mupcall"


@pytest.mark.parametrize(
    ("prefix", "runner"),
    [
        (CACHE, "uvx"),
        ("/home/ana/.cache/uv/environments-v2/upcall-1", "uvx"),
        ("/home/ana/.local/share/uv/tools/upcall", ""),
        ("/home/ana/.local/share/pipx/venvs/upcall", ""),
        ("/home/ana/.local/share/pipx/.cache/1f0", "pipx run"),
        ("/home/ana/shop/.venv", ""),
        ("/usr", ""),
    ],
)
def test_an_installation_for_a_moment_is_recognised(prefix: str, runner: str) -> None:
    assert passing_runner(prefix) == runner


@pytest.mark.usefixtures("name")
def test_an_installation_for_a_moment_is_typed_as_it_was_and_written_into_no_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("upcall.cli.failures.passing_runner", lambda: "uvx")
    monkeypatch.setattr(named, "passing_runner", lambda: "uvx")
    assert program() == "uvx upcall"
    assert line("it failed", "`upcall doctor`, or pip install upcall") == (
        "upcall: it failed. Next: `uvx upcall doctor`, or pip install upcall"
    )
    with pytest.raises(CommandFailed, match="for the moment only") as refused:
        need_lasting_program("what claude is told to start")
    assert "`uv tool install upcall`" in str(refused.value.hint)
    monkeypatch.setattr("shutil.which", lambda name: name if name == "codex" else None)
    assert next_steps("uvx")[1:] == ["  uv tool install upcall", "  upcall setup codex"]


def test_the_commands_that_are_printed_work_in_a_shell_that_does_not_know_upcall(upcall: Program) -> None:
    upcall.environment["PATH"] = os.defpath
    ref = upcall.parked("Which cache?", "-o", "Redis", "-o", "Memcached")
    (printed,) = [
        each.partition("Run: ")[2] for each in upcall("status").stdout.splitlines() if "Run: " in each
    ]
    answered = subprocess.run(
        ["sh", "-c", printed], capture_output=True, text=True, check=True, env=upcall.environment
    )
    assert answered.stdout.startswith(f"Answered {ref}: Redis.")
    refused = upcall("show", "zz9")
    hint = refused.stderr.partition("`")[2].partition("`")[0]
    shown = subprocess.run(
        ["sh", "-c", hint], capture_output=True, text=True, check=True, env=upcall.environment
    )
    assert "Redis" in shown.stdout


@pytest.mark.promise("doorway/2")
def test_an_extra_is_added_by_the_program_that_has_made_the_installation(tmp_path: Path) -> None:
    assert installing("slack", str(tmp_path)) == "pip install 'upcall[slack]'"
    assert installing("slack", CACHE) == "uv tool install 'upcall[slack]'"
    assert installing("slack", "/home/ana/.cache/pipx/1f3") == "pipx install 'upcall[slack]'"
    (tmp_path / "uv-receipt.toml").write_text(
        '[tool]\nrequirements = [{ name = "upcall", extras = ["postgres"] }, { name = "keyring" }]\n'
    )
    assert installing("slack", str(tmp_path)) == "uv tool install 'upcall[postgres,slack]'"
    (tmp_path / "pipx_metadata.json").write_text("{}")
    assert installing("slack", str(tmp_path)) == "pipx inject upcall 'upcall[slack]'"
