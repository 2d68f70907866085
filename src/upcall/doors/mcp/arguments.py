"""What models send to the tools: the fields, or an error that names one of them, its limit and a valid example."""

from collections.abc import Mapping
from contextlib import suppress
from typing import cast

from upcall.domain.errors import InvalidInquiry, InvalidRequest
from upcall.domain.inquiry.inquiry import Kind
from upcall.domain.inquiry.limits import Limits
from upcall.ports.json_reading import read_json

CONFIRM_EXAMPLE = 'for example {"action": "git push --force origin main", "reason": "history was rewritten"}'
WAIT_EXAMPLE = 'for example {"id": "a7"}, with the id or ref that a parked result named'
NOTIFY_EXAMPLE = 'for example {"message": "The migration is done, all tests pass."}'

Fields = dict[str, object]


def approval_in(fields: Fields, limits: Limits) -> Fields:
    """What `confirm_action` was given, as a question."""
    action = _text(fields, "action", CONFIRM_EXAMPLE, limits.question)
    why = [_text(fields, name, CONFIRM_EXAMPLE, optional=True) for name in ("reason", "details")]
    return {
        "kind": Kind.APPROVAL.value,
        "question": action,
        "context": "\n\n".join(part for part in why if part),
    }


def name_in(fields: Fields) -> str:
    """Which question `wait_for_answer` means."""
    return _text(fields, "id", WAIT_EXAMPLE, 100)


def reply_in(fields: Fields, limits: Limits) -> str:
    """What `wait_for_answer` says to the person who has asked back."""
    return _text(fields, "reply", WAIT_EXAMPLE, limits.question, optional=True)


def message_in(fields: Fields, limits: Limits) -> str:
    """What `notify_human` shall say."""
    return _text(fields, "message", NOTIFY_EXAMPLE, limits.question)


def fields_of(arguments: object) -> Fields:
    """The arguments of a call, an object or one that was sent as a string."""
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        with suppress(InvalidRequest):
            arguments = read_json(arguments)
    if not isinstance(arguments, Mapping):
        raise InvalidInquiry(
            "arguments",
            f"an object, got {type(arguments).__name__}",
            hint='for example {"question": "Which cache?"}',
        )
    return dict(cast("Mapping[str, object]", arguments))


def _text(
    fields: Fields, name: str, example: str, limit: int | None = None, *, optional: bool = False
) -> str:
    sent = fields.get(name)
    if sent is None and optional:
        return ""
    if not isinstance(sent, str):
        raise InvalidInquiry(name, "text is required" if sent is None else "must be text", hint=example)
    text = sent.strip()
    if not optional and not text:
        raise InvalidInquiry(name, "must not be empty", hint=example)
    if limit is not None and len(text) > limit:
        raise InvalidInquiry(name, f"at most {limit} characters, got {len(text)}", hint=example)
    return text
