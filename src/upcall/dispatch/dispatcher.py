"""The channels of one daemon at work: a worker and a listener for each, and the escalation.

Where no channel is set up there is nothing of this: no task, no job, and no reader of the log.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from upcall.broker.broker import Broker
from upcall.dispatch.channel_at_work import ChannelAtWork, closed
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.escalating import Escalation
from upcall.dispatch.health import Fault
from upcall.dispatch.off_channel import OffChannel
from upcall.dispatch.people import People
from upcall.dispatch.worker import Worker
from upcall.domain.channel import delivery
from upcall.domain.channel.notification import ASKING, NO_ROUTE, is_notification, told
from upcall.domain.channel.off import Off
from upcall.domain.channel.routing import TEST_DOOR, Place, Routing, show_job
from upcall.domain.channel.showing import Finding
from upcall.domain.errors import DamagedRow, UnknownChannel, UnknownInquiry
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import STATE_NAMES, Inquiry, Origin
from upcall.domain.inquiry.lifecycle import ACTIVATED
from upcall.domain.records import TAKEN_OVER, Effects, Record
from upcall.ports.channel import Callback, CallbackReply, Called, HasAccount, Refused, Unavailable
from upcall.ports.following import Follower
from upcall.ports.store import Event

WAKES = {"asked", ACTIVATED, "undelivered", "voted", TAKEN_OVER, *STATE_NAMES.values()}
"""The events after which a channel may have something to do at once."""

ACCOUNT_SECONDS = 5.0
"""How long a vendor may take to say what our account is called."""

TEST_QUESTION = "Is Upcall working here?"

log = logging.getLogger("upcall.dispatch")


class Dispatch:
    """One per daemon. With a lease it listens to each channel only while no other daemon on the same store does.

    The channels of `notifications`, by their place, only tell: they have a worker, and nothing that listens.
    """

    def __init__(
        self,
        broker: Broker,
        people: People,
        channels: Sequence[ConfiguredChannel],
        routing: CurrentRouting,
        *,
        listening_lease: float | None = None,
        notifications: Mapping[Place, ConfiguredChannel] = MappingProxyType({}),
        off: Mapping[str, Off] = MappingProxyType({}),
    ) -> None:
        self._broker = broker
        self._people = people
        self._routing = routing
        self._lease = listening_lease
        self._alone = listening_lease is None
        self._notifications = notifications
        self._notifiers = [
            Worker(broker.store, configured, routing, broker.now, alone=self._alone)
            for configured in notifications.values()
        ]
        self._channels: dict[str, ChannelAtWork | OffChannel] = {}
        self._escalation = Escalation(broker, routing, self._wake)
        self._following = Follower("following the log for channels", broker.store, self._heed, log)
        self._started = False
        self._changing = asyncio.Lock()
        self._add(channels, off)

    @property
    def names(self) -> Sequence[str]:
        """What the channels are called, those that are off too."""
        return list(self._channels)

    @property
    def off(self) -> Mapping[str, Off]:
        """The channels that cannot be used, and why."""
        return {name: each.off for name, each in self._channels.items() if isinstance(each, OffChannel)}

    def errors(self) -> Mapping[tuple[str, ...], int]:
        """How many calls of each channel failed since this daemon started, by the channel and its side."""
        at_work = {name: each for name, each in self._channels.items() if isinstance(each, ChannelAtWork)}
        return {
            (name, side): count
            for name, each in at_work.items()
            for side, count in each.worker.health.errors.items()
        }

    def places(self, name: str) -> Sequence[str]:
        """The addresses in a channel that routes lead to."""
        routes = self._routing.now.routes
        places = [place for route in routes for place in route.places if place.channel == name]
        return list(dict.fromkeys(place.address for place in places))

    def spelled(self, name: str, user: str) -> str:
        """A person's id or address as the channel itself would write it."""
        known = self._channels.get(name)
        return user.casefold() if known is not None and known.is_caseless else user

    async def start(self) -> None:
        """Begin to work and to listen."""
        if not self._channels and not self._notifiers:
            return
        await self._begin()
        for part in (*self._notifiers, *self._channels.values()):
            part.start()

    async def close(self) -> None:
        """Stop; what is being sent is let finish for a moment, and else done again by the next daemon."""
        async with self._changing:
            if not self._started:
                return
            self._started = False
            parts = (self._following, self._escalation, *self._notifiers, *self._channels.values())
            await asyncio.gather(*(part.close() for part in parts))
            await asyncio.gather(*map(closed, self._notifications.values()))

    async def change(
        self,
        channels: Sequence[ConfiguredChannel],
        off: Mapping[str, Off],
        gone: Collection[str],
        routing: Routing,
    ) -> None:
        """Put channels in the place of those of the same names, end others, and take new routes; the rest goes on untouched.

        A daemon that is closing by now changes nothing more.
        """
        async with self._changing:
            if self._broker.closing.is_set():
                return
            changed = {*(each.name for each in channels), *off, *gone} & self._channels.keys()
            await asyncio.gather(*(self._channels[name].close() for name in changed))
            for name in changed:
                del self._channels[name]
            self._routing.now = routing
            for part in self._add(channels, off):
                await self._begin()
                part.start()
        self._wake()

    def _add(
        self, channels: Sequence[ConfiguredChannel], off: Mapping[str, Off]
    ) -> list[ChannelAtWork | OffChannel]:
        broker, routing = self._broker, self._routing
        added: dict[str, ChannelAtWork | OffChannel] = {
            each.name: ChannelAtWork(each, broker, self._people, routing, listening_lease=self._lease)
            for each in channels
        }
        for name, why in off.items():
            added[name] = OffChannel(broker, name, why, routing, alone=self._alone)
        self._channels |= added
        return list(added.values())

    async def _begin(self) -> None:
        """Follow the log, from the first channel on."""
        if not self._started:
            self._started = True
            await self._following.start()
            self._escalation.start()

    async def deliveries(self, inquiry: str) -> Sequence[dict[str, object]]:
        """Where an inquiry was shown, the latest first; notifications of a home's owner are not among them."""
        found = await self._broker.store.records(delivery.KIND, state=inquiry, limit=200)
        known = [delivery.delivery_in(kept) for kept in found.items]
        return [delivery.document(each) for each in known if not is_notification(each.place)]

    async def faults(self, name: str) -> Sequence[Fault]:
        """What does not work about a channel at this moment, the oldest first."""
        known = self._channels.get(name)
        return [] if known is None else await known.faults()

    async def accounts(self) -> Mapping[str, str]:
        """The channels that people write to, each with its account at the vendor; empty where the vendor does not say it now."""
        written_to = {
            name: each.configured.channel
            for name, each in self._channels.items()
            if isinstance(each, ChannelAtWork) and isinstance(each.configured.channel, HasAccount)
        }
        found = await asyncio.gather(*map(_account, written_to.values()))
        return dict(zip(written_to, found, strict=True))

    async def check(self, name: str) -> Sequence[Finding]:
        """Whether a channel can be used.

        Raises:
            UnknownChannel: if there is none of that name.
        """
        match self._channels.get(name):
            case None:
                raise UnknownChannel(name)
            case OffChannel(off=off):
                return [Finding(ok=False, text=f"the channel is off: {off.problem}", hint=off.hint)]
            case ChannelAtWork(configured=configured):
                return await configured.channel.check()

    async def called(self, name: str, callback: Callback) -> CallbackReply:
        """Hand what a vendor has sent to its channel, which says whether it is the vendor's at all.

        Raises:
            UnknownChannel: if there is none of that name, or none that is called.
        """
        known = self._channels.get(name)
        if isinstance(known, OffChannel):
            # The vendor sends it again later, perhaps to a daemon that has the channel on.
            return CallbackReply(status=503)
        if known is None or not isinstance(known.configured.channel, Called):
            raise UnknownChannel(name)
        reply = await known.configured.channel.called(callback, known.reception)
        if reply.status < 400:
            await known.worker.health.called()
        return reply

    async def ask_itself(self, name: str, address: str, by: str) -> Inquiry:
        """Show a test question in a place of a channel, and nowhere else but in the inbox."""
        if name not in self._channels:
            raise UnknownChannel(name)
        asked = draft({"question": TEST_QUESTION, "options": ["Yes"], "ttl": "15m"})
        origin = Origin(agent=by, session="channels-test", door=TEST_DOOR)
        added = await self._broker.ask(asked, origin)
        place = Place(channel=name, address=self.spelled(name, address))
        job = show_job(added.inquiry.id, place, NO_ROUTE, self._broker.now())

        def decide(_: Record | None) -> Effects:
            return Effects(jobs=(job,))

        await self._broker.store.revise(delivery.KIND, delivery.key(added.inquiry.id, place), decide)
        self._wake()
        return added.inquiry

    def _wake(self) -> None:
        self._escalation.wake()
        for part in (*self._notifiers, *self._channels.values()):
            part.wake()

    async def _heed(self, event: Event) -> None:
        """Let workers know as soon as the log says that there may be something to do."""
        if event.type in ASKING and not self._alone:
            await self._notify_here(event)
        if event.type in WAKES:
            self._wake()

    async def _notify_here(self, event: Event) -> None:
        """Notify the owner of this home of what was asked at another daemon, which does not know of this one."""
        try:
            inquiry = event.subject or await self._broker.store.get(str(event.inquiry))
        except (UnknownInquiry, DamagedRow):
            return
        if inquiry.is_queued:
            return
        for place in self._notifications:
            effects = told(inquiry, place, event.at)
            name = delivery.key(inquiry.id, place)
            await self._broker.store.revise(delivery.NOTICE, name, partial(_if_none, effects))


async def _account(channel: HasAccount) -> str:
    try:
        async with asyncio.timeout(ACCOUNT_SECONDS):
            return await channel.account()
    except (Refused, Unavailable, TimeoutError):
        return ""
    except Exception:
        log.exception("the account of a channel cannot be found out")
        return ""


def _if_none(effects: Effects, kept: Record | None) -> Effects | None:
    return effects if kept is None else None
