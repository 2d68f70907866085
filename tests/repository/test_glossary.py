"""The glossary explains each term of the domain, and each once."""

import re
from collections import Counter
from pathlib import Path

import pytest

TERMS = frozenset(
    [
        "inquiry",
        "question",
        "answer",
        "outcome",
        "asker",
        "person",
        "channel",
        "delivery",
        "evidence",
        "run",
        "session",
        "keeper",
        "lease",
        "fence",
        "thread",
        "prompt",
        "rule",
        "preset",
    ]
) | {"resume job"}
ROW = re.compile(r"^\| (?!term \||---)(.+?) \| (.+) \|$", re.MULTILINE)


@pytest.fixture
def rows(root: Path) -> list[tuple[str, str]]:
    return ROW.findall((root / "docs/glossary.md").read_text("utf-8"))


@pytest.mark.promise("house/10")
def test_each_term_is_explained_once(rows: list[tuple[str, str]]) -> None:
    counts = Counter(term for term, _ in rows)
    assert {term for term, count in counts.items() if count > 1} == set()
    assert set(counts) >= TERMS


def test_each_explanation_is_a_sentence(rows: list[tuple[str, str]]) -> None:
    assert [term for term, meaning in rows if not meaning.endswith(".")] == []
