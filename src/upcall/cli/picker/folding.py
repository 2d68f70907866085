"""Text in the room that a screen has. Pure: text in, lines out."""

from unicodedata import east_asian_width

from upcall.domain.text.display import escaped, one_line, visible


def folded(text: str, columns: int, *, exact: bool) -> list[str]:
    """The text in lines that fit; for an approval every character of it, odd ones as escapes."""
    shown = escaped(text) if exact else visible(text)
    lines: list[str] = []
    for line in shown.replace("\t", "    ").split("\n"):
        lines += _fold(line, max(columns, 10))
    return lines


def _fold(line: str, columns: int) -> list[str]:
    """Break a line where its words end, or, in a word that is too long, anywhere."""
    lines: list[str] = []
    while True:
        cut = _fitting(line, columns)
        if cut == len(line):
            return [*lines, line]
        space = line.rfind(" ", cut // 2, cut)
        cut = space + 1 if space > 0 else cut
        lines.append(line[:cut])
        line = line[cut:]


def tail(text: str, columns: int) -> str:
    """The end of what is being typed, where the cursor is."""
    columns = max(columns if text.isascii() else columns // 2, 1)
    return one_line(text[-columns:]) + (" " if text.endswith(" ") else "")


def _fitting(line: str, columns: int) -> int:
    """How many characters fit; wide ones take two columns."""
    for index, character in enumerate(line):
        columns -= 2 if east_asian_width(character) in {"W", "F"} else 1
        if columns < 0:
            return max(index, 1)
    return len(line)
