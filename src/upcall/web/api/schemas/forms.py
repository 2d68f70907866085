"""The shapes of what the API is sent."""

from upcall.broker.bulk import MOST_AT_ONCE, VERDICTS
from upcall.domain.answer.files import MOST_FILES
from upcall.domain.away import AwayMode
from upcall.domain.inquiry.activity import LONGEST_BRANCH
from upcall.domain.inquiry.asking import LONGEST_LABEL, MOST_LABELS
from upcall.domain.inquiry.limits import Limits
from upcall.domain.thread.thread import POSTED_BY_AGENTS
from upcall.web.api.schemas.plans import COMMENT_FORMS, DECISION
from upcall.web.api.schemas.words import (
    ANSWERS,
    DURATION,
    FLAG,
    KIND,
    MOMENT,
    OBJECT,
    ON_EXPIRY,
    PERMISSION,
    PERMISSIONS,
    TEXT,
    THREAD_NAME,
    TOKEN,
    VARIABLES,
    WAY,
    Schema,
    form,
    list_of,
    noted,
    or_null,
    ref,
    text,
)

NAME = text(most=200)
KEY = noted(NAME, "A repeated request with the same key gets its first reply again.")


def forms(limits: Limits) -> dict[str, Schema]:
    """Every named schema of a request."""
    return {
        **_inquiries(limits),
        **_threads(),
        "RunForm": _run_form(),
        "SayForm": form({"text": text(1, 30_000)}, required=("text",)),
        "BackupForm": form({"path": noted(TEXT, "Absolute.")}, required=("path",)),
        "TokenForm": form(TOKEN, required=("name", "role")),
        "RuleForm": form(
            {"agent": TEXT, "tool": TEXT, "directory": TEXT, "prefix": TEXT, "for": DURATION},
            description="What it allows meets every condition given; it needs a tool, a directory or a prefix.",
        ),
        "AwayForm": form({"mode": {"enum": [mode.value for mode in AwayMode]}}, required=("mode",)),
        "AnswerLinkForm": form({"person": TEXT}),
        "PersonForm": form({"name": TEXT, "channel": TEXT, "user": TEXT}, required=("name",)),
        "ChannelTestForm": form({"place": TEXT}),
    }


def _inquiries(limits: Limits) -> dict[str, Schema]:
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
        "AnswerFileForm": form(
            {"name": TEXT, "data": {"type": "string", "contentEncoding": "base64"}}, required=("name", "data")
        ),
        "Ask": form({**question, **_about_the_whole(limits)}),
        "ApprovalForm": form(_about_an_action(limits), required=("action",)),
        "ActionForm": form(
            {
                "tool": TEXT,
                "input": OBJECT,
                "cwd": TEXT,
                "reason": TEXT,
                "editable": noted(
                    FLAG,
                    "The asker runs what `answer.edit` has, where a person edited it, and reads the note.",
                ),
            },
            required=("tool", "input"),
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
        "DeclineForm": form({"reason": text(most=limits.reason), "via": TEXT, "key": KEY, "hold": HOLD}),
        "CorrectionForm": form({"text": text(1, limits.reason), "via": TEXT, "key": KEY}, required=("text",)),
        "AskBackForm": form({"text": text(1, limits.reason), "via": TEXT}, required=("text",)),
        "DecisionForm": _decision_form(limits),
        "SpanForm": form({"for": DURATION, "seconds": DURATION, "until": MOMENT}),
    }


HOLD = noted(
    {"anyOf": [DURATION, FLAG]},
    "How long `undo` can take it back, at most 60 seconds, or true for as long as the setting `undo` says; the asker is told "
    "afterwards. It counts as the first answer from the start. Not held unless given.",
)


def _decision_form(limits: Limits) -> Schema:
    return form(
        {
            "inquiries": list_of(
                TEXT,
                minItems=1,
                maxItems=MOST_AT_ONCE,
                description="Ids or refs: exactly these, and no other.",
            ),
            "decision": noted(
                {"enum": list(VERDICTS)}, "`approve` and `deny` are for approvals; none of them makes a rule."
            ),
            "note": noted(text(most=limits.reason), "Beside an approval or denial; why it is declined."),
            "for": noted(DURATION, "How long to snooze."),
            "hold": HOLD,
            "key": KEY,
            "via": TEXT,
        },
        required=("inquiries", "decision"),
    )


def _about_the_whole(limits: Limits) -> Schema:
    return {
        "questions": list_of(ref("QuestionForm"), minItems=1, maxItems=limits.questions),
        "kind": KIND,
        "response_schema": noted(
            OBJECT,
            "The JSON Schema of a typed answer, instead of options: a flat object of `string` (formats `email`, `uri`, `date`, "
            "`date-time`; lengths), `number` and `integer` (ranges), `boolean`, `enum` or titled `oneOf`, and `array` of an "
            "enum; defaults and `required`. People fill in a form, and the answer has its `content`.",
        ),
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
        "branch": text(most=LONGEST_BRANCH),
        "thread": noted(THREAD_NAME, "The conversation that it is part of, which begins with it if need be."),
    }


def _about_an_action(limits: Limits) -> Schema:
    whole = _about_the_whole(limits)
    origin = ("agent", "session", "request_key", "purpose", "workspace", "branch", "thread")
    return {name: whole[name] for name in ("action", "ttl", *origin)}


def _answer_form() -> Schema:
    return form(
        {
            "answers": ANSWERS,
            "text": noted(TEXT, "A reply in words, read like one typed in a chat."),
            "choices": list_of(TEXT, description="Values like on a command line."),
            "content": noted(OBJECT, "A form filled in: the object that its `response_schema` describes."),
            "key": KEY,
            "force": noted(FLAG, "Answer even one that has expired."),
            "remember": form(
                {"as": WAY, "for": DURATION, "prefix": TEXT},
                required=("as",),
                description="Make a rule of the approval of an action, for 30 days unless said otherwise.",
            ),
            "decision": noted(DECISION, "About a plan; `revise` takes a `note` or `comments`."),
            "comments": COMMENT_FORMS,
            "note": noted(TEXT, "Words beside the choice; the model is told both."),
            "input": noted(
                OBJECT,
                "Beside an approval: what the tool is given instead, with every field of `action.input`. That and nothing else "
                "runs; where the program cannot do that, it is a denial that suggests it.",
            ),
            "files": list_of(ref("AnswerFileForm"), maxItems=MOST_FILES),
            "hold": HOLD,
            "via": TEXT,
        },
        # Said in words: generators of clients do not understand alternatives among the fields of one object.
        description="Exactly one of `answers`, `text`, `choices`, `content` and `decision`; none beside files that say it all.",
    )


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


def _threads() -> dict[str, Schema]:
    part = form({"type": {"const": "text"}, "text": TEXT}, required=("type", "text"))
    named: Schema = {
        "prompt_id": TEXT,
        "tool_call_id": noted(TEXT, "The `request_key` of the call that asked, instead."),
        "key": TEXT,
    }
    one_of_them = "`prompt_id` or `tool_call_id` says which prompt."
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
        "ResolveForm": form(
            {**named, "text": TEXT, "answers": answers, "via": TEXT}, description=one_of_them
        ),
        "RejectForm": form({**named, "reason": TEXT}, description=one_of_them),
    }
