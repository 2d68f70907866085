"""Renders a view as Block Kit. Agent text goes into elements that Slack does not parse.

It stands in quotations and boxes, in which no line of ours does. The limits are Slack's. On the wire an option is a
position, never a label.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from upcall.channels import plain
from upcall.domain.channel.showing import Asked, Capabilities, Control, View
from upcall.domain.text.display import inert, shortened, units

Block = dict[str, Any]
Words = Mapping[str, str]

CAPABILITIES = Capabilities(
    buttons=5,
    button_label=40,
    radio=10,
    select=100,
    checkboxes=10,
    multi_select=100,
    option_label=75,
    form=20,
    text_input=True,
    body=9000,
)
OPTION_DESCRIPTION = 75
LONGEST_FALLBACK = 2000
LONGEST_TITLE = 24
PICK, SEND, FORM, FIELD, OWN_WORDS = "pick", "send", "form", "field", "words"


def escape(text: str) -> str:
    """Text in which Slack finds no link and no mention."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def message(view: View, words: Words) -> list[Block]:
    """The blocks of a message."""
    blocks = [_small(view.heading), *_context(view)]
    for number, question in enumerate(view.questions, 1):
        blocks.append(_question(question, number if len(view.questions) > 1 else None, listed=not view.form))
    if view.more:
        blocks += [_small(line) for line in view.more.split("\n")]
    if view.outcome is not None:
        return [*blocks, _rich(_text(view.outcome))]
    if view.form:
        blocks.append(_actions(view, [_button(f"{FORM}:0", words["answer"], view.inquiry, primary=True)]))
    elif len(view.questions) == 1:
        blocks += _controls(view, view.questions[0], words)
    return [*blocks, *(_small(line) for line in (view.progress, view.hint) if line)]


def fallback(view: View) -> str:
    """The text of a message, for notifications and screen readers."""
    asked = (line for question in view.questions for line in plain.barred(question.text))
    text = "\n".join([view.heading, *asked])
    return escape(shortened(inert(view.outcome or text), LONGEST_FALLBACK))


def numbered(view: View, words: Words) -> str:
    """The whole view as text, where Slack refuses the blocks."""
    return escape(plain.numbered(view, words))


def form(view: View, message_name: str, words: Words) -> Block:
    """The form in which several questions are answered together."""
    blocks: list[Block] = []
    for index, question in enumerate(view.questions):
        blocks.append(_question(question, index + 1, listed=True))
        blocks += _inputs(question, index, words)
    return {
        "type": "modal",
        "callback_id": FORM,
        "title": _plain(f"Upcall {view.ref}"[:LONGEST_TITLE]),
        "submit": _plain(words["send"][:LONGEST_TITLE]),
        "close": _plain(words["cancel"][:LONGEST_TITLE]),
        "private_metadata": f"{view.inquiry} {message_name}",
        "blocks": blocks,
    }


def _context(view: View) -> list[Block]:
    if not view.context.strip():
        return []
    if view.approval:
        # What will be done is shown to the letter, in a box that agent text cannot leave.
        return [_rich_block({"type": "rich_text_preformatted", "elements": [_text(view.context)]})]
    return [_rich_block({"type": "rich_text_quote", "elements": [_text(view.context)]})]


def _question(question: Asked, number: int | None, *, listed: bool) -> Block:
    head = f"{number}) " if number is not None else ""
    header = f"[{question.header}] " if question.header else ""
    elements = [_text(f"{head}{header}", bold=True)] if head or header else []
    elements.append(_text(question.text or " "))
    if listed and _needs_list(question):
        lines = [f"{place}. {_line(question, place - 1)}" for place in range(1, len(question.choices) + 1)]
        elements.append(_text("\n" + "\n".join(lines)))
    return _rich_block({"type": "rich_text_quote", "elements": elements})


def _needs_list(question: Asked) -> bool:
    """Whether the options are written out beside the text, because their control does not say everything."""
    if question.numbered:
        return True
    if question.control is Control.BUTTONS:
        return any(choice.description for choice in question.choices)
    return any(units(choice.description) > OPTION_DESCRIPTION for choice in question.choices)


def _line(question: Asked, index: int) -> str:
    choice = question.choices[index]
    return f"{choice.full} — {choice.description}" if choice.description else choice.full


def _controls(view: View, question: Asked, words: Words) -> list[Block]:
    match question.control:
        case Control.BUTTONS:
            buttons = [
                _button(f"{PICK}:0:{index}", choice.label, view.inquiry)
                for index, choice in enumerate(question.choices)
            ]
            if view.approval:
                buttons[0] |= {"style": "primary", "confirm": _confirm(words)}
                buttons[1]["style"] = "danger"
            return [_actions(view, buttons)]
        case Control.WORDS:
            return []
        case _:
            block = _field(question, 0, words, f"{view.stage}:{FIELD}:0")
            send = _button(f"{SEND}:0", words["send"], view.inquiry, primary=True)
            return [block, _actions(view, [send])]


def _inputs(question: Asked, index: int, words: Words) -> list[Block]:
    block = _field(question, index, words, f"{FIELD}:{index}")
    if not question.choices or not question.custom or question.control is Control.WORDS:
        return [block]
    own = _input(words["own_words"], {"type": "plain_text_input", "action_id": OWN_WORDS})
    return [block | {"optional": True}, own | {"block_id": f"{OWN_WORDS}:{index}", "optional": True}]


def _field(question: Asked, index: int, words: Words, block_id: str) -> Block:
    element: Block = {"action_id": FIELD}
    match question.control:
        case Control.RADIO | Control.CHECKBOXES:
            kind = "radio_buttons" if question.control is Control.RADIO else "checkboxes"
            element |= {"type": kind, "options": _options(question)}
        case Control.SELECT | Control.MULTI_SELECT:
            kind = "static_select" if question.control is Control.SELECT else "multi_static_select"
            element |= {"type": kind, "options": _options(question)}
        case _:
            element |= {"type": "plain_text_input"}
    made = _input(question.header or words["answer"], element | _initial(question)) | {"block_id": block_id}
    return made | {"optional": True} if question.optional else made


def _initial(question: Asked) -> Block:
    """The default of a field, as Slack has it for each element."""
    if question.initial.words:
        return {"initial_value": question.initial.words}
    chosen = [option for index, option in enumerate(_options(question)) if index in question.initial.picks]
    if not chosen:
        return {}
    many = question.control in (Control.CHECKBOXES, Control.MULTI_SELECT)
    return {"initial_options": chosen} if many else {"initial_option": chosen[0]}


def _options(question: Asked) -> list[Block]:
    options: list[Block] = []
    for index, choice in enumerate(question.choices):
        option: Block = {"text": _plain(choice.label), "value": str(index)}
        if choice.description and units(choice.description) <= OPTION_DESCRIPTION and not question.numbered:
            option["description"] = _plain(choice.description)
        options.append(option)
    return options


def _input(label: str, element: Block) -> Block:
    return {"type": "input", "label": _plain(label), "element": element}


def _actions(view: View, elements: Sequence[Block]) -> Block:
    # Slack clients keep the old content of a block that keeps its id.
    return {"type": "actions", "block_id": f"{view.stage}:do", "elements": list(elements)}


def _button(action_id: str, label: str, inquiry: str, *, primary: bool = False) -> Block:
    button: Block = {"type": "button", "action_id": action_id, "text": _plain(label), "value": inquiry}
    return button | {"style": "primary"} if primary else button


def _confirm(words: Words) -> Block:
    return {
        "title": _plain(words["confirm.title"]),
        "text": _plain(words["confirm.text"]),
        "confirm": _plain(words["approve"]),
        "deny": _plain(words["cancel"]),
    }


def _small(text: str) -> Block:
    return {"type": "context", "elements": [_plain(text)]}


def _rich(*elements: Block) -> Block:
    return _rich_block({"type": "rich_text_section", "elements": list(elements)})


def _rich_block(element: Block) -> Block:
    return {"type": "rich_text", "elements": [element]}


def _text(text: str, *, bold: bool = False) -> Block:
    element: Block = {"type": "text", "text": text}
    return element | {"style": {"bold": True}} if bold else element


def _plain(text: str) -> Block:
    return {"type": "plain_text", "text": text, "emoji": False}
