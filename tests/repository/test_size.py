"""Every room is small enough to read in a sitting."""

import ast
from pathlib import Path

import pytest

MODULE_LINES = 400
FUNCTION_LINES = 60


@pytest.mark.promise("house/4")
def test_no_module_is_too_long(root: Path, sources: list[Path]) -> None:
    lengths = {path.relative_to(root): len(path.read_text("utf-8").splitlines()) for path in sources}
    assert {path: lines for path, lines in lengths.items() if lines > MODULE_LINES} == {}


def test_no_function_is_too_long(root: Path, sources: list[Path]) -> None:
    lengths = {
        f"{path.relative_to(root)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in sources
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES} == {}
