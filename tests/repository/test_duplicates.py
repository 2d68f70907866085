"""No block of lines stands twice in the package."""

import ast
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

BLOCK = 6
Line = tuple[int, str]


def lines_that_count(text: str) -> list[Line]:
    """The lines of a module with their numbers, without indentation, imports, comments, docstrings and lone brackets."""
    passed: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                passed.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            case _:
                pass
    stripped = enumerate((line.strip() for line in text.splitlines()), start=1)
    return [
        (row, line)
        for row, line in stripped
        if row not in passed and not line.startswith("#") and any(map(str.isalnum, line))
    ]


def repeated(modules: dict[str, str]) -> list[str]:
    """The longest blocks that stand in two places, as `one.py:1-9 = two.py:4-12`."""
    places: defaultdict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    counted = {name: lines_that_count(text) for name, text in modules.items()}
    for name, lines in counted.items():
        for at in range(len(lines) - BLOCK + 1):
            places[tuple(line for _, line in lines[at : at + BLOCK])].append((name, at))
    pairs = sorted(
        {(*one, *two) for found in places.values() for one, two in pairwise(found)},
        key=lambda pair: (pair[0], pair[2], pair[1], pair[3]),
    )
    blocks: list[list[tuple[str, int, str, int]]] = []
    for pair in pairs:
        name, at, other, there = pair
        if blocks and blocks[-1][-1] == (name, at - 1, other, there - 1):
            blocks[-1].append(pair)
        else:
            blocks.append([pair])

    def span(name: str, first: int, last: int) -> str:
        return f"{name}:{counted[name][first][0]}-{counted[name][last + BLOCK - 1][0]}"

    return [
        f"{span(block[0][0], block[0][1], block[-1][1])} = {span(block[0][2], block[0][3], block[-1][3])}"
        for block in blocks
    ]


@pytest.mark.promise("house/12")
def test_no_block_of_six_lines_stands_twice(root: Path, sources: list[Path]) -> None:
    assert repeated({str(path.relative_to(root)): path.read_text("utf-8") for path in sources}) == []


def test_a_block_is_found_under_another_indentation_and_a_shorter_one_is_not() -> None:
    block = "".join(f"x{row} = {row}\n" for row in range(7))
    inside = "def f() -> None:\n" + "".join(f"    {line}\n" for line in block.splitlines())
    assert repeated({"a": f"import os\n\n{block}", "b": inside}) == ["a:3-9 = b:2-8"]
    assert repeated({"a": block[: block.index("x5")], "b": inside}) == []
