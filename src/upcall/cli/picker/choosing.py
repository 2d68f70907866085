"""One inquiry being answered in the picker: its questions, the cursor, and what is typed. It knows no keys but text."""

from typing import Any

from upcall.cli.picker.keys import SPACE

Inquiry = dict[str, Any]

NOWHERE = -1
"""Where the cursor of an approval begins: on neither choice."""


class Choosing:
    """One inquiry being answered, question by question."""

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.given: list[list[str]] = []
        self.remember = ""
        self.whole = False
        """Whether its end has been on the screen; what draws the screen says so."""
        self._begin()

    def _begin(self) -> None:
        self.cursor = NOWHERE if self.is_approval else 0
        self.scroll = 0
        self.chosen: set[int] = set()
        self.typed = ""
        self.typing = not self.options
        self._run = ""
        self._before_run = (self.cursor, frozenset[int]())

    @property
    def is_approval(self) -> bool:
        """Whether it asks for a yes or a no."""
        return bool(self.inquiry["kind"] == "approval")

    @property
    def question(self) -> dict[str, Any]:
        """The question that is to be answered now."""
        question: dict[str, Any] = self.inquiry["questions"][len(self.given)]
        return question

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
    def ways(self) -> list[str]:
        """The rules that an approval can be remembered as, the narrowest first."""
        ways: list[str] = (self.inquiry.get("action") or {}).get("remember", [])
        return ways

    def remember_more(self) -> None:
        """Remember the approval by the next wider rule; after the widest, not at all."""
        every = ["", *self.ways]
        self.remember = every[(every.index(self.remember) + 1) % len(every)]

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
        number = _number(text, len(self.options))
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

    def accept(self, values: list[str]) -> list[list[str]] | None:
        """Take the answer to this question; all of them once this was the last."""
        self.given.append(values)
        if len(self.given) == len(self.inquiry["questions"]):
            return self.given
        self._begin()
        return None

    def values(self) -> list[str]:
        """The answer that Enter would send."""
        own = [self.typed.strip()] if self.typed.strip() else []
        if self.multi:
            return [self.options[number]["label"] for number in sorted(self.chosen)] + own
        if self.typing:
            return own
        return [] if self.cursor == NOWHERE else [self.options[self.cursor]["label"]]


def _number(text: str, options: int) -> int | None:
    """The option that a digit names; 0 is the tenth."""
    if len(text) != 1 or not (text.isascii() and text.isdigit()):
        return None
    number = int(text) or 10
    return number - 1 if number <= options else None
