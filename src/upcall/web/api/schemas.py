"""The shapes of everything that the API takes and gives, as JSON Schema."""

from upcall.domain.approval.rules import WAYS
from upcall.domain.inquiry.asking import LONGEST_LABEL, MOST_LABELS
from upcall.domain.inquiry.inquiry import STATE_NAMES, Kind, OnExpiry
from upcall.domain.inquiry.limits import Limits
from upcall.domain.roles import Role
from upcall.http.errors import STATUSES

Schema = dict[str, object]

TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
MOMENT: Schema = {"type": "string", "format": "date-time"}
MOMENT_OR_NULL: Schema = {"type": ["string", "null"], "format": "date-time"}
DURATION: Schema = {
    "oneOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": r"^[0-9.]+ ?[smhd]?$"},
    ],
    "description": "Seconds, or text like `90s`, `10m`, `24h`, `2d`: more than 0 and at most a year.",
}
ROLE: Schema = {"enum": [role.value for role in Role]}
KIND: Schema = {"enum": [kind.value for kind in Kind]}
WAY: Schema = {"enum": list(WAYS)}
STATE: Schema = {"enum": list(STATE_NAMES.values())}


def ref(name: str) -> Schema:
    """A reference to one of the schemas."""
    return {"$ref": f"#/components/schemas/{name}"}


def list_of(schema: Schema, **more: object) -> Schema:
    """A list of something."""
    return {"type": "array", "items": schema, **more}


def record(properties: Schema, *, optional: tuple[str, ...] = (), **more: object) -> Schema:
    """An object that we write: every field is there unless it is optional, and there are no others."""
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **more,
    }


def form(properties: Schema, *, required: tuple[str, ...] = (), **more: object) -> Schema:
    """An object that we are sent."""
    return {"type": "object", "properties": properties, "required": list(required), **more}


def or_null(name: str) -> Schema:
    """One of the schemas, or nothing."""
    return {"oneOf": [ref(name), {"type": "null"}]}


def schemas(limits: Limits) -> dict[str, Schema]:
    """Every named schema."""
    return {**_given(), **_settled(), **_approvals(), **_service(), **_taken(limits)}


def _given() -> dict[str, Schema]:
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
                "custom": {
                    "type": "boolean",
                    "description": "Whether an answer in one's own words is possible.",
                },
            }
        ),
        "Attachment": record({"name": TEXT, "media_type": TEXT, "size": COUNT, "sha256": TEXT}),
        "Answer": record(
            {
                "answers": list_of(list_of(TEXT), description="One list for each question."),
                "text": {"type": "string", "description": "The raw words."},
                "by": TEXT,
                "via": TEXT,
                "at": MOMENT,
                "forwarded_at": {**MOMENT_OR_NULL, "description": "When its session was brought back."},
                "collected_at": {**MOMENT_OR_NULL, "description": "When the agent had it."},
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
        "InquiryList": record({"items": list_of(ref("Inquiry")), "next": TEXT_OR_NULL}),
    }


def _settled() -> dict[str, Schema]:
    return {
        "Settled": record(
            {"accepted": FLAG, "inquiry": ref("Inquiry"), "told": or_null("Told")},
            description="`accepted` is false when another resolution stands; it is in the inquiry.",
        ),
        "Told": record(
            {
                "to": {"enum": ["call", "agent", "run", "runner", "gone", "kept"]},
                "run": {"type": ["integer", "null"]},
                "command": {**TEXT_OR_NULL, "description": "What a person types to go on with the session."},
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
                "data": {"type": "object", "description": "What an event of this type has to say."},
            }
        ),
        "EventList": _event_list(),
    }


def _approvals() -> dict[str, Schema]:
    return {
        "ActionShown": record(
            {
                "tool": TEXT,
                "cwd": TEXT,
                "sha256": {"type": "string", "description": "Over the original tool, input and directory."},
                "remember": list_of(WAY, description="The rules that an approval can be remembered as."),
                "prefix": {"type": "string", "description": "What `prefix` would remember."},
            }
        ),
        "Approvals": record(
            {
                "needed": COUNT,
                "given": list_of(record({"by": TEXT, "via": TEXT, "at": MOMENT})),
            },
            description="Where an approval takes several people.",
        ),
        "Rule": record(
            {
                "id": TEXT,
                "as": WAY,
                "agent": {**TEXT_OR_NULL, "description": "Any agent when there is none."},
                "tool": TEXT_OR_NULL,
                "directory": TEXT_OR_NULL,
                "prefix": TEXT_OR_NULL,
                "shown": {"type": "string", "description": "What it was made from."},
                "sha256": {**TEXT_OR_NULL, "description": "Of the very action that it allows."},
                "by": TEXT,
                "inquiry": TEXT_OR_NULL,
                "made_at": MOMENT,
                "expires_at": MOMENT,
                "active": FLAG,
            }
        ),
        "RuleList": record({"items": list_of(ref("Rule")), "next": TEXT_OR_NULL}),
        "RevokedRule": record({"id": TEXT, "revoked": FLAG}),
    }


def _event_list() -> Schema:
    return record(
        {"items": list_of(ref("Event")), "next_after": COUNT, "reset": FLAG},
        optional=("reset",),
        description="`reset` is there, and true, when events before these were pruned that you have not seen.",
    )


def _inquiry() -> Schema:
    return record(
        {
            "id": TEXT,
            "ref": {"type": "string", "description": "The short name that a person types."},
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
            "queued": {"type": "boolean", "description": "Another question of its thread comes first."},
            "run": {"type": ["integer", "null"]},
            "door": {"type": "string", "description": "How it was asked: `http`, `mcp`, …"},
            "request_key": {
                "type": ["string", "null"],
                "description": "What the asker calls its request; for a task in a folder, its id.",
            },
            "asked_at": MOMENT,
            "expires_at": MOMENT,
            "snoozed_until": MOMENT_OR_NULL,
            "on_expiry": {"enum": [choice.value for choice in OnExpiry]},
            "default": TEXT_OR_NULL,
            "labels": list_of(TEXT),
            "secret": FLAG,
            "redacted": {**COUNT, "description": "How many secrets in the question were masked."},
            "action": or_null("ActionShown"),
            "approvals": or_null("Approvals"),
            "answer": or_null("Answer"),
            "resolution": or_null("Resolution"),
            "delivery": list_of(ref("Delivery")),
            "resume": {
                **or_null("Resume"),
                "description": "How the answer gets to a run whose program has ended.",
            },
        }
    )


def _service() -> dict[str, Schema]:
    error = record({"code": {"enum": [*STATUSES, "http_error"]}, "message": TEXT, "hint": TEXT_OR_NULL})
    token: Schema = {"name": TEXT, "role": ROLE}
    return {
        "Error": record({"error": error}),
        "Me": record(dict(token)),
        "SignInLink": record({"url": TEXT, "expires_in": {"type": "integer", "description": "Seconds."}}),
        "Token": record({**token, "created_at": MOMENT}),
        "TokenList": record({"items": list_of(ref("Token")), "next": TEXT_OR_NULL}),
        "NewToken": record(
            {**token, "token": {"type": "string", "description": "The secret, shown this once."}}
        ),
        "Revoked": record({"name": TEXT, "revoked": FLAG}),
        "Health": record({"status": {"enum": ["ok", "stopping"]}, "service": TEXT, "version": TEXT}),
        "Backup": record({"path": TEXT}),
    }


def _taken(limits: Limits) -> dict[str, Schema]:
    option = form(
        {
            "label": {"type": "string", "minLength": 1, "maxLength": limits.label},
            "description": {"type": "string", "maxLength": limits.description},
            "recommended": FLAG,
            "preview": {"type": "string", "maxLength": limits.preview},
        },
        required=("label",),
    )
    question: Schema = {
        "question": {"type": "string", "minLength": 1, "maxLength": limits.question},
        "header": {"type": "string", "maxLength": limits.header},
        "options": list_of({"oneOf": [ref("OptionForm"), TEXT]}, maxItems=limits.options),
        "multiSelect": {"type": "boolean", "default": False},
        "custom": {"type": "boolean", "default": True},
    }
    attachment = form(
        {"name": TEXT, "media_type": TEXT, "data": {"type": "string", "contentEncoding": "base64"}},
        required=("name", "data"),
    )
    return {
        "OptionForm": option,
        "QuestionForm": form(question, required=("question",)),
        "AttachmentForm": attachment,
        "Ask": form({**question, **_about_the_whole(limits)}),
        "AnswerForm": _answer_form(),
        "AgentReplyForm": form(
            {
                "agent_id": TEXT,
                "reply": TEXT,
                "id": {
                    "type": "string",
                    "description": "The question that is meant, as the stream tells it.",
                },
                "key": {"type": "string", "description": "Recognises the same reply sent again."},
            },
            required=("agent_id", "reply"),
        ),
        "EndForm": form({"reason": {"type": "string", "maxLength": limits.reason}, "via": TEXT, "key": _KEY}),
        "SpanForm": form({"for": DURATION, "seconds": DURATION, "until": MOMENT}),
        "ActionForm": form(
            {"tool": TEXT, "input": {"type": "object"}, "cwd": TEXT, "reason": TEXT},
            required=("tool", "input"),
        ),
        "RuleForm": form(
            {"agent": TEXT, "tool": TEXT, "directory": TEXT, "prefix": TEXT, "for": DURATION},
            description="What it allows meets every condition given; it needs a tool, a directory or a prefix.",
        ),
        "TokenForm": form({"name": TEXT, "role": ROLE}, required=("name", "role")),
        "BackupForm": form({"path": {"type": "string", "description": "Absolute."}}, required=("path",)),
    }


_KEY: Schema = {
    "type": "string",
    "maxLength": 200,
    "description": "A repeated request with the same key gets its first reply again.",
}


def _about_the_whole(limits: Limits) -> Schema:
    name: Schema = {"type": "string", "maxLength": 200}
    return {
        "questions": list_of(ref("QuestionForm"), minItems=1, maxItems=limits.questions),
        "kind": KIND,
        "context": {"type": "string", "description": f"Markdown, at most {limits.context_bytes} bytes."},
        "attachments": list_of(ref("AttachmentForm"), maxItems=limits.attachments),
        "action": {
            **ref("ActionForm"),
            "description": "Ask for approval of an action; it is shown whole, so no question goes with it.",
        },
        "ttl": DURATION,
        "default": {"type": "string", "description": "The answer when nobody gives one in time."},
        "on_expiry": {"enum": [choice.value for choice in OnExpiry]},
        "labels": list_of({"type": "string", "maxLength": LONGEST_LABEL}, maxItems=MOST_LABELS),
        "secret": {"type": "boolean", "default": False},
        "agent": {**name, "description": "Only one's own; the token says who asks."},
        "session": {**name, "description": "The token's name unless given."},
        "request_key": {**name, "description": "The same key again rejoins the same inquiry."},
        "purpose": {"enum": ["question", "permission"], "default": "question"},
        "workspace": {"type": "string", "maxLength": 1000},
        "thread": {
            "type": "string",
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$",
            "description": "The conversation that it is part of, which begins with it if need be.",
        },
    }


def _answer_form() -> Schema:
    return form(
        {
            "answers": list_of(list_of(TEXT), description="One list for each question."),
            "text": {"type": "string", "description": "A reply in words, read like one typed in a chat."},
            "choices": list_of(TEXT, description="Values like on a command line."),
            "key": _KEY,
            "force": {"type": "boolean", "description": "Answer even one that has expired."},
            "remember": form(
                {"as": WAY, "for": DURATION, "prefix": TEXT},
                required=("as",),
                description="Make a rule of the approval of an action, for 30 days unless said otherwise.",
            ),
            "via": TEXT,
        },
        oneOf=[{"required": ["answers"]}, {"required": ["text"]}, {"required": ["choices"]}],
    )
