"""A diff as a person decides by it: its files with counts, line numbers, and what has changed inside a line.

Not a letter of the text is added, left out or moved: numbers and counts stand beside it. Everything is one pass over the lines, since
agents decide how many there are.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markupsafe import Markup, escape

from upcall.web.pages.highlighting import highlighted

MOST_LISTED = 200
"""Files that are listed before the diff; the others are only in it."""

LONGEST_COMPARED = 1000
"""Characters of a line up to which it is compared with the line that it replaces."""

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_HEADS = ("--- ", "+++ ", "diff ", "index ", "similarity ", "rename ", "new file ", "deleted file ")
_INSIDE = ("", " ", "+", "-", "\\")
_SIGNS = {"+": "add", "-": "del"}
_LISTED = Markup(
    '<li><a href="#d-{}-{}"><bdi>{}</bdi></a> <span class="plus">+{}</span>'
    ' <span class="minus">\N{MINUS SIGN}{}</span></li>'
)
_PATH = re.compile(r"(?:--- |\+\+\+ )(?:[ab]/)?([^\t]+)")


@dataclass(slots=True, kw_only=True)
class _Line:
    """A line as it is written. `changed` is where it differs from the line that it replaces, or that replaces it."""

    text: str
    kind: str = "same"
    old: int | None = None
    new: int | None = None
    ends_part: bool = False
    changed: tuple[int, int] | None = None


@dataclass(slots=True, kw_only=True)
class _File:
    """The lines of a file. `name` is as the diff has it; empty for lines before the first file."""

    name: str = ""
    lines: list[_Line] = field(default_factory=list)

    def count(self, kind: str) -> int:
        return sum(line.kind == kind for line in self.lines)


def drawn(text: str) -> Markup:
    """A diff, each of its files in a block of its own."""
    files = list(_files(text.split("\n")))
    for file in files:
        _number_new_file(file)
        _compare(file.lines)
        _mark_parts(file.lines)
    name = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    blocks = Markup("\n").join(_block(file, f"d-{name}-{number}") for number, file in enumerate(files))
    return _list(files, name) + blocks


def _files(rows: Sequence[str]) -> Iterator[_File]:
    """The files of a diff."""
    place, file = _Place(), _File()
    for number, row in enumerate(rows):
        if row[:1] not in _INSIDE:
            # No line of a hunk begins like that: its counts were wrong.
            place.old_left = place.new_left = 0
        following = rows[number + 1] if number + 1 < len(rows) else ""
        names = not place.inside and row.startswith("--- ") and following.startswith("+++ ")
        if not place.inside and (row.startswith("diff --git ") or (names and not _is_head(file))):
            if file.lines:
                yield file
            place, file = _Place(), _File()
        if names:
            # The new name, unless the file goes.
            file.name = _path(following) or _path(row)
        file.lines.append(place.take(row))
    yield file


@dataclass(slots=True)
class _Place:
    """A place in a diff. Inside of a hunk its counts tell a removed `-- x` from the name of a file."""

    old: int | None = None
    new: int | None = None
    old_left: int = 0
    new_left: int = 0

    @property
    def inside(self) -> bool:
        return self.old_left > 0 or self.new_left > 0

    def take(self, row: str) -> _Line:
        """The next line."""
        if (hunk := _HUNK.match(row)) is not None:
            self.old, self.new = int(hunk[1]), int(hunk[3])
            self.old_left, self.new_left = int(hunk[2] or 1), int(hunk[4] or 1)
            return _Line(text=row, kind="hunk")
        line = _Line(text=row, kind=_kind(row, inside=self.inside))
        if row.startswith("\\"):
            return line
        if line.kind in {"same", "del"} and self.old is not None:
            line.old, self.old, self.old_left = self.old, self.old + 1, self.old_left - 1
        if line.kind in {"same", "add"} and self.new is not None:
            line.new, self.new, self.new_left = self.new, self.new + 1, self.new_left - 1
        return line


def _path(row: str) -> str:
    found = _PATH.match(row)
    return found[1].strip() if found and found[1].strip() != "/dev/null" else ""


def _is_head(file: _File) -> bool:
    """Whether there is nothing but the first lines of a file so far, as after `diff --git`."""
    heads = all(line.kind == "file" for line in file.lines)
    return heads and bool(file.lines) and file.lines[0].text.startswith("diff --git ")


def _kind(row: str, *, inside: bool) -> str:
    if not inside and row.startswith("@@"):
        return "hunk"
    return "file" if not inside and row.startswith(_HEADS) else _SIGNS.get(row[:1], "same")


def _number_new_file(file: _File) -> None:
    """Number the lines of a file that is written whole, though no hunk tells where they stand."""
    if any(
        line.kind in {"hunk", "del"} or (line.kind == "same" and line.text[:1] not in {"", "\\"})
        for line in file.lines
    ):
        return
    for number, line in enumerate((line for line in file.lines if line.kind == "add"), 1):
        line.new = number


def _compare(lines: Sequence[_Line]) -> None:
    """Mark what has changed inside of lines: each removed line is compared with the added one in its place."""
    at = 0
    while at < len(lines):
        if lines[at].kind != "del":
            at += 1
            continue
        gone = at
        while at < len(lines) and lines[at].kind == "del":
            at += 1
        come = at
        while at < len(lines) and lines[at].kind == "add":
            at += 1
        for before, after in zip(lines[gone:come], lines[come:at], strict=False):
            _compare_pair(before, after)


def _compare_pair(before: _Line, after: _Line) -> None:
    """Find the same letters at both ends; lines that have hardly any in common are others, and not changed ones."""
    old, new = before.text[1:], after.text[1:]
    shorter = min(len(old), len(new))
    if max(len(old), len(new)) > LONGEST_COMPARED or not shorter:
        return
    top = 0
    while top < shorter and old[top] == new[top]:
        top += 1
    bottom = 0
    while bottom < shorter - top and old[-1 - bottom] == new[-1 - bottom]:
        bottom += 1
    if len(old[:top].strip()) + len(old[len(old) - bottom :].strip()) < shorter // 3:
        return
    before.changed = (top + 1, len(old) - bottom + 1)
    after.changed = (top + 1, len(new) - bottom + 1)


def _mark_parts(lines: Sequence[_Line]) -> None:
    """A part is a hunk, or a file without any. It was seen when its last line was."""
    for line, following in pairwise(lines):
        line.ends_part = following.kind == "hunk" and line.kind != "file"
    if any(line.kind in {"add", "del"} for line in lines):
        lines[-1].ends_part = True


def _list(files: Sequence[_File], name: str) -> Markup:
    rows = [
        _LISTED.format(name, number, file.name, file.count("add"), file.count("del"))
        for number, file in enumerate(files[:MOST_LISTED])
        if file.name
    ]
    return Markup('<ul class="changed">{}</ul>').format(Markup("").join(rows)) if rows else Markup("")


def _block(file: _File, name: str) -> Markup:
    language = file.name.rpartition(".")[2] if "." in file.name else ""
    # Joined as plain text: what is in it is escaped, and each step of `Markup` would look through all of it again.
    rows = "\n</span>".join(_row(line, language) for line in file.lines)
    drawn_rows = Markup(f"{rows}</span>")  # noqa: S704 - see above
    return Markup('<pre class="diff" id="{}" tabindex="0"><code dir="ltr">{}</code></pre>').format(
        name, drawn_rows
    )


def _row(line: _Line, language: str) -> str:
    """A line as HTML, without its end."""
    old = "" if line.old is None else f' data-o="{line.old}"'
    new = "" if line.new is None else f' data-n="{line.new}"'
    part = " data-part" if line.ends_part else ""
    return f'<span class="{line.kind}"{old}{new}{part}>{_content(line, language)}'


def _content(line: _Line, language: str) -> str:
    text = line.text
    if line.kind in {"file", "hunk"}:
        return str(escape(text))
    lead = str(escape(text[:1]))
    if line.changed is None or line.changed[0] >= line.changed[1]:
        return lead + highlighted(text[1:], language)
    begin, end = line.changed
    before, changed, after = (
        highlighted(part, language) for part in (text[1:begin], text[begin:end], text[end:])
    )
    return f"{lead}{before}<mark>{changed}</mark>{after}"
