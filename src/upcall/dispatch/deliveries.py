"""What the store knows of the messages that show an inquiry."""

from dataclasses import replace

from upcall.domain.channel.delivery import KIND, Delivery, delivery_in, key, record
from upcall.domain.channel.routing import Place
from upcall.domain.records import Effects, Record
from upcall.ports.store import Ledger

PAGE = 200


async def delivery_at(store: Ledger, inquiry: str, place: Place, now: float) -> Delivery:
    """The delivery of an inquiry to a place; an empty one if there is none yet."""
    kept = await store.look_up(KIND, key(inquiry, place))
    return Delivery(inquiry=inquiry, place=place, at=now) if kept is None else delivery_in(kept)


async def deliveries_in(store: Ledger, inquiry: str, channel: str) -> list[Delivery]:
    """The deliveries of an inquiry to the places of a channel."""
    found = await store.records(KIND, state=inquiry, limit=PAGE)
    deliveries = [delivery_in(kept) for kept in found.items]
    return [delivery for delivery in deliveries if delivery.place.channel == channel]


def begun(known: Delivery, kept: Record | None) -> Effects:
    """That a message is about to be sent."""
    return Effects(records=(record(replace(known if kept is None else delivery_in(kept), begun=True)),))
