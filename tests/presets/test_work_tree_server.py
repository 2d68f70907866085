"""Files in a run's folder by which its program finds us, and that nothing of them is left."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from upcall.config.presets.settings import PresetSettings
from upcall.presets.work_tree_server import NAMES, WorkTree, work_tree
from upcall.setup.errors import UnusableFile
from upcall.setup.plan import LARGEST

TREE = WorkTree("poietai", "http://127.0.0.1:7391")


def servers(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())["mcpServers"]


@pytest.mark.parametrize("name", NAMES)
def test_an_address_with_the_token_is_written_and_taken_out_again(tmp_path: Path, name: str) -> None:
    TREE.furnish(str(tmp_path), "secret-1")
    assert servers(tmp_path, name) == {
        "poietai": {"type": "sse", "url": "http://127.0.0.1:7391/sse/secret-1"}
    }
    assert (tmp_path / name).stat().st_mode & 0o077 == 0
    TREE.clear(str(tmp_path), "secret-1")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_else_is_in_the_files_stays_to_the_byte(tmp_path: Path) -> None:
    before = '{\n  "mcpServers": {"other": {"command": "x"}}\n}\n'
    (tmp_path / ".mcp.json").write_text(before)
    TREE.furnish(str(tmp_path), "secret-1")
    assert set(servers(tmp_path, ".mcp.json")) == {"other", "poietai"}
    TREE.clear(str(tmp_path), "secret-1")
    assert (tmp_path / ".mcp.json").read_text() == before


def test_the_end_of_one_run_leaves_the_entry_of_another(tmp_path: Path) -> None:
    TREE.furnish(str(tmp_path), "secret-1")
    TREE.furnish(str(tmp_path), "secret-2")
    TREE.clear(str(tmp_path), "secret-1")
    assert servers(tmp_path, ".mcp.json")["poietai"]["url"].endswith("secret-2")


def test_a_file_that_is_no_json_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text("{not json")
    with pytest.raises(UnusableFile):
        TREE.furnish(str(tmp_path), "secret-1")
    assert (tmp_path / ".mcp.json").read_text() == "{not json"
    assert not (tmp_path / ".claude").exists()


def no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe secret-1")


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_file_without_end(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 * LARGEST)


@pytest.mark.parametrize("put_there", [no_text, a_pipe, a_folder, a_file_without_end])
def test_what_an_agent_leaves_in_its_folder_is_an_error_and_holds_up_nothing(
    tmp_path: Path, put_there: Callable[[Path], None]
) -> None:
    TREE.furnish(str(tmp_path), "secret-1")
    put_there(tmp_path / ".mcp.json")
    with pytest.raises(UnusableFile, match=r"\.mcp\.json"):
        TREE.clear(str(tmp_path), "secret-1")


def test_only_claude_code_gets_the_files_and_only_with_the_setting() -> None:
    settings = PresetSettings(work_tree_server="poietai", token_in_path=True)
    assert work_tree(settings, "http://127.0.0.1:7391", "claude") is not None
    assert work_tree(settings, "http://127.0.0.1:7391", "codex") is None
    assert work_tree(PresetSettings(), "http://127.0.0.1:7391", "claude") is None
