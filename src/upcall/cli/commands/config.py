"""`upcall config`: checks the settings, and has the running daemon read them again."""

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from upcall.cli.command import Command, print_json, takes_json
from upcall.cli.failures import CommandFailed, line
from upcall.domain.text.display import one_line
from upcall.home.files import Home, default_home
from upcall.home.program import program

if TYPE_CHECKING:
    from upcall.config.settings import Config
    from upcall.domain.channel.off import Off


def _check(args: Namespace) -> int:
    from upcall.config.reading import presentable
    from upcall.config.settings import load, set_by_variables
    from upcall.domain.errors import InvalidSetting

    home = default_home()
    try:
        settings = load(home)
    except InvalidSetting as error:
        problems = error.message.splitlines()
        if args.json:
            told = [
                dict(zip(("key", "problem"), problem.split(": ", 1), strict=False)) for problem in problems
            ]
            print_json({"problems": told, "next": error.hint})
            return 1
        for problem in problems:
            print(line(problem, error.hint), file=sys.stderr)
        return 1
    off = _channels_off(home, settings)
    if args.json:
        shown: Any = presentable(settings)
        print_json(shown | {"channels_off": presentable(off)})
        return 1 if off else 0
    for name, why in off.items():
        print(line(f"the channel {name} is off: {why.problem}", why.hint), file=sys.stderr)
    if off:
        print(f"Everything else in {home.config_file} is fine.")
        return 1
    if home.config_file.exists():
        print(f"{home.config_file} is fine.")
    else:
        variables = set_by_variables(os.environ)
        others = f", apart from {', '.join(variables)}" if variables else ""
        print(
            f"There is no {home.config_file}; every setting has its default{others}. "
            f"`{program()} config check --json` prints them."
        )
    return 0


def _channels_off(home: Home, settings: "Config") -> "dict[str, Off]":
    """The channels that are off: as this command reads the settings, or as a running daemon has read them."""
    from upcall.channels.catalogue import without_library
    from upcall.domain.channel.off import Off

    off = {**settings.channels_off, **without_library(settings.channels)}
    for name, problem in _off_in_daemon(home):
        if name in settings.channels and name not in off:
            hint = "`upcall config reload`; a variable of this shell is not one of the daemon's"
            off[name] = Off(problem=f"the running daemon says: {problem}", hint=hint)
    return off


def _off_in_daemon(home: Home) -> list[tuple[str, str]]:
    """The channels that are off in the daemon of a home, which is not started for this."""
    from upcall.cli.client import Client
    from upcall.cli.failures import Unreachable
    from upcall.cli.render.channel_health import channels_down
    from upcall.domain.errors import UpcallError

    if home.running() is None:
        return []
    try:
        down = channels_down(Client(home=home))
    except (UpcallError, Unreachable, OSError):
        return []  # `upcall doctor` says what is wrong with it
    return [(each.name, fault["problem"]) for each in down for fault in each.faults if fault["side"] == "off"]


def _reload(args: Namespace) -> int:
    from upcall.cli.client import Client
    from upcall.cli.failures import DaemonRefused

    client = Client()
    if not client.remote and client.home.running() is None:
        print("No daemon runs; the next one reads the settings when it starts.")
        return 0
    try:
        changed = client.post("/v1/config/reload", {})
    except DaemonRefused as error:
        if error.reply != "invalid_setting":
            raise
        said = "; ".join(error.message.splitlines())
        raise CommandFailed(f"nothing was changed: {said}", hint=error.hint) from None
    if args.json:
        print_json(changed)
    else:
        _tell(changed)
    return 1 if changed["off"] else 0


def _tell(changed: dict[str, Any]) -> None:
    print("The settings were read again.")
    for name in changed["started"]:
        print(f"  {name} is on, with its new settings.")
    for name in changed["ended"]:
        print(f"  {name} is no channel any more.")
    for each in changed["off"]:
        print(f"  {each['name']} is off: {one_line(each['problem'])}", file=sys.stderr)
    if changed["restart"]:
        print(
            f"  After a restart only: {', '.join(changed['restart'])}. Next: {program()} up --replace --detach"
        )


def _config(args: Namespace) -> int:
    return {"check": _check, "reload": _reload}[args.action](args)


def _arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|reload")
    check = actions.add_parser("check", help="check the settings and print every problem")
    check.add_argument("--json", action="store_true", help="print the settings that are in force")
    takes_json(actions.add_parser("reload", help="have the running daemon read settings and secrets again"))


COMMAND = Command(
    _config,
    _arguments,
    alone=("check",),
    examples="""\
  upcall config check
  upcall config check --json
  upcall config reload             channels and routes count at once; waiting agents do not notice
Exit codes: 0 if all is well, 1 if a setting cannot be used or a channel is off""",
)
