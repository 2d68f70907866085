"""Reading files that other programs write: bounded, without waiting, and only files of this user.

A link, a pipe, a device or another user's file is refused. Nothing is ever written.
"""

import os
import stat
from pathlib import Path
from typing import NamedTuple


class Refused(OSError):
    """It is no plain file of this user inside the folder where it should be."""


class Part(NamedTuple):
    """Some bytes of a file; `whole` says that there are no others."""

    data: bytes
    whole: bool


def read_end(path: Path, most: int) -> Part:
    """The last bytes of a file.

    Raises:
        OSError: if it cannot be read; `Refused` if it is not to be read.
    """
    with os.fdopen(_opened(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(size - most, 0))
        return Part(file.read(most), size <= most)


def read_start(path: Path, most: int) -> Part:
    """The first bytes of a file.

    Raises:
        OSError: as `read_end`.
    """
    with os.fdopen(_opened(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return Part(file.read(most), size <= most)


def inside(folder: Path, *names: str) -> Path:
    """The path below a folder. The folder itself may be a link of its owner's; nothing below it is.

    Raises:
        OSError: if there is no such file; `Refused` if a link is on the way to it.
    """
    expected = folder.resolve().joinpath(*names)
    if expected.resolve(strict=True) != expected:
        raise Refused(f"{expected} leads elsewhere")
    return expected


def _opened(path: Path) -> int:
    # Without waiting: opening a pipe would last until a program writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(descriptor)
        raise Refused(f"{path} is no plain file of this user")
    return descriptor
