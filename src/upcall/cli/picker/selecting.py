"""One question being answered in the picker: the cursor, what is ticked, and what is typed. It knows no keys but text."""

from collections.abc import Mapping
from typing import Any

from upcall.cli.picker.keys import SPACE

NOWHERE = -1
"""Where the cursor of an approval begins, and of a field that may be left out: on no choice."""


class Selecting:
    """The options of one question, and one's own words."""

    def __init__(self, question: dict[str, Any], *, is_approval: bool) -> None:
        self.question = question
        self.is_approval = is_approval
        self.cursor = NOWHERE if is_approval else 0
        self.chosen: set[int] = set()
        self.typed = ""
        self.typing = not self.options
        self._begin_typed(self.question.get("field") or {})
        self._run = ""
        self._before_run = (self.cursor, frozenset[int]())

    def _begin_typed(self, field: Mapping[str, Any]) -> None:
        """Begin with the default of a field; one that may be left out begins without an answer."""
        default: list[str] = field.get("default", [])
        labels = [option["label"] for option in self.options]
        if not labels:
            self.typed = ", ".join(default)
        elif self.multi:
            self.chosen = {number for number, label in enumerate(labels) if label in default}
        elif self.optional:
            self.cursor = labels.index(default[0]) if default and default[0] in labels else NOWHERE

    @property
    def optional(self) -> bool:
        """Whether it may be left out: a field of a form that is not required, or has a default."""
        field = self.question.get("field")
        return field is not None and (not field["required"] or bool(field["default"]))

    def clear(self) -> None:
        """Choose nothing, where that is an answer."""
        if self.optional:
            self._run, self.cursor, self.chosen = "", NOWHERE, set()

    @property
    def options(self) -> list[dict[str, Any]]:
        """The choices it offers."""
        options: list[dict[str, Any]] = self.question["options"]
        return options

    @property
    def multi(self) -> bool:
        """Whether several may be chosen."""
        return bool(self.question["multiSelect"])

    @property
    def custom(self) -> bool:
        """Whether one's own words are an answer too."""
        return bool(self.question["custom"]) or not self.options

    @property
    def rows(self) -> int:
        """The options, and one more for one's own words."""
        return len(self.options) + (self.custom and bool(self.options))

    @property
    def recommended(self) -> int | None:
        """The option that its asker recommends; an approval has none."""
        numbers = [number for number, option in enumerate(self.options) if option.get("recommended")]
        return numbers[0] if numbers and not self.is_approval else None

    def recommend(self, number: int) -> None:
        """Choose this option and nothing else."""
        self._run, self.typed, self.typing = "", "", False
        self.cursor, self.chosen = number, {number}

    def take(self, text: str) -> bool:
        """Take what was typed; False where it means nothing.

        A number chooses. Where one's own words count, a number that goes on ("3 replicas", "12") is the beginning of those
        words, and chooses nothing.
        """
        if not self._run and text == SPACE:
            return self._space()
        if not self._run:
            self._before_run = (self.cursor, frozenset(self.chosen))
        run = self._run + text
        if self._chooses(run, text):
            self._run = run if self.custom else ""
            return True
        if not self.custom:
            return False
        self.cursor, self.chosen, self._run = self._before_run[0], set(self._before_run[1]), ""
        self.write(run)
        return True

    def _chooses(self, run: str, text: str) -> bool:
        number = digit(text, len(self.options))
        if self.multi:
            if number is not None:
                self.toggle(number)
            return number is not None or (text == SPACE and self._space())
        if number is None or (self.custom and len(run) > 1):
            return run.rstrip(SPACE) != run and len(run.rstrip(SPACE)) == 1
        self.cursor = number
        return True

    def _space(self) -> bool:
        if self.multi:
            self.toggle(self.cursor)
        return True

    def move(self, step: int) -> None:
        """Go up or down; on the last row, words can be typed."""
        self._run = ""
        if self.rows:
            self.cursor = self.rows - 1 if self.cursor + step < 0 else (self.cursor + step) % self.rows
            self.typing = self.cursor >= len(self.options)

    def toggle(self, number: int) -> None:
        """Choose an option, or not after all."""
        self.chosen ^= {number}
        self.cursor = number

    def write(self, text: str) -> None:
        """Add to one's own words."""
        self.typed += text
        self.typing = True
        self.cursor = len(self.options)

    def leave(self) -> None:
        """Forget that a number was typed last: what is typed next begins anew."""
        self._run = ""

    @property
    def missing(self) -> str:
        """What to do before Enter can send something."""
        if self.is_approval and not self.custom:
            return "Choose first: 1 or ↓ to approve, 2 or ↑ to deny."
        return "Choose with space first." if self.multi and not self.typing else "Type an answer first."

    def values(self) -> list[str]:
        """The answer that Enter would send."""
        own = [self.typed.strip()] if self.typed.strip() else []
        if self.multi:
            return [self.options[number]["label"] for number in sorted(self.chosen)] + own
        if self.typing:
            return own
        return [] if self.cursor == NOWHERE else [self.options[self.cursor]["label"]]


def digit(text: str, count: int) -> int | None:
    """The place among so many that a digit names; 0 is the tenth."""
    if len(text) != 1 or not (text.isascii() and text.isdigit()):
        return None
    number = int(text) or 10
    return number - 1 if number <= count else None
