"""`upcall restore`: puts a backup in the place of the database. Tokens that were revoked since stay revoked."""

import sqlite3
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from upcall.access.tokens import REVOKED
from upcall.cli.command import Command, print_json
from upcall.cli.commands.backup import file_arguments
from upcall.cli.failures import CommandFailed
from upcall.home.files import Home, default_home
from upcall.home.program import program

_GONE = "SELECT kind, key, state, at, body FROM record WHERE kind = ?"


def _restore(args: Namespace) -> int:
    from upcall.config.settings import load
    from upcall.daemon.wiring.store import database_path

    home = default_home()
    home.create()
    source = Path(args.file).expanduser().absolute()
    with without_daemon(home, "restore"):
        target = database_path(home, load(home))
        refuse_foreign(source, "name a file that `upcall backup` has made")
        kept, revoked = _replace(source, target)
    if args.json:
        told = {"database": str(target), "kept": None if kept is None else str(kept), "revoked": revoked}
        print_json(told)
        return 0
    print(f"Restored {target} from {source}.")
    if revoked:
        print(f"Still revoked, as before the restore: {', '.join(revoked)}.")
    if kept is None:
        print(
            f"Tokens that were revoked since the backup are not known. Check them with: {program()} tokens list"
        )
    if kept is not None:
        print(f"The database that was there is {kept}.")
    return 0


@contextmanager
def without_daemon(home: Home, command: str) -> Iterator[None]:
    """Hold the lock of the daemon, so that none starts meanwhile."""
    from upcall.home.instance import Instance

    instance = Instance.claim(home)
    if instance is None:
        raise CommandFailed(
            "a daemon is using the database", hint=f"stop it with `upcall down`, then {command} again"
        )
    try:
        yield
    finally:
        instance.release()


def refuse_foreign(source: Path, hint: str) -> None:
    """Refuse a file that is not an intact Upcall database of a version that this Upcall knows.

    Raises:
        CommandFailed: if it is not.
    """
    from upcall.stores.sqlite.migrations import APPLICATION_ID, migrations

    if not source.is_file():
        raise CommandFailed(f"there is no file {str(source)!r}", hint=hint)
    try:
        with closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as db:
            owner: int = db.execute("PRAGMA application_id").fetchone()[0]
            version: int = db.execute("PRAGMA user_version").fetchone()[0]
            sound = db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    except sqlite3.DatabaseError:
        raise CommandFailed(f"{str(source)!r} is not an Upcall database", hint=hint) from None
    if owner != APPLICATION_ID or not version:
        raise CommandFailed(f"{str(source)!r} is not an Upcall database", hint=hint)
    if not sound:
        raise CommandFailed(f"{str(source)!r} is damaged", hint="restore another backup")
    if version > (known := migrations()[-1].number):
        raise CommandFailed(
            f"{str(source)!r} has version {version}, and this Upcall knows versions up to {known}",
            hint="install the latest Upcall",
        )


def _replace(source: Path, target: Path) -> tuple[Path | None, list[str]]:
    """Replace the database with a copy of the backup. Returns where the old one is kept, and the names of tokens that stay revoked."""
    from upcall.stores.sqlite.backup import copy

    if target.exists() and target.samefile(source):
        raise CommandFailed(f"{str(source)!r} is the database itself", hint="name a backup")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    staged = target.with_name(f"{target.name}.restoring")
    copy(source, staged)
    revoked = _revoke_again(target, staged) if target.exists() else []
    kept = target.with_name(f"{target.name}.before-restore") if target.exists() else None
    if kept is not None:
        # SQLite finds the files of a database by its name, so they are renamed with it.
        for suffix in ("", "-wal", "-shm"):
            old = target.with_name(target.name + suffix)
            new = kept.with_name(kept.name + suffix)
            new.unlink(missing_ok=True)
            if old.exists():
                old.rename(new)
    staged.replace(target)
    return kept, revoked


def _revoke_again(current: Path, restored: Path) -> list[str]:
    """Revoke in a backup the tokens that the current database has revoked since. Returns their names."""
    try:
        with closing(sqlite3.connect(f"{current.absolute().as_uri()}?mode=ro", uri=True)) as db:
            gone = db.execute(_GONE, (REVOKED,)).fetchall()
    except sqlite3.DatabaseError as error:
        print(
            f"upcall: the tokens that were revoked since the backup cannot be read: {error}. Next: {program()} tokens list",
            file=sys.stderr,
        )
        return []
    revoked: set[str] = set()
    with closing(sqlite3.connect(restored)) as db, db:
        for row in gone:
            dropped = db.execute("DELETE FROM token WHERE digest = ? RETURNING name", (row[1],)).fetchall()
            revoked |= {name for (name,) in dropped}
        # A backup of an early version gets this table when it is next used.
        if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'record'").fetchone():
            db.executemany("INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?, ?)", gone)
    return sorted(revoked)


COMMAND = Command(_restore, file_arguments, examples="  upcall down\n  upcall restore ~/upcall-monday.db")
