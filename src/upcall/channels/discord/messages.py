"""Renders a view for Discord, as text and components. Agent text stands in code blocks, in which Discord parses nothing.

The limits are Discord's. On the wire an option is a position, never a label.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from upcall.domain.channel.showing import Asked, Capabilities, Control, View
from upcall.domain.text.display import one_line, shortened

Json = dict[str, Any]
Words = Mapping[str, str]

CAPABILITIES = Capabilities(
    buttons=8,
    button_label=80,
    select=25,
    multi_select=25,
    option_label=100,
    form=4,
    text_input=True,
    body=1500,
)
LONGEST = 2000
LONGEST_OPTION = 100
LONGEST_TITLE = 45
LONGEST_VALUE = 4000
MOST_FIELDS = 5
A_ROW = 5
SUPPRESS_EMBEDS = 4
EPHEMERAL = 64
PICK, LIST, FORM, OWN, SEND = "pick", "list", "form", "own", "send"
_ROW, _BUTTON, _SELECT, _INPUT, _LABEL = 1, 2, 3, 4, 18
_PRIMARY, _SECONDARY, _SUCCESS, _DANGER = 1, 2, 3, 4
_BACKTICKS = re.compile("`(?=`)")
_SPECIAL = re.compile(r"([\\*_~`|<>\[\]()#@:+.!-])")


def escape(text: str) -> str:
    """Text in which Discord finds no markdown, link or mention: a backslash stands before each special character."""
    return _SPECIAL.sub(r"\\\1", text)


def fenced(text: str) -> str:
    """Text in a code block that it cannot close: its own backticks are kept apart."""
    return "```\n" + _BACKTICKS.sub("`\u200b", text or " ") + "\n```"


def plain(line: str) -> Json:
    """A line of ours, without mentions."""
    return {"content": escape(line)[:LONGEST], "allowed_mentions": {"parse": []}, "flags": SUPPRESS_EMBEDS}


def message(view: View, words: Words) -> Json:
    """The body of a message."""
    return {
        "content": content(view),
        "components": [] if view.outcome is not None else _controls(view, words),
        "allowed_mentions": {"parse": []},
        "flags": SUPPRESS_EMBEDS,
    }


def content(view: View) -> str:
    """The text of a message. If the text of a question that is over does not fit, only its heading and its outcome are shown."""
    heading = f"**{escape(view.heading)}**"
    parts = [heading]
    if view.context.strip():
        parts.append(fenced(view.context))
    for number, question in enumerate(view.questions, 1):
        # A form's lists show no more than a hundred characters of an option.
        listed = question.numbered or not view.form
        parts.append(_question(question, number if len(view.questions) > 1 else None, listed=listed))
    if view.more:
        parts += [_with_link(line) for line in view.more.split("\n")]
    if view.outcome is not None:
        ended = f"**{escape(view.outcome)}**"
        whole = "\n".join([*parts, ended])
        return whole if len(whole) <= LONGEST else f"{heading}\n{ended}"[:LONGEST]
    return "\n".join([*parts, *(f"-# {escape(line)}" for line in (view.progress, view.hint) if line)])


def form(view: View, words: Words, *, own: bool = False) -> Json:
    """The form for all questions; with `own`, a text field for the only question."""
    fields: list[Json] = []
    room = MOST_FIELDS - len(view.questions)
    custom = sum(question.custom and bool(question.choices) for question in view.questions)
    for index, question in enumerate(view.questions):
        label = f"{index + 1}) " if len(view.questions) > 1 else ""
        label = shortened(one_line(f"{label}{question.header or question.text}"), LONGEST_TITLE)
        if own or not question.choices or question.control is Control.WORDS:
            required = own or not question.optional
            fields.append(_field(label, _text(index, question.initial.words, required=required)))
            continue
        # A form has five fields. Where they do not suffice for own words to every question, people reply to the message.
        both = question.custom and custom <= room
        required = not both and not question.optional
        fields.append(_field(label, _select(question, str(index), required=required)))
        if both:
            fields.append(_field(words["own_words"][:LONGEST_TITLE], _text(index, "", required=False)))
    return {
        "title": f"Upcall {view.ref}"[:LONGEST_TITLE],
        "custom_id": f"{SEND}:{view.inquiry}:{len(view.questions)}",
        "components": fields,
    }


def _with_link(line: str) -> str:
    """A line of ours that ends with an address of ours, which may be followed and is not embedded."""
    text, _, link = line.rpartition(" ")
    return f"{escape(text)} <{link}>"


def _question(question: Asked, number: int | None, *, listed: bool) -> str:
    head = f"{number}) " if number is not None else ""
    header = f"[{question.header}] " if question.header else ""
    lines = [f"{head}{header}{question.text}"]
    if listed and (question.numbered or any(choice.description for choice in question.choices)):
        for place, choice in enumerate(question.choices, 1):
            description = f" — {choice.description}" if choice.description else ""
            lines.append(f"{place}. {choice.full}{description}")
    return fenced("\n".join(lines))


def _controls(view: View, words: Words) -> list[Json]:
    if view.form:
        return [_row([_button(f"{FORM}:{view.inquiry}", words["answer"], _PRIMARY)])]
    if len(view.questions) != 1:
        return []
    question = view.questions[0]
    own = [_button(f"{OWN}:{view.inquiry}", words["own_words"], _SECONDARY)] if question.custom else []
    match question.control:
        case Control.BUTTONS:
            buttons = [
                _button(f"{PICK}:{view.inquiry}:{index}", choice.label, _PRIMARY)
                for index, choice in enumerate(question.choices)
            ]
            if view.approval:
                buttons[0]["style"], buttons[1]["style"] = _SUCCESS, _DANGER
            return _rows([*buttons, *own])
        case Control.SELECT:
            return [_row([_select(question, f"{LIST}:{view.inquiry}")]), *_rows(own)]
        case Control.MULTI_SELECT | Control.INPUT:
            # Discord sends the choices of a list as soon as it closes, those of a form when it is submitted.
            return [_row([_button(f"{FORM}:{view.inquiry}", words["answer"], _PRIMARY)])]
        case _:
            return []


def _rows(buttons: Sequence[Json]) -> list[Json]:
    return [_row(buttons[start : start + A_ROW]) for start in range(0, len(buttons), A_ROW)]


def _row(components: Sequence[Json]) -> Json:
    return {"type": _ROW, "components": list(components)}


def _button(custom_id: str, label: str, style: int) -> Json:
    return {"type": _BUTTON, "custom_id": custom_id, "label": label, "style": style}


def _select(question: Asked, custom_id: str, *, required: bool | None = None) -> Json:
    options: list[Json] = []
    for index, choice in enumerate(question.choices):
        option: Json = {"label": choice.label, "value": str(index)}
        description = choice.full if question.numbered else choice.description
        if description:
            option["description"] = shortened(one_line(description), LONGEST_OPTION)
        # Only in a form: a list of a message is sent when it changes.
        if required is not None and index in question.initial.picks:
            option["default"] = True
        options.append(option)
    multi = question.control is Control.MULTI_SELECT
    select: Json = {"type": _SELECT, "custom_id": custom_id, "options": options}
    select |= {"min_values": 1 if required is not False else 0, "max_values": len(options) if multi else 1}
    # Only a form's fields can be left out.
    return select if required is None else select | {"required": required}


def _text(index: int, initial: str, *, required: bool) -> Json:
    field: Json = {"type": _INPUT, "custom_id": f"w{index}", "style": 2, "required": required}
    return field | {"value": initial} if 0 < len(initial) <= LONGEST_VALUE else field


def _field(label: str, component: Json) -> Json:
    return {"type": _LABEL, "label": label, "component": component}
