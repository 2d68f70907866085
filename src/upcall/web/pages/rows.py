"""A row of the list in the inbox: the values that `row.html` draws."""

from dataclasses import dataclass

from upcall.domain.answer.typed import is_form
from upcall.domain.approval.likeness import LONGEST_LINE, likeness
from upcall.domain.inquiry.inquiry import Inquiry, Kind, Open
from upcall.domain.text.display import one_line
from upcall.web.pages.cards import rank
from upcall.web.pages.colours import hue
from upcall.web.pages.locales import Words
from upcall.web.pages.markdown import as_line
from upcall.web.pages.ordering import group
from upcall.web.pages.outcomes import held_line, resolution
from upcall.web.pages.plans import plan_title

LEFT_MATTERS = 3600.0
"""Seconds before its end from which on a question says how long is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Everything that is shown of an inquiry in a list. `facts` differ when what a person decides by differs."""

    id: str
    group: str
    kind: str
    rank: int
    facts: str
    agent: str
    initial: str
    hue: int
    comes_from: str
    name: str
    text: str
    more: int
    asked_at: float
    expires_at: float
    until: float | None
    settled_at: float
    outcome: str
    tone: str
    alike: str
    open: bool


def row(inquiry: Inquiry, words: Words, now: float) -> Row:
    """The row of an inquiry as it stands now."""
    origin, state = inquiry.origin, inquiry.state
    # A form of several fields begins its context with what it is about.
    first, *others = inquiry.questions
    asked = inquiry.context if others and is_form(inquiry) else first.text
    asked = plan_title(inquiry) if inquiry.kind is Kind.PLAN else asked
    asker, end = one_line(origin.asker), resolution(inquiry, words)
    until = state.snoozed_until if isinstance(state, Open) else None
    held = inquiry.held
    facts = (rank(inquiry), until, inquiry.expires_at, len(inquiry.votes), held is not None)
    return Row(
        id=inquiry.id,
        group=group(inquiry, now),
        kind=inquiry.kind.value,
        rank=rank(inquiry),
        facts="_".join(map(str, facts)),
        agent=one_line(origin.agent),
        initial=asker[:1].upper(),
        hue=hue(origin.asker),
        comes_from=origin.workspace or "",
        name=one_line((origin.workspace or "").rstrip("/").rpartition("/")[2], 60) or asker,
        # An action is never shown otherwise than as it runs.
        text=one_line(asked if inquiry.kind is Kind.APPROVAL else as_line(asked), LONGEST_LINE),
        more=len(inquiry.questions) - 1,
        asked_at=inquiry.asked_at,
        expires_at=inquiry.expires_at,
        until=until,
        settled_at=_settled_at(inquiry),
        outcome=held_line(inquiry, words) if end is None else one_line(end.sentence, LONGEST_LINE),
        tone=end.tone if end is not None else "" if held is None else "answered",
        alike=likeness(inquiry)[:16],
        open=inquiry.is_open and held is None,
    )


def _settled_at(inquiry: Inquiry) -> float:
    held, state = inquiry.held, inquiry.state
    if held is not None:
        return held.decision.closing.at
    return inquiry.asked_at if isinstance(state, Open) else state.closing.at
