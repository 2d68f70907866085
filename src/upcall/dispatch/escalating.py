"""Decides where a question goes next: to the next person of a route in turn, to the next route, or to its end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from upcall.broker.broker import Broker
from upcall.dispatch.current_routing import CurrentRouting
from upcall.domain.channel.delivery import KIND, Delivery, delivery_in
from upcall.domain.channel.routing import DEAL, DESPAIR, ESCALATE, Route, rested, route_of, show_job
from upcall.domain.errors import StorageError, UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import NOTHING, Effects, Job, Record
from upcall.ports.background import Background

TURN = "turn"
"""The records of the next place of each route in turn."""

LEASE = 30.0
LONGEST_NAP = 30.0
MOST = 20
PLACES = 200

log = logging.getLogger("upcall.dispatch")


class Escalation:
    """One per daemon. `moved` is called when workers have got something to do."""

    def __init__(self, broker: Broker, routing: CurrentRouting, moved: Callable[[], None]) -> None:
        self._broker = broker
        self._routing = routing
        self._moved = moved
        self._woken = asyncio.Event()
        self._working = Background("escalating", self._turn, log)
        self._duties: dict[str, Callable[[Job, Inquiry, float], Awaitable[Effects]]] = {
            DEAL: self._dealt,
            ESCALATE: self._escalated,
            DESPAIR: self._despaired,
        }

    def wake(self) -> None:
        """Look again at once."""
        self._woken.set()

    def start(self) -> None:
        """Begin to do what is due."""
        self._working.start()

    async def close(self) -> None:
        """Stop; another daemon does what was claimed when its lease ends."""
        await self._working.close()

    async def _turn(self) -> None:
        store = self._broker.store
        self._woken.clear()
        now = self._broker.now()
        kinds = list(self._duties)
        jobs = await store.claim(kinds, runner="", now=now, lease=LEASE, limit=MOST)
        for job in jobs:
            await self._do_alone(job, now)
        if jobs:
            self._moved()
            return
        due = await store.next_due(kinds, "")
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_NAP if due is None else min(due - now, LONGEST_NAP)):
                await self._woken.wait()

    async def _do_alone(self, job: Job, now: float) -> None:
        """A question that cannot be read holds up no other; its job comes again when the lease ends."""
        try:
            await self._broker.store.settle(job, await self._done(job, now))
        except StorageError:
            raise
        except Exception:
            log.exception("%s failed; it is tried again in %g seconds", job.id, LEASE)

    async def _done(self, job: Job, now: float) -> Effects:
        try:
            inquiry = await self._broker.store.get(job.subject)
        except UnknownInquiry:
            return NOTHING
        return await self._duties[job.kind](job, inquiry, now) if inquiry.is_open else NOTHING

    async def _escalated(self, job: Job, inquiry: Inquiry, now: float) -> Effects:
        """No answer came in time: take the next route too."""
        later = rested(inquiry, now)
        if later > now:
            return Effects(jobs=(replace(job, due=later),))
        return self._routing.now.take(inquiry, route_of(job) + 1, now)

    async def _dealt(self, job: Job, inquiry: Inquiry, now: float) -> Effects:
        """Show it in the next place of its route; with several daemons at once a place may get two in a row."""
        number = route_of(job)
        routes = self._routing.now.of(inquiry)
        if number >= len(routes):
            return NOTHING
        route = routes[number]
        kept = await self._broker.store.look_up(TURN, route.turns)
        turn = 0 if kept is None else int(str(kept.body["next"]))
        place = route.places[turn % len(route.places)]
        following = Record(kind=TURN, key=route.turns, at=now, body={"next": (turn + 1) % len(route.places)})
        return Effects(records=(following,), jobs=(show_job(inquiry.id, place, number, now),))

    async def _despaired(self, _: Job, inquiry: Inquiry, __: float) -> Effects:
        """End what every place has refused, so that the agent hears of it at once."""
        found = await self._broker.store.records(KIND, state=inquiry.id, limit=PLACES)
        deliveries = {delivery.place.name: delivery for delivery in map(delivery_in, found.items)}
        routes = self._routing.now.of(inquiry)
        if all(_hopeless(route, deliveries) for route in routes):
            errors = [f"{name}: {each.error}" for name, each in sorted(deliveries.items())]
            reason = "; ".join(errors) or "no route leads anywhere"
            await self._broker.fail(inquiry.id, via="routes", reason=f"no person could be asked: {reason}")
        return NOTHING


def _hopeless(route: Route, deliveries: dict[str, Delivery]) -> bool:
    """Whether every place of a route has refused it. Of those in turn, only one was tried."""
    tried = [deliveries[place.name] for place in route.places if place.name in deliveries]
    complete = bool(tried) if route.in_turn else len(tried) == len(route.places)
    return complete and all(delivery.refused for delivery in tried)
