"""The OpenAPI document: every route, what it takes and what it gives. A test holds it against the application."""

from upcall.domain.inquiry.limits import Limits
from upcall.web.api.channel_openapi import channel_paths, channel_schemas
from upcall.web.api.describing import Document, given, json_of, operation, path, query, taken
from upcall.web.api.run_openapi import run_paths, run_schemas
from upcall.web.api.schemas import DURATION, KIND, STATE, TEXT, ref, schemas
from upcall.web.api.thread_openapi import thread_paths, thread_schemas

DESCRIPTION = """\
Agents ask, people answer. An agent's token asks and waits for its own and can never answer; a person's token
answers; an admin's token also manages tokens. Send it as `Authorization: Bearer TOKEN`.

Errors are `{"error": {"code", "message", "hint"}}`; codes are stable. Durations are seconds, or text like `10m`.
A `{name}` is an inquiry's id or ref; a ref finds the open inquiry, otherwise the latest that had it.
"""
ASK_EXAMPLE: Document = {
    "question": "Which cache?",
    "options": [{"label": "Redis", "description": "has pub/sub"}, {"label": "Memcached"}],
    "request_key": "call_17",
    "ttl": "2h",
}


def openapi(version: str, limits: Limits = Limits()) -> Document:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Upcall",
            "version": version,
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": {
            **_inquiries(),
            **_one_inquiry(),
            **run_paths(),
            **thread_paths(),
            **channel_paths(),
            **_log(),
            **_rules(),
            **_tokens(),
            **_service(),
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**schemas(limits), **run_schemas(), **thread_schemas(), **channel_schemas()},
            "responses": {"Error": {"description": "What went wrong.", "content": json_of(ref("Error"))}},
        },
    }


def _inquiries() -> Document:
    asked = given("The inquiry, open.", ref("Inquiry"))
    rejoined = given("The same question, put before under the same key, as it stands.", ref("Inquiry"))
    listed = given("A page; `next` is the `cursor` of the following one.", ref("InquiryList"))
    return {
        "/v1/inquiries": {
            "post": operation(
                "Ask a question",
                {"201": asked, "200": rejoined},
                tag="asking",
                body=taken(ref("Ask"), ASK_EXAMPLE),
            ),
            "get": operation(
                "List inquiries: open ones oldest first, others newest first",
                {"200": listed},
                tag="answering",
                parameters=[
                    query("state", {"oneOf": [STATE, {"enum": ["queued", "closed"]}]}),
                    query("agent", TEXT),
                    query("workspace", TEXT),
                    query("run", {"type": "integer", "minimum": 1}),
                    query("kind", KIND),
                    query("q", {"type": "string", "maxLength": 500}),
                    query("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
                    query("cursor", TEXT),
                ],
            ),
        }
    }


def _one_inquiry() -> Document:
    one = "/v1/inquiries/{name}"
    inquiry: Document = {"200": given("The inquiry.", ref("Inquiry"))}
    number = path("number", {"type": "integer", "minimum": 0})
    file = {
        "description": "The file.",
        "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
    }
    return {
        one: {"get": operation("Read an inquiry", inquiry, tag="asking", parameters=[_NAME])},
        f"{one}/wait": {
            "get": operation(
                "Wait until it is settled; the inquiry whatever its state, at the latest after `timeout`",
                inquiry,
                tag="asking",
                parameters=[
                    _NAME,
                    query("timeout", {**DURATION, "default": 30}, "At most 3600 seconds, or 0."),
                ],
            )
        },
        f"{one}/collect": {"post": _settling("Acknowledge that the asker has its answer", tag="asking")},
        f"{one}/cancel": {
            "post": _settling(
                "Withdraw a question: the asker its own, an admin any",
                "EndForm",
                {"reason": "found it myself"},
                tag="asking",
            )
        },
        f"{one}/answer": {"post": _settling("Answer", "AnswerForm", {"answers": [["Redis"]]})},
        "/v1/answer-agent": {
            "post": operation(
                "Answer what an agent has been asking for longest",
                {"200": given("Whether it stands, and what does.", ref("Settled"))},
                tag="answering",
                body=taken(ref("AgentReplyForm"), {"agent_id": "claude", "reply": "Redis"}),
            )
        },
        f"{one}/reject": {"post": _settling("Decline to answer", "EndForm", {"reason": "not now"})},
        f"{one}/snooze": {"post": _settling("Keep quiet about it for a while", "SpanForm", {"for": "1h"})},
        f"{one}/extend": {"post": _settling("Give it more time", "SpanForm", {"for": "24h"})},
        f"{one}/attachments/{{number}}": {
            "get": operation(
                "Download an attachment", {"200": file}, tag="answering", parameters=[_NAME, number]
            )
        },
    }


def _log() -> Document:
    after = query("after", {"type": "integer", "minimum": 0}, "The last number that is known already.")
    resumed: Document = {"name": "Last-Event-ID", "in": "header", "schema": {"type": "integer", "minimum": 0}}
    stream = {
        "description": "Server-sent events: `id` is `seq`, `event` is `type`, `data` an Event. Comments keep it alive. "
        "A `reset` comes first when events were pruned that you have not seen.",
        "content": {"text/event-stream": {"schema": TEXT}},
    }
    questions = {
        "description": "Server-sent events `agent-question`, whose `data` has `agent_id`, `question` and the inquiry's `id`.",
        "content": {"text/event-stream": {"schema": TEXT}},
    }
    return {
        "/v1/events": {
            "get": operation(
                "Read the log; with `wait`, not before there is something to tell",
                {"200": given("Events in order, and where to go on.", ref("EventList"))},
                tag="events",
                parameters=[
                    after,
                    query("wait", {**DURATION, "default": 0}, "At most 300 seconds."),
                    query("limit", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 200}),
                ],
            )
        },
        "/v1/stream": {
            "get": operation(
                "Follow the log, from `Last-Event-ID`, from `after`, or from now on",
                {"200": stream},
                tag="events",
                parameters=[after, resumed],
            )
        },
        "/v1/agent-questions": {
            "get": operation(
                "Follow what agents ask, from `Last-Event-ID`, from `after`, or from now on (person or admin)",
                {"200": questions},
                tag="events",
                parameters=[after, resumed],
            )
        },
    }


def _rules() -> Document:
    example: Document = {
        "agent": "claude",
        "prefix": "npm test",
        "directory": "/home/ana/project",
        "for": "30d",
    }
    return {
        "/v1/rules": {
            "get": operation(
                "List remembered rules, the newest first (person or admin)",
                {"200": given("A page; `next` is the `cursor` of the following one.", ref("RuleList"))},
                tag="rules",
                parameters=[
                    query("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
                    query("cursor", TEXT),
                ],
            ),
            "post": operation(
                "Make a rule (person or admin)",
                {"201": given("The rule.", ref("Rule"))},
                tag="rules",
                body=taken(ref("RuleForm"), example),
            ),
        },
        "/v1/rules/{name}": {
            "get": operation(
                "Read a rule (person or admin)",
                {"200": given("The rule.", ref("Rule"))},
                tag="rules",
                parameters=[_NAME],
            ),
            "delete": operation(
                "Revoke a rule (person or admin)",
                {"200": given("It allows nothing any more.", ref("RevokedRule"))},
                tag="rules",
                parameters=[_NAME],
            ),
        },
    }


def _tokens() -> Document:
    token: Document = {"name": "laptop", "role": "agent"}
    return {
        "/v1/me": {"get": operation("Whose token this is", {"200": given("You.", ref("Me"))}, tag="tokens")},
        "/v1/sign-in-links": {
            "post": operation(
                "Make a link that signs a browser in, once (person or admin)",
                {"201": given("The link.", ref("SignInLink"))},
                tag="tokens",
            )
        },
        "/v1/tokens": {
            "get": operation(
                "List tokens (admin)",
                {"200": given("Every token, without secrets.", ref("TokenList"))},
                tag="tokens",
            ),
            "post": operation(
                "Make a token (admin)",
                {"201": given("The token, shown this once.", ref("NewToken"))},
                tag="tokens",
                body=taken(ref("TokenForm"), token),
            ),
        },
        "/v1/tokens/{name}": {
            "delete": operation(
                "Revoke a token (admin)",
                {"200": given("It is worthless now.", ref("Revoked"))},
                tag="tokens",
                parameters=[_NAME],
            )
        },
    }


def _service() -> Document:
    health = {
        "200": given("It runs.", ref("Health")),
        "503": {
            "description": "It is about to stop, or cannot read its database.",
            "content": json_of({"oneOf": [ref("Health"), ref("Error")]}),
        },
    }
    plain = {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": TEXT}}}
    document = given("This document.", {"type": "object"})
    return {
        "/v1/backup": {
            "post": operation(
                "Copy everything to a file on the daemon's machine (admin)",
                {"201": given("The copy is complete.", ref("Backup"))},
                tag="service",
                body=taken(ref("BackupForm"), {"path": "/backups/upcall.db"}),
            )
        },
        "/metrics": {"get": operation("Numbers to watch (person or admin)", {"200": plain}, tag="service")},
        "/healthz": {
            "get": {**operation("Is it well", health, tag="service"), "security": []},
            "head": {
                **operation("Is it well, in a word", {"200": {"description": "It runs."}}, tag="service"),
                "security": [],
            },
        },
        "/livez": {
            "get": {**operation("Does it run", {"200": health["200"]}, tag="service"), "security": []},
            "head": {
                **operation("Does it run, in a word", {"200": {"description": "It runs."}}, tag="service"),
                "security": [],
            },
        },
        "/v1/openapi.json": {
            "get": {**operation("What there is", {"200": document}, tag="service"), "security": []}
        },
    }


def _settling(
    summary: str, form: str | None = None, example: Document | None = None, *, tag: str = "answering"
) -> Document:
    responses: Document = {"200": given("Whether it stands, and what does.", ref("Settled"))}
    body = None if form is None else taken(ref(form), example or {})
    return operation(summary, responses, tag=tag, parameters=[_NAME], body=body)


_NAME = path("name", TEXT)
