"""What became of an inquiry, as JSON and back: its state, with the votes, the answer and a decision that is held."""

from collections.abc import Sequence
from typing import Any

from upcall.domain.inquiry.inquiry import (
    STATE_NAMES,
    Answer,
    Answered,
    AskedBack,
    Attachment,
    Cancelled,
    Closed,
    Closing,
    Expired,
    Failed,
    Held,
    Open,
    Rejected,
    State,
)

QUEUED = "queued"
"""The value of the column for an open inquiry that waits for its turn."""

Json = dict[str, Any]

_OPEN = Open()
_CLOSED: dict[str, type[Rejected | Cancelled | Expired | Failed]] = {
    "rejected": Rejected,
    "cancelled": Cancelled,
    "expired": Expired,
    "failed": Failed,
}


def state_out(state: State) -> Json:
    """A state; what is the default is left out."""
    if isinstance(state, Open):
        return _open_out(state)
    made: Json = {"closing": _closing_out(state.closing)}
    if isinstance(state, Answered):
        if state.votes:
            made["votes"] = [_closing_out(vote) for vote in state.votes]
        made["answer"] = {"values": state.answer.values, "text": state.answer.text}
        if state.answer.note:
            made["answer"]["note"] = state.answer.note
        if state.answer.files:
            made["answer"]["files"] = files_out(state.answer.files)
        if state.collected_at is not None:
            made["collected_at"] = state.collected_at
        if state.forwarded_at is not None:
            made["forwarded_at"] = state.forwarded_at
        if state.released_at is not None:
            made["released_at"] = state.released_at
    return made


def _open_out(state: Open) -> Json:
    made: Json = {} if state.snoozed_until is None else {"snoozed_until": state.snoozed_until}
    if state.votes:
        made["votes"] = [_closing_out(vote) for vote in state.votes]
    if state.queued is not None:
        made["queued"] = state.queued
    if state.back:
        made["back"] = [[each.by, each.at, each.words, each.told, each.reply] for each in state.back]
    return made


def files_out(files: Sequence[Attachment]) -> list[list[object]]:
    """Files, without their bytes."""
    return [[file.name, file.media_type, file.size, file.digest] for file in files]


def files_in(read: Sequence[Any]) -> tuple[Attachment, ...]:
    """Files as `files_out` writes them."""
    return tuple([Attachment(name=n, media_type=m, size=s, digest=d) for n, m, s, d in read])


def held_out(held: Held) -> Json:
    """A decision that can still be undone."""
    return {"until": held.until, "state": STATE_NAMES[type(held.decision)], **state_out(held.decision)}


def _closing_out(closing: Closing) -> list[object]:
    return [closing.by, closing.via, closing.at, closing.reason, closing.key]


def state_in(name: str, read: Json) -> State:
    """The state that a column names, and the JSON beside it."""
    if name in {"open", QUEUED}:
        return _open_in(read) if read else _OPEN
    closing = _closing_in(read["closing"])
    if name == "answered":
        return _answered_in(closing, read)
    state: Closed = _CLOSED[name](closing=closing)
    return state


def _open_in(read: Json) -> Open:
    return Open(
        snoozed_until=read.get("snoozed_until"),
        votes=_votes_in(read),
        queued=read.get("queued"),
        held=_held_in(read["held"]) if "held" in read else None,
        back=_back_in(read["back"]) if "back" in read else (),
    )


def _back_in(read: Sequence[Any]) -> tuple[AskedBack, ...]:
    return tuple([AskedBack(by=b, at=a, words=w, told=t, reply=r) for b, a, w, t, r in read])


def _held_in(read: Json) -> Held:
    closing = _closing_in(read["closing"])
    answered = read["state"] == "answered"
    return Held(
        decision=_answered_in(closing, read) if answered else Rejected(closing=closing), until=read["until"]
    )


def _answered_in(closing: Closing, read: Json) -> Answered:
    given = read["answer"]
    values = tuple([tuple(value) for value in given["values"]])
    files = files_in(given["files"]) if "files" in given else ()
    return Answered(
        closing=closing,
        answer=Answer(values=values, text=given["text"], note=given.get("note", ""), files=files),
        collected_at=read.get("collected_at"),
        forwarded_at=read.get("forwarded_at"),
        released_at=read.get("released_at"),
        votes=_votes_in(read),
    )


def _votes_in(read: Json) -> tuple[Closing, ...]:
    return tuple([_closing_in(vote) for vote in read["votes"]]) if "votes" in read else ()


def _closing_in(read: Sequence[Any]) -> Closing:
    by, via, at, reason, key = read
    return Closing(by=by, via=via, at=at, reason=reason, key=key)
