"""Notifications: the places in which the owner of a home is told of every question, whichever routes it takes."""

from dataclasses import dataclass

from upcall.domain.channel.delivery import NOTICE, key
from upcall.domain.channel.routing import Place, show_job
from upcall.domain.inquiry.inquiry import Change, Inquiry
from upcall.domain.inquiry.lifecycle import ACTIVATED
from upcall.domain.records import NOTHING, Effects, Record

PREFIX = "notifications."
"""How the names of their channels begin; no channel of the settings can be called so."""

ASKING = frozenset({"asked", ACTIVATED})
"""The events after which a question is put to people."""

NO_ROUTE = 1_000_000
"""The number of their route, which leads to no other: a notification that fails is no reason to ask more people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifications:
    """The places of one home."""

    places: tuple[Place, ...] = ()

    def consequences(self, change: Change) -> Effects:
        """What is to be told after a step of an inquiry, written in the same transaction."""
        if change.happening.type not in ASKING or change.inquiry.is_queued:
            return NOTHING
        effects = NOTHING
        for place in self.places:
            effects += told(change.inquiry, place, change.happening.at)
        return effects


def told(inquiry: Inquiry, place: Place, at: float) -> Effects:
    """Have a place told of an inquiry. The record keeps other daemons on the same store from having it told again."""
    notice = Record(kind=NOTICE, key=key(inquiry.id, place), state=inquiry.id, at=at)
    return Effects(records=(notice,), jobs=(show_job(inquiry.id, place, NO_ROUTE, at),))


def is_notification(place: Place) -> bool:
    """Whether a place is one of these, of this home or of another on the same store."""
    return place.channel.startswith(PREFIX)
