"""`upcall up`: runs the daemon, in the foreground or, with `--detach`, in the background."""

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from upcall.cli.command import Command
from upcall.home.files import default_home

HIGHEST_PORT = 65535


def _up(args: Namespace) -> int:
    if args.background:
        # Before anything that starts a thread is imported.
        from upcall.home.launch import detach

        detach()
    database = args.database
    if database is not None and "://" not in database:
        # A relative name counts from the current folder.
        database = str(Path(database).expanduser().absolute())
    if args.detach:
        return _detached(args, database)
    from upcall.daemon.process import StartOptions, serve

    start = StartOptions(
        host=args.host, port=args.port, database=database, replace=args.replace, ready_fd=args.ready_fd
    )
    return serve(default_home(), start)


def _detached(args: Namespace, database: str | None) -> int:
    """Start a daemon in the background and return once it answers."""
    from upcall.home.launch import start_daemon
    from upcall.home.program import program

    home = default_home()
    options = {"--host": args.host, "--port": args.port, "--database": database}
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    before = home.running()
    if before is not None and not args.replace:
        print(f"Upcall is already running at {before.url}")
        return 0
    running = start_daemon(home, [*words, *(["--replace"] if args.replace else [])])
    print(f"Upcall {running.version} is listening at {running.url}")
    print(f"Inbox:       {program()} inbox\nAnswer with: {program()} answer")
    return 0


def _port(word: str) -> int:
    # The system would take the rest of a division by 65536.
    if not (word.isascii() and word.isdigit() and int(word) <= HIGHEST_PORT):
        raise ArgumentTypeError(f"{word!r} is not a port: 1 to {HIGHEST_PORT}, or 0 for any that is free")
    return int(word)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--host", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=_port, metavar="N", help="the port to listen on (its earlier port)")
    parser.add_argument(
        "--database", metavar="URL", help="a file, or an address like postgresql://role@host/name"
    )
    parser.add_argument("--replace", action="store_true", help="replace the running daemon")
    parser.add_argument(
        "-d", "--detach", action="store_true", help="run it in the background, and return once it answers"
    )
    parser.add_argument("--background", action="store_true", help=SUPPRESS)
    parser.add_argument("--ready-fd", type=int, help=SUPPRESS)


COMMAND = Command(
    _up,
    _arguments,
    examples="""\
  upcall up                    if a daemon runs already, prints its address
  upcall up --detach           in the background; the terminal is yours again
  upcall up --replace -d       restarts it; waiting agents do not notice
  upcall up --port 7391""",
)
