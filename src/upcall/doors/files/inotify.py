"""The system's own news of a folder, through ctypes: Linux inotify, and whether a mount passes such news on.

Knows nothing of event loops: `fileno` becomes readable when there is something to `read`.
"""

import ctypes
import errno
import os
import struct
from typing import Final, NamedTuple

ATTRIB: Final = 0x00000004
CLOSE_WRITE: Final = 0x00000008
MOVED_TO: Final = 0x00000080
CREATE: Final = 0x00000100
DELETE_SELF: Final = 0x00000400
MOVE_SELF: Final = 0x00000800
UNMOUNT: Final = 0x00002000
OVERFLOW: Final = 0x00004000
IGNORED: Final = 0x00008000
ONLY_FOLDERS: Final = 0x01000000
DO_NOT_FOLLOW: Final = 0x02000000

ARRIVED: Final = CREATE | MOVED_TO | CLOSE_WRITE
"""Something new lies in the folder: linked, renamed into it, or written in place to the end."""

GONE: Final = DELETE_SELF | MOVE_SELF | UNMOUNT | IGNORED
"""The folder itself went away, and its news with it."""

_HEAD: Final = struct.Struct("iIII")
_ENOUGH: Final = 64 * 1024
_STATFS: Final = 512
"""Bytes, more than any system's `struct statfs` has; its first number is the kind of file system."""

LOCAL_KINDS: Final = frozenset(
    {
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # xfs
        0x9123683E,  # btrfs
        0x2FC12FC1,  # zfs
        0xF2F52010,  # f2fs
        0x01021994,  # tmpfs
        0x858458F6,  # ramfs
    }
)
"""File systems on which every change is made by this kernel, which therefore tells of all of them."""


class Event(NamedTuple):
    """What happened to `name` in the watched folder `watch`."""

    watch: int
    mask: int
    name: str


class Inotify:
    """One instance of the system's watcher. A user has about a hundred of them, so a process takes one.

    Raises:
        OSError: if the system has no such thing, or none left.
    """

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._add, self._remove = libc.inotify_add_watch, libc.inotify_rm_watch
            begin = libc.inotify_init1
        except AttributeError:
            raise OSError(errno.ENOSYS, "this system has no inotify") from None
        self._descriptor = _checked(begin(os.O_NONBLOCK | os.O_CLOEXEC))

    def fileno(self) -> int:
        """What becomes readable when something happened."""
        return self._descriptor

    def add(self, folder: str, mask: int = ARRIVED) -> int:
        """Watch a folder, itself and not what a link of that name leads to; its number in events is returned.

        Raises:
            OSError: if it cannot be watched.
        """
        wanted = mask | DELETE_SELF | MOVE_SELF | ONLY_FOLDERS | DO_NOT_FOLLOW
        number: int = self._add(self._descriptor, os.fsencode(folder), ctypes.c_uint32(wanted))
        return _checked(number, folder)

    def remove(self, watch: int) -> None:
        """Watch a folder no more."""
        # It may be gone by itself, together with its folder.
        self._remove(self._descriptor, watch)

    def read(self) -> list[Event]:
        """What has happened since; nothing is waited for."""
        try:
            data = os.read(self._descriptor, _ENOUGH)
        except BlockingIOError:
            return []
        events: list[Event] = []
        at = 0
        while at < len(data):
            watch, mask, _, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            events.append(Event(watch, mask, os.fsdecode(data[at : at + length].rstrip(b"\0"))))
            at += length
        return events

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)


def tells_everything(folder: str) -> bool:
    """Whether this system hears of every change in a folder: not so where another one can write behind its back."""
    libc = ctypes.CDLL(None, use_errno=True)
    found = ctypes.create_string_buffer(_STATFS)
    try:
        failed = libc.statfs(os.fsencode(folder), found)
    except AttributeError:
        return False
    kind = ctypes.c_ulong.from_buffer(found).value & 0xFFFFFFFF
    return not failed and kind in LOCAL_KINDS


def _checked(number: int, name: str | None = None) -> int:
    if number < 0:
        problem = ctypes.get_errno()
        raise OSError(problem, os.strerror(problem), name)
    return number
