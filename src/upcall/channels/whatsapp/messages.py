"""Renders a view for WhatsApp: text, with buttons or a list where the text is short enough for them.

The limits are WhatsApp's, counted in UTF-16. On the wire an option is a position, never a label. WhatsApp makes some
signs in a text bold and the like and hides them, so agent text is set as code, where it does not, and so
nothing of it looks like a line of ours.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from upcall.channels.plain import more
from upcall.domain.channel.showing import Asked, Capabilities, Control, View
from upcall.domain.text.display import inert, shortened, units

Body = dict[str, Any]

CAPABILITIES = Capabilities(
    buttons=3, button_label=20, select=10, option_label=24, edit=False, pressable=900, body=3600
)
LONGEST = 4096
LONGEST_PRESSABLE = 1024
LONGEST_OPENER = 20
ROW_DESCRIPTION = 72
LONGEST_PARAMETER = 900
FENCE = "```"
LINE_END = " ⏎ "
_BACKTICKS = re.compile("`(?=`)")
_APART = "\u200b"


class Unshowable(Exception):
    """A view that cannot be shown; the message says why."""


class TooMuchToPress(Unshowable):
    """A text that is too long for buttons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """Which inquiry a message shows and where, and which attempt to send it this was."""

    inquiry: str
    attempt: str
    place: str


def fenced(text: str) -> str:
    """Text in a code block that it cannot close: its own backticks are kept apart, from each other and from the fence."""
    inner = _BACKTICKS.sub(f"`{_APART}", text)
    # WhatsApp takes three backticks for a fence only where there is something to be seen beside them.
    before = _APART if inner[:1] in {"`", ""} or inner[0].isspace() else ""
    after = _APART if inner[-1:] == "`" or inner[-1:].isspace() else ""
    return f"{FENCE}{before}{inner}{after}{FENCE}"


def message(view: View, words: Mapping[str, str]) -> Body:
    """A question as a message.

    Raises:
        Unshowable: if it does not fit, or would not look as it is.
    """
    text = _text(view)
    question = view.questions[0]
    match question.control:
        case Control.BUTTONS:
            action: Body = {"buttons": [_button(view, index) for index in range(len(question.choices))]}
            return _pressable("button", text, action)
        case Control.SELECT:
            rows = [_row(view, index) for index in range(len(question.choices))]
            opener = words["answer"][:LONGEST_OPENER]
            return _pressable("list", text, {"button": opener, "sections": [{"rows": rows}]})
        case _:
            return line(text)


def line(text: str) -> Body:
    """Words of ours, or a question that is answered in words.

    Raises:
        Unshowable: if there are too many.
    """
    if units(text) > LONGEST:
        raise Unshowable("this is too long for one message in WhatsApp")
    return {"type": "text", "text": {"preview_url": False, "body": text}}


def said(text: str) -> Body:
    """A sentence that may be cut at its end."""
    return line(shortened(text, LONGEST))


def template(view: View, name: str, language: str) -> Body:
    """A question as the one gap of a template, which takes no line ends. It is answered in words.

    Raises:
        Unshowable: if it is an approval: what will be done is to be seen as it is.
    """
    if view.approval:
        raise Unshowable("an approval cannot be shown in a template")
    asked = (_asked(view, index, listed=True) for index in range(len(view.questions)))
    lines = [inert(text) for text in (view.heading, view.context, *asked)]
    parts = [part for text in lines for part in text.split("\n") if part.strip()]
    gap = shortened(" ".join(LINE_END.join(parts).split()), LONGEST_PARAMETER)
    body = {"type": "body", "parameters": [{"type": "text", "text": gap}]}
    content = {"name": name, "language": {"code": language}, "components": [body]}
    return {"type": "template", "template": content}


def tagged(content: Body, tag: Tag) -> Body:
    """A message with a tag, which WhatsApp repeats in the receipts of that message."""
    return content | {"biz_opaque_callback_data": f"{tag.inquiry} {tag.attempt} {tag.place}"}


def tag_in(text: str) -> Tag | None:
    """The tag in a receipt; None if it is not one of ours."""
    parts = text.split(" ")
    return Tag(inquiry=parts[0], attempt=parts[1], place=parts[2]) if len(parts) == 3 else None


def pick(reply: str) -> tuple[str, int] | None:
    """The inquiry and the position that a button or a row stands for; None if it is not one of ours."""
    inquiry, _, position = reply.rpartition(":")
    return (inquiry, int(position)) if inquiry and position.isascii() and position.isdigit() else None


def _text(view: View) -> str:
    questions = [_asked(view, index, listed=_needs_list(each)) for index, each in enumerate(view.questions)]
    framed = [fenced(text) for text in (view.context.strip("\n"), *questions) if text.strip()]
    parts = [inert(view.heading), *framed, *more(view), inert(view.progress), view.hint]
    return "\n\n".join(part for part in parts if part)


def _asked(view: View, index: int, *, listed: bool) -> str:
    question = view.questions[index]
    number = f"{index + 1}) " if len(view.questions) > 1 else ""
    header = f"[{question.header}] " if question.header else ""
    lines = [f"{number}{header}{question.text}"]
    if listed:
        for place, choice in enumerate(question.choices, 1):
            described = f" — {choice.description}" if choice.description else ""
            lines.append(f"{place}. {choice.full}{described}")
    return "\n".join(lines)


def _needs_list(question: Asked) -> bool:
    """Whether the options are written out, because their buttons or rows do not say everything."""
    if question.numbered:
        return True
    longest = 0 if question.control is Control.BUTTONS else ROW_DESCRIPTION
    return any(units(choice.description) > longest for choice in question.choices)


def _button(view: View, index: int) -> Body:
    label = view.questions[0].choices[index].label
    return {"type": "reply", "reply": {"id": f"{view.inquiry}:{index}", "title": label}}


def _row(view: View, index: int) -> Body:
    question = view.questions[0]
    choice = question.choices[index]
    row: Body = {"id": f"{view.inquiry}:{index}", "title": choice.label}
    description = choice.full if question.numbered else choice.description
    if description and units(description) <= ROW_DESCRIPTION:
        row["description"] = description
    return row


def _pressable(kind: str, text: str, action: Body) -> Body:
    if units(text) > LONGEST_PRESSABLE:
        raise TooMuchToPress("this is too long for a message with buttons in WhatsApp")
    return {"type": "interactive", "interactive": {"type": kind, "body": {"text": text}, "action": action}}
