"""Reads what Discord sends: presses and forms, as what a person did. Words are passed on, never interpreted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from upcall.channels.discord.messages import FORM, LIST, OWN, PICK, SEND
from upcall.channels.naming import conversation_and_id
from upcall.domain.channel.showing import Given, Inbound

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    """A press on a control of ours. Without `given` it opens a form; with `own`, the form for own words."""

    inquiry: str
    given: tuple[Given, ...] | None = None
    own: bool = False


def pressed(data: Json) -> Pressed | None:
    """A button or a list of ours; None for what is not."""
    kind, _, rest = str(data.get("custom_id", "")).partition(":")
    inquiry, _, index = rest.partition(":")
    match kind:
        case _ if kind in {FORM, OWN}:
            return Pressed(inquiry=inquiry, own=kind == OWN)
        case _ if kind == PICK and index.isdecimal():
            return Pressed(inquiry=inquiry, given=(Given(picks=(int(index),)),))
        case _ if kind == LIST:
            return Pressed(inquiry=inquiry, given=(Given(picks=_picks(data)),))
        case _:
            return None


def submitted(data: Json) -> Pressed | None:
    """A form of ours that was sent, with something for each question."""
    kind, _, rest = str(data.get("custom_id", "")).partition(":")
    inquiry, _, count = rest.partition(":")
    # A form of ours has five fields at most; any other number is none of ours, and may be one without an end.
    if kind != SEND or not count.isdecimal() or len(count) > 2:
        return None
    fields = {str(field.get("custom_id", "")): field for field in _fields(data)}
    given = tuple(
        Given(
            picks=_picks(fields.get(str(index), {})),
            words=str(fields.get(f"w{index}", {}).get("value") or ""),
        )
        for index in range(int(count))
    )
    return Pressed(inquiry=inquiry, given=given)


def inbound(what: Pressed, *, interaction: str, user: str, message: str) -> Inbound:
    """A press or a form, with the message that it belongs to."""
    return Inbound(
        id=f"interaction:{interaction}",
        user=user,
        place=conversation_and_id(message)[0],
        message=message or None,
        inquiry=what.inquiry,
        given=what.given,
    )


def _fields(data: Json) -> Iterator[Json]:
    for each in data.get("components", []):
        yield from each.get("components", [each.get("component", {})])


def _picks(field: Json) -> tuple[int, ...]:
    return tuple(int(value) for value in field.get("values") or [] if str(value).isdecimal())
