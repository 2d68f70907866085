"""The folder through which a container without network and the daemon speak: its layout, its names, its permissions.

Both sides use this; neither believes the other. Everything is reached through open folders and no link is ever
followed, so nothing that lies in an exchange can lead out of it.
"""

import errno
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from upcall.domain.errors import InvalidRequest
from upcall.ports.json_reading import NotJson, read_json

TASKS: Final = "tasks"
"""Tasks that the daemon has not taken yet."""

TAKEN: Final = "taken"
"""Tasks that the daemon has taken and not responded to yet. An asker that removes one wants no response any more."""

RESPONSES: Final = "responses"
"""Responses of the daemon; the asker reads and removes them."""

STAGING: Final = "staging"
"""Files that either side is writing; a rename then puts them in their place."""

QUARANTINE: Final = "quarantine"
"""Files that the daemon refused, each with a `.reason` beside it."""

SUFFIX: Final = ".json"
LARGEST: Final = 6 * 1024 * 1024
"""Bytes that one file may have."""

ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
"""What groups and requests are called: nothing that could mean another folder, and short enough for any."""

ASK_USER: Final = "ask_user"
WAIT: Final = "wait"
NOTIFY: Final = "notify"
COLLECTED: Final = "collected"
TYPES: Final = (ASK_USER, WAIT, NOTIFY, COLLECTED)

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Fields = dict[str, object]


class InvalidFile(Exception):
    """A file that is none of ours, and why."""


class Exchange:
    """One folder, opened. What is made in it is open to its owner and to the users that can write to the folder itself."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, _FOLDER)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)

    def prepare(self, *names: str) -> None:
        """Make the folders inside that are missing, and open those that are ours to whom this one is open."""
        for name in names:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self._descriptor)
            with self._inside(name) as folder:
                self._share(folder, 0o2777)

    def names(self, inside: str) -> list[str]:
        """What lies in one of the folders; nothing where that is missing."""
        try:
            with self._inside(inside) as folder:
                # A folder that is open has no path.
                return os.listdir(folder)  # noqa: PTH208
        except FileNotFoundError:
            return []

    def has(self, inside: str, name: str) -> bool:
        """Whether a file lies there."""
        try:
            with self._inside(inside) as folder:
                os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def age_of(self, inside: str, name: str, now: float) -> float:
        """Seconds since a file was written."""
        with self._inside(inside) as folder:
            return now - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime

    def read(self, inside: str, name: str) -> bytes:
        """What a file says.

        Raises:
            FileNotFoundError: if there is none.
            InvalidFile: if it is not a file of ours, or larger than any.
        """
        with self._inside(inside) as folder:
            try:
                file = os.open(name, _FILE, dir_fd=folder)
            except OSError as problem:
                if problem.errno in {errno.ELOOP, errno.EMLINK}:
                    raise InvalidFile("a symbolic link; put the file itself here") from None
                if problem.errno in {errno.EACCES, errno.EPERM, errno.ENXIO}:
                    raise InvalidFile(f"it cannot be read: {problem.strerror}") from None
                raise
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise InvalidFile("not a regular file")
            if found.st_size > LARGEST:
                raise InvalidFile(f"{found.st_size} bytes; at most {LARGEST}")
            data = b""
            while chunk := os.read(file, LARGEST + 1 - len(data)):
                data += chunk
        finally:
            os.close(file)
        if len(data) > LARGEST:
            raise InvalidFile(f"it grows beyond {LARGEST} bytes")
        return data

    def move(self, name: str, source: str, target: str, new_name: str | None = None) -> None:
        """Move the entry of that name; of a link the link itself, not its target.

        Raises:
            FileNotFoundError: if it is not there any more.
        """
        with self._inside(source) as here, self._inside(target) as there:
            os.rename(name, new_name or name, src_dir_fd=here, dst_dir_fd=there)

    def put(self, inside: str, name: str, content: bytes, *, once: bool = False) -> bool:
        """Put a whole file in its place at once, by rename.

        With `once`, False is returned if one is there already, which then stays as it is.

        Raises:
            OSError: if it cannot be written; nothing is left behind.
        """
        staged = f"{os.urandom(8).hex()}.{name}"
        with self._inside(STAGING) as staging:
            try:
                file = os.open(staged, _NEW, 0o600, dir_fd=staging)
                with os.fdopen(file, "wb", buffering=0) as opened:
                    self._share(file, 0o666)
                    rest = memoryview(content)
                    while rest:
                        rest = rest[opened.write(rest) :]
                with self._inside(inside) as folder:
                    if once:
                        return _placed(staged, staging, name, folder)
                    os.rename(staged, name, src_dir_fd=staging, dst_dir_fd=folder)
                    return True
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(staged, dir_fd=staging)

    def remove(self, inside: str, name: str) -> bool:
        """Remove a file; False if there is none."""
        try:
            with self._inside(inside) as folder:
                os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            return False
        return True

    def keep_latest(self, inside: str, count: int) -> None:
        """Remove the oldest files of a folder until there are only that many."""
        with self._inside(inside) as folder:
            # A folder that is open has no path.
            names = os.listdir(folder)  # noqa: PTH208
            if len(names) <= count:
                return
            if len(names) > 4 * count:
                # Far more than were put there by us: which of them go first does not matter, but the time does.
                for name in names[:count]:
                    with suppress(OSError):
                        os.unlink(name, dir_fd=folder)
                return
            ages = [(os.stat(name, dir_fd=folder, follow_symlinks=False).st_ctime_ns, name) for name in names]
            for _, name in sorted(ages)[: len(names) - count]:
                # An entry that is a folder cannot be removed like this, and stays.
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder)

    def is_gone(self) -> bool:
        """Whether the folder itself was deleted."""
        return os.fstat(self._descriptor).st_nlink == 0

    def identity(self) -> tuple[int, int]:
        """What tells it from another folder of the same name."""
        found = os.fstat(self._descriptor)
        return found.st_dev, found.st_ino

    def _share(self, descriptor: int, most: int) -> None:
        """Give access to an entry of ours to the users that can write to the folder, and to no others."""
        whole, part = os.fstat(self._descriptor), os.fstat(descriptor)
        if part.st_uid != os.geteuid():
            return
        wanted = 0o700
        if whole.st_mode & stat.S_IWGRP:
            wanted |= whole.st_mode & stat.S_ISGID | stat.S_IRWXG
        if whole.st_mode & stat.S_IWOTH:
            wanted |= stat.S_IRWXO
        wanted &= most
        if wanted & stat.S_IRWXG and part.st_gid != whole.st_gid:
            with suppress(PermissionError):
                os.fchown(descriptor, -1, whole.st_gid)
        if stat.S_IMODE(part.st_mode) != wanted:
            os.fchmod(descriptor, wanted)

    @contextmanager
    def _inside(self, name: str) -> Iterator[int]:
        folder = os.open(name, _FOLDER, dir_fd=self._descriptor)
        try:
            yield folder
        finally:
            os.close(folder)


def _placed(staged: str, staging: int, name: str, folder: int) -> bool:
    try:
        # Unlike a rename, a link never takes the place of what is there.
        os.link(staged, name, src_dir_fd=staging, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as problem:
        if problem.errno not in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}:
            raise
    else:
        return True
    # This file system has no links; only one process writes here, so looking first is enough.
    with suppress(FileNotFoundError):
        os.stat(name, dir_fd=folder, follow_symlinks=False)
        return False
    os.rename(staged, name, src_dir_fd=staging, dst_dir_fd=folder)
    return True


def encoded(document: Mapping[str, object]) -> bytes:
    """A document as it is written."""
    return json.dumps(document, indent=2).encode() + b"\n"


def decoded(data: bytes) -> Fields:
    """A document as it is read.

    Raises:
        InvalidFile: if it is none.
    """
    try:
        document = read_json(data, "the file")
    except NotJson:
        raise InvalidFile(
            "not JSON, or not all of it: write it elsewhere, then rename it into place"
        ) from None
    except InvalidRequest as problem:
        raise InvalidFile(problem.message) from None
    if not isinstance(document, dict):
        raise InvalidFile(f"a JSON object, got {type(document).__name__}")
    return document


def id_in(name: str) -> str | None:
    """The id that a file is named for; None if that is no id."""
    stem = name.removesuffix(SUFFIX)
    return stem if stem != name and ID.fullmatch(stem) else None
