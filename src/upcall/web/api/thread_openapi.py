"""Threads in the OpenAPI document."""

from upcall.domain.thread.thread import POSTED_BY_AGENTS, ItemType
from upcall.web.api.describing import Document, given, operation, path, query, taken
from upcall.web.api.schemas import (
    COUNT,
    DURATION,
    KIND,
    MOMENT,
    STATE,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    form,
    list_of,
    or_null,
    record,
    ref,
)

PERMISSIONS: Schema = {"enum": ["approval", "autonomous"]}
NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$"}
ANYTHING: Schema = {"type": "object"}
_NAME = path("name", TEXT)
POST_EXAMPLE: Document = {"content": [{"type": "text", "text": "use the new API"}]}


def thread_paths() -> Document:
    """Every route under `/v1/threads`."""
    one = "/v1/threads/{name}"
    thread = given("The thread.", ref("Thread"))
    listed = given(
        "A page, the newest first; `next` is the `cursor` of the following one.", ref("ThreadList")
    )
    return {
        "/v1/threads": {
            "post": operation(
                "Begin a thread: an agent its own, a person one of any agent",
                {"201": thread, "200": given("The one of that name, as it is.", ref("Thread"))},
                tag="threads",
                body=taken(ref("ThreadForm"), {"id": "shop-42", "title": "The shop"}),
            ),
            "get": operation(
                "List threads; an agent its own",
                {"200": listed},
                tag="threads",
                parameters=[
                    query("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
                    query("cursor", TEXT),
                ],
            ),
        },
        one: {
            "get": operation("Read a thread", {"200": thread}, tag="threads", parameters=[_NAME]),
            "patch": operation(
                "Set what the agent may do in it without asking (person or admin)",
                {"200": thread},
                tag="threads",
                parameters=[_NAME],
                body=taken(ref("PermissionsForm"), {"permissions": "autonomous"}),
            ),
        },
        f"{one}/items": {"get": _items(), "post": _post()},
        f"{one}/turn": {
            "post": operation(
                "Begin the next turn with the messages that were left for it (the agent itself)",
                {
                    "200": given(
                        "Those messages, again until `after` says that they arrived.", ref("ThreadItems")
                    )
                },
                tag="threads",
                parameters=[
                    _NAME,
                    query("after", COUNT, "The `next_after` of the turn before: its messages have arrived."),
                    query("wait", {**DURATION, "default": 0}, "At most 300 seconds."),
                ],
            )
        },
        f"{one}/resolve": {
            "post": _settling("Answer the prompt whose turn it is", "ResolveForm", {"text": "1"})
        },
        f"{one}/reject": {
            "post": _settling("Decline to answer the prompt whose turn it is", "RejectForm", {})
        },
    }


def _items() -> Document:
    return operation(
        "Read a thread's items in order; with `wait`, not before there is something to tell",
        {"200": given("Items, and where to go on.", ref("ThreadItems"))},
        tag="threads",
        parameters=[
            _NAME,
            query("after", COUNT, "The `next_after` of the items before."),
            query("wait", {**DURATION, "default": 0}, "At most 300 seconds."),
            query("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
        ],
    )


def _post() -> Document:
    told = ref("ThreadPosted")
    return operation(
        "Post: an agent what it does; a person a message, which answers the open question or waits for the next turn",
        {"201": given("The item.", told), "200": given("Nothing: it was about a prompt that is over.", told)},
        tag="threads",
        parameters=[_NAME],
        body=taken(ref("ThreadPost"), POST_EXAMPLE),
    )


def _settling(summary: str, named: str, example: Document) -> Document:
    return operation(
        f"{summary}; anything else is left alone (person or admin)",
        {"200": given("Whether this settled it, and the inquiry.", ref("PromptSettled"))},
        tag="threads",
        parameters=[_NAME],
        body=taken(ref(named), {"prompt_id": "prm_01J", **example}),
    )


def thread_schemas() -> dict[str, Schema]:
    """Every named schema about threads."""
    part = form({"type": {"const": "text"}, "text": TEXT}, required=("type", "text"))
    named: dict[str, Schema] = {
        "prompt_id": TEXT,
        "tool_call_id": {
            "type": "string",
            "description": "The `request_key` of the call that asked, instead.",
        },
        "key": TEXT,
    }
    one_of_them = [{"required": ["prompt_id"]}, {"required": ["tool_call_id"]}]
    answers = list_of({"oneOf": [list_of(TEXT), {"type": "object", "required": ["answer"]}]})
    return {
        "Thread": _thread(),
        "ThreadList": record({"items": list_of(ref("Thread")), "next": TEXT_OR_NULL}),
        "ThreadForm": form(
            {
                "id": {**NAME, "description": "Chosen for you unless given."},
                "agent": {"type": "string", "description": "Whose it is; for people, agents have their own."},
                "session": TEXT,
                "title": {"type": "string", "maxLength": 200},
                "permissions": {**PERMISSIONS, "description": "For people; `autonomous` for admins."},
            }
        ),
        "PermissionsForm": form(
            {"permissions": {"oneOf": [PERMISSIONS, {"type": "null"}]}}, required=("permissions",)
        ),
        "ThreadItem": _item(),
        "ThreadItems": record({"items": list_of(ref("ThreadItem")), "next_after": COUNT}),
        "ThreadPost": form(
            {
                "content": list_of(part),
                "text": {"type": "string", "description": "The same in short."},
                "metadata": {
                    "type": "object",
                    "description": f"`type` is one of {', '.join(POSTED_BY_AGENTS)}; people post text. "
                    "A person's `prompt` may hold `prompt_id` and `answers`; an agent's call its `tool_call_id`.",
                },
                "key": {
                    "type": "string",
                    "maxLength": 200,
                    "description": "Recognises the same message sent again.",
                },
                "via": TEXT,
            }
        ),
        "ThreadPosted": record(
            {
                "accepted": {"type": "boolean"},
                "answered": {**TEXT_OR_NULL, "description": "The prompt that it answered."},
                "item": {"oneOf": [ref("ThreadItem"), {"type": "null"}]},
            }
        ),
        "ResolveForm": form({**named, "text": TEXT, "answers": answers, "via": TEXT}, anyOf=one_of_them),
        "RejectForm": form({**named, "reason": TEXT}, anyOf=one_of_them),
        "PromptSettled": record(
            {"accepted": {"type": "boolean"}, "inquiry": or_null("Inquiry"), "told": or_null("Told")}
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
            "permissions": {**PERMISSIONS, "description": "The thread's, or the agent's, or the default."},
            "own_permissions": {"oneOf": [PERMISSIONS, {"type": "null"}]},
            "prompt": {"oneOf": [prompt, {"type": "null"}], "description": "Whose turn it is."},
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
            "queued": {"type": "boolean", "description": "A message that the agent has not taken up yet."},
            "block": {
                "oneOf": [ANYTHING, {"type": "null"}],
                "description": "A prompt as a block, as it stands now.",
            },
        }
    )
