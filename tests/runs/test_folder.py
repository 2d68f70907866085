"""The files of a run: the end of what its program has written."""

from pathlib import Path

import pytest

from upcall.runs.folder import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run that has written three lines and a half, in two files."""
    made = RunFolder(tmp_path / "1")
    made.create()
    made.segment(0).write_bytes(b"one\ntwo\n")
    made.segment(8).write_bytes(b"three\nhal")
    return made


@pytest.mark.parametrize(
    ("most", "lines"),
    [
        (1000, b"one\ntwo\nthree\n"),
        # From the middle of a line on, across two files.
        (15, b"two\nthree\n"),
        (12, b"three\n"),
        (2, b""),
    ],
)
def test_the_last_lines_are_whole_ones(folder: RunFolder, most: int, lines: bytes) -> None:
    assert folder.last_lines(most)[0] == lines


def test_whoever_reads_on_from_the_end_misses_nothing(folder: RunFolder) -> None:
    _, end = folder.last_lines(1000)
    folder.segment(8).write_bytes(b"three\nhalf\n")
    assert folder.read_lines(end) == (14, b"half\n")


def test_a_run_that_wrote_nothing_has_no_last_lines(tmp_path: Path) -> None:
    assert RunFolder(tmp_path / "1").last_lines(1000) == (b"", 0)
