"""`upcall up`: runs the daemon in the foreground."""

from argparse import SUPPRESS, ArgumentParser, Namespace
from pathlib import Path

from upcall.cli.command import Command
from upcall.home.files import default_home


def _up(args: Namespace) -> int:
    if args.background:
        # Before anything that starts a thread is imported.
        from upcall.home.launch import detach

        detach()
    from upcall.daemon.process import StartOptions, serve

    database = args.database
    if database is not None and "://" not in database:
        # A relative name counts from the current folder.
        database = str(Path(database).expanduser().absolute())
    start = StartOptions(
        host=args.host, port=args.port, database=database, replace=args.replace, ready_fd=args.ready_fd
    )
    return serve(default_home(), start)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--host", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, metavar="N", help="the port to listen on (its earlier port)")
    parser.add_argument(
        "--database", metavar="URL", help="a file, or an address like postgresql://role@host/name"
    )
    parser.add_argument("--replace", action="store_true", help="replace the running daemon")
    parser.add_argument("--background", action="store_true", help=SUPPRESS)
    parser.add_argument("--ready-fd", type=int, help=SUPPRESS)


COMMAND = Command(
    _up,
    _arguments,
    examples="""\
  upcall up                    if a daemon runs already, prints its address
  upcall up --replace          restarts it; waiting agents do not notice
  upcall up --port 7391""",
)
