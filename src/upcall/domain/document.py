"""An inquiry as others see it in JSON: the names here are relied upon and do not change."""

import math
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from upcall.domain.answer.typed import content
from upcall.domain.approval import rules
from upcall.domain.approval.obstacles import no_prefix
from upcall.domain.inquiry.activity import Activity
from upcall.domain.inquiry.inquiry import (
    Answer,
    Answered,
    AskedBack,
    Attachment,
    Edit,
    Inquiry,
    Kind,
    Open,
    Option,
    Question,
)
from upcall.domain.inquiry.plans import decision
from upcall.domain.inquiry.revisions import difference

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
        "branch": branch_shown(inquiry),
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
        "plan": _plan(inquiry),
        "answer": _answer(inquiry),
        "resolution": _resolution(inquiry),
        "delivery": [],
        "resume": None,
    }


def branch_shown(inquiry: Inquiry) -> str:
    """The branch as it was asked from, or else as it was read a moment later."""
    return inquiry.origin.branch or (inquiry.activity.branch if inquiry.activity else "")


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
    shown: Document = {
        "header": question.header,
        "question": question.text,
        "options": [_option(option) for option in question.options],
        "multiSelect": question.multi,
        "custom": question.custom,
    }
    if (field := question.field) is not None:
        shown["field"] = {
            "name": field.name,
            "title": field.title,
            "required": field.required,
            "default": list(field.default),
            "schema": field.schema(),
        }
    return shown


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
        "plan": activity.plan,
    }


def _action(inquiry: Inquiry) -> Document | None:
    """The action that is to be approved: its hash, and the rules that it can be remembered as."""
    subject = inquiry.subject
    if subject is None:
        return None
    # With several people to ask, no one of them decides for good.
    ways = rules.ways(subject) if inquiry.quorum == 1 and inquiry.edit is None else ()
    return {
        "tool": subject.tool,
        "cwd": subject.cwd,
        "sha256": inquiry.digest,
        "remember": list(ways),
        "prefix": shlex.join(rules.suggested_prefix(subject)),
        "no_prefix": _no_prefix(inquiry),
        "input": None if subject.given is None else dict(subject.given),
        "runs_edited": subject.runs_edited,
    }


def _no_prefix(inquiry: Inquiry) -> Document | None:
    """Why the first words of a command cannot be remembered; None where they can, and for what is no command."""
    why = None if inquiry.subject is None or inquiry.quorum > 1 else no_prefix(inquiry.subject)
    return None if why is None else {"reason": why.obstacle.value, "what": why.what, "text": why.sentence}


def _approvals(inquiry: Inquiry) -> Document | None:
    """The quorum and the approvals so far; None where one person is enough."""
    if inquiry.quorum == 1:
        return None
    given = [
        {
            "by": vote.by,
            "via": vote.via,
            "at": timestamp(vote.at),
            "sha256": vote.edited or inquiry.digest,
        }
        for vote in inquiry.votes
    ]
    return {"needed": inquiry.quorum, "given": given, "edits": [_edit(edit) for edit in inquiry.edits]}


def _edit(edit: Edit) -> Document:
    """An edited action: its input and hash, both texts, and what was changed."""
    return {
        "input": dict(edit.input),
        "sha256": edit.digest,
        "before": edit.before,
        "after": edit.after,
        "difference": edit.difference,
    }


def _plan(inquiry: Inquiry) -> Document | None:
    """What a plan takes up; its own text is the context."""
    if inquiry.kind is not Kind.PLAN:
        return None
    before = inquiry.earlier_plan
    return {
        "before": before or None,
        "difference": (difference(before, inquiry.context) or None) if before else None,
    }


def _decided(inquiry: Inquiry, answer: Answer) -> Document:
    """The decision about a plan, with the comments on it."""
    if inquiry.kind is not Kind.PLAN:
        return {}
    comments = [{"text": each.text, "passage": each.passage, "line": each.line} for each in answer.comments]
    return {"decision": decision(inquiry, answer), "comments": comments}


def _answer(inquiry: Inquiry) -> Document | None:
    match inquiry.state:
        case Answered(closing=closing, answer=answer, collected_at=collected_at, forwarded_at=forwarded_at):
            filled = content(inquiry)
            return {
                "answers": [list(values) for values in answer.values],
                **({} if filled is None else {"content": filled}),
                **_decided(inquiry, answer),
                "text": answer.text,
                "note": answer.note,
                "edit": None if answer.edit is None else _edit(answer.edit),
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
