"""The shapes of plans: what is decided about one, and the comments on it."""

from upcall.domain.answer.comments import MOST
from upcall.domain.inquiry.plans import DECISIONS
from upcall.web.api.schemas.words import (
    INTEGER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    form,
    list_of,
    noted,
    record,
)

DECISION: Schema = {"enum": list(DECISIONS)}
COMMENTS = list_of(
    record(
        {
            "text": TEXT,
            "passage": noted(TEXT, "What it is about, quoted from the plan."),
            "line": noted(
                INTEGER_OR_NULL, "Where the passage begins, counted from 1; null where that is not certain."
            ),
        }
    ),
    description="What was said about passages of a plan.",
)
COMMENT_FORMS = list_of(
    form(
        {
            "text": TEXT,
            "passage": noted(TEXT, "Quoted from the plan."),
            "line": {"type": "integer", "minimum": 1, "description": "Of the plan, counted from 1."},
        },
        required=("text",),
    ),
    maxItems=MOST,
    description="About single lines or passages of a plan.",
)
PLAN = record(
    {
        "before": noted(TEXT_OR_NULL, "The plan that it takes up, where it was submitted again."),
        "difference": noted(TEXT_OR_NULL, "Between the two, as a unified diff."),
    }
)
