"""Inquiries as agents ask them, for the store and for its file."""

import time

from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Answer, Change, Closing, Inquiry, Kind, Option, Origin, Question
from upcall.domain.inquiry.refs import inquiry_id

DAY = 86400.0
_QUESTION = Question(
    text="Which cache shall the session service use in production?",
    header="Cache",
    options=(
        Option(label="Redis", recommended=True, description="runs already"),
        Option(label="Memcached"),
        Option(label="None"),
    ),
)
_ANSWER = Answer(values=(("Redis",),), text="Redis")


def an_inquiry(number: int, asked_at: float | None = None, *, ttl: float = DAY) -> Inquiry:
    """An open inquiry; `number` tells it from others asked at the same time."""
    at = time.time() if asked_at is None else asked_at
    return Inquiry(
        id=inquiry_id(int(at * 1000), number),
        ref="",
        kind=Kind.CHOICE,
        questions=(_QUESTION,),
        origin=Origin(agent="builder", session="builder", door="http", workspace="/srv/project"),
        asked_at=at,
        expires_at=at + ttl,
        digest="0123456789abcdef",
    )


def answered(inquiry: Inquiry) -> Change | None:
    """The step by which a person answers; a `Decide` for `Store.update`."""
    closing = Closing(by="ana", via="api", at=inquiry.asked_at + 60)
    return lifecycle.answer(inquiry, _ANSWER, closing)
