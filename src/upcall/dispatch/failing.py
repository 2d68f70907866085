"""Messages that a channel took and that did not arrive after all, as it says later, perhaps to another daemon."""

from dataclasses import replace

from upcall.domain.channel.delivery import (
    KIND,
    MESSAGE,
    WAITING,
    Delivery,
    delivery_in,
    key,
    message_key,
    record,
)
from upcall.domain.channel.routing import TEST_DOOR, Place, Routing, show_job
from upcall.domain.errors import UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import NOTHING, Effects, Happening, Record
from upcall.ports.store import Store


async def missed(store: Store, routing: Routing, channel: str, message: str, reason: str, now: float) -> bool:
    """Count a message's place as one that refuses, and take the next route. Whether there is such a message."""
    found = await store.look_up(MESSAGE, message_key(channel, message))
    if found is None:
        return False
    try:
        inquiry = await store.get(found.state)
    except UnknownInquiry:
        return True
    place = Place(channel=channel, address=str(found.body["address"]))
    name = key(inquiry.id, place)

    def decide(kept: Record | None) -> Effects | None:
        if kept is None or not inquiry.is_open or delivery_in(kept).message != message:
            return None
        delivery = replace(
            delivery_in(kept), message=None, shown_at=None, error=reason, refused=True, stage="", at=now
        )
        return Effects(
            records=(record(delivery),),
            forgotten=((WAITING, name),),
            happenings=(noticed("undelivered", inquiry, delivery, now),),
        ) + _instead(routing, inquiry, place, now)

    await store.revise(KIND, name, decide)
    return True


def incomplete(routing: Routing, inquiry: Inquiry, delivery: Delivery, reason: str, now: float) -> Effects:
    """What follows if a message that was announced cannot be completed: it is sent again, and if that fails too, the next route is taken.

    People can press nothing in such a message; words in reply to it count all the same.
    """
    sent = tuple(each.message for each in delivery.references)
    again = len(sent) == 1
    unshown = replace(
        delivery, message=None, shown_at=None, copies=sent, error=reason, refused=not again, at=now
    )
    effects = Effects(records=(record(unshown),))
    if again:
        routes = [
            number for number, route in enumerate(routing.of(inquiry)) if delivery.place in route.places
        ]
        number = routes[0] if routes else len(routing.routes)
        return effects + Effects(jobs=(show_job(inquiry.id, delivery.place, number, now),))
    undelivered = Effects(happenings=(noticed("undelivered", inquiry, unshown, now),))
    return effects + undelivered + _instead(routing, inquiry, delivery.place, now)


def noticed(event: str, inquiry: Inquiry, delivery: Delivery, at: float) -> Happening:
    """What the log says of a delivery."""
    data: dict[str, object] = {
        "ref": inquiry.ref,
        "channel": delivery.place.channel,
        "place": delivery.place.address,
        "message_id": delivery.message,
        "error": delivery.error,
    }
    return Happening(type=event, at=at, data=data, inquiry=inquiry.id)


def _instead(routing: Routing, inquiry: Inquiry, place: Place, now: float) -> Effects:
    if inquiry.origin.door == TEST_DOOR:
        return NOTHING
    numbers = [number for number, route in enumerate(routing.of(inquiry)) if place in route.places]
    following = routing.take(inquiry, numbers[0] + 1, now) if numbers else NOTHING
    return following + routing.despair(inquiry, now)
