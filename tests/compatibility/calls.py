"""A tour of the API: what the recorder says to a daemon, in this order, so that a database has some of everything."""

from typing import Any

Json = dict[str, Any]
LONG = "365d"
CACHE = {
    "question": "Which cache?",
    "options": [{"label": "Redis", "description": "has pub/sub"}, "Memcached"],
}
DROP = {"kind": "approval", "question": "Drop the table users?", "ttl": LONG}


def call(who: str, line: str, body: Json | None = None, **more: object) -> Json:
    """A request; `saves` names fields of its reply for later paths, `token` the holder of the token in it."""
    return {"as": who, "call": line, "body": body, **more}


def asked(name: str, **body: object) -> Json:
    return call("agent", "POST /v1/inquiries", {"ttl": LONG, **body}, saves={name: "id"})


TOUR: list[Json] = [
    call("", "GET /healthz"),
    call("", "GET /livez"),
    call("owner", "GET /v1/me"),
    call("owner", "POST /v1/tokens", {"name": "ana", "role": "person"}, token="person"),
    call("owner", "POST /v1/tokens", {"name": "build-bot", "role": "agent"}, token="bot"),
    call("owner", "POST /v1/tokens", {"name": "gone", "role": "agent"}, token="gone"),
    call("owner", "DELETE /v1/tokens/gone"),
    call("owner", "GET /v1/tokens"),
    asked("cache", **CACHE, context="Both are *installed*.", request_key="call-1", session="s-a"),
    asked("cache", **CACHE, context="Both are *installed*.", request_key="call-1", session="s-a"),
    asked("text", kind="text", question="What is the port of the staging database?"),
    asked("drop", **DROP),
    asked("secret", kind="text", question="What is the key?", secret=True),
    asked(
        "several",
        questions=[CACHE, {"question": "Which checks?", "options": ["lint", "tests"], "multiSelect": True}],
    ),
    asked(
        "attached",
        question="Is this right?",
        attachments=[{"name": "a.diff", "type": "text/x-diff", "data": "LSBhCisgYgo="}],
    ),
    asked("labelled", question="Which region?", labels=["release"], default="eu", options=["eu", "us"]),
    asked("answered", **CACHE, request_key="call-2", session="s-a"),
    call("person", "POST /v1/inquiries/{answered}/answer", {"text": "1"}),
    call("person", "POST /v1/inquiries/{answered}/answer", {"text": "2"}),
    call("agent", "GET /v1/inquiries/{answered}/wait?timeout=5"),
    call("agent", "POST /v1/inquiries/{answered}/collect"),
    asked(
        "both",
        questions=[CACHE, {"question": "Which checks?", "options": ["lint", "tests"], "multiSelect": True}],
    ),
    call("owner", "POST /v1/inquiries/{both}/answer", {"answers": [["Memcached"], ["lint", "tests"]]}),
    asked("rejected", question="May I rewrite it in Rust?"),
    call("person", "POST /v1/inquiries/{rejected}/reject", {"reason": "not now"}),
    asked("cancelled", question="Where are the docs?"),
    call("agent", "POST /v1/inquiries/{cancelled}/cancel", {"reason": "found it myself"}),
    asked("expired", question="Still there?", ttl=1),
    call("agent", "GET /v1/inquiries/{expired}/wait?timeout=30"),
    call("person", "POST /v1/inquiries/{text}/snooze", {"for": "1h"}),
    call("person", "POST /v1/inquiries/{drop}/extend", {"for": LONG}),
    call("person", "POST /v1/inquiries/{cache}/links", {"person": "ana"}),
    call("owner", "GET /v1/inquiries?state=open"),
    call("owner", "GET /v1/inquiries?state=closed&limit=3"),
    call("owner", "GET /v1/inquiries?q=cache"),
    call("owner", "GET /v1/inquiries/{cache}"),
    call("owner", "GET /v1/inquiries/{attached}/attachments/0"),
    call("agent", "GET /v1/inquiries/nothing-of-that-name"),
    call("agent", "POST /v1/inquiries/{cache}/answer", {"text": "1"}),
    call("agent", "POST /v1/inquiries", {"question": ""}),
    call("owner", "GET /v1/events?after=0&limit=20"),
    call(
        "owner",
        "POST /v1/rules",
        {"agent": "claude", "prefix": "npm test", "directory": "/home/ana/shop", "for": LONG},
        saves={"rule": "id"},
    ),
    call(
        "owner",
        "POST /v1/rules",
        {"agent": "claude", "tool": "WebFetch", "for": LONG},
        saves={"revoked": "id"},
    ),
    call("owner", "DELETE /v1/rules/{revoked}"),
    call("owner", "GET /v1/rules"),
    call("owner", "GET /v1/rules/{rule}"),
    call("owner", "GET /v1/people"),
    call("owner", "GET /v1/channels"),
    call("agent", "POST /v1/threads", {"id": "shop-42", "title": "The shop"}),
    call("agent", "POST /v1/threads/shop-42/items", {"text": "Looking at the shop."}),
    asked("threaded", **CACHE, thread="shop-42"),
    asked("queued", question="Which port?", thread="shop-42"),
    call("person", "POST /v1/threads/shop-42/items", {"text": "1", "key": "m-17"}),
    call("agent", "GET /v1/inquiries/{threaded}/wait?timeout=5"),
    call("agent", "POST /v1/inquiries/{threaded}/collect"),
    call("owner", "GET /v1/threads"),
    call("owner", "GET /v1/threads/shop-42"),
    call("owner", "GET /v1/threads/shop-42/items"),
    call(
        "owner", "POST /v1/runs", {"agent": "done", "task": "Say hello", "cwd": "/"}, saves={"done": "number"}
    ),
    call(
        "owner", "POST /v1/runs", {"agent": "failing", "task": "Fail", "cwd": "/"}, saves={"failed": "number"}
    ),
    call(
        "owner",
        "POST /v1/runs",
        {"agent": "bot", "task": "Which cache of the bot?", "cwd": "/"},
        saves={"waiting": "number"},
    ),
    call("owner", "GET /v1/runs/{done}", until="completed"),
    call("owner", "GET /v1/runs/{failed}", until="failed"),
    call("owner", "GET /v1/runs/{waiting}", until="waiting_input"),
    call("owner", "GET /v1/runs"),
    call("owner", "GET /v1/runs/{done}/log"),
    call("owner", "POST /v1/backup", {"path": "<folder>/backup.db"}),
]
