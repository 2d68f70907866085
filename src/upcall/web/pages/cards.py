"""An inquiry as a page shows it: the values that `card.html` draws, and nothing that has to be decided there."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from markupsafe import Markup

from upcall.domain.answer import correction
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
from upcall.web.pages.forms import OTHER
from upcall.web.pages.locales import Words
from upcall.web.pages.markdown import as_heading, preformatted, rendered
from upcall.web.pages.outcomes import File, ResolutionLine, held_line, resolution, shown_file
from upcall.web.pages.rule_words import ways_in_words

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
    command: Markup | None
    heading: str
    fields: tuple[Field, ...]
    files: tuple[File, ...]
    redacted: int
    default: str
    secret: bool
    remember: tuple[tuple[str, str], ...]
    votes: str
    outcome: ResolutionLine | None
    trail: tuple[TrailStep, ...]
    key: str
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
    *,
    change: str = "",
    problem: str = "",
    said: str = "",
    lost: bool = False,
    given: Given | None = None,
    texts: Mapping[int, str] = NO_TEXTS,
    shown: tuple[float, str] | None = None,
) -> Card:
    """The card of an inquiry now; `texts` are of its attachments, `shown` is since when and where people have seen it."""
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
        activity=activity_view(inquiry.activity),
        context=_context(inquiry, approval=approval),
        fold=not approval and lines_in(inquiry.context) > LONG_CONTEXT,
        command=_command(inquiry),
        heading=approval_heading(inquiry, words),
        fields=tuple(_fields(inquiry, given or {})),
        files=tuple(_files(inquiry, texts)),
        redacted=inquiry.redacted,
        default=one_line(inquiry.default or "", 80),
        secret=inquiry.secret,
        remember=ways_in_words(inquiry, words) if inquiry.is_open else (),
        votes=_votes(inquiry, words),
        outcome=resolution(inquiry, words),
        trail=_trail(inquiry, shown),
        key=secrets.token_urlsafe(16),
        held=held_line(inquiry, words),
        given=given or {},
        brings=_takes_files(inquiry),
        back=inquiry.asked_back if origin.purpose != "permission" else None,
        corrigible=correction.has_way(inquiry),
        change=change,
        problem=problem,
        said=said,
        lost=lost,
    )


def _takes_files(inquiry: Inquiry) -> bool:
    """Whether files can be sent with the answer: a prompt of the agent's program takes a yes or a no, and nothing else."""
    permission = inquiry.kind is Kind.APPROVAL and inquiry.origin.purpose == "permission"
    return not inquiry.secret and not permission


def _votes(inquiry: Inquiry, words: Words) -> str:
    if inquiry.quorum == 1:
        return ""
    names = ", ".join(one_line(vote.by, 60) for vote in inquiry.votes)
    counted = words.say("card.votes", n=len(inquiry.votes), of=inquiry.quorum)
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


def _context(inquiry: Inquiry, *, approval: bool) -> Markup | None:
    if not inquiry.context.strip():
        return None
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


def _fields(inquiry: Inquiry, given: Given) -> Iterator[Field]:
    for number, question in enumerate(inquiry.questions):
        yield _field(number, question, given)


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
