"""What Telegram is sent: a view as text, entities and buttons. Nothing is parsed, so nothing can be hidden in it.

Telegram itself looks for names, commands and tags in any text; they are marked as code, where it does not. The limits
are Telegram's, counted as it counts, in UTF-16.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from upcall.channels.telegram_draft import Draft, written
from upcall.domain.showing import Asked, Capabilities, Control, Given, View

Words = Mapping[str, str]

CAPABILITIES = Capabilities(
    buttons=8,
    button_label=40,
    select=30,
    checkboxes=8,
    multi_select=30,
    option_label=40,
    form=4,
    body=3600,
)
LONGEST = 4096
LONGEST_TOAST = 200
MOST_ENTITIES = 100
NUMBERS_IN_A_ROW = 5
LONGEST_OUTCOME = 3000
SEVERAL = {Control.CHECKBOXES, Control.MULTI_SELECT}
QUOTED = "blockquote"
"""People's own words; what an agent wrote is an `expandable_blockquote`, so one is never taken for the other."""

_PARSED = re.compile(r"(?<!\w)[@#$/]\w\S*")


class TooLong(Exception):
    """It does not fit into one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A stretch of text that looks different; places are counted in UTF-16."""

    kind: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """Something to press."""

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
    """A text as it grows."""

    text: str = ""
    entities: list[Entity] = field(default_factory=list)

    def add(self, text: str, kind: str = "") -> None:
        if kind and text:
            self.entities.append(Entity(kind=kind, offset=units(self.text), length=units(text)))
        self.text += text


def units(text: str) -> int:
    """How long Telegram says that a text is."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def excerpt(text: str, offset: int, length: int) -> str:
    """The stretch of a text that an entity is about."""
    return text.encode("utf-16-le")[2 * offset : 2 * (offset + length)].decode("utf-16-le", "replace")


def shortened(text: str, most: int) -> str:
    """A text within so many UTF-16 units, cut at its end."""
    if units(text) <= most:
        return text
    return excerpt(text, 0, most - 1).rstrip("\N{REPLACEMENT CHARACTER}") + "…"


def line(text: str) -> Content:
    """A sentence of ours."""
    page = _Page()
    page.add(shortened(text, LONGEST))
    return _content(page)


def message(view: View, words: Words, draft: Draft | None = None) -> Content:
    """A view as a message; of several questions, the one that a draft is at and those before it.

    Raises:
        TooLong: if it does not fit, and something is still to be answered.
    """
    draft = draft or Draft.blank(len(view.questions))
    page = _page(view if view.outcome is not None else replace(view, hint=_hint(view, draft, words)), draft)
    if view.outcome is not None:
        page.add("\n\n")
        page.add(shortened(view.outcome, LONGEST_OUTCOME))
        if units(page.text) > LONGEST:
            page = _Page()
            page.add(f"{view.heading}\n\n{shortened(view.outcome, LONGEST_OUTCOME)}")
        return _content(page)
    if units(page.text) > LONGEST:
        raise TooLong
    return replace(_content(page), rows=tuple(_rows(view, draft, words)))


def _page(view: View, draft: Draft) -> _Page:
    page = _Page()
    page.add(view.heading)
    if view.context.strip():
        page.add("\n")
        page.add(view.context.strip("\n"), "pre" if view.approval else "expandable_blockquote")
    last = draft.step if view.form and view.outcome is None else None
    shown = view.questions if last is None else view.questions[: last + 1]
    for index, question in enumerate(shown):
        number = index + 1 if len(view.questions) > 1 else None
        _add_question(page, question, number, given=draft.given[index] if last not in {None, index} else None)
    for text in (view.more, view.progress, view.hint):
        if text and (view.outcome is None or text is view.more):
            page.add(f"\n\n{text}")
    return page


def _hint(view: View, draft: Draft, words: Words) -> str:
    """What can be done beside pressing; of several questions, with the one that is asked now."""
    if not view.form:
        return view.hint
    question = view.questions[draft.step or 0]
    if not question.choices:
        return words["reply.text"]
    return words["hint.other"] if question.custom else ""


def _add_question(page: _Page, question: Asked, number: int | None, given: Given | None) -> None:
    page.add("\n\n")
    head = f"{number}) " if number is not None else ""
    header = f"[{question.header}] " if question.header else ""
    page.add(f"{head}{header}", "bold")
    page.add(question.text)
    if given is not None:
        page.add("\n")
        if given.words:
            page.add(given.words, QUOTED)
        else:
            # Whoever writes a program of their own can press what nobody was shown.
            chosen = [choice.full for pick, choice in enumerate(question.choices) if pick in given.picks]
            page.add("✓ " + ", ".join(chosen))
    elif _needs_list(question):
        for place, choice in enumerate(question.choices, 1):
            described = f" — {choice.description}" if choice.description else ""
            page.add(f"\n{place}. {choice.full}{described}")


def _needs_list(question: Asked) -> bool:
    """Whether the options are written out, because their buttons do not say everything."""
    return _by_number(question) or any(choice.description for choice in question.choices)


def _by_number(question: Asked) -> bool:
    return question.numbered or len(question.choices) > CAPABILITIES.buttons


def _rows(view: View, draft: Draft, words: Words) -> Iterator[tuple[Button, ...]]:
    step = draft.step or 0
    question, given = view.questions[step], draft.given[step]
    if len(view.questions) > 1 and not view.form:
        return
    several = question.control in SEVERAL
    buttons = []
    for pick, choice in enumerate(question.choices if question.control is not Control.WORDS else ()):
        label = str(pick + 1) if _by_number(question) else choice.label
        if several:
            label = f"{'☑' if pick in given.picks else '☐'} {label}"
            after = draft.with_given(step, Given(picks=_toggled(given.picks, pick)))
        else:
            after = draft.with_given(step, Given(picks=(pick,))).at(step + 1)
        buttons.append(Button(text=label, data=written(view.inquiry, after)))
    width = NUMBERS_IN_A_ROW if _by_number(question) else 1
    yield from (tuple(buttons[first : first + width]) for first in range(0, len(buttons), width))
    last = tuple(_steps(view, draft, words, several=several))
    if last:
        yield last


def _steps(view: View, draft: Draft, words: Words, *, several: bool) -> Iterator[Button]:
    """The row below the choices: back, where we are, and on."""
    step, count = draft.step or 0, len(view.questions)
    if view.form:
        if step:
            yield Button(text=f"← {words['cancel']}", data=written(view.inquiry, draft.at(step - 1)))
        here = written(view.inquiry, draft, current=True)
        yield Button(text=f"{step + 1} / {count}", data=here)
    if several and draft.given[step].picks:
        name = words["next"] if step + 1 < count else words["send"]
        yield Button(text=f"{name} →", data=written(view.inquiry, draft.at(step + 1)))


def _toggled(picks: Sequence[int], pick: int) -> tuple[int, ...]:
    return tuple(sorted(set(picks) ^ {pick}))


def _content(page: _Page) -> Content:
    exact = [entity for entity in page.entities if entity.kind == "pre"]
    marks = []
    for found in _PARSED.finditer(page.text):
        offset = units(page.text[: found.start()])
        if not any(entity.offset <= offset < entity.offset + entity.length for entity in exact):
            marks.append(Entity(kind="code", offset=offset, length=units(found[0])))
    entities = [*page.entities, *marks]
    if len(entities) > MOST_ENTITIES:
        # More are ignored, and with them what they keep from being parsed.
        entities = [Entity(kind="pre", offset=0, length=units(page.text))]
    return Content(text=page.text, entities=tuple(entities))
