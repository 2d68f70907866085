"""A plan as a page shows it: in blocks, each with the number of its first line, beside what has changed since the plan before."""

from dataclasses import dataclass

from markupsafe import Markup

from upcall.domain.answer.comments import Remarks, quoted
from upcall.domain.inquiry.inquiry import Answer, Inquiry, Kind
from upcall.domain.inquiry.plans import ACCEPT_EDITS, decision
from upcall.domain.inquiry.revisions import difference
from upcall.domain.text.display import visible
from upcall.web.pages.locales import Words
from upcall.web.pages.markdown import blocks, preformatted


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A paragraph, a heading, an item of a list or another part of a plan, with the number of its line while it is open."""

    number: Markup | None
    html: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """Everything that is shown of a plan; `accepts` says whether its edits can be accepted with it."""

    blocks: tuple[Block, ...]
    difference: Markup | None
    accepts: bool


LINE = Markup('<a href="#n-{name}" data-line="{line}" aria-label="{label}">{line}</a>')
"""The number of a line, with which a comment on it begins."""


def plan_view(inquiry: Inquiry, words: Words) -> PlanView | None:
    """The plan of an inquiry; None if it is of another kind."""
    if inquiry.kind is not Kind.PLAN:
        return None

    def numbered(line: int) -> Markup:
        return LINE.format(name=inquiry.id, line=line, label=words.say("plan.line", n=line))

    mark = numbered if inquiry.is_open else None
    changed = difference(inquiry.earlier_plan, inquiry.context) if inquiry.earlier_plan else ""
    return PlanView(
        blocks=tuple(
            Block(number=mark(line) if mark is not None else None, html=html)
            for line, html in blocks(inquiry.context, mark)
        ),
        difference=preformatted(visible(changed), "diff") if changed else None,
        accepts=ACCEPT_EDITS in inquiry.questions[0].labels,
    )


def plan_title(inquiry: Inquiry) -> str:
    """The first line of a plan that says something, for a list."""
    lines = (line.strip().lstrip("#").strip() for line in inquiry.context.split("\n"))
    return next((line for line in lines if line), "")


def decided_plan(inquiry: Inquiry, answer: Answer, words: Words) -> str | None:
    """What was decided about a plan, in the words of its button; None for another kind of answer."""
    named = decision(inquiry, answer)
    return None if named is None else words.say(f"plan.{named}")


def remarks(answer: Answer) -> str:
    """What was said beside a decision: the note, and each comment under its passage."""
    return visible(quoted(Remarks(comments=answer.comments, note=answer.note)))
