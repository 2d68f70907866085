"""The shapes of actions that people approve, and of what they make of them."""

from upcall.domain.approval.obstacles import Obstacle
from upcall.web.api.schemas.words import (
    COUNT,
    FLAG,
    MOMENT,
    OBJECT,
    TEXT,
    WAY,
    Schema,
    list_of,
    noted,
    or_null,
    record,
    ref,
)


def approvals() -> dict[str, Schema]:
    """Every named schema of an approval."""
    return {
        "ActionShown": record(
            {
                "tool": TEXT,
                "cwd": TEXT,
                "sha256": noted(TEXT, "Over the original tool, input and directory."),
                "remember": list_of(WAY, description="The rules that an approval can be remembered as."),
                "prefix": noted(TEXT, "What `prefix` would remember."),
                "no_prefix": or_null(ref("NoPrefix")),
                "input": noted(
                    or_null(OBJECT),
                    "What the tool is given, where it can be edited: nothing in it is masked.",
                ),
                "runs_edited": noted(
                    FLAG, "Whether an edited action runs. Otherwise it is a denial that suggests it."
                ),
            }
        ),
        "NoPrefix": record(
            {
                "reason": {"enum": [each.value for each in Obstacle]},
                "what": noted(TEXT, "The character, variable or program."),
                "text": noted(TEXT, "The reason as a sentence."),
            },
            description="Why the first words of a command cannot be remembered.",
        ),
        "Approval": record(
            {"allowed_by": or_null(ref("Allowance")), "inquiry": or_null(ref("Inquiry"))},
            description="Either what allows an action at once, or the inquiry in which a person decides about it.",
        ),
        "Allowance": record(
            {
                "rule": noted(
                    or_null(TEXT), "The remembered rule; none where the asker may act without asking."
                ),
                "by": noted(or_null(TEXT), "The person who made the rule."),
                "reason": TEXT,
            }
        ),
        "Approvals": record(
            {
                "needed": COUNT,
                "given": list_of(record({"by": TEXT, "via": TEXT, "at": MOMENT, "sha256": TEXT})),
                "edits": list_of(ref("Edit"), description="Edited actions; each takes as many people."),
            },
            description="Where an approval takes several people.",
        ),
        "Edit": record(
            {
                "input": noted(OBJECT, "What the tool is given instead."),
                "sha256": noted(TEXT, "Over the tool, this input and the directory."),
                "before": noted(TEXT, "The action as it was asked, as it is shown."),
                "after": noted(TEXT, "The action as it was edited, as it is shown."),
                "difference": noted(TEXT, "What was changed, field by field."),
            }
        ),
    }
