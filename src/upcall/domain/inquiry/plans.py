"""A plan as an inquiry: its question, and the decisions about it. What a person says about it is read in `answer/plans.py`."""

from collections.abc import Sequence

from upcall.domain.errors import InvalidInquiry
from upcall.domain.inquiry.inquiry import APPROVE, Answer, Inquiry, Kind, Option, Question

ACCEPT_EDITS = "Approve and accept edits"
REVISE = "Revise"
REJECT = "Reject"
DECISIONS = {"approve": APPROVE, "revise": REVISE, "accept_edits": ACCEPT_EDITS, "reject": REJECT}
"""The label of each decision by its name for programs. None of them lets an agent do without permissions."""

OPTIONS = (
    Option(label=APPROVE, description="It is carried out; each action is still put to a person."),
    Option(label=REVISE, description="With what should change; the agent submits another plan."),
    Option(label=ACCEPT_EDITS, description="It is carried out, and files may be changed without asking."),
    Option(label=REJECT, description="It is not carried out."),
)
"""The first two are what channels offer to press: their numbers are the same everywhere."""

HEADER = "Plan"
ASKED = "Shall this plan be carried out?"


def question(asked: Sequence[Question], context: str, *, edits: bool = True) -> Question:
    """The question of a plan. Without `edits`, its approval cannot accept them.

    Raises:
        InvalidInquiry: if there is no plan, or more than one question.
    """
    example = (
        '{"kind": "plan", "question": "Shall this plan be carried out?", "context": "1. Stop\\n2. Copy"}'
    )
    if len(asked) > 1 or asked[0].options:
        raise InvalidInquiry("questions", "a plan is decided by itself, without options", hint=example)
    if not context.strip():
        raise InvalidInquiry("context", "the plan, as Markdown", hint=example)
    options = OPTIONS if edits else tuple(each for each in OPTIONS if each.label != ACCEPT_EDITS)
    return Question(text=asked[0].text, header=asked[0].header or HEADER, options=options)


def decision(inquiry: Inquiry, answer: Answer) -> str | None:
    """The name of the decision about a plan; None for another kind of answer."""
    if inquiry.kind is not Kind.PLAN:
        return None
    return next((name for name, label in DECISIONS.items() if answer.values == ((label,),)), None)


def is_approved(answer: Answer) -> bool:
    """Whether a plan is to be carried out."""
    return answer.values in (((APPROVE,),), ((ACCEPT_EDITS,),))
