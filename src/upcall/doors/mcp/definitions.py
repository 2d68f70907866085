"""The tools as a model sees them: names, words and schemas. Data only; `tools` says what they do."""

from collections.abc import Sequence
from dataclasses import dataclass

from upcall.domain.inquiry.limits import Limits

ASK = "ask_human"
CONFIRM = "confirm_action"
WAIT = "wait_for_answer"
NOTIFY = "notify_human"
PERMIT = "approve_action"

INSTRUCTIONS = (
    "Upcall reaches the human who is responsible for this work. Use ask_human only when you are blocked on "
    "something that only they can decide or know, and confirm_action before an action that is risky or hard to "
    "undo. A result with status `parked` is not an answer: call wait_for_answer with its id to go on waiting. "
    "Silence is never consent."
)

Schema = dict[str, object]

RESPONSE_SCHEMA: Schema = {
    "type": "object",
    "description": (
        "The JSON Schema of a typed answer, beside `question` and instead of `options`: a flat object of string (format "
        "email, uri, date, date-time), number, integer, boolean, enum and arrays of enum. The human fills in a form, and the "
        "result has its `content`."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One tool as it is listed."""

    name: str
    title: str
    description: str
    schema: Schema

    def document(self) -> dict[str, object]:
        """The tool in the form that MCP lists it in."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            # Clients that run unattended refuse tools that might change something; asking changes nothing.
            "annotations": {"title": self.title, "readOnlyHint": True},
            "_meta": {"anthropic/alwaysLoad": True},
        }


def definitions(limits: Limits, aliases: Sequence[str] = ()) -> tuple[Definition, ...]:
    """Every tool, with the configured limits in its schema; `aliases` are further names of `ask_human`."""
    ask = _ask(limits)
    others = (
        Definition(name=name, title=ask.title, description=ask.description, schema=ask.schema)
        for name in aliases
    )
    return (ask, *others, _confirm(limits), _wait(), _notify(limits))


def _ask(limits: Limits) -> Definition:
    return Definition(
        name=ASK,
        title="Ask a human",
        description=(
            "Ask the human who is responsible for this work, and wait for their answer. Use it only when you are "
            "truly blocked: on a decision that is theirs, or on something that you cannot find out from the code, "
            "the files or the documentation. Do not use it to report progress (notify_human does that), to get "
            "leave for a risky action (confirm_action does that), or for what you can decide yourself. The human "
            "does not see your conversation: say in `context` what they need to know. Offer concrete options "
            "where you can, the one that you would take marked as recommended; a free answer stays possible "
            f"unless `custom` is false. Ask one question directly, or up to {limits.questions} that belong "
            "together in `questions`. The answer may take long; a result with status `parked` is not an answer: "
            "call wait_for_answer with its id."
        ),
        schema={
            "type": "object",
            "properties": {
                **_question_fields(limits),
                "questions": {
                    "type": "array",
                    "description": "Several questions at once, instead of the fields of a single one.",
                    "minItems": 1,
                    "maxItems": limits.questions,
                    "items": {
                        "type": "object",
                        "properties": _question_fields(limits),
                        "required": ["question"],
                    },
                },
                "response_schema": RESPONSE_SCHEMA,
                "context": {
                    "type": "string",
                    "description": (
                        "Markdown: what the human must know to answer, since they see nothing else. "
                        f"At most {limits.context_bytes} bytes."
                    ),
                },
                "default": {
                    "type": "string",
                    "description": "The answer to take if none comes within `ttl`. Leave it out if no answer is safe.",
                },
                "ttl": {
                    # Not a list of types: several clients take that for a mistake.
                    "anyOf": [{"type": "string"}, {"type": "number"}],
                    "description": 'How long the question can be answered: seconds, or "90s", "10m", "24h".',
                },
                "secret": {
                    "type": "boolean",
                    "description": "True if the answer is a secret: it is then kept out of logs and notifications.",
                },
                **_agent_id(),
            },
        },
    )


def _question_fields(limits: Limits) -> Schema:
    return {
        "question": {
            "type": "string",
            "description": f"The question, in full sentences; 1 to {limits.question} characters.",
            "minLength": 1,
            "maxLength": limits.question,
        },
        "header": {
            "type": "string",
            "description": f"A very short title; at most {limits.header} characters.",
            "maxLength": limits.header,
        },
        "options": {
            "type": "array",
            "description": f"Suggested answers, at most {limits.options}.",
            "maxItems": limits.options,
            "items": {
                "type": "object",
                "properties": _option_fields(limits),
                "required": ["label"],
            },
        },
        "multiSelect": {"type": "boolean", "description": "Whether several options may be chosen (false)."},
        "custom": {"type": "boolean", "description": "Whether a free answer is allowed (true)."},
    }


def _option_fields(limits: Limits) -> Schema:
    return {
        "label": {
            "type": "string",
            "description": "What is chosen and returned.",
            "minLength": 1,
            "maxLength": limits.label,
        },
        "description": {
            "type": "string",
            "description": "What choosing it means.",
            "maxLength": limits.description,
        },
        "recommended": {"type": "boolean", "description": "Whether you would take this one."},
        "preview": {
            "type": "string",
            "description": "Code or markdown shown beside the option.",
            "maxLength": limits.preview,
        },
    }


def _confirm(limits: Limits) -> Definition:
    return Definition(
        name=CONFIRM,
        title="Ask a human for approval",
        description=(
            "Ask the human to approve or deny one action before you take it. Use it before anything that is risky, "
            "costly or hard to undo: deleting data, deploying, force-pushing, spending money, writing to people. "
            "Say exactly what you will do. Go on only if the answer is Approve; a denial, silence and `parked` "
            "all mean that you must not."
        ),
        schema={
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "description": (
                        "Exactly what you will do, for example the whole command; "
                        f"1 to {limits.question} characters."
                    ),
                    "minLength": 1,
                    "maxLength": limits.question,
                },
                "reason": {"type": "string", "description": "Why it is needed."},
                "details": {
                    "type": "string",
                    "description": (
                        "Markdown: consequences, alternatives, a diff. "
                        f"With the reason at most {limits.context_bytes} bytes."
                    ),
                },
                **_agent_id(),
            },
            "required": ["action"],
        },
    )


def _wait() -> Definition:
    return Definition(
        name=WAIT,
        title="Wait for a human's answer",
        description=(
            "Go on waiting for the answer to a question that came back as `parked`. Nothing is asked again. "
            "Call it as often as needed, until the status is another one."
        ),
        schema={
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The id, or the short ref, of the parked question."},
                "reply": {
                    "type": "string",
                    "description": "What you say to a person who has asked back; shown beside the question.",
                },
                **_agent_id(),
            },
            "required": ["id"],
        },
    )


def _notify(limits: Limits) -> Definition:
    return Definition(
        name=NOTIFY,
        title="Tell a human something",
        description=(
            "Tell the human something that they should know and that needs no answer, such as the end of a long "
            "task. Returns at once."
        ),
        schema={
            "type": "object",
            "properties": {
                "message": {
                    "type": "string",
                    "description": f"1 to {limits.question} characters.",
                    "minLength": 1,
                    "maxLength": limits.question,
                },
                **_agent_id(),
            },
            "required": ["message"],
        },
    )


def permission_tool() -> Definition:
    """The tool that a program calls itself before it acts, where it is told to. Nothing for a model, and listed last."""
    return Definition(
        name=PERMIT,
        title="Permission prompts",
        description="Not for you: called by the program that you run in, to have your actions approved.",
        schema={
            "type": "object",
            "properties": {
                "tool_name": {"type": "string"},
                "input": {"type": "object"},
                "tool_use_id": {"type": "string"},
            },
            "required": ["tool_name", "input", "tool_use_id"],
        },
    )


def _agent_id() -> Schema:
    return {
        "agent_id": {
            "type": "string",
            "description": "Leave it out: the connection says who is asking. If sent, it must be that name.",
        }
    }
