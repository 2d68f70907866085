"""The shapes of what the API replies with."""

from upcall.domain.away import AwayMode
from upcall.domain.thread.thread import ItemType
from upcall.web.api.schemas.approvals import approvals
from upcall.web.api.schemas.plans import COMMENTS, DECISION, PLAN
from upcall.web.api.schemas.settling import ERROR, settled
from upcall.web.api.schemas.words import (
    ACTIVITY,
    ANSWERS,
    COUNT,
    COUNT_OR_NULL,
    FIELD,
    FLAG,
    INTEGER_OR_NULL,
    KIND,
    MOMENT,
    MOMENT_OR_NULL,
    OBJECT,
    ON_EXPIRY,
    PERMISSION,
    PERMISSIONS,
    RUN_STATE,
    STATE,
    TEXT,
    TEXT_OR_NULL,
    TOKEN,
    VARIABLES,
    WAY,
    Schema,
    list_of,
    noted,
    or_null,
    page_of,
    record,
    ref,
)


def replies() -> dict[str, Schema]:
    """Every named schema of a reply."""
    return {
        **_inquiries(),
        **_runs(),
        **_threads(),
        **_rules(),
        **_people(),
        **_channels(),
        **_service(),
    }


def _inquiries() -> dict[str, Schema]:
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
                "field": FIELD,
            },
            optional=("field",),
        ),
        "Attachment": record({"name": TEXT, "media_type": TEXT, "size": COUNT, "sha256": TEXT}),
        "Answer": record(
            {
                "answers": ANSWERS,
                "content": noted(OBJECT, "The answer to a form, as its `response_schema` describes it."),
                "decision": noted(DECISION, "What was decided about a plan."),
                "comments": COMMENTS,
                "text": noted(TEXT, "The raw words."),
                "note": noted(TEXT, "What was written beside the choice."),
                "edit": noted(
                    or_null(ref("Edit")),
                    "The action as a person changed it: what was approved, or with a denial what they suggest.",
                ),
                "files": list_of(ref("Attachment")),
                "by": TEXT,
                "via": TEXT,
                "at": MOMENT,
                "forwarded_at": noted(MOMENT_OR_NULL, "When its session was brought back."),
                "collected_at": noted(MOMENT_OR_NULL, "When the agent had it."),
            },
            optional=("content", "decision", "comments"),
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
        "Activity": ACTIVITY,
        "Inquiry": _inquiry(),
        "InquiryList": page_of(
            "Inquiry", indexing=noted(FLAG, "The words of older inquiries are still being indexed.")
        ),
        **approvals(),
        **settled(),
        **_events(),
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
            "branch": noted(TEXT, "The branch that the folder is on; empty where that is not known."),
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
            "held": noted(
                or_null(record({"by": TEXT, "via": TEXT, "until": MOMENT})),
                "A person has decided, and can undo it until then; the asker is told afterwards.",
            ),
            "asked_back": noted(list_of(ref("AskedBack")), "What people want to know from the asker first."),
            "on_expiry": ON_EXPIRY,
            "default": TEXT_OR_NULL,
            "labels": list_of(TEXT),
            "secret": FLAG,
            "redacted": noted(COUNT, "How many secrets in the question were masked."),
            "activity": noted(
                or_null(ref("Activity")), "What the agent was doing when it asked; read a moment later."
            ),
            "action": or_null(ref("ActionShown")),
            "approvals": or_null(ref("Approvals")),
            "plan": noted(or_null(PLAN), "What a plan takes up; its own text is the context."),
            "answer": or_null(ref("Answer")),
            "resolution": or_null(ref("Resolution")),
            "delivery": list_of(ref("Delivery")),
            "resume": noted(
                or_null(ref("Resume")), "How the answer reaches a run after its program has ended."
            ),
        }
    )


def _events() -> dict[str, Schema]:
    return {
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


def _runs() -> dict[str, Schema]:
    return {
        "Resume": record(
            {
                "state": TEXT,
                "run": INTEGER_OR_NULL,
                "attempts": COUNT,
                "error": TEXT_OR_NULL,
                "next_try": noted(
                    MOMENT_OR_NULL,
                    "In state `waiting`: when the service of the agent's model is tried again.",
                ),
                "command": noted(TEXT_OR_NULL, "What takes a session over that was not started here."),
            }
        ),
        "Run": _run(),
        "RunList": page_of("Run"),
        "Said": record(
            {
                "run": COUNT,
                "delivery": {
                    "enum": ["live", "queued", "resumed"],
                    "description": "At once, when its turn is over, or by taking its session up again.",
                },
            }
        ),
        "RunLog": record(
            {
                "lines": list_of(record({"at": COUNT, "kind": TEXT, "text": TEXT})),
                "next_after": COUNT,
                "over": noted(FLAG, "Nothing more will come of the run by itself."),
            }
        ),
        "Command": record({"argv": list_of(TEXT), "cwd": TEXT, "environment": VARIABLES}),
    }


def _run() -> Schema:
    return record(
        {
            "number": COUNT,
            "agent": TEXT,
            "task": TEXT,
            "cwd": TEXT,
            "state": RUN_STATE,
            "reason": noted(TEXT, "A short code: why it failed or was cancelled."),
            "result": noted(TEXT, "The program's own last words."),
            "session": noted(TEXT, "The program's own id of it; empty until it told it."),
            "permission": PERMISSION,
            "arguments": list_of(TEXT),
            "by": noted(TEXT, "Who started it."),
            "runner": noted(TEXT, "The machine that its session lives on."),
            "turns": COUNT,
            "tool": noted(TEXT, "What it is using right now."),
            "cost": {"type": ["number", "null"], "description": "In US dollars, where the program says."},
            "tokens": record({"input": COUNT_OR_NULL, "output": COUNT_OR_NULL}),
            "created_at": MOMENT,
            "started_at": MOMENT_OR_NULL,
            "ended_at": MOMENT_OR_NULL,
            "exit_code": INTEGER_OR_NULL,
            "inquiries": list_of(TEXT, description="The refs of its open questions."),
            "retry_of": INTEGER_OR_NULL,
            "next_try": noted(
                MOMENT_OR_NULL,
                "When the service of the model is tried again, where `reason` says that it refused.",
            ),
        }
    )


def _threads() -> dict[str, Schema]:
    return {
        "Thread": _thread(),
        "ThreadList": page_of("Thread"),
        "ThreadItem": _item(),
        "ThreadItems": record({"items": list_of(ref("ThreadItem")), "next_after": COUNT}),
        "ThreadPosted": record(
            {
                "accepted": FLAG,
                "answered": noted(TEXT_OR_NULL, "The prompt that it answered."),
                "item": or_null(ref("ThreadItem")),
            }
        ),
        "PromptSettled": record(
            {"accepted": FLAG, "inquiry": or_null(ref("Inquiry")), "told": or_null(ref("Told"))}
        ),
    }


def _thread() -> Schema:
    prompt = record({"prompt_id": TEXT, "inquiry": TEXT, "ref": TEXT, "kind": KIND, "state": STATE})
    return record(
        {
            "id": TEXT,
            "agent": TEXT,
            "session": TEXT,
            "title": TEXT,
            "permissions": noted(PERMISSIONS, "The thread's, or the agent's, or the default."),
            "own_permissions": or_null(PERMISSIONS),
            "prompt": noted(or_null(prompt), "The open prompt that comes first."),
            "created_at": MOMENT,
        }
    )


def _item() -> Schema:
    return record(
        {
            "seq": COUNT,
            "id": TEXT,
            "thread": TEXT,
            "role": {"enum": ["user", "agent", "worker"]},
            "by": TEXT,
            "at": MOMENT,
            "content": list_of(record({"type": {"const": "text"}, "text": TEXT})),
            "metadata": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"enum": [each.value for each in ItemType]}},
            },
            "queued": noted(FLAG, "A message that the agent has not taken up yet."),
            "block": noted(or_null(OBJECT), "A prompt as a block, as it stands now."),
        }
    )


def _rules() -> dict[str, Schema]:
    return {
        "Rule": record(
            {
                "id": TEXT,
                "as": WAY,
                "agent": noted(TEXT_OR_NULL, "Any agent when there is none."),
                "tool": TEXT_OR_NULL,
                "directory": TEXT_OR_NULL,
                "prefix": TEXT_OR_NULL,
                "shown": noted(TEXT, "What it was made from."),
                "sha256": noted(TEXT_OR_NULL, "Of the very action that it allows."),
                "by": TEXT,
                "inquiry": TEXT_OR_NULL,
                "made_at": MOMENT,
                "expires_at": MOMENT,
                "active": FLAG,
            }
        ),
        "RuleList": page_of("Rule"),
        "RevokedRule": record({"id": TEXT, "revoked": FLAG}),
    }


def _people() -> dict[str, Schema]:
    identity = record({"channel": TEXT, "user": TEXT})
    app = record({"channel": TEXT, "account": TEXT_OR_NULL})
    return {
        "AnswerLink": record({"url": TEXT, "person": TEXT, "expires_at": MOMENT}),
        "Person": record({"name": TEXT, "added_at": MOMENT, "identities": list_of(identity)}),
        "PersonList": page_of("Person"),
        "Enrolment": record({"name": TEXT, "code": TEXT, "expires_at": MOMENT, "apps": list_of(app)}),
        "Removed": record({"name": TEXT, "removed": {"const": True}}),
    }


def _channels() -> dict[str, Schema]:
    sides: Schema = {"enum": ["sending", "listening", "off"]}
    fault = record({"side": sides, "problem": TEXT, "since": MOMENT, "hint": TEXT})
    finding = record({"ok": FLAG, "text": TEXT, "hint": TEXT_OR_NULL})
    return {
        "Channel": record({"name": TEXT, "places": list_of(TEXT), "faults": list_of(fault)}),
        "ChannelList": page_of("Channel"),
        "ChannelTest": record({"findings": list_of(finding), "place": TEXT_OR_NULL, "inquiry": TEXT_OR_NULL}),
    }


def _service() -> dict[str, Schema]:
    return {
        "Error": record({"error": ERROR}),
        "Health": record({"status": {"enum": ["ok", "stopping"]}, "service": TEXT, "version": TEXT}),
        "Backup": record({"path": TEXT}),
        "Away": record(
            {
                "mode": {"enum": [mode.value for mode in AwayMode]},
                "after": noted({"type": "number"}, "Seconds without a key, where the mode is `auto`."),
                "by": TEXT_OR_NULL,
                "at": MOMENT_OR_NULL,
            },
            description="When dialogs of terminals go to people elsewhere: `on` at once, `off` never.",
        ),
        "Reloaded": record(
            {
                "started": noted(list_of(TEXT), "Channels that were started, or started again."),
                "ended": noted(list_of(TEXT), "Channels that the settings have no more."),
                "off": list_of(record({"name": TEXT, "problem": TEXT})),
                "restart": noted(list_of(TEXT), "Keys that count only after a restart."),
            }
        ),
        "Me": record(TOKEN),
        "SignInLink": record({"url": TEXT, "expires_in": {"type": "integer", "description": "Seconds."}}),
        "Token": record({**TOKEN, "created_at": MOMENT}),
        "TokenList": page_of("Token"),
        "NewToken": record({**TOKEN, "token": noted(TEXT, "The secret, shown this once.")}),
        "Revoked": record({"name": TEXT, "revoked": FLAG}),
    }
