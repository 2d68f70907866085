"""`upcall away`: whether the dialogs of your terminals go to you elsewhere."""

from argparse import ArgumentParser, Namespace

from upcall.cli.client import Client
from upcall.cli.command import Command, print_json, takes_json
from upcall.domain.away import AwayMode
from upcall.domain.text.times import span
from upcall.home.program import program


def _away(args: Namespace) -> int:
    client = Client()
    away = client.get("/v1/away") if args.mode == "status" else client.put("/v1/away", {"mode": args.mode})
    if args.json:
        print_json(away)
        return 0
    match AwayMode(away["mode"]):
        case AwayMode.ON:
            print("Away: on. Dialogs of your terminals go to the inbox and your channels at once.")
        case AwayMode.OFF:
            print("Away: off. Dialogs of your terminals stay there.")
        case AwayMode.AUTO:
            after = span(away["after"])
            print(
                f"Away: auto. Dialogs of your terminals go to the inbox and your channels after {after} without a key."
            )
    if args.mode == "status":
        print(f"This concerns the sessions of `{program()} setup AGENT --away`.")
    return 0


def _arguments(parser: ArgumentParser) -> None:
    modes = [mode.value for mode in AwayMode]
    parser.add_argument(
        "mode",
        choices=[*modes, "status"],
        nargs="?",
        default="status",
        help="on: at once; off: never; auto: after `away_after` without a key; status: how it stands (the default)",
    )
    takes_json(parser)


COMMAND = Command(
    _away,
    _arguments,
    examples="""\
  upcall away on        you leave: questions of your terminals reach your phone at once
  upcall away off       they stay in the terminal, however long you do not type
  upcall away auto      after a minute without a key, or as `away_after` says
  upcall away           how it stands""",
)
