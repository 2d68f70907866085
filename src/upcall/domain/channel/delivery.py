"""Delivery records: which message shows an inquiry, since when, and what went wrong."""

from dataclasses import dataclass, replace

from upcall.domain.channel.routing import Place
from upcall.domain.channel.showing import Reference
from upcall.domain.document import timestamp
from upcall.domain.records import Record

KIND = "delivery"
MESSAGE = "message"
"""The records that lead from a message to its inquiry."""

WAITING = "waiting"
"""The records of what is open in a place: what words can mean that name no message."""

HEARD = "heard"
"""The records of words that named no message: what they were taken for, so that they are taken only once."""

NOTICE = "notice"
"""The records of what an address was told of, so that of several daemons only one tells it."""

ASKED = "asked"
"""The records by which something that is asked again finds its inquiry."""

BY_STATE = (KIND, MESSAGE, HEARD, NOTICE, ASKED)
"""The kinds of records that have an inquiry as their state and are forgotten with it; a waiting one has it in its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """An inquiry in one place. `stage` is what its message shows; `copies` are messages that a crash left behind.

    `refused` means that it will never be shown there, `begun` that a message may be there of which nothing is known,
    `busy` that the vendor said when it wants to be asked again.
    """

    inquiry: str
    place: Place
    message: str | None = None
    shown_at: float | None = None
    updated_at: float | None = None
    error: str | None = None
    refused: bool = False
    begun: bool = False
    busy: bool = False
    stage: str = ""
    copies: tuple[str, ...] = ()
    at: float = 0.0

    @property
    def references(self) -> tuple[Reference, ...]:
        """Every message that shows it."""
        messages = (*((self.message,) if self.message else ()), *self.copies)
        return tuple(Reference(place=self.place.address, message=message) for message in messages)


def key(inquiry: str, place: Place) -> str:
    """The key of the record of a delivery."""
    return f"{inquiry}:{place.name}"


def message_key(channel: str, message: str) -> str:
    """The key of the record of a message."""
    return f"{channel}:{message}"


def record(delivery: Delivery) -> Record:
    """A delivery as it is kept; its state is the inquiry, by which it is found."""
    body = {
        "channel": delivery.place.channel,
        "address": delivery.place.address,
        "message": delivery.message,
        "shown_at": delivery.shown_at,
        "updated_at": delivery.updated_at,
        "error": delivery.error,
        "refused": delivery.refused,
        "begun": delivery.begun,
        "busy": delivery.busy,
        "stage": delivery.stage,
        "copies": list(delivery.copies),
    }
    return Record(
        kind=KIND,
        key=key(delivery.inquiry, delivery.place),
        state=delivery.inquiry,
        at=delivery.at,
        body=body,
    )


def message_record(delivery: Delivery, message: str) -> Record:
    """The record that leads from a message to its inquiry."""
    place = delivery.place
    return Record(
        kind=MESSAGE,
        key=message_key(place.channel, message),
        state=delivery.inquiry,
        at=delivery.at,
        body={"address": place.address},
    )


def waiting_record(delivery: Delivery) -> Record:
    """That an inquiry is open in a place, by which it is found."""
    return Record(
        kind=WAITING,
        key=key(delivery.inquiry, delivery.place),
        state=delivery.place.name,
        at=delivery.at,
        body={"inquiry": delivery.inquiry},
    )


def heard_key(channel: str, inbound: str) -> str:
    """The key of the record of words that were heard."""
    return f"{channel}:{inbound}"


def heard_record(channel: str, inbound: str, inquiry: str, now: float, *, accepted: bool) -> Record:
    """That words were taken for an answer to an inquiry, or for one to none."""
    return Record(
        kind=HEARD, key=heard_key(channel, inbound), state=inquiry, at=now, body={"accepted": accepted}
    )


def delivery_in(kept: Record) -> Delivery:
    """The delivery in a record."""
    body = kept.body
    copies = body["copies"]
    assert isinstance(copies, list)
    empty = Delivery(
        inquiry=kept.state,
        place=Place(channel=str(body["channel"]), address=str(body["address"])),
        at=kept.at,
    )
    return replace(
        empty,
        message=_text(body["message"]),
        shown_at=_moment(body["shown_at"]),
        updated_at=_moment(body["updated_at"]),
        error=_text(body["error"]),
        refused=body.get("refused") is True,
        begun=body.get("begun") is True,
        busy=body.get("busy") is True,
        stage=str(body["stage"]),
        copies=tuple(str(copy) for copy in copies),
    )


def document(delivery: Delivery) -> dict[str, object]:
    """A delivery as others see it in JSON."""
    return {
        "channel": delivery.place.channel,
        "place": delivery.place.address,
        "message_id": delivery.message,
        "shown_at": None if delivery.shown_at is None else timestamp(delivery.shown_at),
        "updated_at": None if delivery.updated_at is None else timestamp(delivery.updated_at),
        "error": delivery.error,
        "busy": delivery.busy,
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _moment(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
