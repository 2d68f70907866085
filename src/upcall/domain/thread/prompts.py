"""Prompts: what an inquiry leaves in its thread, step by step, and as the block that a chat shows.

An inquiry that was asked in a thread waits in line, is posted as `pending_prompt` when its turn has come, and as
`pending_prompt_resolved` once the agent has the answer, or once there will be none.
"""

from upcall.domain.inquiry.inquiry import (
    APPROVE,
    Answered,
    Cancelled,
    Change,
    Expired,
    Failed,
    Inquiry,
    Open,
    Option,
    Question,
    Rejected,
)
from upcall.domain.inquiry.lifecycle import POLICY
from upcall.domain.inquiry.wording import one_line, prompt_text, resolution_text
from upcall.domain.records import NOTHING, Effects, Record
from upcall.domain.thread.thread import QUEUE, Item, ItemType

PREFIX = "prm_"
WORKER = "upcall"
HIDDEN = "•••"
"""Shown in a thread in place of a secret answer."""

Document = dict[str, object]


def prompt_id(inquiry: Inquiry) -> str:
    """The id of an inquiry in its thread."""
    return PREFIX + inquiry.id


def message_id(inquiry: Inquiry) -> str:
    """The id of the message that answers an inquiry, or that is one of its approvals."""
    return f"msg_{inquiry.id}_{len(inquiry.votes)}" if inquiry.is_open else f"msg_{inquiry.id}"


def is_resolved(inquiry: Inquiry) -> bool:
    """Whether the agent's turn goes on: it has the answer, or it is known that there will be none."""
    match inquiry.state:
        case Open():
            return False
        case Answered(collected_at=None, released_at=None):
            return _came_late(inquiry) or _is_unawaited(inquiry)
        case _:
            return True


def consequences(change: Change) -> Effects:
    """The items that a step of an inquiry posts in its thread."""
    inquiry, happening = change.inquiry, change.happening
    thread = inquiry.origin.thread
    if thread is None:
        return NOTHING
    waits = (QUEUE, inquiry.id)
    match happening.type:
        case "asked":
            return Effects(
                records=(Record(kind=QUEUE, key=inquiry.id, state=thread, at=inquiry.asked_at),)
                if inquiry.is_queued
                else ()
            )
        case "activated":
            return Effects(forgotten=(waits,)) + _posted(inquiry, pending(inquiry), happening.at)
        case "voted":
            return _posted(inquiry, _vote(inquiry), happening.at)
        case "collected" | "released":
            return (
                NOTHING
                if _was_resolved(inquiry, happening.type)
                else _posted(inquiry, resolved(inquiry), happening.at)
            )
        case _ if happening.data.get("queued"):
            return Effects(forgotten=(waits,))
        case "answered":
            return _answered(inquiry, happening.at)
        case "rejected" | "cancelled" | "expired" | "failed":
            return _posted(inquiry, resolved(inquiry), happening.at)
        case _:
            return NOTHING


def pending(inquiry: Inquiry) -> Item:
    """The item that asks."""
    prompt: Document = {
        "prompt_id": prompt_id(inquiry),
        "kind": inquiry.kind.value,
        "prompt_state": "pending",
        "questions": [_question(question) for question in inquiry.questions],
    }
    return _item(inquiry, ItemType.PENDING, f"{prompt_text(inquiry)}\n", prompt)


def resolved(inquiry: Inquiry) -> Item:
    """The item that tells how it ended, for the record."""
    state, reason = _ended(inquiry)
    answers: list[Document] = []
    if isinstance(inquiry.state, Answered):
        answers = [
            {"question": question.text, "answer": [HIDDEN] if inquiry.secret else list(given)}
            for question, given in zip(inquiry.questions, inquiry.state.answer.values, strict=True)
        ]
    prompt: Document = {
        "prompt_id": prompt_id(inquiry),
        "kind": inquiry.kind.value,
        "prompt_state": state,
        "answers": answers,
        "reason": reason,
    }
    if state == "answered":
        text = resolution_text(inquiry, by=False)
    else:
        text = f"✗ {state.capitalize()}: {one_line(reason or '', 200)}"
    return _item(inquiry, ItemType.RESOLVED, text, prompt)


def block(inquiry: Inquiry) -> Document:
    """The question as a block of the agent's message: pending, replied or rejected.

    A client that does not know `question_request` can show `content`, which says everything in plain text.
    """
    extra: Document = {"questions": [_info(question) for question in inquiry.questions]}
    if len(inquiry.questions) == 1:
        extra = _info(inquiry.questions[0])
    answered = isinstance(inquiry.state, Answered)
    if isinstance(inquiry.state, Answered):
        extra["answerText"] = HIDDEN if inquiry.secret else inquiry.state.answer.text
        if not _is_by_policy(inquiry):
            extra["answerMessageId"] = message_id(inquiry)
    call: Document = {"id": inquiry.origin.request_key or prompt_id(inquiry), "name": "question"}
    return {
        "type": "action",
        "action_type": "question_request",
        "status": "pending" if inquiry.is_open else "success" if answered else "denied",
        "content": prompt_text(inquiry) if inquiry.is_open else resolution_text(inquiry, by=False),
        "timestamp": int(inquiry.asked_at * 1000),
        "tool_call": call,
        "extra": extra,
    }


def refusal(code: str, message: str, hint: str | None, *, id_: str) -> Item:
    """A question that could not be asked, as an item: the agent was told, and nothing waits."""
    error: Document = {"code": code, "message": message, "hint": hint}
    text = f"✗ {one_line(message, 500)}"
    return Item(
        id=id_,
        type=ItemType.STATUS,
        role="worker",
        by=WORKER,
        text=text,
        more={"status": "error", "error": error},
    )


def _answered(inquiry: Inquiry, at: float) -> Effects:
    made = NOTHING
    if not _is_by_policy(inquiry):
        made = _posted(inquiry, _message(inquiry), at)
    if _is_unawaited(inquiry):
        made += _posted(inquiry, resolved(inquiry), at)
    return made


def _message(inquiry: Inquiry) -> Item:
    """The answer as the person would have typed it."""
    assert isinstance(inquiry.state, Answered)
    answer, closing = inquiry.state.answer, inquiry.state.closing
    text = HIDDEN if inquiry.secret else answer.text
    more: Document = {"prompt": {"prompt_id": prompt_id(inquiry)}}
    return Item(
        id=message_id(inquiry),
        type=ItemType.TEXT,
        role="user",
        by=closing.by,
        text=text,
        more=more,
        key=closing.key or "",
    )


def _vote(inquiry: Inquiry) -> Item:
    """The item of one approval out of several."""
    vote = inquiry.votes[-1]
    more: Document = {"prompt": {"prompt_id": prompt_id(inquiry)}}
    name = message_id(inquiry)
    return Item(
        id=name, type=ItemType.TEXT, role="user", by=vote.by, text=APPROVE, more=more, key=vote.key or ""
    )


def _ended(inquiry: Inquiry) -> tuple[str, str | None]:
    """One of the three states that a thread knows, and why."""
    match inquiry.state:
        case Rejected(closing=closing):
            return "cancelled", "rejected" if closing.reason is None else f"rejected: {closing.reason}"
        case Expired():
            return "cancelled", "expired"
        case Cancelled(closing=closing):
            return "cancelled", closing.reason or "agent_turn_cancelled"
        case Failed(closing=closing):
            return "failed", closing.reason or "internal_error"
        case Open() | Answered():
            return "answered", None


def _was_resolved(inquiry: Inquiry, step: str) -> bool:
    """Whether the thread had gone on before there was evidence that the agent has its answer."""
    released = isinstance(inquiry.state, Answered) and inquiry.state.released_at is not None
    return _came_late(inquiry) or _is_unawaited(inquiry) or (released and step == "collected")


def _came_late(inquiry: Inquiry) -> bool:
    """Whether a person answered by force what had expired: its thread has gone on since."""
    state = inquiry.state
    return (
        isinstance(state, Answered) and state.closing.by != POLICY and state.closing.at >= inquiry.expires_at
    )


def _is_unawaited(inquiry: Inquiry) -> bool:
    """Whether a policy closed it because its asker no longer waits, so that its answer is not collected."""
    state = inquiry.state
    return isinstance(state, Answered) and state.closing.by == POLICY and state.closing.via != "default"


def _is_by_policy(inquiry: Inquiry) -> bool:
    return isinstance(inquiry.state, Answered) and inquiry.state.closing.by == POLICY


def _posted(inquiry: Inquiry, item: Item, at: float) -> Effects:
    origin = inquiry.origin
    return Effects(happenings=(item.happening(origin.thread or "", origin.agent, at),))


def _item(inquiry: Inquiry, kind: ItemType, text: str, prompt: Document) -> Item:
    name = f"{prompt_id(inquiry)}_{'asked' if kind is ItemType.PENDING else 'resolved'}"
    return Item(id=name, type=kind, role="worker", by=WORKER, text=text, more={"prompt": prompt})


def _question(question: Question) -> Document:
    made: Document = {
        "question": question.text,
        "multiSelect": question.multi,
        "options": [_option(option) for option in question.options],
    }
    if question.header:
        made["header"] = question.header
    if not question.custom:
        made["custom"] = False
    return made


def _option(option: Option) -> Document:
    made: Document = {"label": option.label, "description": option.description}
    if option.recommended:
        made["recommended"] = True
    if option.preview is not None:
        made["preview"] = option.preview
    return made


def _info(question: Question) -> Document:
    return {
        "header": question.header,
        "question": question.text,
        "options": [{"label": each.label, "description": each.description} for each in question.options],
        "multiple": question.multi,
        "custom": question.custom,
    }
