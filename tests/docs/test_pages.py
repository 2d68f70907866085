"""What the pages say is true: links lead somewhere, examples are well-formed, lists are complete."""

import argparse
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

import upcall
from docs import client_reference, diagrams, generate, reference
from tests.docs.pages import PAGES, ROOT, anchors, blocks, links, mentioned, rows, upcalls
from upcall.cli.command import load, parsed as read, parser_of
from upcall.cli.table import commands
from upcall.config.channels import channel_keys, route_keys
from upcall.config.presets import NAMES
from upcall.config.settings import agent_keys, keys as settings
from upcall.domain.inquiry.wording import duration
from upcall.http.errors import STATUSES


def parsed(arguments: list[str]) -> None:
    """Have the real parser read a command's arguments.

    Raises:
        SystemExit: if it does not like them.
    """
    name, *rest = arguments
    if name == "mcp":
        # It reads its arguments itself, and then begins to work.
        options = dict(zip(rest[::2], rest[1::2], strict=True))
        wait = options.get("--wait", "block")
        assert options.keys() <= {"--wait", "--ipc"}, rest
        assert wait == "block" or wait.isdigit(), rest
        return
    summary = commands()[name]
    command = load(name)
    read(parser_of(name, summary, command), command, rest)


def broken(page: Path) -> Iterator[str]:
    for link in links(page):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, anchor = unquote(link).partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


def test_every_page_is_on_the_map() -> None:
    on_the_map = {link.partition("#")[0] for link in links(ROOT / "docs/index.md")}
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages <= on_the_map


def test_every_upcall_in_a_shell_example_has_a_command_and_options_that_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    read = 0
    for block in blocks("sh"):
        for arguments in upcalls(block.content):
            try:
                parsed(arguments)
            except (SystemExit, KeyError):
                pytest.fail(f"{block.place}: upcall {' '.join(arguments)}: {capsys.readouterr().err}")
            read += 1
    assert read > 40


def options(parser: argparse.ArgumentParser) -> set[str]:
    """The options of a command, those of its inner commands included."""
    found: set[str] = set()
    for action in parser._actions:
        found |= set(action.option_strings)
        if isinstance(action.choices, dict):
            found |= set(action.choices).union(*map(options, action.choices.values()))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_the_prose_mentions_exists_with_its_options(page: Path) -> None:
    for name, *rest in mentioned(page):
        if name in ("COMMAND", "mcp", "hook"):  # one stands for all of them, the others have no parser
            continue
        assert name in commands(), f"{page.name}: upcall {name}"
        summary = commands()[name]
        known = options(parser_of(name, summary, load(name)))
        given = {word.strip("[]") for word in rest if word.startswith("-") and word != "-"}
        assert given <= known, f"{page.name}: upcall {name} {' '.join(rest)}"


def test_every_command_is_shown_in_an_example() -> None:
    shown = {arguments[0] for block in blocks("sh") for arguments in upcalls(block.content) if arguments}
    # It needs no example to be understood.
    assert set(commands()) - shown <= {"version", "mcp"}


def test_every_json_example_is_json() -> None:
    examples = list(blocks("json"))
    assert examples
    for block in examples:
        try:
            json.loads(block.content)
        except ValueError as problem:
            pytest.fail(f"{block.place}: {problem}")


def test_every_toml_example_is_toml() -> None:
    examples = list(blocks("toml"))
    assert examples
    for block in examples:
        try:
            tomllib.loads(block.content)
        except ValueError as problem:
            pytest.fail(f"{block.place}: {problem}")


def as_documented(cell: str, default: object) -> object:
    """A default of the table as the value it stands for."""
    match default:
        case bool():
            return cell == "true"
        case float():
            return duration(cell)
        case int():
            return int(cell)
        case tuple():
            return tuple(cell.split())
        case _:
            return cell


def test_the_configuration_page_lists_every_setting_with_its_variable_and_default() -> None:
    defaults = {key: default for key, _, default in settings()}
    documented = [
        (key, variable, as_documented(default, defaults.get(key, "")))
        for key, variable, default, meaning in rows("configuration.md", "key")
        if meaning
    ]
    assert documented == list(settings())


def test_the_configuration_page_lists_every_setting_of_an_agent() -> None:
    table = rows("configuration.md", "setting")
    assert [(key, default) for key, default, meaning in table if meaning] == [
        (key, default or "") for key, default in agent_keys()
    ]


def test_the_configuration_page_lists_every_setting_of_a_route() -> None:
    defaults = dict(route_keys())
    documented = {
        key: as_documented(default, defaults.get(key, "")) if default else defaults[key]
        for key, default, meaning in rows("configuration.md", "of a route")
        if meaning
    }
    assert list(documented.items()) == list(defaults.items())
    assert all(default or not defaults[key] for key, default, _ in rows("configuration.md", "of a route"))


def test_the_configuration_page_lists_every_setting_of_every_kind_of_channel() -> None:
    defaults = {(kind, key): default for kind, key, default in channel_keys()}
    documented = {
        (kind, key): as_documented(default, defaults.get((kind, key), "")) if default else defaults[kind, key]
        for kind, key, default, meaning in rows("configuration.md", "of a channel")
        if meaning
    }
    assert list(documented.items()) == list(defaults.items())


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_presets_shows_each_as_it_is(name: str) -> None:
    shown = {block.content for block in blocks("toml") if block.page.name == "presets.md"}
    assert (ROOT / f"src/upcall/config/presets/{name}.toml").read_text("utf-8") in shown


def test_the_errors_page_lists_every_code_with_its_status_and_a_next_step() -> None:
    codes = {error.code for error in reference.every_error()} | set(STATUSES)
    table = rows("errors.md", "code")
    documented = {code: status for code, status, meaning, following in table if meaning and following}
    assert len(documented) == len(table)
    assert documented == {code: str(STATUSES.get(code, "–")) for code in codes}  # noqa: RUF001 - a dash, as printed


@pytest.mark.promise("doorway/26")
def test_the_reference_of_the_api_is_what_the_daemon_serves() -> None:
    assert reference.API.read_text("utf-8") == reference.api(), "run: python -m docs.reference"


@pytest.mark.promise("programs/11")
def test_the_reference_of_the_client_is_what_its_docstrings_say() -> None:
    made = client_reference.page()
    assert client_reference.PAGE.read_text("utf-8") == made, "run: python -m docs.reference"
    assert [name for name in vars(upcall)["_CLIENT"] if f"\n## {name}\n" not in made] == []
    assert [name for name in vars(upcall)["_BRIDGES"] if f"\n### {name}." not in made] == []


@pytest.mark.promise("doorway/26")
@pytest.mark.parametrize(
    ("page", "made"),
    [(reference.SETTINGS, reference.settings), (reference.ERRORS, reference.errors)],
    ids=["settings", "errors"],
)
def test_the_references_of_settings_and_errors_are_generated_from_the_code(
    page: Path, made: Callable[[str], str]
) -> None:
    text = page.read_text("utf-8")
    assert made(text) == text, "run: python -m docs.reference"
    assert reference.MISSING not in text


def test_a_generated_table_keeps_what_was_written_by_hand_and_drops_what_is_gone() -> None:
    page = "| key | default | means |\n|---|---|---|\n| `b` | `1` | the old b |\n| `gone` | | was here |\n\nMore.\n"
    made = reference.filled(page, "key", [("`a`", ""), ("`b`", "`2`")])
    assert made == (
        "| key | default | means |\n|---|---|---|\n"
        f"| `a` | | {reference.MISSING} |\n| `b` | `2` | the old b |\n\nMore.\n"
    )


def test_the_pictures_of_the_architecture_are_drawn_from_the_packages() -> None:
    assert diagrams.MAP.read_text("utf-8") == diagrams.drawn_map(), "run: python -m docs.diagrams"
    assert diagrams.LAYERS.read_text("utf-8") == diagrams.drawn_layers(), "run: python -m docs.diagrams"


def test_the_page_of_what_is_supported_names_the_versions_that_are_tested() -> None:
    named = {package: version for _, package, version in rows("support.md", "agent")}
    manifest = json.loads((ROOT / "tests/node/package.json").read_text("utf-8"))
    pins = manifest["dependencies"] | manifest["optionalDependencies"]
    pins["opencode-ai"] = pins["opencode-linux-x64-baseline"]
    assert named == {package: pins[package] for package in named}


@pytest.mark.promise("doorway/37")
def test_the_pages_that_a_stranger_looks_for_are_there() -> None:
    presets = dict(rows("presets.md", "preset"))
    assert all(len(words.split()) > 20 for words in presets.values()), "by what they do"
    assert "As of November 2026" in (ROOT / "docs/comparison.md").read_text("utf-8")
    pages = ("docs/faq.md", "docs/troubleshooting.md", "docs/upgrading.md", "docs/support.md")
    for name in (*pages, "SECURITY.md", "CODE_OF_CONDUCT.md"):
        assert len((ROOT / name).read_text("utf-8").splitlines()) > 10, name
    assert "## Going back" in (ROOT / "docs/upgrading.md").read_text("utf-8")
    assert {file.name for file in (ROOT / ".github/ISSUE_TEMPLATE").iterdir()} >= {"bug.yml", "idea.yml"}


@pytest.mark.promise("doorway/26")
def test_the_commands_page_is_what_the_parsers_say() -> None:
    assert generate.PAGE.read_text("utf-8") == generate.page(), "run: python docs/generate.py"


def test_the_commands_page_does_not_depend_on_the_terminal(tmp_path: Path) -> None:
    script = "from docs import generate; import sys; sys.stdout.write(generate.page())"
    printed = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=60,
        env={"COLUMNS": "40", "PATH": "", "HOME": str(tmp_path), "PYTHONUTF8": "1"},
    )
    assert printed.stdout.decode() == generate.page()
