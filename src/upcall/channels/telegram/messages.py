"""Renders a view for Telegram: text, entities and buttons. Telegram parses nothing in it.

Telegram itself looks for names, commands, tags and addresses in any text, except in code. So agent text stands
in blocks of code, which no line of ours does, and what else comes from elsewhere is marked as code where something would
be found. The limits are Telegram's, counted as it counts, in UTF-16.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from upcall.channels.telegram.form_state import FormState, button_data
from upcall.domain.channel.showing import Asked, Capabilities, Control, Given, View
from upcall.domain.text.display import shortened, units

Words = Mapping[str, str]

CAPABILITIES = Capabilities(
    buttons=8,
    button_label=40,
    select=30,
    checkboxes=8,
    multi_select=30,
    option_label=40,
    form=4,
    two_phase=True,
    body=3600,
)
LONGEST = 4096
LONGEST_TOAST = 200
MOST_ENTITIES = 100
MOST_MARKS = 8
"""Up to how many links and names of one text are marked separately; with more, one mark spans all of them."""

NUMBERS_IN_A_ROW = 5
LONGEST_OUTCOME = 3000
SEVERAL = {Control.CHECKBOXES, Control.MULTI_SELECT}
QUOTED, FRAMED = "blockquote", "pre"
"""The entities of people's own words and of agent text, by which they are told apart."""

_FOUND = re.compile(
    r"(?<!\w)[@#$/]\w\S*"  # names, tags, commands
    r"|\w[\w+.-]*(?:://|@)\S+"  # addresses, of pages and of mail
    r"|(?:[^\W_][\w-]*\.)+[^\W\d_]{2,}\S*"  # addresses of pages without a scheme
    r"|\+?\d[\d ().-]{5,}\d"  # numbers of telephones
)


class TooLong(Exception):
    """It does not fit into one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A formatted range of a text, counted in UTF-16."""

    kind: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """A button of the inline keyboard."""

    text: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A message."""

    text: str
    entities: tuple[Entity, ...] = ()
    rows: tuple[tuple[Button, ...], ...] = ()


@dataclass(slots=True)
class _Page:
    """A text with its entities, while it is built."""

    text: str = ""
    entities: list[Entity] = field(default_factory=list)

    def add(self, text: str, kind: str = "") -> None:
        """Append a text, as an entity of a kind if one is given."""
        if kind and text:
            self.entities.append(Entity(kind=kind, offset=units(self.text), length=units(text)))
        self.text += text

    def add_found(self, text: str, kind: str = "") -> None:
        """Append a text that holds names from outside: what Telegram would link in it is marked as code."""
        begin = units(self.text)
        self.add(text, kind)
        places = [found.span() for found in _FOUND.finditer(text)]
        if len(places) > MOST_MARKS:
            places = [(places[0][0], places[-1][1])]
        for start, end in places:
            offset = begin + units(text[:start])
            self.entities.append(Entity(kind="code", offset=offset, length=units(text[start:end])))


def excerpt(text: str, offset: int, length: int) -> str:
    """The part of a text that an entity covers."""
    return text.encode("utf-16-le")[2 * offset : 2 * (offset + length)].decode("utf-16-le", "replace")


def line(text: str) -> Content:
    """A sentence of ours."""
    page = _Page()
    page.add_found(shortened(text, LONGEST))
    return _content(page)


def message(view: View, words: Words, state: FormState | None = None) -> Content:
    """A view as a message; of several questions, those up to the one that is asked now.

    Raises:
        TooLong: if it does not fit, and something is still to be answered.
    """
    state = state or FormState.blank(len(view.questions))
    page = _page(view if view.outcome is not None else replace(view, hint=_hint(view, state, words)), state)
    if view.outcome is not None:
        page.add("\n\n")
        page.add_found(shortened(view.outcome, LONGEST_OUTCOME))
        if units(page.text) > LONGEST:
            page = _Page()
            page.add_found(f"{view.heading}\n\n{shortened(view.outcome, LONGEST_OUTCOME)}")
        return _content(page)
    if units(page.text) > LONGEST:
        raise TooLong
    return replace(_content(page), rows=tuple(_rows(view, state, words)))


def announcement(view: View, words: Words) -> Content:
    """A view with nothing to press, which its message shows until it is on record. Raises as `message` does."""
    whole = message(view, words)
    if view.outcome is not None:
        return whole
    state = FormState.blank(len(view.questions))
    page = _page(replace(view, hint=words["announced"]), state)
    return _content(page) if units(page.text) <= LONGEST else replace(whole, rows=())


def _page(view: View, state: FormState) -> _Page:
    page = _Page()
    page.add_found(view.heading)
    if view.context.strip():
        page.add("\n")
        page.add(view.context.strip("\n"), FRAMED)
    last = state.step if view.form and view.outcome is None else None
    shown = view.questions if last is None else view.questions[: last + 1]
    for index, question in enumerate(shown):
        number = index + 1 if len(view.questions) > 1 else None
        _add_question(page, question, number, given=state.given[index] if last not in {None, index} else None)
    for line in view.more.split("\n") if view.more else ():
        # Each ends with an address of ours, which is to be followed.
        text, _, link = line.rpartition(" ")
        page.add("\n\n")
        page.add_found(text)
        page.add(f" {link}")
    for text in (view.progress, view.hint) if view.outcome is None else ():
        if text:
            page.add("\n\n")
            page.add_found(text)
    return page


def _hint(view: View, state: FormState, words: Words) -> str:
    """The hint below the buttons; in a form, for the question that is asked now."""
    if not view.form:
        return view.hint
    question = view.questions[state.step or 0]
    if not question.choices:
        return words["reply.text"]
    return words["hint.other"] if question.custom else ""


def _add_question(page: _Page, question: Asked, number: int | None, given: Given | None) -> None:
    page.add("\n\n")
    if number is not None:
        page.add(f"{number})", "bold")
        page.add("\n")
    lines = [f"[{question.header}] {question.text}" if question.header else question.text]
    if given is None and _needs_list(question):
        for place, choice in enumerate(question.choices, 1):
            described = f" — {choice.description}" if choice.description else ""
            lines.append(f"{place}. {choice.full}{described}")
    page.add("\n".join(lines), FRAMED)
    if given is None:
        return
    page.add("\n")
    if given.words:
        page.add_found(given.words, QUOTED)
    else:
        # A client of one's own can press what was never shown.
        chosen = [choice.full for pick, choice in enumerate(question.choices) if pick in given.picks]
        page.add_found("✓ " + (", ".join(chosen) or "—"))


def _needs_list(question: Asked) -> bool:
    """Whether the options are written out, because their buttons do not say everything."""
    return _by_number(question) or any(choice.description for choice in question.choices)


def _by_number(question: Asked) -> bool:
    return question.numbered or len(question.choices) > CAPABILITIES.buttons


def _rows(view: View, state: FormState, words: Words) -> Iterator[tuple[Button, ...]]:
    step = state.step or 0
    question, given = view.questions[step], state.given[step]
    if len(view.questions) > 1 and not view.form:
        return
    several = question.control in SEVERAL
    buttons = []
    for pick, choice in enumerate(question.choices if question.control is not Control.WORDS else ()):
        label = str(pick + 1) if _by_number(question) else choice.label
        if several:
            label = f"{'☑' if pick in given.picks else '☐'} {label}"
            after = state.with_given(step, Given(picks=_toggled(given.picks, pick)))
        else:
            after = state.with_given(step, Given(picks=(pick,))).at(step + 1)
        buttons.append(Button(text=label, data=button_data(view.inquiry, after)))
    width = NUMBERS_IN_A_ROW if _by_number(question) else 1
    yield from (tuple(buttons[first : first + width]) for first in range(0, len(buttons), width))
    last = tuple(_steps(view, state, words, several=several))
    if last:
        yield last


def _steps(view: View, state: FormState, words: Words, *, several: bool) -> Iterator[Button]:
    """The last row of a keyboard: back, the position in the form, next."""
    step, count = state.step or 0, len(view.questions)
    if view.form:
        if step:
            yield Button(text=f"← {words['cancel']}", data=button_data(view.inquiry, state.at(step - 1)))
        here = button_data(view.inquiry, state, current=True)
        yield Button(text=f"{step + 1} / {count}", data=here)
    # A field that is passed over is left out.
    is_skippable = view.form and view.questions[step].optional
    if is_skippable or (several and state.given[step].picks):
        name = words["next"] if step + 1 < count else words["send"]
        yield Button(text=f"{name} →", data=button_data(view.inquiry, state.at(step + 1)))


def _toggled(picks: Sequence[int], pick: int) -> tuple[int, ...]:
    return tuple(sorted(set(picks) ^ {pick}))


def _content(page: _Page) -> Content:
    entities = page.entities
    if len(entities) > MOST_ENTITIES:
        # More would be ignored. So many questions are in no form: they are one block, with our numbers in it.
        framed = [entity for entity in entities if entity.kind == FRAMED]
        begin, end = framed[0].offset, framed[-1].offset + framed[-1].length
        around = [each for each in entities if each.offset < begin or each.offset >= end]
        entities = [*around, Entity(kind=FRAMED, offset=begin, length=end - begin)]
    return Content(text=page.text, entities=tuple(entities))
