"""The body of an answer: what a person said, what is to be remembered of it, and for how long it can be undone."""

from typing import cast

from upcall.broker.broker import Reply
from upcall.domain.answer.comments import EXAMPLE, comments_in
from upcall.domain.answer.files import files_in
from upcall.domain.approval.rules import DEFAULT_SECONDS, WAYS, Remember, way_named
from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.plans import DECISIONS
from upcall.domain.text.forms import kind_of
from upcall.web import fields
from upcall.web.call import Body

ANSWER_EXAMPLE = '{"answers": [["Redis"]]} or {"text": "1"}'
LONGEST_NOTE = 64 * 1024
"""Characters that are read; `limits.reason` says how many are taken."""

LONGEST_HOLD = 60.0
"""Seconds; an agent waits all the while."""


def reply_in(body: Body, undo: float) -> Reply:
    """The reply that a body holds; `undo` is the setting of that name.

    Raises:
        InvalidRequest: if it holds none, or more than one.
    """
    given = [
        name for name in ("answers", "text", "choices", "content", "decision") if body.get(name) is not None
    ]
    # A picture may say it all.
    if len(given) != 1 and not (body.get("files") and not given):
        problem = "answers: missing" if not given else f"only one of {', '.join(given)}"
        raise InvalidRequest(problem, hint=f"send {ANSWER_EXAMPLE}")
    text = body.get("text")
    if text is not None and not isinstance(text, str):
        raise InvalidRequest(f"text: text, got {kind_of(text)}", hint='for example {"text": "yes"}')
    choices = body.get("choices")
    return Reply(
        text=text,
        answers=_decision(body.get("decision")) or _answers(body.get("answers")),
        choices=None
        if choices is None
        else fields.strings(choices, "choices", example='{"choices": ["Redis"]}'),
        content=_object(body.get("content"), "content", '{"content": {"port": 8080}}'),
        via=fields.via(body),
        key=fields.text(body, "key"),
        force=fields.flag(body, "force"),
        remember=_remember(body.get("remember")),
        comments=comments_in(body.get("comments")),
        note=fields.text(body, "note", most=LONGEST_NOTE) or "",
        input=_object(body.get("input"), "input", '{"input": {"command": "rm -rf build"}}'),
        files=files_in(body.get("files")),
        hold=hold_in(body, undo),
    )


def hold_in(body: Body, undo: float) -> float:
    """For how many seconds a decision can be undone before the asker is told; 0 unless it is said, `undo` for true.

    Raises:
        InvalidRequest: if it is no duration, or too long.
    """
    sent = body.get("hold")
    if isinstance(sent, bool):
        return undo if sent else 0.0
    if sent is None or sent == 0:
        return 0.0
    span = fields.seconds(sent, "hold")
    if span > LONGEST_HOLD:
        raise InvalidRequest(f"hold: at most {LONGEST_HOLD:g} seconds, got {span:g}", hint='{"hold": 4}')
    return span


def _remember(sent: object) -> Remember | None:
    if sent is None:
        return None
    example = '{"remember": {"as": "exact", "for": "30d"}}'
    if not isinstance(sent, dict):
        raise InvalidRequest(f"remember: an object, got {kind_of(sent)}", hint=f"for example {example}")
    wanted = cast("Body", sent)
    named = fields.required_text(wanted, "as", example=example)
    way = way_named(named)
    if way is None:
        raise InvalidRequest(f"remember.as: one of {', '.join(WAYS)}, got {named[:40]!r}", hint=example)
    span = DEFAULT_SECONDS if wanted.get("for") is None else fields.seconds(wanted["for"], "remember.for")
    return Remember(way=way, seconds=span, prefix=fields.text(wanted, "prefix", most=2000))


def _decision(sent: object) -> list[list[str]] | None:
    if sent is None:
        return None
    label = DECISIONS.get(sent) if isinstance(sent, str) else None
    if label is None:
        raise InvalidRequest(f"decision: one of {', '.join(DECISIONS)}", hint=f"for example {EXAMPLE}")
    return [[label]]


def _object(sent: object, name: str, example: str) -> Body | None:
    if sent is None or isinstance(sent, dict):
        return cast("Body | None", sent)
    raise InvalidRequest(f"{name}: an object, got {kind_of(sent)}", hint=f"for example {example}")


def _answers(sent: object) -> list[list[str]] | None:
    if sent is None:
        return None
    example = '{"answers": [["Redis"]]}: one list of texts for each question'
    if not isinstance(sent, list):
        raise InvalidRequest(f"answers: a list of lists, got {kind_of(sent)}", hint=f"for example {example}")
    return [
        list(fields.strings(values, f"answers[{number}]", example=example))
        for number, values in enumerate(cast("list[object]", sent))
    ]
