"""`upcall new`: a package that installs, says what is to be written, and passes its tests with the worked example of the docs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.fences import fences
from tests.docs.pages import ROOT
from upcall.cli.app import run

PAGE = ROOT / "docs/plugins.md"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_of(package: Path) -> set[str]:
    return {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}


def write_example(package: Path) -> None:
    """Put the files of the worked example into their places."""
    shown = {name: fence.content for fence in fences([PAGE]) for name in fence.said("file")}
    own = {name: text for name, text in shown.items() if name.startswith(f"{package.name}/")}
    assert len(own) >= 2
    for name, text in own.items():
        path = package.parent / name
        assert path.is_file(), "the example replaces what is there"
        path.write_text(text)


def upcall_beside(package: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python where the package was installed beside Upcall, from its wheel and without network."""
    place = package.parent / "installed"
    install = ("pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--offline")
    command = ["uv", *install, "--python", sys.executable, "--target", str(place), str(package)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    environment = {**os.environ, "PYTHONPATH": str(place), "UPCALL_HOME": str(package.parent)}
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=False
    )


def results(package: Path) -> subprocess.CompletedProcess[str]:
    """The tests of the package, by pytest as its author runs it."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def missing(output: str) -> list[str]:
    """The methods that a run of the tests names as unfinished, once for each test that failed there."""
    return re.findall(r"^E +NotImplementedError: ([\w.]+): ", output, re.MULTILINE)


@pytest.mark.promise("programs/29")
def test_a_channel_and_an_agent_have_entry_point_adapter_contract_test_and_readme(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [run(["new", "channel", "my-chat"]), run(["new", "agent", "my-bot"])] == [0, 0]
    assert "cd upcall-my-chat\n  pip install -e '.[test]'\n  pytest\n" in capsys.readouterr().out
    both = {"pyproject.toml", "README.md", "tests/conftest.py"}
    source = "src/upcall_my_chat/"
    assert files_of(folder / "upcall-my-chat") == both | {
        f"{source}__init__.py",
        f"{source}channel.py",
        f"{source}settings.py",
        "tests/test_channel.py",
        "tests/vendor.py",
    }
    assert files_of(folder / "upcall-my-bot") == both | {
        "src/upcall_my_bot/__init__.py",
        "src/upcall_my_bot/adapter.py",
        "tests/test_agent.py",
    }
    assert 'token = "$MY_CHAT_TOKEN"' in (folder / "upcall-my-chat/README.md").read_text()
    assert "class TestMyBot(AgentContract)" in (folder / "upcall-my-bot/tests/test_agent.py").read_text()


@pytest.mark.parametrize("name", ["My-Chat", "1chat", "a--b", "a-", "../x", "", "x" * 33, "ch_at", "é"])
def test_a_name_that_no_package_can_have_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert run(["new", "channel", name]) == 2
    assert f"{name!r} cannot be the name of a channel" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("kind", "name"), [("channel", "slack"), ("agent", "claude"), ("agent", "command")])
def test_a_name_of_ours_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str, name: str
) -> None:
    assert run(["new", kind, name]) == 2
    assert f"Upcall has a {kind} {name!r} itself" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_what_is_there_is_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "upcall-chat").mkdir()
    (folder / "upcall-chat/README.md").write_text("mine")
    assert run(["new", "channel", "chat"]) == 1
    assert "upcall-chat is there already" in capsys.readouterr().err
    assert files_of(folder / "upcall-chat") == {"README.md"}
    assert (folder / "upcall-chat/README.md").read_text() == "mine"


@pytest.mark.promise("programs/30")
def test_the_worked_example_of_a_channel_makes_the_tests_of_a_new_package_pass(folder: Path) -> None:
    assert run(["new", "channel", "board"]) == 0
    package = folder / "upcall-board"

    fresh = results(package)
    named = missing(fresh.stdout)
    assert (len(named), named[-1]) == (14, "check"), fresh.stdout
    # Whichever of the two comes first.
    assert set(named[:-1]) <= {"Vendor.listening", "listen"}, fresh.stdout

    write_example(package)
    finished = results(package)
    assert finished.returncode == 0, finished.stdout
    assert re.search(r"\b14 passed", finished.stdout), finished.stdout

    (folder / "upcall.toml").write_text('[channels.board]\nserver = "https://board.example"\n')
    checked = upcall_beside(package, "-m", "upcall", "config", "check")
    assert "channels.board.token: is needed" in checked.stderr


@pytest.mark.promise("programs/30")
def test_the_worked_example_of_an_agent_makes_the_tests_of_a_new_package_pass(folder: Path) -> None:
    assert run(["new", "agent", "parrot"]) == 0
    package = folder / "upcall-parrot"

    fresh = results(package)
    assert set(missing(fresh.stdout)) == {"start", "resume", "attach", "notice"}, fresh.stdout

    write_example(package)
    finished = results(package)
    assert finished.returncode == 0, finished.stdout

    made = "from upcall.agents.catalogue import agent_named; print(agent_named('parrot', {}).install_hint)"
    assert upcall_beside(package, "-c", made).stdout == "install parrot\n"
