"""`upcall new`: a package for a channel or an agent of one's own, with what is to be written marked in it."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from upcall.cli.command import USAGE, Command
from upcall.cli.failures import CommandFailed

KINDS = ("channel", "agent")
SUFFIX = ".template"
PACKAGE = "package"
"""The folder among the templates that is named like the package."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST_NAME = 32


def _new(args: Namespace) -> int:
    name = _checked(args.kind, args.name)
    folder = Path(f"upcall-{name}")
    values = {
        "name": name,
        "package": f"upcall_{name.replace('-', '_')}",
        "class_name": "".join(part.capitalize() for part in name.split("-")),
        "variable": name.replace("-", "_").upper(),
    }
    # All of it is made before the first file is written.
    texts = dict(_texts(files("upcall.cli") / "templates" / args.kind, values))
    try:
        folder.mkdir()
    except FileExistsError:
        raise CommandFailed(
            f"{folder} is there already, and nothing in it was changed",
            hint=f"`upcall new {args.kind}` with another name, or in another folder",
        ) from None
    for place, text in texts.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)
    print(
        f"\nThis is a package for the {args.kind} {name}; its tests say what is to be written, method by method. "
        f"Next:\n  cd {folder}\n  pip install -e '.[test]'\n  pytest"
    )
    return 0


def _checked(kind: str, name: str) -> str:
    """The name, if a package can have it."""
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise CommandFailed(
            f"{name!r} cannot be the name of a {kind} of your own",
            hint=f"use small letters, digits and single hyphens, a letter first, at most {LONGEST_NAME} characters, such as my-chat",
            exit_code=USAGE,
        )
    if name in _taken(kind):
        raise CommandFailed(
            f"Upcall has a {kind} {name!r} itself, which no package can replace",
            hint="choose another name, such as my-" + name,
            exit_code=USAGE,
        )
    return name


def _taken(kind: str) -> Iterable[str]:
    if kind == "agent":
        from upcall.agents.catalogue import BUILT_IN
        from upcall.config.settings import TEMPLATED

        return {*BUILT_IN, *TEMPLATED}
    from upcall.config.channels import KINDS as BUILT_IN_KINDS

    return BUILT_IN_KINDS


def _texts(folder: Traversable, values: dict[str, str], above: str = "") -> Iterator[tuple[str, str]]:
    """Every file of the package, by its path in it."""
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if each.is_dir():
            below = values["package"] if each.name == PACKAGE else each.name
            yield from _texts(each, values, f"{above}{below}/")
        else:
            text = Template(each.read_text("utf-8")).substitute(values)
            yield f"{above}{each.name.removesuffix(SUFFIX)}", text


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("kind", choices=KINDS, help="what the package is for")
    parser.add_argument("name", metavar="NAME", help="its name in upcall.toml, or after `upcall run`")


COMMAND = Command(
    _new,
    _arguments,
    examples="""\
  upcall new channel my-chat
  upcall new agent my-bot""",
)
