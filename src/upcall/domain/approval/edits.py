"""Recognising a change of files in what a tool is given, and writing it as a diff."""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

_PATHS = ("file_path", "filePath", "filepath", "path", "absolute_path", "notebook_path")
_OLD = ("old_string", "oldString", "old_text", "oldText", "old_str")
_NEW = ("new_string", "newString", "new_text", "newText", "new_str")
_WHOLE = ("content", "contents", "file_text")
_DIFFS = ("diff", "patch", "unified_diff")
_COMPARED = 200
"""Lines of a change up to which the same ones are looked for; finding them takes more than the square of that."""

_AROUND = 3
"""Lines that stay which are shown before and after a change of a whole file."""

_NO_END = "\\ no newline at the end"

_STEPS = 8
"""How many changes of one call are compared that closely."""

Input = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A diff, and which fields of the input it already shows."""

    diff: str
    fields: frozenset[str]


def change_in(given: Input) -> FileChange | None:
    """The change that a tool's input describes; None where it is not one, or of a form that is not known."""
    path = _first(given, _PATHS)
    if (found := _first(given, _DIFFS)) is not None:
        named = () if path is None else (path,)
        lead = "" if path is None else f"{path[1]}\n"
        return _change(lead + found[1], named, found)
    if "changes" in given:
        return _several(given["changes"])
    if path is None:
        return None
    if (whole := _first(given, _WHOLE)) is not None:
        return _change(compared(path[1], "", whole[1]), (path,), whole)
    if "edits" in given:
        return _steps(path, given["edits"])
    old, new = _first(given, _OLD), _first(given, _NEW)
    if old is None or new is None:
        return None
    return _change(compared(path[1], old[1], new[1]), (path,), old, new)


def hunk(old: str, new: str) -> str:
    """The change of a whole file as one hunk of a diff: from its first line that changes to its last, with a few around them."""
    before, after = _lines(old, beside=new), _lines(new, beside=old)
    top, bottom = _equal_ends(before, after)
    top, bottom = max(top - _AROUND, 0), max(bottom - _AROUND, 0)
    gone, come = before[top : len(before) - bottom], after[top : len(after) - bottom]
    head = f"@@ -{_range(top, gone)} +{_range(top, come)} @@"
    return "\n".join([head, *_compared(gone, come)])


def _range(top: int, lines: Sequence[str]) -> str:
    count = sum(line != _NO_END for line in lines)
    return f"{top + 1 if count else top},{count}"


def _several(changes: object) -> FileChange | None:
    """A list of changes, each with its path and its diff, or an object of them by path."""
    if isinstance(changes, Mapping):
        each = [(str(path), change) for path, change in cast("Input", changes).items()]
    elif isinstance(changes, list):
        each = [("", change) for change in cast("Sequence[object]", changes)]
    else:
        return None
    diffs: list[str] = []
    for named, change in each:
        if not isinstance(change, Mapping):
            return None
        fields = cast("Input", change)
        path, diff = _first(fields, _PATHS), _first(fields, _DIFFS) or _first(fields, _WHOLE)
        where = named or ("" if path is None else path[1])
        if diff is None or not where:
            return None
        known = {diff[0], *_PATHS}
        rest = {name: value for name, value in fields.items() if name not in known}
        diffs.append(f"{where}{_remark(rest)}\n{diff[1]}")
    if not diffs:
        return None
    return FileChange(diff="\n".join(diffs), fields=frozenset({"changes"}))


def _steps(path: tuple[str, str], steps: object) -> FileChange | None:
    if not isinstance(steps, list) or not steps:
        return None
    diffs: list[str] = []
    changes = cast("Sequence[object]", steps)
    closely = len(changes) <= _STEPS
    for step in changes:
        if not isinstance(step, Mapping):
            return None
        fields = cast("Input", step)
        old, new = _first(fields, _OLD), _first(fields, _NEW)
        if old is None or new is None:
            return None
        rest = {name: value for name, value in fields.items() if name not in {old[0], new[0]}}
        diffs.append(compared(path[1] + _remark(rest), old[1], new[1], closely=closely))
    return FileChange(diff="\n".join(diffs), fields=frozenset({path[0], "edits"}))


def _remark(rest: Input) -> str:
    return f" {json.dumps(rest, ensure_ascii=False)}" if rest else ""


def _first(given: Input, names: Sequence[str]) -> tuple[str, str] | None:
    for name in names:
        value = given.get(name)
        if isinstance(value, str):
            return name, value
    return None


def _change(diff: str, paths: Sequence[tuple[str, str]], *fields: tuple[str, str]) -> FileChange:
    return FileChange(
        diff=diff,
        fields=frozenset(name for name, _ in (*paths, *fields)),
    )


def compared(path: str, old: str, new: str, *, closely: bool = True) -> str:
    """Every line that goes and comes, with those that stay between them.

    What is large, or one of many changes, is compared in one pass: the lines at both ends that stay are found.
    """
    before, after = _lines(old, beside=new), _lines(new, beside=old)
    return "\n".join([f"--- {path}", f"+++ {path}", *_compared(before, after, closely=closely)])


def _compared(before: Sequence[str], after: Sequence[str], *, closely: bool = True) -> list[str]:
    if not closely or len(before) + len(after) > _COMPARED:
        return _ends_compared(before, after)
    body: list[str] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, at, to, new_at, new_to in matcher.get_opcodes():
        if tag == "equal":
            body += [f" {line}" for line in before[at:to]]
            continue
        body += [f"-{line}" for line in before[at:to]]
        body += [f"+{line}" for line in after[new_at:new_to]]
    return body


def _ends_compared(before: Sequence[str], after: Sequence[str]) -> list[str]:
    top, bottom = _equal_ends(before, after)
    return [
        *(f" {line}" for line in before[:top]),
        *(f"-{line}" for line in before[top : len(before) - bottom]),
        *(f"+{line}" for line in after[top : len(after) - bottom]),
        *(f" {line}" for line in before[len(before) - bottom :]),
    ]


def _equal_ends(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """How many lines at the beginning and at the end are the same."""
    shorter = min(len(before), len(after))
    top = 0
    while top < shorter and before[top] == after[top]:
        top += 1
    bottom = 0
    while bottom < shorter - top and before[-1 - bottom] == after[-1 - bottom]:
        bottom += 1
    return top, bottom


def _lines(text: str, *, beside: str) -> list[str]:
    """The lines of a text. That the last one does not end is told where the other text's does."""
    if not text:
        return []
    lines = text.split("\n")
    if not lines[-1]:
        return lines[:-1]
    return [*lines, _NO_END] if not beside or beside.endswith("\n") else lines
