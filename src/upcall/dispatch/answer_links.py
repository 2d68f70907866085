"""Signed links with which one person answers one inquiry, without signing in.

A link is valid for one answer, and for as long as its person may answer. Nothing is kept of it: the first answer, or
the person's vote, is in the inquiry itself, and the step that would write the next one decides whether there is one already.
"""

from dataclasses import dataclass, replace
from urllib.parse import quote

from upcall.access.signing import Forged, Signing, TooOld
from upcall.access.tokens import Access
from upcall.broker.broker import Broker, Reply, Settled
from upcall.broker.pacing import Pacing
from upcall.dispatch.people import People
from upcall.domain.errors import (
    LinkExpired,
    LinkRevoked,
    LinkUsed,
    UnknownInquiry,
    UnknownLink,
    UnknownPerson,
)
from upcall.domain.inquiry.inquiry import Inquiry, Open
from upcall.domain.roles import Caller, Role

PURPOSE = "answer-link"
LINK_SECONDS = 7 * 86400.0
VIA = "link"
"""The `via` of an answer through a link that was made by hand; otherwise it is the channel that carried the link."""

PER_SECOND = 10.0
BURST = 100.0
UNKNOWN = "unknown"
"""The name under which calls with a bad link are counted."""

_PERSON, _TOKEN = "person", "token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A good link: its person, its inquiry, and the way it came."""

    caller: Caller
    inquiry: Inquiry
    via: str

    @property
    def used(self) -> bool:
        """Whether its person has answered by such a link before."""
        state = self.inquiry.state
        given = state.votes if isinstance(state, Open) else (state.closing, *self.inquiry.votes)
        return any(each.by == self.caller.name and each.via == self.via for each in given)


class AnswerLinks:
    """Makes links and takes them back."""

    def __init__(self, broker: Broker, access: Access) -> None:
        self._broker = broker
        self._access = access
        self._people = People(broker.store, broker.now)
        self.signing = Signing(broker.store, broker.now)
        self._pacing = Pacing(per_second=PER_SECOND, burst=BURST)

    async def path(self, inquiry: Inquiry, person: str, via: str = VIA) -> str:
        """Where a person can answer an inquiry.

        Raises:
            UnknownPerson: if no person of that name may answer.
        """
        for ground in (_PERSON, _TOKEN):
            if await self._since(ground, person) is not None:
                token = await self.signing.sign(PURPOSE, (inquiry.id, person, via, ground))
                return f"/a/{quote(token, safe='')}"
        raise UnknownPerson(person)

    async def path_in(self, inquiry: Inquiry, channel: str, address: str) -> str | None:
        """Where the person who has an address in a channel can answer; None if no person has it."""
        person = await self._people.holder(channel, address)
        return None if person is None else await self.path(inquiry, person, via=channel)

    async def path_for(self, inquiry: Inquiry, channel: str, person: str) -> str | None:
        """Where a person who is told by name in a channel can answer; None if no person of that name may."""
        try:
            return await self.path(inquiry, person, via=channel)
        except UnknownPerson:
            return None

    async def open(self, token: str) -> Opened:
        """What a link leads to, without using it up.

        Raises:
            UnknownLink: if it is none of ours, or its inquiry is forgotten.
            LinkExpired: if it is too old.
            LinkRevoked: if its person may not answer any more.
            RateLimited: if it is opened too often.
        """
        try:
            signed = await self.signing.read(PURPOSE, token, LINK_SECONDS)
        except Forged:
            self._pacing.spend(UNKNOWN, self._broker.now())
            raise UnknownLink from None
        except TooOld:
            raise LinkExpired from None
        name, person, via, ground = signed.values
        self._pacing.spend(person, self._broker.now())
        since = await self._since(ground, person)
        # A person who was removed and added again is not the one it was made for. Signatures know whole seconds only.
        if since is None or since >= signed.at + 1:
            raise LinkRevoked
        try:
            inquiry = await self._broker.store.get(name)
        except UnknownInquiry:
            raise UnknownLink from None
        return Opened(caller=Caller(name=person, role=Role.PERSON), inquiry=inquiry, via=via)

    async def answer(self, opened: Opened, reply: Reply) -> Settled:
        """Take the one answer that a link is good for. Raises as `Broker.receive` does.

        Raises:
            LinkUsed: if it was used before, unless this is the same request sent again.
        """
        reply = replace(reply, via=opened.via, first_vote_only=True, force=False, remember=None)
        settled = await self._broker.receive(opened.inquiry.id, reply, opened.caller)
        if not settled.accepted and replace(opened, inquiry=settled.inquiry).used:
            raise LinkUsed
        return settled

    async def _since(self, ground: str, name: str) -> float | None:
        if ground == _TOKEN:
            return await self._access.person_since(name)
        person = await self._people.find(name)
        return None if person is None else person.added_at
