"""An inquiry as others see it in JSON: the names here are relied upon and do not change."""

import math
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from upcall.domain.approval import rules
from upcall.domain.inquiry.activity import Activity
from upcall.domain.inquiry.inquiry import Answered, AskedBack, Attachment, Inquiry, Open, Option, Question

Document = dict[str, object]


# An inquiry is shown several times in its life, each time with the same moments.
@lru_cache(maxsize=1024)
def timestamp(at: float) -> str:
    """A moment in UTC, to the millisecond, as ISO 8601."""
    whole = math.floor(at)
    seconds, micros = divmod(whole * 1_000_000 + round((at - whole) * 1_000_000), 1_000_000)
    return f"{_second(seconds)}.{micros // 1000:03}Z"


# Much happens in the same second, or ends so many hours later.
@lru_cache(maxsize=256)
def _second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()[:19]


def document(inquiry: Inquiry) -> Document:
    """The whole inquiry. The caller fills in whether its session is being resumed."""
    origin = inquiry.origin
    return {
        "id": inquiry.id,
        "ref": inquiry.ref,
        "kind": inquiry.kind.value,
        "state": inquiry.state_name,
        "questions": [_question(question) for question in inquiry.questions],
        "context": inquiry.context,
        "attachments": _files(inquiry.attachments),
        "agent": origin.agent,
        "asker": origin.asker,
        "workspace": origin.workspace,
        "session": origin.session,
        "thread": origin.thread,
        "run": origin.run,
        "door": origin.door,
        "request_key": origin.request_key,
        "asked_at": timestamp(inquiry.asked_at),
        "expires_at": timestamp(inquiry.expires_at),
        "queued": inquiry.is_queued,
        "snoozed_until": _snoozed(inquiry),
        "held": _held(inquiry),
        "asked_back": [_asked_back(each) for each in inquiry.asked_back],
        "on_expiry": inquiry.on_expiry.value,
        "default": inquiry.default,
        "labels": list(inquiry.labels),
        "secret": inquiry.secret,
        "redacted": inquiry.redacted,
        "activity": _activity(inquiry.activity),
        "action": _action(inquiry),
        "approvals": _approvals(inquiry),
        "answer": _answer(inquiry),
        "resolution": _resolution(inquiry),
        "delivery": [],
        "resume": None,
    }


def _files(files: Sequence[Attachment]) -> list[Document]:
    return [
        {"name": file.name, "media_type": file.media_type, "size": file.size, "sha256": file.digest}
        for file in files
    ]


def _asked_back(back: AskedBack) -> Document:
    return {
        "by": back.by,
        "at": timestamp(back.at),
        "text": back.words,
        "told": back.told,
        "reply": back.reply or None,
    }


def _question(question: Question) -> Document:
    return {
        "header": question.header,
        "question": question.text,
        "options": [_option(option) for option in question.options],
        "multiSelect": question.multi,
        "custom": question.custom,
    }


def _option(option: Option) -> Document:
    shown: Document = {"label": option.label, "description": option.description}
    if option.recommended:
        shown["recommended"] = True
    if option.preview is not None:
        shown["preview"] = option.preview
    return shown


def _activity(activity: Activity | None) -> Document | None:
    """What the agent was doing when it asked; None where that is not known, or not read yet."""
    if activity is None:
        return None
    return {
        "task": activity.task,
        "branch": activity.branch,
        "turn": activity.turn,
        "message": activity.message,
        "calls": [{"tool": call.tool, "input": call.input} for call in activity.calls],
    }


def _action(inquiry: Inquiry) -> Document | None:
    """The action that is to be approved: its hash, and the rules that it can be remembered as."""
    subject = inquiry.subject
    if subject is None:
        return None
    # With several people to ask, no one of them decides for good.
    ways = rules.ways(subject) if inquiry.quorum == 1 else ()
    return {
        "tool": subject.tool,
        "cwd": subject.cwd,
        "sha256": inquiry.digest,
        "remember": list(ways),
        "prefix": shlex.join(rules.suggested_prefix(subject)),
    }


def _approvals(inquiry: Inquiry) -> Document | None:
    """The quorum and the approvals so far; None where one person is enough."""
    if inquiry.quorum == 1:
        return None
    given = [{"by": vote.by, "via": vote.via, "at": timestamp(vote.at)} for vote in inquiry.votes]
    return {"needed": inquiry.quorum, "given": given}


def _answer(inquiry: Inquiry) -> Document | None:
    match inquiry.state:
        case Answered(closing=closing, answer=answer, collected_at=collected_at, forwarded_at=forwarded_at):
            return {
                "answers": [list(values) for values in answer.values],
                "text": answer.text,
                "note": answer.note,
                "files": _files(answer.files),
                "by": closing.by,
                "via": closing.via,
                "at": timestamp(closing.at),
                "forwarded_at": None if forwarded_at is None else timestamp(forwarded_at),
                "collected_at": None if collected_at is None else timestamp(collected_at),
            }
        case _:
            return None


def _resolution(inquiry: Inquiry) -> Document | None:
    match inquiry.state:
        case Open():
            return None
        case closed:
            closing = closed.closing
            return {
                "state": inquiry.state_name,
                "by": closing.by,
                "via": closing.via,
                "at": timestamp(closing.at),
                "reason": closing.reason,
            }


def _held(inquiry: Inquiry) -> Document | None:
    """That a person has decided. What they decided is not for the asker yet, who reads this too."""
    if (held := inquiry.held) is None:
        return None
    closing = held.decision.closing
    return {"by": closing.by, "via": closing.via, "until": timestamp(held.until)}


def _snoozed(inquiry: Inquiry) -> str | None:
    match inquiry.state:
        case Open(snoozed_until=until) if until is not None:
            return timestamp(until)
        case _:
            return None
