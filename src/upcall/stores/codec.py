"""Inquiries as rows and back. What is searched by has a column, everything else is compact JSON.

What was asked is the body, which is written once; what became of it is the outcome. Defaults are left out of both.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import orjson

from upcall.domain.errors import DamagedRow, InvalidRequest
from upcall.domain.inquiry.activity import Activity, ToolUse
from upcall.domain.inquiry.field import Field, FieldType, Format
from upcall.domain.inquiry.inquiry import (
    STATE_NAMES,
    Inquiry,
    Kind,
    OnExpiry,
    Open,
    Option,
    Origin,
    Question,
    Subject,
)
from upcall.domain.thread.thread import ITEM
from upcall.stores.damage import DAMAGE
from upcall.stores.state_codec import (
    QUEUED,
    Json,
    files_in,
    files_out,
    held_out,
    state_in,
    state_out,
)

COLUMNS = "id, ref, state, kind, agent, session, purpose, request_key, asked_at, expires_at, closed_at, run, outcome, body"
"""The columns that `decode` reads, in its order."""

STATE = 2
"""The position of the state among them."""

ITEM_FIELDS = ("id", "thread", "role", "by", "content", "metadata")
"""The fields of every item of a thread."""

_KINDS = {kind.value: kind for kind in Kind}

# What we encode is made here or is a flat event, so looking for circles would be half of the work for nothing.
_dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
loads = json.JSONDecoder().decode


def dumps(made: object) -> str:
    """JSON that `loads` reads. The standard library writes what the faster encoder refuses, or takes an endless time for null."""
    with suppress(TypeError):
        text = orjson.dumps(made)
        if b"null" not in text:
            return text.decode()
    return _dumps(made)


def refuse_broken_text(inquiry: Inquiry) -> None:
    """Make sure that what has a column is text: JSON can carry half a surrogate pair, and the body keeps it.

    Raises:
        InvalidRequest: if a database could not keep it.
    """
    origin = inquiry.origin
    for text in (inquiry.id, origin.agent, origin.session, origin.purpose, origin.request_key or ""):
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise InvalidRequest(f"{text!r} is not text") from error


def body(inquiry: Inquiry) -> str:
    """The body: everything that was asked and has no column of its own."""
    origin = inquiry.origin
    made: Json = {
        "questions": [_question_out(question) for question in inquiry.questions],
        "door": origin.door,
    }
    if origin.workspace is not None:
        made["workspace"] = origin.workspace
    if origin.thread is not None:
        made["thread"] = origin.thread
    if origin.run is not None:
        made["run"] = origin.run
    if origin.program:
        made["program"] = origin.program
    if origin.runner:
        made["runner"] = origin.runner
    if origin.client:
        made["client"] = origin.client
    if origin.branch:
        made["branch"] = origin.branch
    if inquiry.context:
        made["context"] = inquiry.context
    if inquiry.attachments:
        made["attachments"] = files_out(inquiry.attachments)
    if inquiry.on_expiry is not OnExpiry.EXPIRE:
        made["on_expiry"] = inquiry.on_expiry.value
    if inquiry.default is not None:
        made["default"] = inquiry.default
    if inquiry.labels:
        made["labels"] = inquiry.labels
    if inquiry.secret:
        made["secret"] = True
    if inquiry.redacted:
        made["redacted"] = inquiry.redacted
    if inquiry.digest:
        made["digest"] = inquiry.digest
    if inquiry.subject is not None:
        made["subject"] = _subject_out(inquiry.subject)
        if inquiry.subject.unclear:
            made["unclear"] = inquiry.subject.unclear
    if inquiry.quorum != 1:
        made["quorum"] = inquiry.quorum
    if inquiry.earlier_plan:
        made["earlier_plan"] = inquiry.earlier_plan
    return _text(made)


class StateColumns(NamedTuple):
    """The columns of an inquiry that change; `text` is the column `outcome`.

    A held decision is due when it can no longer be undone, so `expires_at` is that moment then; the deadline of the
    inquiry is kept with the decision.
    """

    state: str
    expires_at: float
    closed_at: float | None
    text: str | None


def state_columns(inquiry: Inquiry) -> StateColumns:
    """The columns that say where an inquiry stands."""
    state, due = inquiry.state, inquiry.expires_at
    made = state_out(state)
    if (held := inquiry.held) is not None:
        made["held"] = held_out(held) | {"expires_at": due}
        due = held.until
    if inquiry.activity is not None:
        made["activity"] = _activity_out(inquiry.activity)
    closed_at = None if isinstance(state, Open) else state.closing.at
    # A queued inquiry is in no list of open ones, and its ttl has not started.
    name = QUEUED if inquiry.is_queued else STATE_NAMES[type(state)]
    return StateColumns(name, due, closed_at, dumps(made) if made else None)


def row(inquiry: Inquiry, made: str) -> tuple[object, ...]:
    """The values of `COLUMNS` for an inquiry and its `body`."""
    origin = inquiry.origin
    state, expires_at, closed_at, became = state_columns(inquiry)
    return (
        inquiry.id,
        inquiry.ref,
        state,
        inquiry.kind.value,
        origin.agent,
        origin.session,
        origin.purpose,
        origin.request_key,
        inquiry.asked_at,
        expires_at,
        closed_at,
        origin.run,
        became,
        made,
    )


def decode(values: Sequence[Any]) -> Inquiry:
    """The inquiry that a row of `COLUMNS` holds.

    Raises:
        DamagedRow: if it holds none.
    """
    try:
        return _decoded(values)
    except DAMAGE as error:
        raise DamagedRow(f"the inquiry {values[0]!r} (ref {values[1]!r})", error) from error


def data_in(text: str, what: str) -> Json:
    """The object that a column holds as JSON.

    Raises:
        DamagedRow: if it holds none; `what` names it.
    """
    try:
        found = loads(text)
        if not isinstance(found, dict):
            raise TypeError(f"an object, got {type(found).__name__}")
    except DAMAGE as error:
        raise DamagedRow(what, error) from error
    return found


def event_data(seq: int, kind: str, text: str) -> Json:
    """The data of an event of the log.

    Raises:
        DamagedRow: if it is nothing of that kind.
    """
    what = f"the event {seq}"
    data = data_in(text, what)
    if kind == ITEM:
        missing = [name for name in ITEM_FIELDS if name not in data]
        if missing or not isinstance(data["metadata"], dict) or "type" not in data["metadata"]:
            raise DamagedRow(what, KeyError(", ".join(missing) or "metadata"))
    return data


def _decoded(values: Sequence[Any]) -> Inquiry:
    name, ref, state, kind, agent, session, purpose, request_key, asked_at, expires_at, _, _, became, made = (
        values
    )
    read: Json = _read(made)
    get = read.get
    after: Json = {} if became is None else loads(became)
    if "held" in after:
        expires_at = after["held"]["expires_at"]
    return Inquiry(
        id=name,
        ref=ref,
        kind=_KINDS[kind],
        questions=tuple([_question_in(question) for question in read["questions"]]),
        origin=Origin(
            agent=agent,
            session=session,
            door=read["door"],
            workspace=get("workspace"),
            thread=get("thread"),
            run=get("run"),
            program=get("program", ""),
            runner=get("runner", ""),
            purpose=purpose,
            request_key=request_key,
            client=get("client", ""),
            branch=get("branch", ""),
        ),
        asked_at=asked_at,
        expires_at=expires_at,
        context=get("context", ""),
        attachments=files_in(get("attachments", ())),
        on_expiry=OnExpiry(read["on_expiry"]) if "on_expiry" in read else OnExpiry.EXPIRE,
        default=get("default"),
        labels=tuple(get("labels", ())),
        secret=get("secret", False),
        redacted=get("redacted", 0),
        digest=get("digest", ""),
        subject=_subject_in(read["subject"], get("unclear", "")) if "subject" in read else None,
        quorum=get("quorum", 1),
        earlier_plan=get("earlier_plan", ""),
        activity=_activity_in(after["activity"]) if "activity" in after else None,
        state=state_in(state, after),
    )


def _text(made: Json) -> str:
    try:
        return orjson.dumps(made).decode()
    except TypeError:
        # Half a character, or a number of more than 64 bits: the standard library knows both, so it shall read them.
        return " " + _dumps(made)


def _read(text: str) -> Json:
    read: Json = loads(text) if text.startswith(" ") else orjson.loads(text)
    return read


def _question_out(question: Question) -> Json:
    made: Json = {"text": question.text}
    if question.header:
        made["header"] = question.header
    if question.options:
        made["options"] = [_option_out(option) for option in question.options]
    if question.multi:
        made["multi"] = True
    if not question.custom:
        made["custom"] = False
    if question.field is not None:
        made["field"] = _field_out(question.field)
    return made


def _field_out(field: Field) -> Json:
    """What is not the default; the keys are the fields."""
    every = {name: getattr(field, name) for name in Field.__slots__}
    # Nothing else: a bound may be 0.
    return {
        name: value
        for name, value in every.items()
        if value is not None and value is not False and value != ()
    }


def _option_out(option: Option) -> Json:
    made: Json = {"label": option.label}
    if option.description:
        made["description"] = option.description
    if option.recommended:
        made["recommended"] = True
    if option.preview is not None:
        made["preview"] = option.preview
    return made


def _activity_out(activity: Activity) -> list[object]:
    calls = [[call.tool, call.input] for call in activity.calls]
    made: list[object] = [activity.task, activity.branch, activity.turn, activity.message, calls]
    return [*made, activity.plan] if activity.plan else made


def _activity_in(read: Sequence[Any]) -> Activity:
    # Earlier versions have written five of them.
    task, branch, turn, message, calls, *more = read
    used = tuple([ToolUse(tool=tool, input=given) for tool, given in calls])
    plan = more[0] if more else ""
    return Activity(task=task, branch=branch, turn=turn, message=message, calls=used, plan=plan)


def _question_in(read: Mapping[str, Any]) -> Question:
    # The keys are the fields, so a question or an option takes them as they are.
    if "field" in read:
        read = {**read, "field": _field_in(read["field"])}
    if "options" in read:
        return Question(**{**read, "options": tuple([Option(**option) for option in read["options"]])})
    return Question(**read)


def _field_in(read: Mapping[str, Any]) -> Field:
    kept = {**read, "type": FieldType(read["type"])}
    if "format" in kept:
        kept["format"] = Format(kept["format"])
    for name in ("values", "default"):
        kept[name] = tuple(kept.get(name, ()))
    return Field(**kept)


def _subject_out(subject: Subject) -> list[object]:
    made: list[object] = [subject.tool, subject.cwd, subject.exact, subject.words, subject.anywhere]
    return [*made, subject.given, subject.runs_edited, subject.hears]


def _subject_in(read: Sequence[Any], unclear: str) -> Subject:
    # Earlier versions have written four of them, or five.
    tool, cwd, exact, words, *more = read
    none: tuple[Any, ...] = ("", None, False, False)
    anywhere, given, runs_edited, hears = [*more, *none[len(more) :]]
    return Subject(
        tool=tool,
        cwd=cwd,
        exact=exact,
        words=tuple(words),
        anywhere=anywhere,
        unclear=unclear,
        given=given,
        runs_edited=runs_edited,
        hears=hears,
    )
