"""Where an action reaches: every place that is named in what a tool is given.

Each text counts as a path unless its field is known to hold something else. A rule for a directory is good only where
all of them lead into it, and what cannot be read as a path leads anywhere.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import cast

from upcall.domain.run.program import Action

_DIFFS = frozenset({"diff", "patch", "unified_diff"})
NOT_PLACES = frozenset(
    """
    cell_type command content contents cmd description edit_mode explanation file_text kind new_source new_str new_string newString
    new_text newText old_str old_string oldString old_text oldText reason shell type
    """.split()  # noqa: SIM905 - a list of words is read more easily than a list of literals
)
"""Fields that hold what is written, run or told to people. Where a command starts is a matter of the directory alone."""

# `patch` and Codex take heads of files that are indented.
_HEAD = re.compile(
    r"(?m)^[ \t]*+(?:\*\*\* (?:Add|Update|Delete) File:|\*\*\* Move to:|\*\*\*(?! (?:Begin|End) )|---|\+\+\+|Index:"
    r"|(?:rename|copy) (?:from|to):?)[ \t]++(.+)$"
    r"|^[ \t]*+diff --git (.+)$"
)
_DIFF_LINE = re.compile(r"(?m)^[ \t]*+(?:[-+@]|\*\*\* |diff --git |Index:|(?:rename|copy) )")
"""A text without such a line is no diff: it may be the path of one."""

_GIT_NAMES = re.compile(r"[ \t]++(?=b/)")
_BESIDE = re.compile(r"""[\s,;:|=@&!<({\["'`](?:/|~|\.\.(?![^/,;:|}\])\s"'`]))""")
"""A second path in the same text: what stands before it is no part of an ordinary path."""

_ENCODED = re.compile(r"%(?:2[ef]|5c)", re.IGNORECASE)
_ANYWHERE = "/"
_MOST = 1000
"""How many places are looked at; an action that names more asks a person."""

_MOST_VALUES = 5000
"""How many values of an input are looked at."""


def places(action: Action) -> list[str]:
    """Every place that the input of an action names, each absolute; `/` where it cannot be known."""
    found = [_absolute(action.cwd, path) for path in islice(_named(action.input), _MOST + 1)]
    if not found and not _DIFFS.isdisjoint(action.input):
        # The change of a file that is not named.
        return [_ANYWHERE]
    return found if len(found) <= _MOST else [_ANYWHERE]


def is_plain(path: str) -> bool:
    """Whether a path says by itself where it leads, as far as that can be known without looking."""
    return (
        path.startswith("/") and path != "/" and ".." not in PurePosixPath(path).parts and path.isprintable()
    )


def is_inside(path: str, directory: str) -> bool:
    """Whether a path leads into a directory or to what is below it."""
    return is_plain(path) and is_plain(directory) and PurePosixPath(path).is_relative_to(directory)


def _named(given: Mapping[str, object]) -> Iterator[str]:
    waiting: list[tuple[str, object]] = [("", given)]
    seen = 0
    while waiting:
        field, value = waiting.pop()
        seen += 1
        inside = len(cast("Sequence[object]", value)) if isinstance(value, Mapping | list | tuple) else 0
        if seen + len(waiting) + inside > _MOST_VALUES:
            yield _ANYWHERE
            return
        match value:
            case str() if field in _DIFFS and _DIFF_LINE.search(value):
                yield from _in_diff(value)
            case str():
                if value and field not in NOT_PLACES:
                    yield value
            case Mapping():
                fields = {str(name): each for name, each in cast("Mapping[object, object]", value).items()}
                # Some tools take an object of changes by path.
                yield from (name for name in fields if "/" in name or name.startswith((".", "~")))
                waiting += fields.items()
            case list() | tuple():
                waiting += [(field, each) for each in cast("Sequence[object]", value)]
            case int() | float() | None:
                pass
            case _:
                yield _ANYWHERE


def _in_diff(text: str) -> Iterator[str]:
    """The files that a diff names in its heads, without the `a/` and `b/` in front of them."""
    for found in _HEAD.finditer(text):
        for named in [found[1]] if found[1] is not None else _GIT_NAMES.split(found[2]):
            name = named.split("\t")[0].strip()
            if name != "/dev/null":
                # A name in quotation marks is written with escapes.
                yield _ANYWHERE if '"' in name else name.removeprefix("a/").removeprefix("b/")


def _absolute(cwd: str, path: str) -> str:
    if path.startswith("~") or "\\" in path or "$" in path or _BESIDE.search(path) or _ENCODED.search(path):
        return _ANYWHERE
    return str(PurePosixPath(cwd, path))
