"""The broker's settings, and the inquiry that a draft becomes under them."""

from collections.abc import Callable
from dataclasses import dataclass

from upcall.domain.answer.reading import ReadingRules
from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.asking import Draft
from upcall.domain.inquiry.inquiry import Inquiry, Kind, OnExpiry, Open, Origin
from upcall.domain.inquiry.limits import Limits
from upcall.domain.thread.thread import ThreadRules

IN_LINE = 365 * 86400.0
"""Deadline offset, in seconds, of a question that waits for its turn; its ttl starts at its turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The settings of asking and answering; a draft may override some of them."""

    ttl: float = 24 * 3600
    block_timeout: float = 30 * 60
    on_expiry: OnExpiry = OnExpiry.EXPIRE
    on_block_end: str = "park"
    on_restart: str = "keep"
    quorum: int = 1
    asker_may_approve: bool = True
    reading: ReadingRules = ReadingRules()
    limits: Limits = Limits()
    threads: ThreadRules = ThreadRules()
    permission: Callable[[str], str] = lambda _: "approval"
    """What an agent may do without asking, by its name."""

    def inquiry(self, name: str, draft: Draft, origin: Origin, now: float) -> Inquiry:
        """The inquiry of that id that a draft becomes; its time begins now, or with its turn in its thread."""
        ttl = self.ttl if draft.ttl is None else draft.ttl
        in_line = origin.thread is not None
        return Inquiry(
            id=name,
            ref="",
            kind=draft.kind,
            questions=draft.questions,
            context=draft.context,
            attachments=tuple(upload.attachment for upload in draft.uploads),
            origin=origin,
            asked_at=now,
            expires_at=now + (IN_LINE if in_line else ttl),
            on_expiry=self.on_expiry if draft.on_expiry is None else draft.on_expiry,
            default=draft.default,
            labels=draft.labels,
            secret=draft.secret,
            redacted=draft.redacted,
            digest=draft.digest,
            subject=draft.subject,
            quorum=self.quorum if draft.kind is Kind.APPROVAL else 1,
            earlier_plan=draft.earlier_plan,
            state=Open(queued=ttl if in_line else None),
        )

    def reason(self, reason: str | None) -> str | None:
        """A reason as it is kept; None for an empty one.

        Raises:
            InvalidRequest: if it is too long.
        """
        limit = self.limits.reason
        if reason is not None and len(reason) > limit:
            raise InvalidRequest(f"a reason has at most {limit} characters, got {len(reason)}")
        return (reason or "").strip() or None


DEFAULTS = Policy()
