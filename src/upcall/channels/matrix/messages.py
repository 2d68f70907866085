"""Renders a view for Matrix: plain text, which no client parses, with reactions for the choices.

Each event of ours carries a mark, so that it is known by its origin and not by its sender: the account may be shared with a person. A question's mark
has the inquiry's id and what its reactions stand for, by position; that of a line has the event that it is about.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from upcall.channels.plain import BAR, barred, more, question
from upcall.domain.channel.showing import Capabilities, Control, View
from upcall.domain.text.display import inert

Content = dict[str, Any]
Words = Mapping[str, str]

# More options than these are replied to by number.
CAPABILITIES = Capabilities(buttons=6, button_label=0, body=12_000)
MARK = "upcall"
INQUIRY, KEYS, ABOUT = "inquiry", "keys", "about"
VERDICTS = ("✅", "❌")
MOST_SEEDS = 2
"""Up to how many reactions are put there to be joined. Each is an event, of which a homeserver takes ten at once and then
one in five seconds; to a question with more choices, people add the reaction themselves."""

NUMBERS = tuple(f"{number}\ufe0f\u20e3" for number in range(1, 10))


def keys(view: View) -> Sequence[str]:
    """The reaction of each choice, in their order; none once the question is over."""
    if view.outcome is not None or len(view.questions) != 1:
        return ()
    asked = view.questions[0]
    if asked.control is not Control.BUTTONS:
        return ()
    return VERDICTS if view.approval else NUMBERS[: len(asked.choices)]


def seeds(view: View) -> Sequence[str]:
    """The reactions that Upcall itself adds, for people to click."""
    found = keys(view)
    return found if len(found) <= MOST_SEEDS else ()


def message(view: View, words: Words) -> Content:
    """A question as it is first posted."""
    mark = {INQUIRY: view.inquiry, KEYS: list(keys(view))}
    return _text(body(view, words)) | {MARK: mark}


def edit(view: View, event: str, words: Words) -> Content:
    """The edit of a question's message; clients without edits show its fallback as a message."""
    return _text(f"* {inert(view.outcome or view.heading)}") | {
        "m.new_content": message(view, words),
        "m.relates_to": {"rel_type": "m.replace", "event_id": event},
        MARK: {ABOUT: event},
    }


def reaction(event: str, key: str) -> Content:
    """A reaction to a message."""
    return {"m.relates_to": {"rel_type": "m.annotation", "event_id": event, "key": key}, MARK: {ABOUT: event}}


def line(text: str, event: str, *, about: str = "", thread: str = "", to: str = "") -> Content:
    """A line in reply to an event, in its thread if it has one; the person `to` is mentioned, and so notified."""
    relation: Content = {"m.in_reply_to": {"event_id": event}}
    if thread:
        relation |= {"rel_type": "m.thread", "event_id": thread, "is_falling_back": False}
    content = _text(text) | {"m.relates_to": relation, MARK: {ABOUT: about or event}}
    return content | {"m.mentions": {"user_ids": [to]}} if to else content


def body(view: View, words: Words) -> str:
    """The text of a message. Agent text stands behind a bar, so that it cannot pass for a line of ours, which makes no link."""
    lines = [inert(view.heading)]
    if view.context.strip():
        lines += [*barred(view.context), BAR]
    for number, asked in enumerate(view.questions, 1):
        lines += question(asked, number if len(view.questions) > 1 else None, listed=not view.approval)
    lines += more(view)
    if view.outcome is not None:
        return "\n".join([*lines, inert(view.outcome)])
    if view.approval:
        choices = [choice.full for asked in view.questions for choice in asked.choices]
        lines.append("   ".join(f"{key} {choice}" for key, choice in zip(VERDICTS, choices, strict=True)))
    if keys(view):
        lines.append(words["react"].format(signs=" ".join(keys(view))))
    return "\n".join([*lines, *(each for each in (inert(view.progress), view.hint) if each)])


def _text(text: str) -> Content:
    # Without m.mentions, clients look for names in the text, which may be an agent's.
    return {"msgtype": "m.text", "body": text, "m.mentions": {}}
