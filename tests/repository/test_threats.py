"""The page of threats names tests that exist, for every actor that it lists."""

import re
from pathlib import Path

import pytest

ROW = re.compile(r"^\| (?P<try>[^|]+) \| (?P<instead>[^|]+) \| `(?P<test>[^`|]+)` \|$", re.MULTILINE)


@pytest.mark.promise("proof/1")
def test_every_threat_names_a_test_that_exists(root: Path) -> None:
    page = (root / "docs/threats.md").read_text("utf-8")
    parts = page.split("\n## ")
    tables = [part for part in parts if "| shown by |" in part]
    assert len(tables) >= 5
    named = [found["test"] for found in ROW.finditer(page)]
    # Every row of these tables has that form, so none is left out.
    lines = [line for part in tables for line in part.split("\n") if line.startswith("| ")]
    assert len(named) == len(lines) - len(tables)
    missing = []
    for each in named:
        path, _, name = each.partition("::")
        file = root / path
        if not file.is_file() or (name and f"def {name}(" not in file.read_text("utf-8")):
            missing.append(each)
    assert missing == []
    actors = {"Stranger", "Page of another site", "Agent", "Stranger in a channel", "Person"}
    assert actors <= {part.split("\n")[0].split(",")[0] for part in tables}
