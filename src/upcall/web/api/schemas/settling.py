"""The shapes of what becomes of a decision."""

from upcall.http.errors import STATUSES
from upcall.web.api.schemas.words import (
    FLAG,
    INTEGER_OR_NULL,
    MOMENT,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    list_of,
    noted,
    or_null,
    record,
    ref,
)

ERROR = record({"code": {"enum": [*STATUSES, "http_error"]}, "message": TEXT, "hint": TEXT_OR_NULL})


def settled() -> dict[str, Schema]:
    """Every named schema of a reply to a decision."""
    return {
        "Settled": record(
            {"accepted": FLAG, "inquiry": ref("Inquiry"), "told": or_null(ref("Told"))},
            description="`accepted` is false when another resolution stands; it is in the inquiry.",
        ),
        "Told": record(
            {
                "to": {"enum": ["call", "agent", "run", "runner", "gone", "kept"]},
                "run": INTEGER_OR_NULL,
                "command": noted(TEXT_OR_NULL, "What a person types to go on with the session."),
            },
            description="Where an answer goes: to a call that waits, to an agent that is at work and has to ask again, to a "
            "session that is brought back as a run, to another machine; or the asker is gone; or only its next call will tell.",
        ),
        "AskedBack": record(
            {
                "by": TEXT,
                "at": MOMENT,
                "text": TEXT,
                "told": noted(FLAG, "Whether a call has returned with it."),
                "reply": noted(TEXT_OR_NULL, "What the asker says to it."),
            }
        ),
        "Corrected": record(
            {
                "inquiry": ref("Inquiry"),
                "to": {"enum": ["live", "queued", "resumed", "thread", "repeated"]},
                "run": INTEGER_OR_NULL,
            },
            description="How the agent hears of it: at once, when its turn is over, by resuming its session, in its thread; or "
            "the same request has told it before.",
        ),
        "Decided": record({"items": list_of(ref("DecidedOne"))}),
        "DecidedOne": record(
            {
                "name": noted(TEXT, "As it was sent."),
                "accepted": FLAG,
                "inquiry": or_null(ref("Inquiry")),
                "error": or_null(ERROR),
            },
            description="As Settled; the inquiry is null, and the error is not, where the decision was refused for this one.",
        ),
    }
