"""One decision about several inquiries: one transaction, a record for each, and told for each what came of it."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from upcall.broker.decisions import Answering, declining, snoozing, undoing
from upcall.broker.policy import Policy
from upcall.broker.replies import Reply, Settled, settled
from upcall.domain.approval.rules import Remember
from upcall.domain.errors import InvalidRequest, UnknownInquiry, UpcallError
from upcall.domain.inquiry.inquiry import APPROVE, DENY, Answered, Change, Closing, Inquiry, Kind, Rejected
from upcall.domain.roles import Caller, require_person
from upcall.ports.store import Decide, Updated

Verdict = Literal["approve", "deny", "decline", "snooze", "undo"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

SETTLES: Mapping[str, type] = {"approve": Answered, "deny": Answered, "decline": Rejected}
"""The state that a verdict settles an inquiry in; the others leave it open."""

MOST_AT_ONCE = 200
"""Inquiries in one decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person decides about several at once. It makes no rule unless `remember` says which, one for each that is approved.

    `words` are the note of an approval or denial and the reason of declining, `seconds` how long to snooze, `hold` how
    long it can be undone before the askers are told.
    """

    verdict: Verdict
    words: str = ""
    seconds: float = 0.0
    hold: float = 0.0
    via: str = "api"
    key: str | None = None
    remember: Remember | None = None


UpdateAll = Callable[[Sequence[str], Decide], Awaitable[Sequence[Updated | UpcallError]]]
Asker = Callable[[str], Awaitable[tuple[str, str]]]
"""The id of an inquiry and the name behind it, by a name of the inquiry."""


class Bulk:
    """Decides about several inquiries. `update_all` takes a step with everything that follows from it."""

    def __init__(
        self, policy: Policy, clock: Callable[[], float], asker: Asker, update_all: UpdateAll
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._asker = asker
        self._update_all = update_all

    async def decide(
        self, names: Sequence[str], decision: Decision, caller: Caller
    ) -> list[Settled | UpcallError]:
        """Decide about exactly those that are named; the result of each, or why it was refused, in their order.

        Raises:
            NotAllowed: if the caller is an agent.
            InvalidRequest: if there are none, or too many.
        """
        require_person(caller, decision.verdict)
        if not 0 < len(names) <= MOST_AT_ONCE:
            raise InvalidRequest(f"1 to {MOST_AT_ONCE} inquiries at once, got {len(names)}")
        closing = Closing(by=caller.name, via=decision.via, at=self._clock(), key=decision.key)
        if decision.verdict == "decline":
            closing = replace(closing, reason=self._policy.reason(decision.words))
        done = await self._update_all(names, await self._rule(names, decision, caller, closing))
        wanted = SETTLES.get(decision.verdict)
        return [each if isinstance(each, UpcallError) else _settled(each, closing, wanted) for each in done]

    async def _rule(
        self, names: Sequence[str], decision: Decision, caller: Caller, closing: Closing
    ) -> Decide:
        match decision.verdict:
            case "approve" | "deny":
                return await self._answering(names, decision, caller, closing)
            case "decline":
                return declining(closing, decision.hold)
            case "snooze":
                return snoozing(caller, closing.at, decision.seconds)
            case "undo":
                return undoing(caller, closing.at)

    async def _answering(
        self, names: Sequence[str], decision: Decision, caller: Caller, closing: Closing
    ) -> Decide:
        barred = await self._barred(names)
        label = APPROVE if decision.verdict == "approve" else DENY
        reply = Reply(
            answers=[[label]],
            note=decision.words,
            via=decision.via,
            hold=decision.hold,
            remember=decision.remember,
        )
        # A step may be taken twice, and names its rule alike.
        named: dict[str, str] = {}
        answer = Answering(
            reply=reply,
            caller=caller,
            closing=closing,
            policy=self._policy,
            # One that was not looked at before: the caller may have asked it.
            barred=lambda inquiry: None if barred is None else barred.get(inquiry.id, caller.name),
        )

        def decide(inquiry: Inquiry) -> Change | None:
            if inquiry.kind is not Kind.APPROVAL:
                raise InvalidRequest(
                    f"{inquiry.ref} is a question, and no approval",
                    hint="answer it, or use decline",
                )
            if decision.remember is None:
                return answer(inquiry)
            return replace(answer, rule=named.setdefault(inquiry.id, f"r{secrets.token_hex(4)}"))(inquiry)

        return decide

    async def _barred(self, names: Sequence[str]) -> Mapping[str, str] | None:
        """By the id of each inquiry, who may not approve it; None where all may."""
        if self._policy.asker_may_approve:
            return None
        barred: dict[str, str] = {}
        for name in names:
            try:
                inquiry, asker = await self._asker(name)
            except UnknownInquiry:
                continue
            barred[inquiry] = asker
        return barred


def _settled(updated: Updated, closing: Closing, wanted: type | None) -> Settled:
    if wanted is not None:
        return settled(updated, closing, wanted)
    # Undoing may have come too late, and told the asker instead.
    return Settled(accepted=updated.applied and updated.inquiry.is_open, inquiry=updated.inquiry)
