"""Tasks and responses of the file door as documents: what is in them, and what is refused."""

from collections.abc import Mapping
from typing import cast

from upcall.domain.errors import InvalidRequest
from upcall.domain.text.forms import kind_of
from upcall.doors.files import exchange as at
from upcall.doors.files.exchange import Fields, InvalidFile
from upcall.doors.mcp.definitions import ASK, NOTIFY, WAIT
from upcall.doors.mcp.tools import ToolResult

TOOLS = {at.ASK_USER: ASK, at.WAIT: WAIT, at.NOTIFY: NOTIFY}
ENVELOPE = frozenset({"type", "request_id", "timeout", "session", "workspace", "request_key"})
EXAMPLE = (
    'for example {"type": "ask_user", "request_id": "7f3a", "questions": [{"question": "Which cache?"}]}'
)

LONGEST_NAME = 200
"""Characters of a session, a workspace or a request key."""


def check_task(task: Mapping[str, object], request: str) -> None:
    """Refuse what is no task for the request that its file is named for.

    Raises:
        InvalidFile: with the reason.
    """
    if task.get("type") not in at.TYPES:
        raise InvalidFile(f"type: one of {', '.join(at.TYPES)}; got {_brief(task.get('type'))}")
    if task.get("request_id") != request:
        raise InvalidFile(
            f"request_id: {request!r}, as in the file's name; got {_brief(task.get('request_id'))}"
        )


def tool_of(task: Mapping[str, object]) -> tuple[str, Fields]:
    """The tool that a task calls, and its arguments."""
    fields = {name: value for name, value in task.items() if name not in ENVELOPE}
    return TOOLS[cast("str", task["type"])], fields


def name_in(task: Mapping[str, object], key: str) -> str | None:
    """An optional name in a task.

    Raises:
        InvalidRequest: if it is no text, or too long.
    """
    sent = task.get(key)
    if sent is None or sent == "":
        return None
    if not isinstance(sent, str) or len(sent) > LONGEST_NAME:
        raise InvalidRequest(
            f"{key}: text of at most {LONGEST_NAME} characters, got {_brief(sent)}", hint=EXAMPLE
        )
    return sent


def response(request: str, told: ToolResult) -> Fields:
    """What is written for an asker to read."""
    structured = told.structured
    document: Fields = {
        "request_id": request,
        "status": "error" if told.is_error else structured.get("status"),
        "answers": structured.get("answers"),
        "text": told.text,
    }
    document |= {
        name: structured[name]
        for name in ("id", "ref", "note", "waited_seconds", "error")
        if name in structured
    }
    return document


def _brief(sent: object) -> str:
    """A value as an error shows it; a list may be too long to be written for that."""
    match sent:
        case str():
            return f"{sent[:60]!r:.60}"
        case list() | dict():
            return kind_of(cast("object", sent))
        case _:
            return f"{sent!r:.60}"
