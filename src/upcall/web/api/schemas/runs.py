"""Runs, and the forms that start and steer them."""

from upcall.domain.run.program import Permission
from upcall.domain.run.run import RunState
from upcall.web.api.schemas.words import (
    COUNT,
    COUNT_OR_NULL,
    FLAG,
    INTEGER_OR_NULL,
    MOMENT,
    MOMENT_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    form,
    list_of,
    noted,
    page_of,
    record,
    text,
)

RUN_STATE: Schema = {"enum": [state.value for state in RunState]}
PERMISSION: Schema = {"enum": [choice.value for choice in Permission]}
VARIABLES: Schema = {"type": "object", "additionalProperties": TEXT}


def run_schemas() -> dict[str, Schema]:
    """Every named schema about runs."""
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
        "RunForm": _run_form(),
        "SayForm": form({"text": text(1, 30_000)}, required=("text",)),
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


def _run_form() -> Schema:
    return form(
        {
            "agent": noted(TEXT, "One that this daemon knows."),
            "task": text(1, 30_000),
            "cwd": noted(TEXT, "Where to work: an absolute path on the daemon's machine."),
            "permission": noted(PERMISSION, "The agent's setting unless given."),
            "arguments": list_of(
                TEXT, maxItems=200, description="More of the program's own arguments. For admins."
            ),
            "environment": noted(VARIABLES, "Instead of the daemon's own. For admins."),
            "request_key": noted(
                text(most=200), "The same key again, with the same request, is the same run."
            ),
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
