"""An inquiry as a page shows it: the values that `card.html` draws, and nothing that has to be decided there."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict, Unpack

from markupsafe import Markup

from upcall.domain.answer import correction
from upcall.domain.answer.typed import is_form
from upcall.domain.document import branch_shown
from upcall.domain.inquiry.field import Field as TypedField, FieldType
from upcall.domain.inquiry.inquiry import (
    Answered,
    AskedBack,
    Inquiry,
    Kind,
    Open,
    Question,
)
from upcall.domain.inquiry.lifecycle import takes_force
from upcall.domain.text.display import escaped, one_line, visible
from upcall.web.pages.activities import ActivityView, activity_view, lines_in
from upcall.web.pages.approval_words import approval_heading
from upcall.web.pages.colours import hue
from upcall.web.pages.edited import Editing, editing_of
from upcall.web.pages.forms import OTHER
from upcall.web.pages.inputs import Input, input_of
from upcall.web.pages.locales import Words
from upcall.web.pages.markdown import as_heading, preformatted, rendered
from upcall.web.pages.outcomes import File, ResolutionLine, held_line, resolution, shown_file
from upcall.web.pages.plans import PlanView, plan_view
from upcall.web.pages.rule_words import OfferedRules, offered_rules

LONG_CONTEXT = 12
"""Lines after which a context is folded, unless it has to be agreed to."""

NO_TEXTS: Mapping[int, str] = {}

Given = Mapping[str, list[str]]
"""The fields of a form that was refused, as they were sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An option of a question."""

    number: int
    label: str
    description: str
    recommended: bool
    preview: Markup | None
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A question as a part of a form: its first paragraph is `text`, and `more` is what follows."""

    number: int
    header: str
    text: Markup
    more: Markup | None
    multi: bool
    custom: bool
    choices: tuple[Choice, ...]
    other_chosen: bool
    written: str
    name: str = ""
    """What the answer to a field of a form is called by its asker."""
    input: Input | None = None
    """How a field of a form is filled in that has no choices."""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailStep:
    """A station on the way of an answer; without a time it has not been reached."""

    name: str
    at: float | None
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Everything that is shown of an inquiry. `rank` only grows, so that old news never replaces new.

    `comes_from` is the workspace to the letter, for filters.
    """

    id: str
    ref: str
    kind: str
    state: str
    takes_force: bool
    place: str
    rank: int
    agent: str
    asker: str
    initial: str
    hue: int
    workspace: str
    comes_from: str
    workspace_name: str
    run: int | None
    asked_at: float
    expires_at: float
    snoozed_until: float | None
    activity: ActivityView | None
    context: Markup | None
    fold: bool
    plan: PlanView | None
    command: Markup | None
    heading: str
    """What is agreed to, in short, or what a form of several fields is about; else empty."""
    fields: tuple[Field, ...]
    files: tuple[File, ...]
    redacted: int
    default: str
    secret: bool
    remember: OfferedRules
    votes: str
    outcome: ResolutionLine | None
    trail: tuple[TrailStep, ...]
    editing: Editing
    key: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    """Makes what is sent twice one answer."""
    held: str = ""
    """What was decided and for which asker, while that can be undone."""
    given: Given = field(default_factory=dict[str, list[str]])
    """What was sent and could not be taken yet."""
    brings: bool = False
    """Whether files can be sent with the answer."""
    back: tuple[AskedBack, ...] | None = None
    """What people have asked its agent; None where no words can go to it."""
    corrigible: bool = False
    """Whether its agent may be told that the answer was wrong."""
    quorum: int = 1
    change: str = ""
    problem: str = ""
    said: str = ""
    lost: bool = False


class Additions(TypedDict, total=False):
    """What a page adds to the card of an inquiry: a message, a form to fill in again, and what else it has read."""

    change: str
    problem: str
    said: str
    lost: bool
    given: Given | None
    texts: Mapping[int, str]
    shown: tuple[float, str] | None


def card(
    inquiry: Inquiry,
    words: Words,
    now: float,
    **more: Unpack[Additions],
) -> Card:
    """The card of an inquiry now; `texts` are of its attachments, `shown` is since when and where people have seen it."""
    given = more.get("given") or {}
    origin, approval = inquiry.origin, inquiry.kind is Kind.APPROVAL
    asker, workspace = one_line(origin.asker), one_line(origin.workspace or "")
    return Card(
        id=inquiry.id,
        ref=inquiry.ref,
        kind=inquiry.kind.value,
        state=inquiry.state_name,
        takes_force=takes_force(inquiry),
        place=_place(inquiry, now),
        rank=rank(inquiry),
        agent=one_line(origin.agent),
        asker=asker,
        initial=asker[:1].upper(),
        hue=hue(origin.asker),
        workspace=workspace,
        comes_from=origin.workspace or "",
        workspace_name=workspace.rstrip("/").rpartition("/")[2],
        run=origin.run,
        asked_at=inquiry.asked_at,
        expires_at=inquiry.expires_at,
        snoozed_until=inquiry.state.snoozed_until if isinstance(inquiry.state, Open) else None,
        context=None if inquiry.kind is Kind.PLAN else _context(inquiry, approval=approval),
        plan=plan_view(inquiry, words),
        activity=activity_view(inquiry.activity, branch_shown(inquiry)),
        fold=not approval and lines_in(inquiry.context) > LONG_CONTEXT,
        command=_command(inquiry),
        heading=_heading(inquiry, words),
        fields=tuple(_fields(inquiry, given, words)),
        files=tuple(_files(inquiry, more.get("texts", NO_TEXTS))),
        redacted=inquiry.redacted,
        default=one_line(inquiry.default or "", 80),
        secret=inquiry.secret,
        remember=offered_rules(inquiry, words),
        votes=_votes(inquiry, words),
        outcome=resolution(inquiry, words),
        trail=_trail(inquiry, more.get("shown")),
        held=held_line(inquiry, words),
        given=given,
        brings=_takes_files(inquiry),
        back=inquiry.asked_back if origin.purpose != "permission" else None,
        corrigible=correction.has_way(inquiry),
        editing=editing_of(inquiry, given),
        quorum=inquiry.quorum,
        change=more.get("change", ""),
        problem=more.get("problem", ""),
        said=more.get("said", ""),
        lost=more.get("lost", False),
    )


def _takes_files(inquiry: Inquiry) -> bool:
    """Whether files can be sent with the answer: a prompt of the agent's program takes a yes or a no, and nothing else."""
    permission = inquiry.kind is Kind.APPROVAL and inquiry.origin.purpose == "permission"
    return not inquiry.secret and not permission


def _votes(inquiry: Inquiry, words: Words) -> str:
    if inquiry.quorum == 1:
        return ""
    given = inquiry.votes_for() if inquiry.is_open else inquiry.votes
    names = ", ".join(one_line(vote.by, 60) for vote in given)
    counted = words.say("card.votes", n=len(given), of=inquiry.quorum)
    return f"{counted}: {names}" if names else counted


def _place(inquiry: Inquiry, now: float) -> str:
    match inquiry.state:
        case Open(snoozed_until=until):
            return "snoozed" if until is not None and until > now else "open"
        case _:
            return "settled"


def rank(inquiry: Inquiry) -> int:
    """How far it is; old news about it never has a higher one than new."""
    match inquiry.state:
        case Open():
            return 0
        case Answered(collected_at=collected, forwarded_at=forwarded):
            return 4 if collected is not None else 2 if forwarded is None else 3
        case _:
            return 1


def _heading(inquiry: Inquiry, words: Words) -> str:
    return as_heading(inquiry.context)[0] if _has_fields(inquiry) else approval_heading(inquiry, words)


def _has_fields(inquiry: Inquiry) -> bool:
    """Whether it is a form of several fields: what it is about is the first paragraph of its context."""
    return is_form(inquiry) and len(inquiry.questions) > 1


def _context(inquiry: Inquiry, *, approval: bool) -> Markup | None:
    if not inquiry.context.strip():
        return None
    if _has_fields(inquiry):
        return as_heading(inquiry.context)[1]
    if not approval:
        return rendered(inquiry.context)
    exact = escaped(inquiry.context).strip("\n")
    return preformatted(exact) if "\n" in exact else Markup("<p>{}</p>").format(exact)


def _command(inquiry: Inquiry) -> Markup | None:
    """What is agreed to, shown whole and to the letter."""
    return preformatted(escaped(inquiry.questions[0].text)) if inquiry.kind is Kind.APPROVAL else None


def _files(inquiry: Inquiry, texts: Mapping[int, str]) -> Iterator[File]:
    for number, file in enumerate(inquiry.attachments):
        text = texts.get(number)
        # It may be what is agreed to, so nothing in it hides.
        yield shown_file(number, file, None if text is None else preformatted(escaped(text)))


def _fields(inquiry: Inquiry, given: Given, words: Words) -> Iterator[Field]:
    for number, question in enumerate(inquiry.questions):
        drawn = _field(number, question, given)
        yield drawn if question.field is None else _typed(drawn, question, question.field, given, words)


def _typed(drawn: Field, question: Question, of: TypedField, given: Given, words: Words) -> Field:
    """A field of a form, with its default as long as nothing else was sent."""
    choices = drawn.choices
    if of.type is FieldType.BOOLEAN:
        said = (words.say("form.yes"), words.say("form.no"))
        choices = tuple(replace(choice, label=label) for choice, label in zip(choices, said, strict=True))
    if not given:
        chosen = [question.labels.index(label) for label in of.default if label in question.labels]
        choices = tuple(replace(choice, chosen=choice.number in chosen) for choice in choices)
    written = drawn.written if given else "".join(of.default) if not choices else ""
    return replace(
        drawn,
        choices=choices,
        name=one_line(of.name, 60),
        input=None if choices else input_of(of),
        required=of.required and not of.default,
        written=written,
    )


def _field(number: int, question: Question, given: Given) -> Field:
    chosen = given.get(f"q{number}", [])
    text, more = as_heading(question.text)
    return Field(
        number=number,
        header=one_line(question.header, 60),
        text=text,
        more=more,
        multi=question.multi,
        custom=question.custom or not question.options,
        choices=tuple(
            Choice(
                number=place,
                label=one_line(option.label),
                description=visible(option.description),
                recommended=option.recommended,
                preview=preformatted(visible(option.preview)) if option.preview else None,
                chosen=str(place) in chosen,
            )
            for place, option in enumerate(question.options)
        ),
        other_chosen=OTHER in chosen,
        written="".join(given.get(f"t{number}", [])),
    )


def _trail(inquiry: Inquiry, shown: tuple[float, str] | None) -> tuple[TrailStep, ...]:
    first = TrailStep(name="asked", at=inquiry.asked_at, by=one_line(inquiry.origin.asker, 60))
    asked = (first,) if shown is None else (first, TrailStep(name="shown", at=shown[0], by=shown[1]))
    match inquiry.state:
        case Open():
            return asked
        case Answered(closing=closing, collected_at=collected, forwarded_at=forwarded):
            answered = TrailStep(
                name="answered", at=closing.at, by=one_line(f"{closing.by} · {closing.via}", 80)
            )
            on_its_way = () if forwarded is None else (TrailStep(name="forwarded", at=forwarded),)
            return (*asked, answered, *on_its_way, TrailStep(name="collected", at=collected))
        case closed:
            return (*asked, TrailStep(name=inquiry.state_name, at=closed.closing.at))
