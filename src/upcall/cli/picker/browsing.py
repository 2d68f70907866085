"""A list beside the questions that wait: runs, the history, or what is found for some words; and one of its rows, read."""

from upcall.cli.picker.actions import Entry, Look, Read
from upcall.cli.picker.keys import DOWN, ENTER, ESCAPE, PAGE_DOWN, PAGE_UP, UP, edited, is_text

FIND, RUNS, HISTORY = "find", "runs", "history"
QUESTION, SETTLED, RUN, COMMAND = "question", "settled", "run", "command"


class Browsing:
    """One such list. What its rows are comes from outside; here they are gone through."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.words = ""
        self.entries: list[Entry] = []
        self.cursor = 0
        self.text: list[str] | None = None
        """The row that is being read."""
        self.scroll = 0

    def take(self, entries: list[Entry]) -> None:
        """Show these rows; the cursor stays on its own, if that is still there."""
        before = self.selected
        self.entries = entries
        self.cursor = 0
        if before is not None and before in entries and not self.words:
            self.cursor = entries.index(before)

    def read(self, lines: list[str]) -> None:
        """Show the text of a row."""
        self.text, self.scroll = lines, 0

    @property
    def selected(self) -> Entry | None:
        """The row under the cursor."""
        return self.entries[self.cursor] if self.cursor < len(self.entries) else None

    def press(self, key: str) -> Look | Read | Entry | None:
        """Take a key. An entry that comes back is to be opened or, if it is a command, carried out."""
        if self.text is not None:
            self._press_text(key)
            return None
        down, up = {DOWN, "j"}, {UP, "k"}
        if self.place == FIND:
            down, up = {DOWN}, {UP}
        if key in down | up and self.entries:
            self.cursor = (self.cursor + (1 if key in down else -1)) % len(self.entries)
        elif key == ENTER and (entry := self.selected) is not None:
            return Read(entry) if entry.kind in {SETTLED, RUN} else entry
        elif self.place == FIND and (words := edited(self.words, key)) != self.words:
            self.words = words
            return Look(FIND, words)
        return None

    def _press_text(self, key: str) -> None:
        if key == ESCAPE or (is_text(key) and key == "q"):
            self.text = None
        elif key in {PAGE_DOWN, DOWN, "j", " "}:
            self.scroll += 1
        elif key in {PAGE_UP, UP, "k"}:
            self.scroll = max(self.scroll - 1, 0)
