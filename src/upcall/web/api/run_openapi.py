"""Runs in the OpenAPI document."""

from upcall.domain.run.program import Permission
from upcall.domain.run.run import RunState
from upcall.web.api.describing import Document, given, operation, path, query, taken
from upcall.web.api.schemas import (
    COUNT,
    DURATION,
    MOMENT,
    MOMENT_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    form,
    list_of,
    record,
    ref,
)

RUN_STATE: Schema = {"enum": [state.value for state in RunState]}
PERMISSION: Schema = {"enum": [choice.value for choice in Permission]}
COUNT_OR_NULL: Schema = {"type": ["integer", "null"], "minimum": 0}
VARIABLES: Schema = {"type": "object", "additionalProperties": TEXT}
ORDER_EXAMPLE: Document = {"agent": "claude", "task": "Fix the flaky test", "cwd": "/home/ana/shop"}
_NUMBER = path("number", {"type": "integer", "minimum": 1})


def run_paths() -> Document:
    """Every route under `/v1/runs`."""
    begun = given("The run.", ref("Run"))
    rejoined = given("The same run, started before under the same key, as it stands.", ref("Run"))
    listed = given("A page, the newest first; `next` is the `cursor` of the following one.", ref("RunList"))
    one = "/v1/runs/{number}"
    return {
        "/v1/runs": {
            "post": operation(
                "Start an agent on a task (person or admin)",
                {"201": begun, "200": rejoined},
                tag="runs",
                body=taken(ref("RunForm"), ORDER_EXAMPLE),
            ),
            "get": operation(
                "List runs; an agent's token lists the run that it belongs to",
                {"200": listed},
                tag="runs",
                parameters=[
                    query("state", RUN_STATE),
                    query("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
                    query("cursor", TEXT),
                ],
            ),
        },
        one: {"get": _of_one("Read a run; an agent only its own", ref("Run"))},
        f"{one}/cancel": {"post": _of_one("End a run, its processes included (person or admin)", ref("Run"))},
        f"{one}/retry": {
            "post": _of_one(
                "Try again: the same run where an answer was not delivered, otherwise a new one (person or admin)",
                ref("Run"),
            )
        },
        f"{one}/say": {
            "post": operation(
                "Tell the agent something, live or by resuming its session (person or admin)",
                {"200": given("How it is told.", ref("Said"))},
                tag="runs",
                parameters=[_NUMBER],
                body=taken(ref("SayForm"), {"text": "use the new API"}),
            )
        },
        f"{one}/log": {"get": _log()},
        f"{one}/attach": {
            "post": _of_one(
                "What to start in a terminal to take the session over (person or admin)", ref("Command")
            )
        },
    }


def _of_one(summary: str, schema: Schema) -> Document:
    return operation(summary, {"200": given("It.", schema)}, tag="runs", parameters=[_NUMBER])


def _log() -> Document:
    return operation(
        "Read what a run's program wrote; with `wait`, not before there is something to tell (person or admin)",
        {"200": given("Lines in order, and where to go on.", ref("RunLog"))},
        tag="runs",
        parameters=[
            _NUMBER,
            query("after", COUNT, "The `next_after` of the lines before."),
            query("wait", {**DURATION, "default": 0}, "At most 300 seconds."),
            query("raw", {"enum": [0, 1], "default": 0}, "1 for what it wrote, to the letter."),
        ],
    )


def run_schemas() -> dict[str, Schema]:
    """Every named schema about runs."""
    return {
        "Resume": record(
            {
                "state": TEXT,
                "run": {"type": ["integer", "null"]},
                "attempts": COUNT,
                "error": TEXT_OR_NULL,
                "next_try": {
                    **MOMENT_OR_NULL,
                    "description": "In state `waiting`: when the service of the agent's model is tried again.",
                },
                "command": {
                    **TEXT_OR_NULL,
                    "description": "What takes a session over that was not started here.",
                },
            }
        ),
        "Run": _run(),
        "RunList": record({"items": list_of(ref("Run")), "next": TEXT_OR_NULL}),
        "RunForm": _run_form(),
        "SayForm": form(
            {"text": {"type": "string", "minLength": 1, "maxLength": 30_000}}, required=("text",)
        ),
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
                "over": {"type": "boolean", "description": "Nothing more will come of the run by itself."},
            }
        ),
        "Command": record({"argv": list_of(TEXT), "cwd": TEXT, "environment": VARIABLES}),
    }


def _run_form() -> Schema:
    return form(
        {
            "agent": {"type": "string", "description": "One that this daemon knows."},
            "task": {"type": "string", "minLength": 1, "maxLength": 30_000},
            "cwd": {
                "type": "string",
                "description": "Where to work: an absolute path on the daemon's machine.",
            },
            "permission": {**PERMISSION, "description": "The agent's setting unless given."},
            "arguments": list_of(
                TEXT, maxItems=200, description="More of the program's own arguments. For admins."
            ),
            "environment": {**VARIABLES, "description": "Instead of the daemon's own. For admins."},
            "request_key": {
                "type": "string",
                "maxLength": 200,
                "description": "The same key again, with the same request, is the same run.",
            },
        },
        required=("agent", "task", "cwd"),
    )


def _run() -> Schema:
    return record(
        {
            "number": COUNT,
            "agent": TEXT,
            "task": TEXT,
            "cwd": TEXT,
            "state": RUN_STATE,
            "reason": {"type": "string", "description": "A short code: why it failed or was cancelled."},
            "result": {"type": "string", "description": "The program's own last words."},
            "session": {
                "type": "string",
                "description": "The program's own id of it; empty until it told it.",
            },
            "permission": PERMISSION,
            "arguments": list_of(TEXT),
            "by": {"type": "string", "description": "Who started it."},
            "runner": {"type": "string", "description": "The machine that its session lives on."},
            "turns": COUNT,
            "tool": {"type": "string", "description": "What it is using right now."},
            "cost": {"type": ["number", "null"], "description": "In US dollars, where the program says."},
            "tokens": record({"input": COUNT_OR_NULL, "output": COUNT_OR_NULL}),
            "created_at": MOMENT,
            "started_at": MOMENT_OR_NULL,
            "ended_at": MOMENT_OR_NULL,
            "exit_code": {"type": ["integer", "null"]},
            "inquiries": list_of(TEXT, description="The refs of its open questions."),
            "retry_of": {"type": ["integer", "null"]},
            "next_try": {
                **MOMENT_OR_NULL,
                "description": "When the service of the model is tried again, where `reason` says that it refused.",
            },
        }
    )
