"""`upcall config check`: reads the settings and prints what is wrong with them."""

import sys
from argparse import ArgumentParser, Namespace

from upcall.cli.command import Command, print_json
from upcall.cli.failures import line
from upcall.home.files import default_home


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
            told = [
                dict(zip(("key", "problem"), problem.split(": ", 1), strict=False)) for problem in problems
            ]
            print_json({"problems": told, "next": error.hint})
            return 1
        for problem in problems:
            print(line(problem, error.hint), file=sys.stderr)
        return 1
    if args.json:
        print_json(presentable(settings))
    elif home.config_file.exists():
        print(f"{home.config_file} is fine.")
    else:
        print(
            f"There is no {home.config_file}; every setting has its default. `upcall config check --json` prints them."
        )
    return 0


def _arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="check")
    check = actions.add_parser("check", help="check the settings and print every problem")
    check.add_argument("--json", action="store_true", help="print the settings that are in force")


COMMAND = Command(_config, _arguments, examples="  upcall config check\n  upcall config check --json")
