"""The files of a run: the end of what its program has written."""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from upcall.runs.process.folder import Output, RunFolder


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


def test_output_that_becomes_long_loses_its_beginning_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("upcall.runs.process.folder.SEGMENT_BYTES", 10)
    monkeypatch.setattr("upcall.runs.process.folder.SEGMENTS", 2)
    folder = RunFolder(tmp_path / "1")
    folder.create()
    output = Output(folder)
    for number in range(10):
        output.append(b"line %d\n" % number)
    output.close()
    # Two lines fill a file, and two files are left.
    assert [begins for begins, _ in folder.segments()] == [42, 56]
    assert folder.read_lines(0) == (42, b"line 6\nline 7\n")
    assert folder.read_lines(56) == (56, b"line 8\nline 9\n")
    again = Output(folder)
    again.append(b"line 10\n")
    again.close()
    assert folder.last_lines(1000)[0].splitlines()[-1] == b"line 10"


def test_output_goes_on_when_a_disk_that_was_too_full_for_the_next_file_has_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("upcall.runs.process.folder.SEGMENT_BYTES", 5)
    folder = RunFolder(tmp_path / "1")
    folder.create()
    output = Output(folder)
    output.append(b"before\n")
    with monkeypatch.context() as full:
        full.setattr("upcall.runs.process.folder.os.open", _no_room)
        for _ in range(2):
            with pytest.raises(OSError, match="No space left"):
                output.append(b"meanwhile\n")
    output.append(b"after\n")
    output.close()
    assert folder.last_lines(1000)[0] == b"before\nmeanwhile\nmeanwhile\nafter\n"


def test_half_a_line_that_a_full_disk_took_is_taken_back_and_comes_whole_when_there_is_room(
    tmp_path: Path,
) -> None:
    folder = RunFolder(tmp_path / "1")
    folder.create()
    output = Output(folder)
    output.append(b"before\n")
    with room_for(10), pytest.raises(OSError, match="too large"):
        output.append(b"meanwhile\n")
    assert folder.last_lines(1000)[0] == b"before\n"
    output.append(b"after\n")
    output.close()
    assert folder.last_lines(1000)[0] == b"before\nmeanwhile\nafter\n"


def test_what_a_full_disk_has_no_room_for_does_not_fill_the_memory_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("upcall.runs.process.folder.MOST_HELD", 10)
    folder = RunFolder(tmp_path / "1")
    folder.create()
    output = Output(folder)
    with room_for(0):
        for _ in range(3):
            with pytest.raises(OSError, match="too large"):
                output.append(b"line\n")
    output.append(b"")
    output.close()
    assert folder.last_lines(1000)[0] == b"line\nline\n"


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file becomes longer than that."""
    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))


def _no_room(path: Path, *_: int) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def test_a_run_that_wrote_nothing_has_no_last_lines(tmp_path: Path) -> None:
    assert RunFolder(tmp_path / "1").last_lines(1000) == (b"", 0)
