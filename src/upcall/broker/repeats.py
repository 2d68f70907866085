"""The same thing asked again by the same session: after its client's timeout cut the call, for example.

A question that is open is rejoined, and an answer that has not reached the agent is given at once. An approval that was given
too late for its call is good for one more call of the identical action, within its time. What is asked is remembered in a
record that leads to the inquiry: `holder` is the call that asked last, `used_by` the one that had the outcome.
"""

import hashlib
from collections.abc import Callable, Container
from dataclasses import dataclass

from upcall.domain.channel.delivery import ASKED
from upcall.domain.errors import UnknownInquiry
from upcall.domain.inquiry.inquiry import Answered, Inquiry, Kind, Origin
from upcall.domain.records import NOTHING, Effects, Record
from upcall.ports.store import Store


def _never(_: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Within what the same words mean the same question: a session, or else one client's connection.

    `has_reached` says of an inquiry whether its answer went out to the agent.
    """

    name: str
    has_reached: Callable[[str], bool] = _never


class Repeats:
    """Finds what stands for something that is asked again."""

    def __init__(self, store: Store, clock: Callable[[], float], awaited: Container[str]) -> None:
        self._store = store
        self._clock = clock
        self._awaited = awaited
        """The inquiries for which a call waits at this moment."""

    def remembered(self, inquiry: Inquiry, scope: Scope | None) -> Effects:
        """What is written together with a new inquiry."""
        if scope is None:
            return NOTHING
        key = _key(inquiry.origin, scope.name, inquiry.digest)
        return Effects(records=(_record(key, inquiry, inquiry.origin.request_key, None),))

    async def standing_for(self, origin: Origin, scope: Scope, digest: str) -> Inquiry | None:
        """The earlier inquiry that this one is, asked again; None where people have to be asked."""
        key = _key(origin, scope.name, digest)
        record = await self._store.look_up(ASKED, key)
        if record is None:
            return None
        try:
            inquiry = await self._store.get(record.state)
        except UnknownInquiry:
            return None
        if not self._stands(inquiry, record, scope, origin.request_key):
            return None
        taken_over = False

        def take_over(found: Record | None) -> Effects | None:
            nonlocal taken_over
            taken_over = (
                found is not None
                and found.state == inquiry.id
                and found.body["used_by"] == record.body["used_by"]
            )
            if not taken_over:
                return None
            return Effects(records=(_record(key, inquiry, origin.request_key, record.body["used_by"]),))

        await self._store.revise(ASKED, key, take_over)
        return inquiry if taken_over else None

    async def use(self, inquiry: Inquiry, by: str | None) -> bool:
        """Take the outcome of an inquiry for a call; False if another one had it, or has asked for it since."""
        # Where nothing is remembered, it belongs to the very call that asked.
        asked = by == inquiry.origin.request_key
        return await self._mark(
            inquiry, by, lambda used_by, holder: used_by is None and holder == by, unknown=asked
        )

    async def tell(self, inquiry: Inquiry) -> bool:
        """Take the outcome for a call that named the inquiry; False if a call that asked had it."""
        return await self._mark(inquiry, inquiry.id, lambda used_by, holder: used_by is None, unknown=True)

    async def _mark(
        self, inquiry: Inquiry, by: str | None, may: Callable[[object, object], bool], *, unknown: bool
    ) -> bool:
        """Record which call had the outcome; `unknown` is the result where nothing is remembered."""
        known = (await self._store.records(ASKED, state=inquiry.id, limit=1)).items
        granted = unknown

        def mark(found: Record | None) -> Effects | None:
            nonlocal granted
            if found is None or found.state != inquiry.id:
                granted = unknown
                return None
            used_by, holder = found.body["used_by"], found.body["holder"]
            is_first = may(used_by, holder)
            granted = is_first or _is_of(used_by, by)
            # The second record stays when the same thing is asked anew, and the first one leads to another inquiry.
            keys = (found.key, inquiry.id)
            return (
                Effects(records=tuple(_record(key, inquiry, holder, [by]) for key in keys))
                if is_first
                else None
            )

        if known:
            await self._store.revise(ASKED, known[0].key, mark)
        return granted

    def _stands(self, inquiry: Inquiry, record: Record, scope: Scope, key: str | None) -> bool:
        is_late = self._clock() >= inquiry.expires_at
        # A call that is sent again, because its connection broke, has not had its answer.
        is_sent_again = key is not None and record.body["holder"] == key
        if inquiry.is_open:
            # Two calls at the same time are two actions, and each takes a yes of its own.
            is_other = inquiry.kind is Kind.APPROVAL and inquiry.id in self._awaited
            return not is_late and (not is_other or is_sent_again)
        used_by = record.body["used_by"]
        is_free = used_by is None or _is_of(used_by, key)
        if not isinstance(inquiry.state, Answered) or not is_free:
            return False
        if inquiry.kind.is_consent:
            return not is_late and inquiry.is_approved
        return is_sent_again or (inquiry.state.collected_at is None and not scope.has_reached(inquiry.id))


def _is_of(used_by: object, call: str | None) -> bool:
    """Whether a call had the outcome before. Without a key no call can be told from another, so each one is new."""
    return call is not None and used_by == [call]


def _record(key: str, inquiry: Inquiry, holder: object, used_by: object) -> Record:
    body = {"holder": holder, "used_by": used_by}
    return Record(kind=ASKED, key=key, state=inquiry.id, at=inquiry.asked_at, body=body)


def _key(origin: Origin, scope: str, digest: str) -> str:
    parts = (origin.agent, str(origin.run), scope, origin.thread or "", origin.purpose, digest)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
