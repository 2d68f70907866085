"""What a command is, and how its arguments are read. An error of use is one line and exit code 2."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from upcall.cli.table import HIDDEN

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

USAGE = 2
HELP_COLUMNS = 110


class Command:
    """One word after `upcall`: its arguments and its function.

    `mixed` allows options between values. With `passes_on`, arguments after `--` are for another program. `alone` are the
    arguments of a command that is given none.
    """

    def __init__(
        self,
        run: Callable[[argparse.Namespace], int],
        arguments: Callable[[argparse.ArgumentParser], object] = lambda parser: None,
        examples: str = "",
        *,
        mixed: bool = False,
        passes_on: bool = False,
        alone: Sequence[str] = (),
    ) -> None:
        self.run = run
        self.arguments = arguments
        self.examples = examples
        self.mixed = mixed
        self.passes_on = passes_on
        self.alone = alone


def load(name: str) -> Command:
    """Import what a command needs and return it."""
    if name in HIDDEN:
        hidden: dict[str, Command] = import_module("upcall.cli.commands.completion").LISTS
        return hidden[name]
    command: Command = import_module(f"upcall.cli.commands.{name}").COMMAND
    return command


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal. Left alone, argparse asks `shutil`, which takes longer than argparse itself."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


class Parser(argparse.ArgumentParser):
    """Prints an error of use in one line with the next step."""

    # Python 3.11 has no `override`, and typing_extensions takes longer to import than the rest of a command.
    def error(self, message: str) -> NoReturn:  # type: ignore[explicit-override]
        """Print the error and exit."""
        from upcall.cli.failures import line

        print(line(message, f"{self.prog} --help"), file=sys.stderr)
        raise SystemExit(USAGE)

    # As above.
    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:  # type: ignore[explicit-override]
        """Print the help, with its commands as this installation has to be typed; the usage is no line to copy."""
        from upcall.cli.failures import spelled

        usage, gap, rest = self.format_help().partition("\n\n")
        print(usage, spelled(rest), sep=gap, end="", file=file)


def parser_of(name: str, summary: str, command: Command) -> Parser:
    """The parser of one command. A parser of all commands would take longer to build."""
    parser = Parser(
        prog=f"upcall {name}",
        description=f"{summary[:1].upper()}{summary[1:]}.",
        epilog=f"examples:\n{command.examples}" if command.examples else None,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    command.arguments(parser)
    return parser


def execute(name: str, summary: str, command: Command, argv: Sequence[str]) -> int:
    """Read the arguments of a command and run it."""
    return command.run(parsed(parser_of(name, summary, command), command, argv or command.alone))


def parsed(parser: argparse.ArgumentParser, command: Command, argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command; those after `--` are `passed_on`."""
    if command.passes_on:
        own, passed_on = _divided(list(argv))
        return argparse.Namespace(**vars(parser.parse_args(own)), passed_on=passed_on)
    return parser.parse_intermixed_args(argv) if command.mixed else parser.parse_args(argv)


def _divided(argv: list[str]) -> tuple[list[str], list[str]]:
    # Left to argparse, where the `--` goes depends on the version of Python.
    if "--" not in argv:
        return argv, []
    place = argv.index("--")
    return argv[:place], argv[place + 1 :]


def takes_json(parser: argparse.ArgumentParser) -> None:
    """Let a command print JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def takes_run_and_json(parser: argparse.ArgumentParser) -> None:
    """Let a command name a run and print JSON."""
    takes_run(parser)
    takes_json(parser)


def print_json(document: object) -> None:
    """Print a document for programs, at once."""
    print(json_text(document, indent=2), flush=True)


def json_text(document: object, indent: int | None = None) -> str:
    """A document as JSON in which no character reorders or hides what a terminal shows: such characters are escaped."""
    import json

    from upcall.domain.text.invisible import is_hidden

    text = json.dumps(document, indent=indent, ensure_ascii=False)
    odd = {each for each in set(text) if not each.isprintable() and each != "\n" and is_hidden(each)}
    return text.translate({ord(each): json.dumps(each)[1:-1] for each in odd}) if odd else text


def takes_ref(parser: argparse.ArgumentParser, *, or_run: bool = False) -> None:
    """Let a command name an inquiry, with or without the # that lists show; or a run, by its number."""
    named = "the ref that `upcall status` shows after the #, or an id"
    parser.add_argument(
        "ref",
        metavar="REF|RUN" if or_run else "REF",
        type=ref,
        help=f"{named}; digits alone are a run's number" if or_run else named,
    )


def takes_run(parser: argparse.ArgumentParser) -> None:
    """Let a command name a run, with or without the # that lists show."""
    parser.add_argument(
        "run", metavar="RUN", type=run_number, help="the run's number, as `upcall runs` shows it"
    )


def is_run(word: str) -> bool:
    """Whether a word names a run: refs begin with a letter, so bare digits never are one."""
    return word.isascii() and word.isdigit()


def run_number(word: str) -> int:
    """The number of a run as typed: `#42` is 42."""
    number = ref(word)
    if not is_run(number) or len(number) > 15:
        raise argparse.ArgumentTypeError(f"{word!r} is not the number of a run")
    return int(number)


def ref(word: str) -> str:
    """A ref as typed: `#A7` is `a7`."""
    return word.strip().removeprefix("#").lower()


def seconds(word: str) -> float:
    """A duration as typed: `90`, `90s`, `10m`, `24h`, `2d`."""
    from upcall.domain.errors import InvalidRequest
    from upcall.domain.inquiry.wording import duration

    try:
        return duration(word)
    except InvalidRequest as error:
        raise argparse.ArgumentTypeError(f"{error.message}: {error.hint}") from None


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or HELP_COLUMNS
    except (OSError, ValueError):
        return HELP_COLUMNS
