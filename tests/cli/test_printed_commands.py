"""Every command that Upcall prints is printed so that it works where no `upcall` is on PATH."""

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

import upcall
from tests.cli.conftest import Program
from upcall.cli.app import run
from upcall.cli.table import GROUPS, commands
from upcall.home.program import program
from upcall.web.pages.locales import Words
from upcall.web.pages.rendering import Rendering

SCRIPT = Path(sys.executable).with_name("upcall")
PLAIN = re.compile(rf"(?<![\w./-])upcall (?:{'|'.join(commands())})\b[^\n]*")
PACKAGE = Path(upcall.__file__).parent
CLI = sorted((PACKAGE / "cli").rglob("*.py"))
PAGES = sorted([*(PACKAGE / "web/templates").iterdir(), *(PACKAGE / "web/locales").iterdir()])


def plain(printed: str) -> list[str]:
    """The commands in a text that a shell without `upcall` on its PATH cannot start; a usage is nothing to copy."""
    return [found for found in PLAIN.findall(printed) if f"usage: {found}" not in printed]


@pytest.fixture
def off_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("UPCALL_HOME", str(tmp_path / "home"))
    program.cache_clear()
    yield
    program.cache_clear()


@pytest.mark.usefixtures("off_path")
@pytest.mark.parametrize("name", [name for group in GROUPS.values() for name in group])
def test_the_examples_of_a_command_work_as_they_are_printed(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([name, "--help"]) == 0
    said = capsys.readouterr().out
    assert plain(said) == []
    assert "examples:" not in said or f"{SCRIPT} {name}" in said


@pytest.mark.usefixtures("off_path")
def test_what_goes_wrong_and_what_comes_first_name_commands_that_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in (
        [],
        ["help"],
        ["service"],
        ["ask", "--no"],
        ["mcp", "--no"],
        ["asj"],
        ["setup", "desktop"],
    ):
        run(words)
        said = capsys.readouterr()
        assert str(SCRIPT) in said.out + said.err
        assert plain(said.out + said.err) == []


def test_what_a_daemon_with_a_channel_that_is_off_has_printed_works(upcall: Program) -> None:
    upcall.environment["PATH"] = os.defpath
    upcall.environment["SLACK_BOT_TOKEN"] = upcall.environment["SLACK_APP_TOKEN"] = ""
    started = upcall("up", "-d").stdout
    empty = upcall("channels", "list").stdout
    (upcall.home / "upcall.toml").write_text('[channels.slack]\nbot_token = "$SLACK_BOT_TOKEN"\n')
    told = [started, empty, upcall("config", "reload").stderr, upcall("config", "check").stderr]
    told += [upcall(*words).stdout for words in (("channels", "list"), ("status",), ("doctor",), ())]
    told += [upcall("people", "add", "ana").stderr]
    with urlopen(upcall("url").stdout.strip() + "/sign-in") as page:
        told.append(page.read().decode())
    assert [plain(each) for each in told] == [[]] * len(told)
    assert f"{SCRIPT} inbox" in started
    assert f"{SCRIPT} inbox</code>" in told[-1]
    assert f"{SCRIPT} channels add slack" in empty
    assert [f"{SCRIPT} " in each for each in told[4:]] == [True] * len(told[4:])


def test_no_line_is_printed_with_the_plain_name() -> None:
    assert {f"{file.name}: {word}" for file in CLI for word in printed(file) if plain(word)} == set()


def test_no_page_of_the_inbox_has_the_plain_name() -> None:
    assert {f"{file.name}: {word}" for file in PAGES for word in plain(file.read_text("utf-8"))} == set()
    page = Rendering(program=str(SCRIPT)).part("inbox-empty.html", Words("en"), token="", key="")
    assert f">{SCRIPT} setup claude<" in page


def printed(file: Path) -> Iterator[str]:
    """Every word that stands in a call which prints."""
    for call in ast.walk(ast.parse(file.read_text("utf-8"))):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in {"print", "_say"}
        ):
            for node in ast.walk(call):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value
