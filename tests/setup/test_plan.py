"""What `upcall setup` does to files: only what it shows, at once, and back again to the byte."""

import json
import tomllib
from pathlib import Path

import pytest

from upcall.agents.catalogue import UnknownProgram
from upcall.setup.clients import CLIENTS, ServerCommand, UserFolders, files_for
from upcall.setup.errors import UnusableFile
from upcall.setup.inspecting import server_of
from upcall.setup.plan import PlannedFile, additions, apply, backup_of, removals

DOOR = ServerCommand(
    command=("/opt/upcall", "mcp", "--wait", "block"), environment={"UPCALL_HOME": "/srv/upcall"}
)

EXISTING = {
    "claude": {
        ".claude.json": '{\n  "numStartups": 7,\n  "mcpServers": {}\n}',
        ".claude/settings.json": '{"permissions": {"allow": ["Bash(ls)"], "deny": []}}\n',
    },
    "codex": {".codex/config.toml": 'model = "x"\n# mine\n\n[mcp_servers.other]\ncommand = "other"   # mine'},
    "opencode": {
        ".config/opencode/opencode.jsonc": '{\n\t// mine\n\t"permission": {"bash": "ask"},\n\t"mcp": {\n\t},\n}\n'
    },
    "gemini": {".gemini/settings.json": '\ufeff{\r\n    // mine\r\n    "ui": {"theme": "x"}\r\n}\r\n'},
}

every_client = pytest.mark.parametrize("name", CLIENTS)


def files(name: str, home: Path, door: ServerCommand = DOOR, *, prompt: bool = False) -> list[PlannedFile]:
    return files_for(name, UserFolders(home=home, environment={}), door, prompt=prompt)


def a_home(name: str, folder: Path) -> dict[Path, bytes]:
    """The settings files of a user, as they were before."""
    for file, text in EXISTING[name].items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(text.encode())
    return everything(folder)


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.promise("spec/71")
@every_client
@pytest.mark.parametrize("prompt", [False, True])
def test_removing_restores_every_byte(name: str, *, prompt: bool, tmp_path: Path) -> None:
    before = a_home(name, tmp_path)
    apply(additions(files(name, tmp_path, prompt=prompt)))

    assert everything(tmp_path) != before
    assert additions(files(name, tmp_path, prompt=prompt)) == []

    apply(removals(files(name, tmp_path, prompt=True)))
    assert everything(tmp_path) == before
    assert removals(files(name, tmp_path, prompt=True)) == []


@every_client
def test_where_there_was_nothing_nothing_is_left(name: str, tmp_path: Path) -> None:
    apply(additions(files(name, tmp_path, prompt=True)))
    newer = ServerCommand(command=("/new/upcall", "mcp"), environment={})
    apply(additions(files(name, tmp_path, newer, prompt=True)))
    server = server_of(name, files(name, tmp_path)[0])
    assert server is not None
    assert server.command == ("/new/upcall", "mcp")

    apply(removals(files(name, tmp_path, prompt=True)))
    assert everything(tmp_path) == {}


@every_client
def test_what_was_changed_meanwhile_survives_a_removal(name: str, tmp_path: Path) -> None:
    a_home(name, tmp_path)
    apply(additions(files(name, tmp_path)))
    path = files(name, tmp_path)[0].path
    if path.suffix == ".toml":
        # Where Codex itself adds a table.
        path.write_text(path.read_text() + '\n[projects."/x"]\ntrust_level = "trusted"\n')
    else:
        path.write_bytes(path.read_bytes().replace(b"{", b'{"later": true,', 1))
    apply(removals(files(name, tmp_path)))

    left = path.read_bytes().decode()
    assert "upcall" not in left
    assert '"trusted"' in left if path.suffix == ".toml" else '"later": true' in left
    assert not backup_of(path).exists()
    if path.suffix == ".toml":
        assert tomllib.loads(left)["mcp_servers"] == {"other": {"command": "other"}}


def test_an_entry_made_by_hand_comes_back(tmp_path: Path) -> None:
    path = tmp_path / ".gemini/settings.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"upcall": {"command": "upcall"}}, "a": 1}')
    apply(additions(files("gemini", tmp_path)))
    assert json.loads(path.read_text())["mcpServers"]["upcall"]["trust"] is True
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))

    apply(removals(files("gemini", tmp_path)))
    assert json.loads(path.read_text()) == {"mcpServers": {"upcall": {"command": "upcall"}}, "a": 2}


def test_a_table_made_by_hand_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text('[mcp_servers.upcall]\ncommand = "upcall"\n')

    with pytest.raises(UnusableFile, match=r"config\.toml, line 1: .* is there already"):
        additions(files("codex", tmp_path))
    assert removals(files("codex", tmp_path)) == []


@pytest.mark.promise("trust/83")
@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { other = { command = "x" } }  # mine\nmodel = "x"\n',
        'model = "x"\r\nmcp_servers = {other={command="x"}}\r\n[a]\r\nb = 1\r\n',
        "mcp_servers = {}",
        'mcp_servers.other = { command = "x" }\n',
        '[mcp_servers]\nother = { command = "x" }\n',
        '[mcp_servers]\nother.command = "x"\n\n[a]\nb = 1\n',
    ],
)
@pytest.mark.parametrize("has_copy", [True, False])
def test_servers_may_be_written_on_one_line(text: str, *, has_copy: bool, tmp_path: Path) -> None:
    path = tmp_path / ".codex/config.toml"
    path.parent.mkdir()
    path.write_bytes(text.encode())
    others = {key: value for key, value in tomllib.loads(text).items() if key != "mcp_servers"}

    apply(additions(files("codex", tmp_path)))
    newer = ServerCommand(command=("/new/upcall", "mcp"), environment={})
    apply(additions(files("codex", tmp_path, newer)))
    assert additions(files("codex", tmp_path, newer)) == []
    server = server_of("codex", files("codex", tmp_path)[0])
    assert server is not None
    assert server.command == ("/new/upcall", "mcp")
    written = tomllib.loads(path.read_bytes().decode())
    assert {key: value for key, value in written.items() if key != "mcp_servers"} == others
    assert written["mcp_servers"]["upcall"]["required"] is True

    if not has_copy:
        backup_of(path).unlink()
    apply(removals(files("codex", tmp_path)))
    left = path.read_bytes().decode()
    assert left == text if has_copy else tomllib.loads(left) == tomllib.loads(text)
    assert removals(files("codex", tmp_path)) == []


def test_what_was_added_to_our_table_is_not_taken_out_with_it(tmp_path: Path) -> None:
    apply(additions(files("codex", tmp_path)))
    path = tmp_path / ".codex/config.toml"
    path.write_text(path.read_text() + '\n[mcp_servers.upcall.tools]\nask_human = "on"\n')

    with pytest.raises(UnusableFile, match=r"more has been added .*tools"):
        removals(files("codex", tmp_path))


@pytest.mark.parametrize(
    ("name", "file", "text", "complaint"),
    [
        ("claude", ".claude.json", b'{\n "a": 1,\n}', "line 3: this is no JSON"),
        (
            "claude",
            ".claude/settings.json",
            b'{"permissions": {"allow": "all"}}',
            "permissions.allow is not a list",
        ),
        ("codex", ".codex/config.toml", b"a = 1\nb = \n", "line 2: this is no TOML"),
        ("codex", ".codex/config.toml", b"mcp_servers = 5\n", "mcp_servers is not a table"),
        ("opencode", ".config/opencode/opencode.json", b"[]", "the document is not an object"),
        ("gemini", ".gemini/settings.json", b"{\xff}", "byte 2 is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_is_left_alone(
    name: str, file: str, text: bytes, complaint: str, tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / file).write_bytes(text)

    with pytest.raises(UnusableFile) as refused:
        additions(files(name, tmp_path))
    assert complaint in refused.value.message
    assert str(tmp_path / file) in refused.value.message
    assert everything(tmp_path) == {tmp_path / file: text}


def test_a_folder_in_a_files_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").mkdir()
    with pytest.raises(UnusableFile, match="nothing was changed"):
        additions(files("claude", tmp_path))


def test_a_file_that_changes_between_showing_and_writing_is_not_written(tmp_path: Path) -> None:
    a_home("gemini", tmp_path)
    changes = additions(files("gemini", tmp_path))
    path = changes[0].path
    path.write_text("{}")

    with pytest.raises(UnusableFile, match="changed meanwhile"):
        apply(changes)
    assert path.read_text() == "{}"


def test_where_one_file_cannot_be_written_none_is(tmp_path: Path) -> None:
    before = a_home("claude", tmp_path)
    changes = additions(files("claude", tmp_path))
    backup_of(changes[-1].path).mkdir()

    with pytest.raises(UnusableFile, match=r"settings\.json: .*nothing was changed"):
        apply(changes)
    assert {path: everything(tmp_path)[path] for path in before} == before


def test_a_link_stays_a_link_and_permissions_stay_as_they_are(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles/gemini.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    kept.chmod(0o640)
    path = tmp_path / ".gemini/settings.json"
    path.parent.mkdir()
    path.symlink_to(kept)
    apply(additions(files("gemini", tmp_path)))

    assert path.is_symlink()
    assert "upcall" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert backup_of(path).read_text() == "{}"
    assert backup_of(path).stat().st_mode & 0o777 == 0o640


def test_files_of_our_own_making_are_private(tmp_path: Path) -> None:
    apply(additions(files("claude", tmp_path)))
    assert {path.stat().st_mode & 0o777 for path in everything(tmp_path)} == {0o600}


def test_variables_lead_to_other_folders(tmp_path: Path) -> None:
    places = {
        "claude": ("CLAUDE_CONFIG_DIR", "c", {"c/.claude.json", "c/settings.json", "c/CLAUDE.md"}),
        "codex": ("CODEX_HOME", "x", {"x/config.toml", "x/AGENTS.md"}),
        "opencode": ("XDG_CONFIG_HOME", "o", {"o/opencode/opencode.json", "o/opencode/AGENTS.md"}),
        "gemini": ("GEMINI_CLI_HOME", "g", {"g/.gemini/settings.json", "g/.gemini/GEMINI.md"}),
    }
    for name, (variable, folder, expected) in places.items():
        place = UserFolders(home=Path("/nowhere"), environment={variable: str(tmp_path / folder)})
        found = {str(file.path.relative_to(tmp_path)) for file in files_for(name, place, DOOR, prompt=True)}
        assert found == expected


def test_a_token_is_handed_on_and_never_written(tmp_path: Path) -> None:
    door = ServerCommand(command=("upcall", "mcp"), environment={}, inherited=("UPCALL_URL", "UPCALL_TOKEN"))
    for name in CLIENTS:
        apply(additions(files(name, tmp_path, door)))
    codex = tomllib.loads((tmp_path / ".codex/config.toml").read_text())["mcp_servers"]["upcall"]
    gemini = json.loads((tmp_path / ".gemini/settings.json").read_text())["mcpServers"]["upcall"]

    assert codex["env_vars"] == ["UPCALL_URL", "UPCALL_TOKEN"]
    assert gemini["env"] == {"UPCALL_URL": "$UPCALL_URL", "UPCALL_TOKEN": "$UPCALL_TOKEN"}


def test_a_name_that_nobody_has_gets_the_nearest() -> None:
    with pytest.raises(UnknownProgram) as refused:
        files("cluade", Path("/nowhere"))
    assert "did you mean 'claude'?" in (refused.value.hint or "")
