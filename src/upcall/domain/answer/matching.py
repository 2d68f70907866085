"""Finding options in what a person wrote: by name, by number, alone, in a list or for several questions at once.

It only says what was meant; what follows from that is decided in `reading`.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from upcall.domain.text.invisible import without_invisible
from upcall.domain.text.normalizing import normalized

NUMBER = re.compile(r"([0-9]{1,4})[.)]?")
"""A bare number; the full stop or bracket of a list may follow. Only ASCII digits count."""

_COMMAS = ",\N{FULLWIDTH COMMA}\N{IDEOGRAPHIC COMMA}"
_BETWEEN_NUMBERS = re.compile(rf"[{_COMMAS}\s]+")
_BETWEEN_LABELS = re.compile(rf"[{_COMMAS}\n]")
# `1.5` and `2:30` begin no part, unless only numbers follow: `1:2` chooses the second option for the first question.
_LINE_MARK = re.compile(r"^[ \t]*([0-9]{1,2})(?:\)|[.:](?:(?![0-9])|(?=[0-9, ]+\r?$)))", re.MULTILINE)
_INLINE_MARKS = [
    re.compile(rf"(?<!\S)([0-9]{{1,2}}){mark}") for mark in (r"\)", r"\.(?![0-9])", r":(?![0-9])")
]
# What opens a quotation and what may close it differs between languages; that some look alike is the point.
_PAIRS = "\"\" '' “” ““ ”” „“ „” ‘’ ‘‘ ’’ ‚‘ ‚’ «» »« ‹› ›‹ 「」 『』 ＂＂"  # noqa: RUF001
_QUOTES = frozenset(_PAIRS.split())
_EMPHASIS = ("***", "**", "*", "__", "_", "~~", "``", "`")
_OPENING = frozenset(mark[0] for mark in (*_QUOTES, *_EMPHASIS))
_DEEPEST = 8


def well_formed(text: str) -> str:
    """The text with halves of characters put together or replaced: they could be neither stored nor sent."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_blank(text: str) -> bool:
    """Whether there is nothing to see in it."""
    if text.isprintable() and not text.isspace():
        return not text  # the usual case: there is something, or nothing at all
    return not without_invisible(text)


def without_marks(text: str) -> str:
    """The text without white space, quotation marks and emphasis around the whole of it.

    Marks that may be part of the words stay: `"a" or "b"`, `__init__`, `*.py`, a fenced block of code.
    """
    return _peeled(text, _surrounds)


def bare(text: str) -> str:
    """The text without anything that looks like marks around it, only good for comparing."""
    return _peeled(text, lambda _mark, _inner: True)


class Choices:
    """Labels, to be found by name or by position."""

    def __init__(self, labels: Sequence[str], *, position_first: bool = False) -> None:
        self._labels = labels
        self._position_first = position_first
        # For each likeness that was needed so far.
        self._names: list[dict[str, int]] = []

    def named(self, text: str) -> int | None:
        """The option with this label, ignoring case, spacing and marks around it."""
        # The closest likeness wins, and among equals the option that comes first.
        for depth, likeness in enumerate(_LIKENESSES):
            if depth == len(self._names):
                in_reverse = reversed(list(enumerate(self._labels)))
                self._names.append({likeness(label): index for index, label in in_reverse})
            if (index := self._names[depth].get(likeness(text))) is not None:
                return index
        return None

    def one(self, text: str) -> int | None:
        """The one option that is meant, by label or number."""
        number = NUMBER.fullmatch(bare(text))
        if number is None:
            return self.named(text)
        position = int(number[1]) - 1 if 0 < int(number[1]) <= len(self._labels) else None
        if self._position_first and position is not None:
            return position
        for name in (text, number[1]):
            if (index := self.named(name)) is not None:
                return index
        return position

    def several(self, text: str) -> set[int]:
        """Every option that is meant; none if any part of the text is something else."""
        if (index := self.one(text)) is not None:
            return {index}
        text = without_marks(text)
        words = {word for word in _BETWEEN_NUMBERS.split(text) if word}
        if all(NUMBER.fullmatch(word) for word in words):
            return _all(self.one(word) for word in words)
        return self._listed(text)

    def _listed(self, text: str) -> set[int]:
        cuts = [cut.span() for cut in _BETWEEN_LABELS.finditer(text)]
        starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
        one = cache(self.one)  # a long list mostly repeats itself
        most_parts = 1 + max((len(_BETWEEN_LABELS.findall(label)) for label in self._labels), default=0)
        found: set[int] = set()
        at = 0
        while at < len(starts):
            if not text[starts[at] : ends[at]].strip():
                at += 1
                continue
            # A label may hold commas itself: the longest one that fits is meant.
            for stop in range(min(at + most_parts, len(starts)), at, -1):
                if (index := one(text[starts[at] : ends[stop - 1]])) is not None:
                    found.add(index)
                    at = stop
                    break
            else:
                return set()
        return found


def parts(text: str, count: int, *, gaps: bool = False) -> list[str] | None:
    """What is said to each of several questions: `1) … 2) …`, by line or on one; None unless it is complete.

    With `gaps`, lines may be left out, and are empty then.
    """
    text = without_marks(text)
    by_line = _parts(text, list(_LINE_MARK.finditer(text)), count, gaps=gaps)
    if by_line is not None:
        return by_line
    for mark in _INLINE_MARKS:
        marks = list(mark.finditer(text))
        in_order = all(int(found[1]) == number for number, found in enumerate(marks, 1))
        if in_order and (inline := _parts(text, marks, count)) is not None:
            return inline
    return None


def _parts(text: str, marks: Sequence[re.Match[str]], count: int, *, gaps: bool = False) -> list[str] | None:
    numbers = [int(mark[1]) for mark in marks]
    asked = range(1, count + 1)
    complete = len(numbers) == len(set(numbers)) and (gaps or len(numbers) == count)
    if not numbers or not complete or not set(numbers) <= set(asked) or text[: marks[0].start()].strip():
        return None
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    said = [text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]
    by_number = dict(zip(numbers, said, strict=True))
    in_order = [by_number.get(number, "") for number in asked]
    return None if not gaps and any(is_blank(part) for part in in_order) else in_order


def _all(found: Iterable[int | None]) -> set[int]:
    indices = set(found)
    known = {index for index in indices if index is not None}
    return known if len(known) == len(indices) else set()


def _folded(text: str) -> str:
    return " ".join(normalized("NFC", text).casefold().split())


def _core(text: str) -> str:
    return _folded(bare(text))


_LIKENESSES: tuple[Callable[[str], str], ...] = (str.strip, _folded, _core)


def _peeled(text: str, goes: Callable[[str, str], bool]) -> str:
    for _ in range(_DEEPEST):
        text = text.strip()
        mark, inner = _layer(text)
        if not mark or not goes(mark, inner):
            break
        text = inner
    return text.strip()


def _layer(text: str) -> tuple[str, str]:
    """The outermost pair of marks and what they surround; no marks if there are none."""
    if text[:1] not in _OPENING:
        return "", text
    if len(text) > 1 and text[0] + text[-1] in _QUOTES:
        return text[0] + text[-1], text[1:-1]
    for mark in _EMPHASIS:
        inner = text[len(mark) : -len(mark)]
        if inner and text.startswith(mark) and text.endswith(mark) and not text.startswith("```"):
            return mark, inner
    return "", text


def _surrounds(mark: str, inner: str) -> bool:
    if any(sign in inner for sign in mark):
        return False
    if mark[0] == "_":  # a name such as __init__
        return any(character.isspace() for character in inner)
    if mark[0] == "*":  # a pattern such as *.py*, or a list
        return inner[0] not in "./ "
    return True
