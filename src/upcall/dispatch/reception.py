"""Takes what people do in a channel: says who it was, finds what it is about, and has the broker read and settle it.

Each time the store is asked whether the person may answer, so a person who was removed is refused at once.
"""

import logging
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from upcall.broker.broker import Broker, Settled
from upcall.dispatch.answering import reply_of, unfit_line
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.failing import missed
from upcall.dispatch.health import Health
from upcall.dispatch.people import ALPHABET, CODE_LENGTH, Locked, People, WrongCode
from upcall.dispatch.sent_files import take_files
from upcall.dispatch.telling import Teller
from upcall.domain.channel import degrading
from upcall.domain.channel.delivery import (
    HEARD,
    KIND,
    MESSAGE,
    WAITING,
    Delivery,
    delivery_in,
    heard_key,
    heard_record,
    key,
    message_key,
    message_record,
    record,
)
from upcall.domain.channel.routing import Place, refresh_job
from upcall.domain.channel.showing import Heard, Inbound, Odd, View
from upcall.domain.errors import StorageError, UnknownInquiry, UnreadableAnswer, UpcallError
from upcall.domain.inquiry.inquiry import Inquiry, Kind
from upcall.domain.inquiry.unfit import UnfitAnswer
from upcall.domain.inquiry.uploads import Upload
from upcall.domain.inquiry.wording import resolution_text
from upcall.domain.records import NOTHING, Effects, Record
from upcall.domain.roles import Caller, Role
from upcall.domain.text.display import one_line
from upcall.ports.channel import Line, Unavailable

REMEMBERED = 2000
"""How many of the latest deliveries are known by heart. What comes again later is known by its key or its record."""

BOOKMARK = "bookmark"
"""The records of up to where a channel has been read."""

EARLY = 2.0
"""By how many seconds words may seem older than the question they answer: channels count whole ones, and a person may be
quicker than our own record. Nothing is approved by such words."""

MOST_HERE = 20
LONGEST_LINE = 80
_CODE = re.compile(rf"[{ALPHABET}]{{{CODE_LENGTH}}}", re.IGNORECASE | re.ASCII)

log = logging.getLogger("upcall.dispatch")


class Reception:
    """One per channel."""

    def __init__(
        self,
        broker: Broker,
        people: People,
        configured: ConfiguredChannel,
        routing: CurrentRouting,
        health: Health,
        teller: Teller,
    ) -> None:
        self._broker = broker
        self._health = health
        self._teller = teller
        self._people = people
        self._configured = configured
        self._name = configured.name
        self._words = configured.words
        self._routing = routing
        self._heard: OrderedDict[str, Heard] = OrderedDict()

    async def receive(self, inbound: Inbound) -> Heard:
        """Take what a person did; the same thing again is not done again, and hears the same."""
        known = self._heard.get(inbound.id)
        if known is not None:
            return Heard(line="", accepted=known.accepted)
        try:
            heard = await self._take(inbound)
        except StorageError:
            log.exception("what came through %s could not be kept", self._name)
            # It is not remembered: when it comes again, it is taken again.
            return Heard(line=self._words["unavailable"], accepted=False, again=True)
        # A form that was refused may be right when it is sent again.
        if heard.accepted or inbound.given is None:
            self._heard[inbound.id] = heard
            if len(self._heard) > REMEMBERED:
                self._heard.popitem(last=False)
        return heard

    async def view(self, inquiry: str) -> View | None:
        """An inquiry as it is shown now."""
        try:
            found = await self._broker.store.get(inquiry)
            link = await self._configured.link(found, "")
            return degrading.view(found, self._configured.channel.capabilities, self._words, link)
        except (UnknownInquiry, degrading.TooLong):
            return None

    async def knows(self, user: str) -> bool:
        """Whether a person may answer."""
        return await self._people.holder(self._name, user) is not None

    async def failed(self, message: str, reason: str) -> bool:
        """Take that a message did not arrive; false if there is no such message yet."""
        broker = self._broker
        try:
            return await missed(broker.store, self._routing.now, self._name, message, reason, broker.now())
        except StorageError as error:
            raise Unavailable("that a message did not arrive could not be kept") from error

    async def found(self, inquiry: str, place: str, message: str) -> None:
        """Adopt a message that shows an inquiry, unless it is on record or its sender is about to record it."""
        try:
            if await self._inquiry_of(message) is None and await self._found(inquiry) is not None:
                await self._adopt(inquiry, place, message)
        except StorageError as error:
            raise Unavailable("that a message is there could not be kept") from error

    async def say(self, line: Line) -> None:
        """Keep a line for a person, who is told as soon as it is its turn."""
        try:
            await self._teller.keep(line)
        except StorageError as error:
            raise Unavailable("what there is to say could not be kept") from error

    async def connected(self) -> None:
        """Take that the vendor has taken our connection."""
        await self._health.connected()

    async def bookmark(self) -> str:
        """Up to where this channel has been read."""
        found = await self._broker.store.look_up(BOOKMARK, self._name)
        return "" if found is None else str(found.body["at"])

    async def keep(self, bookmark: str) -> None:
        """Remember up to where this channel has been read."""
        kept = Record(kind=BOOKMARK, key=self._name, at=self._broker.now(), body={"at": bookmark})
        try:
            await self._broker.store.revise(BOOKMARK, self._name, lambda _: Effects(records=(kept,)))
        except StorageError as error:
            raise Unavailable("up to where it was read could not be kept") from error

    async def _take(self, inbound: Inbound) -> Heard:
        person = await self._people.holder(self._name, inbound.user)
        if person is None and inbound.alias:
            person = await self._people.holder(self._name, inbound.alias)
        if await self._is_code(inbound, person):
            return await self._enrol(inbound)
        inquiry = await self._meant(inbound)
        if inbound.odd is not None:
            return await self._not_understood(inbound, inquiry, person)
        if inquiry is None and inbound.message is not None:
            # A conversation between other people, or a message that is older than our memory.
            return self._no("" if inbound.given is None else self._words["no_question"])
        if person is None:
            return self._no(self._words["unknown_person"])
        if not inbound.proven:
            return self._no(self._words["unproven"])
        if _is_bare(inbound):
            return await self._take_bare(inbound, person)
        if inquiry is None:
            return self._no(self._words["no_question"])
        if inbound.message is not None and inbound.inquiry is not None:
            await self._adopt(inquiry.id, inbound.place, inbound.message)
        return await self._answer(inquiry, inbound, inbound.words, person)

    async def _not_understood(self, inbound: Inbound, inquiry: Inquiry | None, person: str | None) -> Heard:
        """Say that a voice note, a sticker or a reaction decides nothing, to a person who may think that it does."""
        if person is None:
            return self._no("")
        about = [inquiry] if inquiry is not None else []
        if _is_bare(inbound):
            about = [each.inquiry for each in await self._open_here(inbound)]
        # A reaction to a question that can be answered in words is a remark; on an approval it looks like a decision.
        decides = inbound.odd is Odd.MESSAGE
        meant = any(each.is_open and (decides or each.kind.is_consent) for each in about)
        return self._no(self._words["not_understood"] if meant else "")

    async def _take_bare(self, inbound: Inbound, person: str) -> Heard:
        """Take words that name nothing. They may mean another question each time they come, so they count once."""
        inquiry, words = await self._by_ref(inbound.words)
        here: list[_Here] = []
        if inquiry is None:
            # A person may be quicker than our own record of what they answer, and then mean another one.
            async with self._configured.showing:
                here = await self._open_here(inbound)
            inquiry = here[0].inquiry if len(here) == 1 and _may_mean(inbound, here[0]) else None
        # Only now: an inquiry that these words have closed is on record together with them.
        known = await self._broker.store.look_up(HEARD, heard_key(self._name, inbound.id))
        if known is not None:
            return Heard(line="", accepted=known.body["accepted"] is True)
        if inquiry is not None:
            heard = await self._answer(inquiry, inbound, words, person)
        else:
            heard = self._no(self._which(here) if here else self._words["no_question"])
        if not heard.accepted:
            await self._remember(inbound, "" if inquiry is None else inquiry.id, accepted=False)
        return heard

    async def _remember(self, inbound: Inbound, inquiry: str, *, accepted: bool) -> None:
        """Keep what became of words, unless that is on record already."""
        kept = heard_record(self._name, inbound.id, inquiry, self._broker.now(), accepted=accepted)
        await self._broker.store.revise(
            HEARD, kept.key, lambda known: Effects(records=(kept,)) if known is None else None
        )

    async def _answer(self, inquiry: Inquiry, inbound: Inbound, words: str, person: str) -> Heard:
        if inbound.given is None and degrading.asks_for_words(
            inquiry, self._configured.channel.capabilities, self._words, words
        ):
            return self._no(self._words["other.text"])
        sent = inbound.files if inquiry.is_open else ()
        files = await take_files(self._configured.channel, sent, self._words)
        if files.refused and not files.uploads and not words.strip() and inbound.given is None:
            return self._no(" ".join(files.refused))
        heard = await self._decide(inquiry, inbound, words, person, files.uploads)
        return (
            replace(heard, line="\n".join([heard.line, *files.refused]).strip()) if files.refused else heard
        )

    async def _decide(
        self, inquiry: Inquiry, inbound: Inbound, words: str, person: str, files: tuple[Upload, ...]
    ) -> Heard:
        taken = heard_record(self._name, inbound.id, inquiry.id, self._broker.now(), accepted=True)
        effects = Effects(records=(taken,)) if _is_bare(inbound) else NOTHING
        try:
            reply = reply_of(inquiry, inbound, words, self._configured, files, effects)
            settled = await self._broker.receive(inquiry.id, reply, Caller(name=person, role=Role.PERSON))
        except StorageError:
            raise
        except UpcallError as error:
            if isinstance(error, UnreadableAnswer) and inquiry.kind is Kind.APPROVAL:
                return self._no(f"{self._words['unclear']} {self._words['reply.approval']}")
            if isinstance(error, UnreadableAnswer) and inquiry.kind is Kind.PLAN:
                return self._no(self._words["plan.what"])
            if isinstance(error, UnfitAnswer):
                return self._no(unfit_line(error, self._words))
            return self._no(f"{error.message}. {error.hint}" if error.hint else error.message)
        return self._told(settled)

    def _told(self, settled: Settled) -> Heard:
        inquiry = settled.inquiry
        outcome = resolution_text(inquiry, words=self._words)
        if not settled.accepted:
            return self._no(self._words["late"].format(outcome=outcome))
        if inquiry.is_open:
            votes = self._words["votes"].format(given=len(inquiry.votes_for()), needed=inquiry.quorum)
            return Heard(line=self._words["counted"].format(progress=votes), accepted=True)
        # The message itself says so in a moment, to all who see it.
        return Heard(line="", accepted=True)

    async def _is_code(self, inbound: Inbound, person: str | None) -> bool:
        """Whether words are to be taken for a code. From a person we know, only what is one."""
        if not _is_bare(inbound) or not _CODE.fullmatch(inbound.words.strip()):
            return False
        return person is None or await self._people.is_code(inbound.words)

    async def _enrol(self, inbound: Inbound) -> Heard:
        try:
            name = await self._people.enrol(inbound.words, self._name, inbound.user)
        except WrongCode:
            return self._no(self._words["wrong_code"])
        except Locked:
            return self._no(self._words["locked"])
        # By now this is a person who may answer.
        await self._remember(inbound, "", accepted=True)
        return Heard(line=self._words["joined"].format(name=name), accepted=True)

    async def _meant(self, inbound: Inbound) -> Inquiry | None:
        """The inquiry that a press, a form or a reply to a message is about."""
        name = inbound.inquiry
        if name is None and inbound.message is not None:
            name = await self._inquiry_of(inbound.message)
        return None if name is None else await self._found(name)

    async def _found(self, name: str) -> Inquiry | None:
        """An inquiry, unless it has been forgotten."""
        try:
            return await self._broker.store.get(name)
        except UnknownInquiry:
            return None

    async def _inquiry_of(self, message: str) -> str | None:
        look_up, name = self._broker.store.look_up, message_key(self._name, message)
        found = await look_up(MESSAGE, name)
        if found is None:
            # A person may be quicker than our own record of what they reply to.
            async with self._configured.showing:
                found = await look_up(MESSAGE, name)
        return None if found is None else found.state

    async def _by_ref(self, words: str) -> tuple[Inquiry | None, str]:
        """The open inquiry with the ref that the words begin with, and the rest of them."""
        name, _, rest = words.strip().partition(" ")
        try:
            inquiry = await self._broker.store.get(name.rstrip(":").casefold())
        except UnknownInquiry:
            return None, words
        return (inquiry, rest) if inquiry.is_open and rest.strip() else (None, words)

    async def _open_here(self, inbound: Inbound) -> list["_Here"]:
        """What is open where a person wrote, or in the place that is theirs alone; the oldest first."""
        found: dict[str, _Here] = {}
        for address in {inbound.place, inbound.user, f"@{inbound.user}"}:
            place = Place(channel=self._name, address=address)
            page = await self._broker.store.records(WAITING, state=place.name, limit=MOST_HERE)
            for kept in page.items:
                inquiry = await self._found(str(kept.body["inquiry"]))
                if inquiry is not None and inquiry.is_open:
                    since = min(kept.at, found[inquiry.id].since) if inquiry.id in found else kept.at
                    found[inquiry.id] = _Here(inquiry=inquiry, since=since)
        return sorted(found.values(), key=lambda each: each.inquiry.asked_at)

    def _which(self, here: Sequence["_Here"]) -> str:
        asked = [each.inquiry for each in here]
        lines = [f"{each.ref}: {one_line(each.questions[0].text, LONGEST_LINE)}" for each in asked]
        return self._words["which" if len(asked) > 1 else "which.one"].format(
            questions="\n".join(lines), ref=asked[0].ref
        )

    async def _adopt(self, inquiry: str, address: str, message: str) -> None:
        """Record a message that a crash left without a record, and have it brought up to date."""
        store = self._broker.store
        if await store.look_up(MESSAGE, message_key(self._name, message)) is not None:
            return
        place, now = Place(channel=self._name, address=address), self._broker.now()

        def decide(kept: Record | None) -> Effects | None:
            known = Delivery(inquiry=inquiry, place=place, at=now) if kept is None else delivery_in(kept)
            # The worker may have recorded it since it was looked up.
            recorded = any(reference.message == message for reference in known.references)
            return None if recorded else adopted(known, message, now)

        await store.revise(KIND, key(inquiry, place), decide)

    def _no(self, line: str) -> Heard:
        return Heard(line=line, accepted=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Here:
    """What is open in a place, and since when it is shown there."""

    inquiry: Inquiry
    since: float


def adopted(known: Delivery, message: str, now: float) -> Effects:
    """A delivery with one message more than its record had; what it shows is not known."""
    delivery = Delivery(
        inquiry=known.inquiry,
        place=known.place,
        message=known.message or message,
        shown_at=known.shown_at or now,
        # The worker that is to show it finds this message instead, and records that it is shown.
        begun=known.begun and known.message is None,
        copies=(*known.copies, message) if known.message not in {None, message} else known.copies,
        at=known.at,
    )
    return Effects(
        records=(record(delivery), message_record(delivery, message)),
        jobs=(refresh_job(known.inquiry, known.place.channel, now),),
    )


def _is_bare(inbound: Inbound) -> bool:
    """Whether it is nothing but words, in which no message and no question is named."""
    return inbound.inquiry is None and inbound.message is None and inbound.given is None


def _may_mean(inbound: Inbound, here: _Here) -> bool:
    """Whether words can be about the only open question: they may be older than it, and have waited for us somewhere."""
    is_approval = here.inquiry.kind.is_consent
    if inbound.at is None:
        return not is_approval
    return inbound.at >= here.since - (0.0 if is_approval else EARLY)
