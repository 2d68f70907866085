"""Inquiries, their answers, approvals and events, and the forms in which people and agents send them."""

from upcall.domain.approval.rules import WAYS
from upcall.domain.inquiry.asking import LONGEST_LABEL, MOST_LABELS
from upcall.domain.inquiry.inquiry import STATE_NAMES, Kind, OnExpiry
from upcall.domain.inquiry.limits import Limits
from upcall.web.api.schemas.words import (
    COUNT,
    DURATION,
    FLAG,
    INTEGER_OR_NULL,
    MOMENT,
    MOMENT_OR_NULL,
    OBJECT,
    TEXT,
    TEXT_OR_NULL,
    THREAD_NAME,
    Schema,
    form,
    list_of,
    noted,
    or_null,
    page_of,
    record,
    ref,
    text,
)

KIND: Schema = {"enum": [kind.value for kind in Kind]}
WAY: Schema = {"enum": list(WAYS)}
STATE: Schema = {"enum": list(STATE_NAMES.values())}
ON_EXPIRY: Schema = {"enum": [choice.value for choice in OnExpiry]}
NAME = text(most=200)
KEY = noted(NAME, "A repeated request with the same key gets its first reply again.")
ANSWERS = list_of(list_of(TEXT), description="One list for each question.")


def inquiry_schemas() -> dict[str, Schema]:
    """What is replied about inquiries and the log."""
    return {
        "Option": record(
            {"label": TEXT, "description": TEXT, "recommended": FLAG, "preview": TEXT},
            optional=("recommended", "preview"),
        ),
        "Question": record(
            {
                "header": TEXT,
                "question": TEXT,
                "options": list_of(ref("Option")),
                "multiSelect": FLAG,
                "custom": noted(FLAG, "Whether an answer in one's own words is possible."),
            }
        ),
        "Attachment": record({"name": TEXT, "media_type": TEXT, "size": COUNT, "sha256": TEXT}),
        "Answer": record(
            {
                "answers": ANSWERS,
                "text": noted(TEXT, "The raw words."),
                "by": TEXT,
                "via": TEXT,
                "at": MOMENT,
                "forwarded_at": noted(MOMENT_OR_NULL, "When its session was brought back."),
                "collected_at": noted(MOMENT_OR_NULL, "When the agent had it."),
            }
        ),
        "Resolution": record({"state": STATE, "by": TEXT, "via": TEXT, "at": MOMENT, "reason": TEXT_OR_NULL}),
        "Delivery": record(
            {
                "channel": TEXT,
                "place": TEXT,
                "message_id": TEXT_OR_NULL,
                "shown_at": MOMENT_OR_NULL,
                "updated_at": MOMENT_OR_NULL,
                "error": TEXT_OR_NULL,
                "busy": FLAG,
            }
        ),
        "Inquiry": _inquiry(),
        "InquiryList": page_of("Inquiry"),
        **_approvals(),
        **_settled(),
    }


def _inquiry() -> Schema:
    return record(
        {
            "id": TEXT,
            "ref": noted(TEXT, "The short name that a person types."),
            "kind": KIND,
            "state": STATE,
            "questions": list_of(ref("Question")),
            "context": TEXT,
            "attachments": list_of(ref("Attachment")),
            "agent": TEXT,
            "asker": TEXT,
            "workspace": TEXT_OR_NULL,
            "session": TEXT,
            "thread": TEXT_OR_NULL,
            "queued": noted(FLAG, "Another question of its thread comes first."),
            "run": INTEGER_OR_NULL,
            "door": noted(TEXT, "How it was asked: `http`, `mcp`, …"),
            "request_key": noted(
                TEXT_OR_NULL, "What the asker calls its request; for a task in a folder, its id."
            ),
            "asked_at": MOMENT,
            "expires_at": MOMENT,
            "snoozed_until": MOMENT_OR_NULL,
            "on_expiry": ON_EXPIRY,
            "default": TEXT_OR_NULL,
            "labels": list_of(TEXT),
            "secret": FLAG,
            "redacted": noted(COUNT, "How many secrets in the question were masked."),
            "action": or_null(ref("ActionShown")),
            "approvals": or_null(ref("Approvals")),
            "answer": or_null(ref("Answer")),
            "resolution": or_null(ref("Resolution")),
            "delivery": list_of(ref("Delivery")),
            "resume": noted(
                or_null(ref("Resume")), "How the answer reaches a run after its program has ended."
            ),
        }
    )


def _approvals() -> dict[str, Schema]:
    return {
        "ActionShown": record(
            {
                "tool": TEXT,
                "cwd": TEXT,
                "sha256": noted(TEXT, "Over the original tool, input and directory."),
                "remember": list_of(WAY, description="The rules that an approval can be remembered as."),
                "prefix": noted(TEXT, "What `prefix` would remember."),
            }
        ),
        "Approvals": record(
            {"needed": COUNT, "given": list_of(record({"by": TEXT, "via": TEXT, "at": MOMENT}))},
            description="Where an approval takes several people.",
        ),
    }


def _settled() -> dict[str, Schema]:
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
        "Event": record(
            {
                "seq": COUNT,
                "type": TEXT,
                "inquiry": TEXT_OR_NULL,
                "at": MOMENT,
                "data": noted(OBJECT, "What an event of this type has to say."),
            }
        ),
        "EventList": record(
            {"items": list_of(ref("Event")), "next_after": COUNT, "reset": FLAG},
            optional=("reset",),
            description="`reset` is there, and true, when events before these were pruned that you have not seen.",
        ),
    }


def inquiry_forms(limits: Limits) -> dict[str, Schema]:
    """What is sent about inquiries."""
    question: Schema = {
        "question": text(1, limits.question),
        "header": text(most=limits.header),
        "options": list_of({"oneOf": [ref("OptionForm"), TEXT]}, maxItems=limits.options),
        "multiSelect": {"type": "boolean", "default": False},
        "custom": {"type": "boolean", "default": True},
    }
    option: Schema = {
        "label": text(1, limits.label),
        "description": text(most=limits.description),
        "recommended": FLAG,
        "preview": text(most=limits.preview),
    }
    return {
        "OptionForm": form(option, required=("label",)),
        "QuestionForm": form(question, required=("question",)),
        "AttachmentForm": form(
            {"name": TEXT, "media_type": TEXT, "data": {"type": "string", "contentEncoding": "base64"}},
            required=("name", "data"),
        ),
        "Ask": form({**question, **_about_the_whole(limits)}),
        "ActionForm": form(
            {"tool": TEXT, "input": OBJECT, "cwd": TEXT, "reason": TEXT}, required=("tool", "input")
        ),
        "AnswerForm": _answer_form(),
        "AgentReplyForm": form(
            {
                "agent_id": TEXT,
                "reply": TEXT,
                "id": noted(TEXT, "The question that is meant, as the stream tells it."),
                "key": noted(TEXT, "Recognises the same reply sent again."),
            },
            required=("agent_id", "reply"),
        ),
        "EndForm": form({"reason": text(most=limits.reason), "via": TEXT, "key": KEY}),
        "SpanForm": form({"for": DURATION, "seconds": DURATION, "until": MOMENT}),
    }


def _about_the_whole(limits: Limits) -> Schema:
    return {
        "questions": list_of(ref("QuestionForm"), minItems=1, maxItems=limits.questions),
        "kind": KIND,
        "context": noted(TEXT, f"Markdown, at most {limits.context_bytes} bytes."),
        "attachments": list_of(ref("AttachmentForm"), maxItems=limits.attachments),
        "action": noted(
            ref("ActionForm"),
            "Ask for approval of an action; it is shown whole, so no question goes with it.",
        ),
        "ttl": DURATION,
        "default": noted(TEXT, "The answer that stands when none comes in time."),
        "on_expiry": ON_EXPIRY,
        "labels": list_of(text(most=LONGEST_LABEL), maxItems=MOST_LABELS),
        "secret": {"type": "boolean", "default": False},
        "agent": noted(NAME, "Only one's own; the token says who asks."),
        "session": noted(NAME, "The token's name unless given."),
        "request_key": noted(NAME, "The same key again rejoins the same inquiry."),
        "purpose": {"enum": ["question", "permission"], "default": "question"},
        "workspace": text(most=1000),
        "thread": noted(THREAD_NAME, "The conversation that it is part of, which begins with it if need be."),
    }


def _answer_form() -> Schema:
    return form(
        {
            "answers": ANSWERS,
            "text": noted(TEXT, "A reply in words, read like one typed in a chat."),
            "choices": list_of(TEXT, description="Values like on a command line."),
            "key": KEY,
            "force": noted(FLAG, "Answer even one that has expired."),
            "remember": form(
                {"as": WAY, "for": DURATION, "prefix": TEXT},
                required=("as",),
                description="Make a rule of the approval of an action, for 30 days unless said otherwise.",
            ),
            "via": TEXT,
        },
        oneOf=[{"required": ["answers"]}, {"required": ["text"]}, {"required": ["choices"]}],
    )
