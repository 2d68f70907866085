"""`upcall human`: a scripted person, for trying agents and for CI. It answers by rules until it is stopped."""

import os
import threading
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, cast

from upcall.cli.client import Client
from upcall.cli.command import Command
from upcall.cli.failures import CommandFailed
from upcall.home.launch import ensure_running


def _human(args: Namespace) -> int:
    from upcall.testing.human import Json, ScriptedHuman
    from upcall.testing.script import Script

    script = Script.read(args.script)
    enough = threading.Event()
    settled: list[Json] = []

    def tell(inquiry: Json) -> None:
        settled.append(inquiry)
        print(_line(cast("dict[str, Any]", inquiry)), flush=True)
        if args.replies and len(settled) >= args.replies:
            enough.set()

    person = ScriptedHuman(_whereabouts(Client()), script.respond, news=tell)
    if not args.all:
        person.skip()
    with person:
        try:
            enough.wait()
        except KeyboardInterrupt:
            return 0
    return 0


def _whereabouts(client: Client) -> Any:
    """Where the daemon is and a person's token: both from the environment, or those of this machine."""

    def find() -> tuple[str, str]:
        if not client.remote:
            return ensure_running(client.home).url, client.home.read_secret(client.home.owner_token_file)
        token = os.environ.get("UPCALL_TOKEN", "").strip()
        if not token:
            raise CommandFailed("UPCALL_URL is set and UPCALL_TOKEN is not", hint="set both")
        return client.remote.rstrip("/"), token

    find()
    return find


def _line(inquiry: dict[str, Any]) -> str:
    asked = inquiry["questions"][0]["question"]
    if inquiry["state"] == "answered":
        said = "; ".join(", ".join(values) for values in inquiry["answer"]["answers"])
        return f"{inquiry['ref']} {asked!r}: {said}"
    return f"{inquiry['ref']} {asked!r}: {inquiry['state']}"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("script", type=Path, metavar="SCRIPT", help="a TOML file of rules")
    parser.add_argument("--replies", type=int, metavar="N", help="end after so many replies")
    parser.add_argument("--all", action="store_true", help="also reply to what is open already")


COMMAND = Command(
    _human,
    _arguments,
    examples="""\
  upcall human script.toml
  upcall human script.toml --all --replies 1""",
)
