"""`upcall config check`, `backup` and `restore`."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from upcall.cli.command import Command
from upcall.cli.failures import CommandFailed
from upcall.home.files import Home, default_home


def _config(args: Namespace) -> int:
    from upcall.config.reading import presentable
    from upcall.config.settings import load
    from upcall.domain.errors import InvalidSetting

    home = default_home()
    try:
        settings = load(home)
    except InvalidSetting as error:
        problems = error.message.splitlines()
        if args.json:
            told = [dict(zip(("key", "problem"), line.split(": ", 1), strict=False)) for line in problems]
            print(json.dumps({"problems": told, "next": error.hint}, indent=2, ensure_ascii=False))
            return 1
        for line in problems:
            print(f"upcall: {line}. Next: {error.hint}", file=sys.stderr)
        return 1
    if args.json:
        print(json.dumps(presentable(settings), indent=2, ensure_ascii=False))
    elif home.config_file.exists():
        print(f"{home.config_file} is fine.")
    else:
        print(f"There is no {home.config_file}; every setting has its default. `--json` prints them.")
    return 0


def _config_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="check")
    check = actions.add_parser("check", help="read the settings and say what is wrong with them")
    check.add_argument("--json", action="store_true", help="print the settings that are in force")


def _backup(args: Namespace) -> int:
    from upcall.cli.client import Client

    made = Client().post("/v1/backup", {"path": str(Path(args.file).expanduser().absolute())})
    if args.json:
        print(json.dumps(made, indent=2, ensure_ascii=False))
    else:
        print(f"Wrote {made['path']}. `upcall restore` puts it back.")
    return 0


def _file_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the backup")
    parser.add_argument("--json", action="store_true", help="print JSON")


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
        print(json.dumps(told, indent=2))
        return 0
    print(f"Restored {target} from {source}.")
    if revoked:
        print(f"Revoked since the backup, and still: {', '.join(revoked)}.")
    if kept is None:
        print("What was revoked since the backup is not known. Look through: upcall tokens list")
    if kept is not None:
        print(f"The database that was there is {kept}.")
    return 0


@contextmanager
def without_daemon(home: Home, command: str) -> Iterator[None]:
    """Hold the daemon's place, so that none runs meanwhile."""
    from upcall.home.instance import Instance

    instance = Instance.claim(home)
    if instance is None:
        raise CommandFailed("a daemon is using the database", hint=f"`upcall down` first, then {command}")
    try:
        yield
    finally:
        instance.release()


def refuse_foreign(source: Path, hint: str) -> None:
    """A backup is an Upcall database, whole, and no newer than what this version knows."""
    import sqlite3

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
    """Put a copy of the backup in the database's place, which is kept beside it; also, which tokens stay revoked."""
    from upcall.cli.commands.revoking import revoke_again
    from upcall.stores.sqlite.backup import copy

    if target.exists() and target.samefile(source):
        raise CommandFailed(f"{str(source)!r} is the database itself", hint="name a backup")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    staged = target.with_name(f"{target.name}.restoring")
    copy(source, staged)
    revoked = revoke_again(target, staged) if target.exists() else []
    kept = target.with_name(f"{target.name}.before-restore") if target.exists() else None
    if kept is not None:
        # What is not yet in the database itself goes with it: SQLite finds it by its name.
        for suffix in ("", "-wal", "-shm"):
            old = target.with_name(target.name + suffix)
            new = kept.with_name(kept.name + suffix)
            new.unlink(missing_ok=True)
            if old.exists():
                old.rename(new)
    staged.replace(target)
    return kept, revoked


COMMANDS = {
    "config": Command(
        _config, _config_arguments, examples="  upcall config check\n  upcall config check --json"
    ),
    "backup": Command(_backup, _file_arguments, examples="  upcall backup ~/upcall-monday.db"),
    "restore": Command(
        _restore, _file_arguments, examples="  upcall down\n  upcall restore ~/upcall-monday.db"
    ),
}
