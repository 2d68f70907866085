"""Renders a view as plain text: for vendors without controls, and where a vendor refuses the rich form.

Agent text stands behind a bar on every line, so that it cannot pass for a line of ours.
"""

from collections.abc import Mapping

from upcall.domain.channel.degrading import plain
from upcall.domain.channel.showing import Asked, View
from upcall.domain.text.display import inert

BAR = "│"


def barred(text: str) -> list[str]:
    """The lines of a text, each behind a bar."""
    return [f"{BAR} {line}".rstrip() for line in text.split("\n")]


def question(asked: Asked, number: int | None = None, *, listed: bool = True) -> list[str]:
    """A question behind bars and, if `listed`, its options by number."""
    head = f"{number}) " if number is not None else ""
    header = f"[{asked.header}] " if asked.header else ""
    lines = barred(f"{head}{header}{asked.text}")
    for place, choice in enumerate(asked.choices if listed else (), 1):
        described = f" — {choice.description}" if choice.description else ""
        lines += barred(f"{place}. {choice.full}{described}")
    return lines


def more(view: View) -> list[str]:
    """The lines that say what else there is. Each ends with an address of ours; the names of files before it make no link."""
    lines = (line.rpartition(" ") for line in view.more.split("\n")) if view.more else ()
    return [f"{inert(text)} {link}" for text, _, link in lines]


def numbered(view: View, words: Mapping[str, str]) -> str:
    """A whole view, to be answered in words. Agent text in it makes no mention and no link."""
    shown = plain(view, words)
    lines = [inert(shown.heading)]
    if shown.context.strip():
        lines += [*barred(inert(shown.context.strip("\n"))), BAR]
    for number, asked in enumerate(shown.questions, 1):
        lines += [inert(line) for line in question(asked, number if len(shown.questions) > 1 else None)]
    lines += more(shown)
    if shown.outcome is not None:
        return "\n".join([*lines, inert(shown.outcome)])
    return "\n".join([*lines, *(inert(line) for line in (shown.progress, shown.hint) if line)])
