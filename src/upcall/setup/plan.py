"""Plans the changes of files before anything is written, and applies all of them or none."""

import difflib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from upcall.setup.edits import Dialect, Edit
from upcall.setup.errors import MalformedError, unusable

BACKUP = ".before-upcall"
MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""The byte order mark with which some editors begin a file."""

LARGEST = 64 * 1024 * 1024
"""Bytes of a file of settings; Claude Code keeps its history in one, which has several million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A settings file of a program, and the edits to it."""

    path: Path
    dialect: Dialect
    edits: Sequence[Edit]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """The change of a file and of the copy beside it; None is a file that does not exist.

    The copy of a file that did not exist is empty.
    """

    path: Path
    before: str | None
    after: str | None
    backup: str | None

    def diff(self) -> Iterator[str]:
        """The change as a unified diff."""
        old, new = ("" if text is None else text for text in (self.before, self.after))
        lines = difflib.unified_diff(
            old.splitlines(keepends=True),
            new.splitlines(keepends=True),
            "/dev/null" if self.before is None else str(self.path),
            "/dev/null" if self.after is None else str(self.path),
        )
        for line in lines:
            yield line.rstrip("\r\n")
            if not line.endswith("\n"):
                yield "\\ No newline at end of file"


def backup_of(path: Path) -> Path:
    """The path of the copy of a file."""
    return path.with_name(path.name + BACKUP)


def additions(files: Iterable[PlannedFile]) -> list[PlannedChange]:
    """The changes that put all edits in.

    Raises:
        UnusableFile: if one of the files cannot be read, or not be changed.
    """
    return [change for file in files if (change := _addition(file)) is not None]


def removals(files: Iterable[PlannedFile]) -> list[PlannedChange]:
    """The changes that remove all edits.

    Raises:
        UnusableFile: as above.
    """
    return [change for file in files if (change := _removal(file)) is not None]


def _addition(file: PlannedFile) -> PlannedChange | None:
    before = read_file(file.path)
    after = _edited(file, before or "", lambda edit, text: edit.put(text))
    if after == before:
        return None
    kept = read_file(backup_of(file.path))
    untouched = before is None or _without(file, before, None) == before
    # Where something of ours is in the file already, the copy is older than that, and the one to go back to.
    backup = (before or "") if untouched or kept is None else kept
    return PlannedChange(path=file.path, before=before, after=after, backup=backup)


def _removal(file: PlannedFile) -> PlannedChange | None:
    before, kept = read_file(file.path), read_file(backup_of(file.path))
    if before is None:
        return None
    if kept is not None:
        _edited(replace(file, path=backup_of(file.path), edits=()), kept, lambda _, text: text)
    after: str | None = _without(file, before, kept)
    if after == before:
        return None
    assert after is not None  # only a file that is not there is None
    if not kept and after.strip() in {"", "{}"}:
        after = None
    elif kept and file.dialect.is_same(after.removeprefix(MARK), kept.removeprefix(MARK)):
        after = kept
    return PlannedChange(path=file.path, before=before, after=after, backup=None)


def _without(file: PlannedFile, text: str, kept: str | None) -> str:
    bare = None if kept is None else kept.removeprefix(MARK)
    return _edited(file, text, lambda edit, text: edit.take(text, bare)) if text.strip() else text


def _edited(file: PlannedFile, text: str, edit: Callable[[Edit, str], str]) -> str:
    bare = text.removeprefix(MARK)
    try:
        file.dialect.check(bare)
        for each in file.edits:
            bare = edit(each, bare)
        file.dialect.check(bare)
    except MalformedError as error:
        raise unusable(file.path, error.problem, line=error.line) from None
    return MARK + bare if text.startswith(MARK) else bare


def read_file(path: Path) -> str | None:
    """The text of a file; None if it is not there.

    Raises:
        UnusableFile: if it cannot be read. An agent may have put anything there: a pipe, for example, would never end.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise unusable(path, "it is not a regular file")
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise unusable(path, f"it has more than {LARGEST} bytes")
        return content.decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise unusable(path, f"byte {error.start + 1} is not UTF-8") from error


def apply(changes: Sequence[PlannedChange]) -> None:
    """Write the changes, all or none.

    Raises:
        UnusableFile: if a file has changed meanwhile, or cannot be written.
    """
    for change in changes:
        if read_file(change.path) != change.before:
            raise unusable(change.path, "it has changed meanwhile")
    for number, change in enumerate(changes):
        try:
            _apply(change)
        except OSError as error:
            for done in reversed(changes[:number]):
                _replace(done.path, done.before)
            raise unusable(change.path, error.strerror or str(error)) from error


def _apply(change: PlannedChange) -> None:
    change.path.parent.mkdir(parents=True, exist_ok=True)
    if change.backup is not None:
        _write(backup_of(change.path), change.backup, _mode(change.path))
    _replace(change.path, change.after)
    if change.backup is None:
        backup_of(change.path).unlink(missing_ok=True)


def _replace(path: Path, text: str | None) -> None:
    # A symbolic link to a settings file elsewhere stays a link.
    if text is None:
        path.resolve().unlink()
    else:
        _write(path.resolve(), text, _mode(path))


def _mode(path: Path) -> int:
    """The mode of a file; that of a new one is for its owner only."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return 0o600


def _write(path: Path, text: str, mode: int) -> None:
    """Replace a file at once, on disk before its name leads to it."""
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        staged.chmod(mode)
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
