"""What people do with an inquiry, as rules for a store: answer, decline, undo, snooze. Each is a function of the inquiry alone."""

from collections.abc import Callable
from dataclasses import dataclass

from upcall.broker.policy import Policy
from upcall.broker.replies import Reply, completed, read
from upcall.domain.approval import consent, editing
from upcall.domain.errors import NotItsTurn
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Change, Closing, Edit, Inquiry
from upcall.domain.roles import Caller
from upcall.ports.store import Decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """A reply of a person, with the action as they edited it.

    `barred` is who may not approve an inquiry, if there is such a person; `rule` names a new rule.
    """

    reply: Reply
    caller: Caller
    closing: Closing
    policy: Policy
    barred: Callable[[Inquiry], str | None]
    rule: str = ""
    edit: Edit | None = None

    def __call__(self, inquiry: Inquiry) -> Change | None:
        """The step that the reply makes of an inquiry."""
        reply, caller = self.reply, self.caller
        if not consent.is_awaited(inquiry, caller, late=reply.force, once=reply.first_vote_only):
            return None
        if inquiry.is_queued:
            raise NotItsTurn(inquiry.ref)
        given = read(inquiry, reply, self.policy.reading, self.policy.limits)
        given = editing.taken(inquiry, given, self.edit)
        consent.check(inquiry, given, caller, self.barred(inquiry))
        change = lifecycle.answer(inquiry, given, self.closing, force=reply.force)
        if change is None:
            return None
        change = consent.consequences(lifecycle.hold(inquiry, change, reply.hold), reply.remember, self.rule)
        return completed(change, reply) if reply.effects or reply.files else change


def declining(closing: Closing, hold: float) -> Decide:
    """Declining to answer; with `hold`, it can be undone for so many seconds."""

    def decide(inquiry: Inquiry) -> Change | None:
        change = lifecycle.reject(inquiry, closing)
        return change and consent.consequences(lifecycle.hold(inquiry, change, hold))

    return decide


def undoing(caller: Caller, now: float) -> Decide:
    """Taking a held decision back."""

    def decide(inquiry: Inquiry) -> Change | None:
        consent.check_undo(inquiry, caller)
        return lifecycle.undo(inquiry, by=caller.name, now=now)

    return decide


def snoozing(caller: Caller, now: float, seconds: float) -> Decide:
    """Keeping quiet about an inquiry for a while."""
    return lambda inquiry: lifecycle.snooze(inquiry, now + seconds, by=caller.name, now=now)
