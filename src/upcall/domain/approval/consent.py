"""Who may approve an action, and what is written together with the decision."""

from dataclasses import replace

from upcall.domain.answer.outcome import outcome
from upcall.domain.approval import denials, rules
from upcall.domain.approval.rules import Remember
from upcall.domain.errors import InvalidRequest, NotAllowed, NoteUnread, NotYourDecision
from upcall.domain.inquiry.inquiry import APPROVE, Answer, Change, Inquiry, Kind
from upcall.domain.inquiry.lifecycle import takes_force
from upcall.domain.inquiry.plans import is_approved
from upcall.domain.roles import Caller, Role

_YOURS = "this was started by you, so another person has to approve it"


def is_awaited(inquiry: Inquiry, caller: Caller, *, late: bool, once: bool) -> bool:
    """Whether a caller can decide an inquiry: `late` includes expired ones, `once` excludes those it has voted on."""
    if once and any(vote.by == caller.name for vote in inquiry.votes):
        return False
    return (inquiry.is_open and not inquiry.held) or (late and takes_force(inquiry))


def check(inquiry: Inquiry, given: Answer, caller: Caller, barred: str | None) -> None:
    """Refuse an approval by the `barred` person, who started the run that asks. They may always deny it.

    Raises:
        NotAllowed: if the caller is barred and approves.
        NoteUnread: if a yes has a note that the model would not read.
    """
    if inquiry.kind is Kind.PLAN and is_approved(given) and caller.name == barred:
        raise NotAllowed(_YOURS, hint="you can still revise or reject it")
    if inquiry.kind is not Kind.APPROVAL or given.values != ((APPROVE,),):
        return
    hears = inquiry.subject is not None and inquiry.subject.hears and not given.files
    if (given.note or given.files) and inquiry.origin.purpose == "permission" and not hears:
        raise NoteUnread(
            "this prompt of the agent's program takes a yes or a no, so its model would not read the note",
            hint="approve without a note, or deny with it: a denial is told with its words",
        )
    if caller.name == barred:
        raise NotAllowed(_YOURS, hint="you can still deny it")


def check_undo(inquiry: Inquiry, caller: Caller) -> None:
    """Refuse to take back the decision of another person, unless the caller is an admin.

    Raises:
        NotYourDecision: if the caller did not make it.
    """
    held = inquiry.held
    if held is None or caller.role is Role.ADMIN:
        return
    if (who := held.decision.closing.by) != caller.name:
        raise NotYourDecision(f"{who!r} decided this", hint="the person who decided can undo it, or an admin")


def consequences(change: Change, wanted: Remember | None = None, name: str = "") -> Change:
    """A step together with what is remembered of it: a rule under a name, or a denial.

    Raises:
        InvalidRequest: if a rule is wanted that cannot be made.
    """
    if wanted is None and change.inquiry.subject is None:
        return change
    effects = denials.remembered(change, outcome(change.inquiry).text)
    if wanted is not None:
        if change.inquiry.held:
            raise InvalidRequest(
                "what makes a rule is not held", hint="leave `hold` or `remember` out of the request"
            )
        if change.inquiry.quorum > 1:
            raise InvalidRequest(
                "what takes several people cannot be remembered by one of them", hint="leave `remember` out"
            )
        by, now = _who(change)
        effects += rules.remembering(change, wanted, name=name, by=by, now=now)
    return replace(change, effects=change.effects + effects)


def _who(change: Change) -> tuple[str, float]:
    return str(change.happening.data.get("by", "")), change.happening.at
