"""Threads and their items, and the forms in which agents and people post."""

from upcall.domain.thread.thread import POSTED_BY_AGENTS, ItemType
from upcall.web.api.schemas.inquiries import KIND, STATE
from upcall.web.api.schemas.words import (
    COUNT,
    FLAG,
    MOMENT,
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

PERMISSIONS: Schema = {"enum": ["approval", "autonomous"]}


def thread_schemas() -> dict[str, Schema]:
    """Every named schema about threads."""
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
        **_forms(),
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


def _forms() -> dict[str, Schema]:
    part = form({"type": {"const": "text"}, "text": TEXT}, required=("type", "text"))
    named: Schema = {
        "prompt_id": TEXT,
        "tool_call_id": noted(TEXT, "The `request_key` of the call that asked, instead."),
        "key": TEXT,
    }
    one_of_them = [{"required": ["prompt_id"]}, {"required": ["tool_call_id"]}]
    answers = list_of({"oneOf": [list_of(TEXT), {"type": "object", "required": ["answer"]}]})
    return {
        "ThreadForm": form(
            {
                "id": noted(THREAD_NAME, "Chosen for you unless given."),
                "agent": noted(TEXT, "The agent that it belongs to; for people, agents have their own."),
                "session": TEXT,
                "title": text(most=200),
                "permissions": noted(PERMISSIONS, "For people; `autonomous` for admins."),
            }
        ),
        "PermissionsForm": form({"permissions": or_null(PERMISSIONS)}, required=("permissions",)),
        "ThreadPost": form(
            {
                "content": list_of(part),
                "text": noted(TEXT, "The same in short."),
                "metadata": noted(
                    OBJECT,
                    f"`type` is one of {', '.join(POSTED_BY_AGENTS)}; people post text. "
                    "A person's `prompt` may hold `prompt_id` and `answers`; an agent's call its `tool_call_id`.",
                ),
                "key": noted(text(most=200), "Recognises the same message sent again."),
                "via": TEXT,
            }
        ),
        "ResolveForm": form({**named, "text": TEXT, "answers": answers, "via": TEXT}, anyOf=one_of_them),
        "RejectForm": form({**named, "reason": TEXT}, anyOf=one_of_them),
    }
