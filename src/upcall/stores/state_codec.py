"""What became of an inquiry, as JSON and back: its state, with the votes, the answer and a decision that is held."""

from collections.abc import Sequence
from typing import Any

from upcall.domain.inquiry.comment import Comment
from upcall.domain.inquiry.inquiry import (
    STATE_NAMES,
    Answer,
    Answered,
    AskedBack,
    Attachment,
    Cancelled,
    Closed,
    Closing,
    Edit,
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
        made["answer"] = _answer_out(state.answer)
        if state.collected_at is not None:
            made["collected_at"] = state.collected_at
        if state.forwarded_at is not None:
            made["forwarded_at"] = state.forwarded_at
        if state.released_at is not None:
            made["released_at"] = state.released_at
    return made


def _answer_out(answer: Answer) -> Json:
    made: Json = {"values": answer.values, "text": answer.text}
    if answer.note:
        made["note"] = answer.note
    if answer.comments:
        made["comments"] = [[each.text, each.passage, each.line] for each in answer.comments]
    if answer.files:
        made["files"] = files_out(answer.files)
    if answer.edit is not None:
        made["edit"] = _edit_out(answer.edit)
    return made


def _open_out(state: Open) -> Json:
    # First: stores count those that are snoozed by how this text begins.
    made: Json = {} if state.snoozed_until is None else {"snoozed_until": state.snoozed_until}
    if state.votes:
        made["votes"] = [_closing_out(vote) for vote in state.votes]
    if state.queued is not None:
        made["queued"] = state.queued
    if state.back:
        made["back"] = [[each.by, each.at, each.words, each.told, each.reply] for each in state.back]
    if state.edits:
        made["edits"] = [_edit_out(edit) for edit in state.edits]
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
    made: list[object] = [closing.by, closing.via, closing.at, closing.reason, closing.key]
    return [*made, closing.edited] if closing.edited else made


def _edit_out(edit: Edit) -> list[object]:
    return [edit.input, edit.digest, edit.before, edit.after, edit.difference]


def _edit_in(read: Sequence[Any]) -> Edit:
    given, digest, before, after, difference = read
    return Edit(input=given, digest=digest, before=before, after=after, difference=difference)


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
        edits=tuple([_edit_in(edit) for edit in read["edits"]]) if "edits" in read else (),
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
    comments = tuple([Comment(text=t, passage=p, line=n) for t, p, n in given.get("comments", ())])
    edit = _edit_in(given["edit"]) if "edit" in given else None
    return Answered(
        closing=closing,
        answer=Answer(
            values=values,
            text=given["text"],
            note=given.get("note", ""),
            comments=comments,
            files=files,
            edit=edit,
        ),
        collected_at=read.get("collected_at"),
        forwarded_at=read.get("forwarded_at"),
        released_at=read.get("released_at"),
        votes=_votes_in(read),
    )


def _votes_in(read: Json) -> tuple[Closing, ...]:
    return tuple([_closing_in(vote) for vote in read["votes"]]) if "votes" in read else ()


def _closing_in(read: Sequence[Any]) -> Closing:
    by, via, at, reason, key, *more = read
    return Closing(by=by, via=via, at=at, reason=reason, key=key, edited=more[0] if more else "")
