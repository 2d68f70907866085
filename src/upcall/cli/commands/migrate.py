"""`upcall migrate`: from a SQLite file into a PostgreSQL database."""

import asyncio
from argparse import ArgumentParser, Namespace
from pathlib import Path

from upcall.cli.command import Command, print_json
from upcall.cli.commands.restore import refuse_foreign, without_daemon
from upcall.cli.failures import CommandFailed
from upcall.home.files import default_home
from upcall.home.program import installing, program

NAMES = {
    "inquiry": "inquiries",
    "attachment": "attachments",
    "event": "events",
    "token": "tokens",
    "record": "records",
    "job": "jobs",
}


def _migrate(args: Namespace) -> int:
    from upcall.config.settings import load
    from upcall.daemon.wiring.store import database_path, is_postgres

    try:
        from upcall.stores.postgres.move import move
    except ImportError as error:
        raise CommandFailed("PostgreSQL needs the driver psycopg", hint=installing("postgres")) from error
    home = default_home()
    config = load(home)
    if not is_postgres(args.to):
        raise CommandFailed(
            f"{args.to!r} is not an address of a PostgreSQL database", hint="use postgresql://role@host/name"
        )
    if args.source:
        source = Path(args.source).expanduser().absolute()
    elif is_postgres(config.database):
        source = home.database_file
    else:
        source = database_path(home, config)
    home.create()
    refuse_foreign(source, "name a database of Upcall with --from")
    with without_daemon(home, "migrate"):
        moved = asyncio.run(move(source, args.to))
    counts = {NAMES[name]: count for name, count in moved.counts.items()}
    if args.json:
        print_json({"source": str(source), "already": moved.already, **counts})
        return 0
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    print(f"{'Everything was there already' if moved.already else 'Moved and verified'}: {told}.")
    print(f"{source} is as it was. Next: set `database` in {home.config_file}, then `{program()} up`.")
    return 0


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--to", required=True, metavar="ADDRESS", help="an empty PostgreSQL database")
    parser.add_argument(
        "--from", dest="source", metavar="FILE", help="a SQLite database other than this home's"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


COMMAND = Command(
    _migrate,
    _arguments,
    examples="  upcall down\n  upcall migrate --to postgresql://upcall@db.example.com/upcall",
)
