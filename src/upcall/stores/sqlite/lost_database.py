"""Refuses to start with a new database where the earlier one is missing or empty."""

from pathlib import Path

from upcall.domain.errors import LostDatabase

LEFT = ("-wal", "-journal")


def refuse_lost(path: Path, known: Path) -> None:
    """Check that a database which the file `known` lists has not been lost.

    Raises:
        LostDatabase: if it is missing or empty although it is listed, or files of it are left.
    """
    if path.exists() and path.stat().st_size > 0:
        return
    left = [path.with_name(path.name + suffix) for suffix in LEFT]
    left = [file for file in left if file.exists() and file.stat().st_size > 0]
    if left or str(path.absolute()) in _known(known):
        raise LostDatabase(path, "empty" if path.exists() else "missing", [*left, known])


def remember(path: Path, known: Path) -> None:
    """Add a database to the list."""
    names = _known(known)
    if str(path.absolute()) not in names:
        staged = known.with_name(f".{known.name}.new")
        staged.write_text("".join(f"{name}\n" for name in [*names, str(path.absolute())]))
        staged.chmod(0o600)
        staged.replace(known)


def _known(known: Path) -> list[str]:
    try:
        return known.read_text().splitlines()
    except FileNotFoundError:
        return []
