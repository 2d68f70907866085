"""What the store knows of the messages that show an inquiry."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from upcall.domain.channel.delivery import KIND, Delivery, delivery_in, key, record
from upcall.domain.channel.routing import Place
from upcall.domain.channel.showing import Reference, View
from upcall.domain.records import Effects, Record
from upcall.ports.store import Ledger

PAGE = 200
UNCERTAIN = "?"
"""The stage of a message that may show any: no inquiry is at this one, so the message is brought up to date."""


async def delivery_at(store: Ledger, inquiry: str, place: Place, now: float) -> Delivery:
    """The delivery of an inquiry to a place; an empty one if there is none yet."""
    kept = await store.look_up(KIND, key(inquiry, place))
    return Delivery(inquiry=inquiry, place=place, at=now) if kept is None else delivery_in(kept)


async def deliveries_in(store: Ledger, inquiry: str, channel: str) -> list[Delivery]:
    """The deliveries of an inquiry to the places of a channel."""
    found = await store.records(KIND, state=inquiry, limit=PAGE)
    deliveries = [delivery_in(kept) for kept in found.items]
    return [delivery for delivery in deliveries if delivery.place.channel == channel]


async def recorded(store: Ledger, known: Delivery) -> Reference | None:
    """The message of a delivery that was adopted since the delivery was read; None if there is none."""
    latest = await delivery_at(store, known.inquiry, known.place, known.at)
    return latest.references[0] if latest.references else None


async def shown_with(
    store: Ledger, known: Delivery, reference: Reference, stage: str, now: float
) -> Delivery:
    """A delivery that shows an inquiry with a message. Messages that were adopted meanwhile are its copies."""
    latest = await delivery_at(store, known.inquiry, known.place, now) if known.begun else known
    copies = [each.message for each in latest.references if each.message != reference.message]
    return replace(
        known,
        message=reference.message,
        shown_at=now if reference.is_certain else known.shown_at,
        error=None,
        begun=False,
        busy=False,
        stage=stage,
        copies=tuple(copies),
        at=now,
    )


def contents(delivery: Delivery, shown: View, words: Mapping[str, str]) -> Sequence[tuple[Reference, View]]:
    """Each message of a delivery, and what it is to show.

    While the inquiry is open, a message that a crash left behind says that another one has replaced it.
    """
    replaced = shown if shown.outcome is not None else replace(shown, outcome=words["replaced"])
    first, *copies = delivery.references
    return [(first, shown), *((copy, replaced) for copy in copies)]


def begun(known: Delivery, kept: Record | None) -> Effects:
    """That a message is about to be sent."""
    return Effects(records=(record(replace(known if kept is None else delivery_in(kept), begun=True)),))


def overwritten(again: Effects, kept: Record | None) -> Effects | None:
    """That it is not known what a message shows: a late call may have overwritten it. With `again`, it is brought up to date."""
    if kept is None:
        return None
    return Effects(records=(record(replace(delivery_in(kept), stage=UNCERTAIN)),)) + again
