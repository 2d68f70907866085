"""The channels of one daemon at work: a worker and a listener for each, and the escalation.

Where no channel is set up there is nothing of this: no task, no job, and no reader of the log.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from upcall.broker.broker import Broker
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.escalating import Escalation
from upcall.dispatch.health import Fault, faults
from upcall.dispatch.listening import Listener
from upcall.dispatch.people import People
from upcall.dispatch.reception import Reception
from upcall.dispatch.telling import Teller
from upcall.dispatch.worker import Worker
from upcall.domain.channel import delivery
from upcall.domain.channel.notification import ASKING, is_notification, told
from upcall.domain.channel.routing import TEST_DOOR, Place, Routing, show_job
from upcall.domain.channel.showing import Finding
from upcall.domain.errors import DamagedRow, UnknownChannel, UnknownInquiry
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import STATE_NAMES, Inquiry, Origin
from upcall.domain.inquiry.lifecycle import ACTIVATED
from upcall.domain.records import TAKEN_OVER, Effects, Record
from upcall.ports.channel import Callback, CallbackReply, Called
from upcall.ports.following import Follower
from upcall.ports.store import Event

WAKES = {"asked", ACTIVATED, "undelivered", "voted", TAKEN_OVER, *STATE_NAMES.values()}
"""The events after which a channel may have something to do at once."""

CLOSE_WITHIN = 10.0
"""Seconds that a channel may take to let go of its connections."""

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
        posts: Sequence[ConfiguredChannel],
        routing: Routing,
        *,
        listening_lease: float | None = None,
        notifications: Mapping[Place, ConfiguredChannel] = MappingProxyType({}),
    ) -> None:
        self._broker = broker
        self._notifications = notifications
        self._posts = {post.name: post for post in posts}
        self._routing = routing
        alone = self._alone = listening_lease is None
        self._workers = {
            post.name: Worker(broker.store, post, routing, broker.now, alone=alone)
            for post in (*posts, *notifications.values())
        }
        health = {name: worker.health for name, worker in self._workers.items()}
        self._tellers = {
            post.name: Teller(broker.store, post, broker.now, health[post.name], alone=alone)
            for post in posts
        }
        for name, teller in self._tellers.items():
            health[name].tell(teller.recover)
        self._receptions = {
            post.name: Reception(broker, people, post, routing, health[post.name], self._tellers[post.name])
            for post in posts
        }
        self._listeners = [
            Listener(
                broker.store, post, self._receptions[post.name], health[post.name], lease=listening_lease
            )
            for post in posts
        ]
        self._escalation = Escalation(broker, routing, self._wake)
        self._following = Follower("following the log for channels", broker.store, self._heed, log)
        self._started = False

    @property
    def names(self) -> Sequence[str]:
        """What the channels are called."""
        return list(self._posts)

    def places(self, name: str) -> Sequence[str]:
        """The addresses in a channel that routes lead to."""
        places = [place for route in self._routing.routes for place in route.places if place.channel == name]
        return list(dict.fromkeys(place.address for place in places))

    def spelled(self, name: str, user: str) -> str:
        """A person's id or address as the channel itself would write it."""
        post = self._posts.get(name)
        return user.casefold() if post is not None and post.channel.capabilities.caseless else user

    async def start(self) -> None:
        """Begin to work and to listen."""
        if not self._workers:
            return
        self._started = True
        await self._following.start()
        for part in self._parts:
            part.start()

    async def close(self) -> None:
        """Stop; what is being sent is let finish for a moment, and else done again by the next daemon."""
        if not self._started:
            return
        self._started = False
        await asyncio.gather(self._following.close(), *(part.close() for part in self._parts))
        await asyncio.gather(*map(_closed, [*self._posts.values(), *self._notifications.values()]))

    @property
    def _parts(self) -> Sequence[Worker | Teller | Listener | Escalation]:
        return [self._escalation, *self._tellers.values(), *self._listeners, *self._workers.values()]

    async def deliveries(self, inquiry: str) -> Sequence[dict[str, object]]:
        """Where an inquiry was shown, the latest first; notifications of a home's owner are not among them."""
        found = await self._broker.store.records(delivery.KIND, state=inquiry, limit=200)
        known = [delivery.delivery_in(kept) for kept in found.items]
        return [delivery.document(each) for each in known if not is_notification(each.place)]

    async def faults(self, name: str) -> Sequence[Fault]:
        """What does not work about a channel at this moment, the oldest first."""
        return await faults(self._broker.store, name)

    async def check(self, name: str) -> Sequence[Finding]:
        """Whether a channel can be used.

        Raises:
            UnknownChannel: if there is none of that name.
        """
        if name not in self._posts:
            raise UnknownChannel(name)
        return await self._posts[name].channel.check()

    async def called(self, name: str, callback: Callback) -> CallbackReply:
        """Hand what a vendor has sent to its channel, which says whether it is the vendor's at all.

        Raises:
            UnknownChannel: if there is none of that name, or none that is called.
        """
        post = self._posts.get(name)
        if post is None or not isinstance(post.channel, Called):
            raise UnknownChannel(name)
        reply = await post.channel.called(callback, self._receptions[name])
        if reply.status < 400:
            await self._workers[name].health.called()
        return reply

    async def ask_itself(self, name: str, address: str, by: str) -> Inquiry:
        """Show a test question in a place of a channel, and nowhere else but in the inbox."""
        if name not in self._posts:
            raise UnknownChannel(name)
        asked = draft({"question": TEST_QUESTION, "options": ["Yes"], "ttl": "15m"})
        origin = Origin(agent=by, session="channels-test", door=TEST_DOOR)
        added = await self._broker.ask(asked, origin)
        place = Place(channel=name, address=self.spelled(name, address))
        now = self._broker.now()
        job = show_job(added.inquiry.id, place, len(self._routing.routes), now)

        def decide(_: Record | None) -> Effects:
            return Effects(jobs=(job,))

        await self._broker.store.revise(delivery.KIND, delivery.key(added.inquiry.id, place), decide)
        self._wake()
        return added.inquiry

    def _wake(self) -> None:
        self._escalation.wake()
        for worker in self._workers.values():
            worker.wake()

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


def _if_none(effects: Effects, kept: Record | None) -> Effects | None:
    return effects if kept is None else None


async def _closed(post: ConfiguredChannel) -> None:
    """Close a channel; one that fails or hangs does not keep the daemon."""
    try:
        async with asyncio.timeout(CLOSE_WITHIN):
            await post.channel.close()
    except TimeoutError:
        log.warning("%s could not be closed within %g seconds", post.name, CLOSE_WITHIN)
    except Exception:
        log.exception("%s could not be closed", post.name)
