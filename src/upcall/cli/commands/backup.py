"""`upcall backup`: copies the database while it is in use."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from upcall.cli.client import Client
from upcall.cli.command import Command, print_json, takes_json
from upcall.home.program import program


def _backup(args: Namespace) -> int:
    made = Client().post("/v1/backup", {"path": str(Path(args.file).expanduser().absolute())})
    if args.json:
        print_json(made)
    else:
        print(f"Wrote {made['path']}. `{program()} restore` puts it back.")
    return 0


def file_arguments(parser: ArgumentParser) -> None:
    """Take the name of a backup."""
    parser.add_argument("file", metavar="FILE", help="the backup")
    takes_json(parser)


COMMAND = Command(_backup, file_arguments, examples="  upcall backup ~/upcall-monday.db")
