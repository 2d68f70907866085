"""The channels of one daemon at work: a worker and a listener for each, and somebody who escalates.

Where no channel is set up there is nothing of this: no task, no job, and no reader of the log.
"""

import asyncio
import logging
from collections.abc import Sequence

from upcall.broker.broker import Broker
from upcall.dispatch.escalating import Escalation
from upcall.dispatch.health import Fault, faults
from upcall.dispatch.listening import Listener
from upcall.dispatch.people import People
from upcall.dispatch.post import Post
from upcall.dispatch.reception import Reception
from upcall.dispatch.telling import Teller
from upcall.dispatch.worker import Worker
from upcall.domain.channel import delivery
from upcall.domain.channel.routing import TEST_DOOR, Place, Routing, show_job
from upcall.domain.channel.showing import Finding
from upcall.domain.errors import StorageError, UnknownChannel
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import STATE_NAMES, Inquiry, Origin
from upcall.domain.inquiry.lifecycle import ACTIVATED
from upcall.domain.records import TAKEN_OVER, Effects, Record
from upcall.ports.channel import Callback, CallbackReply, Called

WAKES = {"asked", ACTIVATED, "undelivered", "voted", TAKEN_OVER, *STATE_NAMES.values()}
"""The events after which a channel may have something to do at once."""

READ_EVERY = 30.0
GRACE_SECONDS = 2.0
"""How long a message that is on its way may take when the daemon stops."""

CLOSE_WITHIN = 10.0
"""Seconds that a channel may take to let go of its connections."""

TEST_QUESTION = "Is Upcall working here?"

log = logging.getLogger("upcall.dispatch")


class Dispatch:
    """One per daemon. With a lease it listens to each channel only while no other daemon on the same store does."""

    def __init__(
        self,
        broker: Broker,
        people: People,
        posts: Sequence[Post],
        routing: Routing,
        *,
        listening_lease: float | None = None,
    ) -> None:
        self._broker = broker
        self._posts = {post.name: post for post in posts}
        self._routing = routing
        alone = listening_lease is None
        self._workers = {
            post.name: Worker(broker.store, post, routing, broker.now, alone=alone) for post in posts
        }
        health = {name: worker.health for name, worker in self._workers.items()}
        self._tellers = {
            post.name: Teller(broker.store, post, broker.now, health[post.name], alone=alone)
            for post in posts
        }
        for name, worker in self._workers.items():
            worker.health.tell(self._tellers[name].recover)
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
        self._tasks: list[asyncio.Task[None]] = []
        self._working: list[asyncio.Task[None]] = []

    @property
    def names(self) -> Sequence[str]:
        """What the channels are called."""
        return list(self._posts)

    def places(self, name: str) -> Sequence[str]:
        """The addresses in a channel that routes lead to."""
        places = [place for route in self._routing.routes for place in route.places if place.channel == name]
        return list(dict.fromkeys(place.address for place in places))

    def spelled(self, name: str, user: str) -> str:
        """Somebody's id or address as a channel itself would write it."""
        post = self._posts.get(name)
        return user.casefold() if post is not None and post.channel.capabilities.caseless else user

    async def start(self) -> None:
        """Begin to work and to listen."""
        if not self._posts:
            return
        after = await self._broker.store.last_seq()
        self._tasks = [
            asyncio.create_task(self._follow(after)),
            asyncio.create_task(self._escalation.work()),
            *(asyncio.create_task(teller.work()) for teller in self._tellers.values()),
            *(asyncio.create_task(listener.listen()) for listener in self._listeners),
        ]
        self._working = [asyncio.create_task(worker.work()) for worker in self._workers.values()]

    async def close(self) -> None:
        """Stop; what is being sent is let finish for a moment, and else done again by the next daemon."""
        tasks, self._tasks = self._tasks, []
        for worker in self._workers.values():
            worker.stop()
        working, self._working = self._working, []
        if working:
            await asyncio.wait(working, timeout=GRACE_SECONDS)
        tasks += working
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if tasks:
            await asyncio.gather(*map(_closed, self._posts.values()))

    async def deliveries(self, inquiry: str) -> Sequence[dict[str, object]]:
        """Where an inquiry was shown, the latest first."""
        found = await self._broker.store.records(delivery.KIND, state=inquiry, limit=200)
        return [delivery.document(delivery.delivery_in(kept)) for kept in found.items]

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

    async def _follow(self, after: int) -> None:
        """Let workers know as soon as the log says that there may be something to do."""
        while True:
            try:
                events = await self._broker.store.events(after, wait=READ_EVERY)
            except StorageError:
                log.exception("cannot read the log; trying again in a second")
                await asyncio.sleep(1)
                continue
            except Exception:
                log.exception("following the log failed; it goes on in a second")
                await asyncio.sleep(1)
                continue
            if events:
                after = events[-1].seq
            if any(event.type in WAKES for event in events):
                self._wake()


async def _closed(post: Post) -> None:
    """Close a channel; one that fails or hangs does not keep the daemon."""
    try:
        async with asyncio.timeout(CLOSE_WITHIN):
            await post.channel.close()
    except TimeoutError:
        log.warning("%s could not be closed within %g seconds", post.name, CLOSE_WITHIN)
    except Exception:
        log.exception("%s could not be closed", post.name)
