"""What Ctrl-K finds in the picker without asking the daemon: questions that wait, and commands by their names."""

from collections.abc import Mapping, Sequence

from upcall.cli.picker.actions import Entry
from upcall.cli.picker.browsing import COMMAND, HISTORY, QUESTION, RUNS
from upcall.cli.picker.choosing import Inquiry
from upcall.cli.render.inquiries import asker

INBOX = "inbox"
PLACES = {"i": INBOX, "r": RUNS, "h": HISTORY}
"""Where the letters after `g` lead."""

COMMANDS = {f"g {letter}": f"go to {place}" for letter, place in PLACES.items()}
COMMANDS |= {"/": "search the questions that wait", "?": "show the keys", "q": "leave"}
"""Commands, each by its key."""

HARMLESS = "ure"
"""The actions behind Tab that are found too. What answers is pressed by a person who looks at the question."""

MOST = 6
"""How many of each kind are listed."""


def found(words: str, waiting: Sequence[Inquiry], actions: Mapping[str, str]) -> list[Entry]:
    """The questions that wait, then the commands, with all of these words."""
    questions = [inquiry for inquiry in waiting if fits(words, searched(inquiry))]
    named = COMMANDS | {f"Tab {key}": does for key, does in actions.items() if key in HARMLESS}
    commands = [Entry(COMMAND, key, does) for key, does in named.items() if fits(words, f"{does} {key}")]
    return [Entry(QUESTION, each["id"], entry_text(each)) for each in questions[:MOST]] + commands


def fits(words: str, text: str) -> bool:
    """Whether a text has each of the words."""
    return all(word in text.casefold() for word in words.casefold().split())


def searched(inquiry: Inquiry) -> str:
    """The text of an inquiry that is searched."""
    texts = (question["question"] for question in inquiry["questions"])
    return " ".join((inquiry["ref"], asker(inquiry), *texts)).casefold()


def entry_text(inquiry: Inquiry) -> str:
    """An inquiry as one row."""
    return f"#{inquiry['ref']} {asker(inquiry)}: {inquiry['questions'][0]['question']}"
