"""Sentences name their subject: pronouns that name none are rare in the source, in the tests and on the pages."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

# Written so that this line does not match itself.
VAGUE = re.compile(r"\b(?:(?:some|no|any|every)body|(?:who|what)ever|who(?:se))\b", re.IGNORECASE)
MOST = 2
"""Of 1 000 lines."""

PAGES = ("README.md", "CONTRIBUTING.md")
Belongs = Callable[[Path], bool]


def vague_lines(texts: Mapping[Path, Sequence[str]]) -> list[str]:
    return [
        f"{path}:{row}: {line.strip()[:120]}"
        for path, lines in texts.items()
        for row, line in enumerate(lines, start=1)
        for _ in VAGUE.finditer(line)
    ]


@pytest.mark.promise("house/11")
@pytest.mark.parametrize(
    "belongs",
    [
        pytest.param(lambda path: path.parts[0] == "src" and path.suffix == ".py", id="src"),
        pytest.param(lambda path: path.parts[0] == "tests" and path.suffix == ".py", id="tests"),
        pytest.param(
            lambda path: str(path) in PAGES or (path.parts[0] == "docs" and path.suffix == ".md"), id="docs"
        ),
    ],
)
def test_sentences_name_their_subject(root: Path, files: list[Path], belongs: Belongs) -> None:
    texts = {
        name: path.read_text("utf-8").splitlines()
        for path in files
        if belongs(name := path.relative_to(root))
    }
    found, lines = vague_lines(texts), sum(map(len, texts.values()))
    assert lines
    assert len(found) * 1000 <= MOST * lines, "\n".join(found)


def test_a_pronoun_counts_in_any_case_and_only_as_a_word() -> None:
    lines = ["No" + "body waits.", "what" + "ever it is, who" + "ever it was", "nobodys and wholly"]
    assert [found.partition(": ")[0] for found in vague_lines({Path("a"): lines})] == ["a:1", "a:2", "a:2"]
