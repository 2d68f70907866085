"""Permissions of the files that a daemon finds in its home: made private again, or refused where another user owns them."""

import os
import stat
from pathlib import Path

from upcall.domain.errors import InvalidSetting
from upcall.home.files import Home

SHARED = frozenset({"ipc"})
"""Folders that other users have to reach."""


def secure(home: Home) -> None:
    """Take the rights of group and others away from everything directly in the home.

    Deeper files are in folders that only the owner can enter.

    Raises:
        InvalidSetting: if a file belongs to another user than ours or root, or others may write to it and that is not
            ours to change.
    """
    for path in sorted(home.path.iterdir()):
        if path.name in SHARED:
            continue
        try:
            # The file itself where it is a link, such as a secret that is mounted.
            found = path.stat()
        except FileNotFoundError:
            continue
        _secure(path, found)


def _secure(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in {os.getuid(), 0}:
        raise InvalidSetting(
            f"{str(path)!r} belongs to another user",
            hint=f"look at it, then remove it, or make it yours with `chown {os.getuid()} {path}`",
        )
    if found.st_mode & 0o077:
        try:
            path.chmod(stat.S_IMODE(found.st_mode) & ~0o077)
        except OSError as error:
            # A secret that is mounted by root can often be read by others in the same container, and not be changed.
            if found.st_mode & 0o022:
                raise InvalidSetting(
                    f"others may write to {str(path)!r}, and that cannot be changed: {error.strerror}",
                    hint=f"chmod go= {path}",
                ) from error
