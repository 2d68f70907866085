"""What no file may say, and what every suppression must."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

# Spelled in pieces, so that this file passes its own test.
INDEX_HOST = re.compile(
    "|".join(("pypi" + r"\.org", "python" + r"hosted\.org", "npm" + r"js\.(org|com)", "yarn" + r"pkg\.com"))
)
MACHINE_PATH = re.compile(r"(?<![\w.~}-])/(work|root)" + r"/")

SUPPRESSION = re.compile(
    r"type:\s*ignore(\[[\w\s,-]*\])?|pyright:\s*(ignore|basic)(\[[\w\s,-]*\])?"
    r"|(ruff:\s*)?noqa(:\s*[A-Z]+\d+([,\s]+[A-Z]+\d+)*)?|pragma:\s*no cover|fmt:\s*(off|skip)"
)


def lines_of(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        return []  # a picture says no words


def reason_in(comment: str) -> bool:
    """Whether anything is said beside the suppression itself."""
    return bool(re.search(r"\w{2}", SUPPRESSION.sub("", comment)))


def suppressions_without_reason(text: str) -> Iterator[int]:
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or not SUPPRESSION.search(token.string):
            continue
        row = token.start[0]
        above = lines[row - 2].strip() if row > 1 else ""
        if not reason_in(token.string) and not (above.startswith("#") and reason_in(above)):
            yield row


@pytest.mark.parametrize("forbidden", [INDEX_HOST, MACHINE_PATH], ids=["index host", "machine path"])
def test_no_file_names_a_place_that_others_do_not_have(
    root: Path, files: list[Path], forbidden: re.Pattern[str]
) -> None:
    named = [
        f"{path.relative_to(root)}:{row}: {found[0]}"
        for path in files
        for row, line in enumerate(lines_of(path), start=1)
        if (found := forbidden.search(line))
    ]
    assert files
    assert named == []


def test_every_suppression_says_why(root: Path, files: list[Path]) -> None:
    silent = [
        f"{path.relative_to(root)}:{row}"
        for path in files
        if path.suffix in {".py", ".pyi"}
        for row in suppressions_without_reason(path.read_text("utf-8"))
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("x = f()  # type: ignore[arg-type]\n", [1]),
        ("x = f()  # type: ignore[arg-type]  # the stub is wrong\n", []),
        ("# The stub is wrong.\nx = f()  # pyright: ignore[reportCallIssue]\n", []),
        ("x = 1\ny = f()  # noqa: S602, S603\n", [2]),
        ("# noqa: E1\nx = f()  # noqa: E2\n", [1, 2]),
        ("x = '# noqa'\n", []),
    ],
)
def test_a_reason_is_looked_for_on_the_line_and_above_it(text: str, rows: list[int]) -> None:
    assert list(suppressions_without_reason(text)) == rows
