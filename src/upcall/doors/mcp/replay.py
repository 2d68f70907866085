"""The latest messages to one session, for a client that comes back after its stream broke.

Kept for each session apart: request ids, by which streams are named, repeat from session to session.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Generic, TypeVar

STREAMS = 32
EVENTS = 64

Message = TypeVar("Message")


class Replay(Generic[Message]):
    """The latest messages of the latest streams of one session; older ones are forgotten."""

    __slots__ = ("__weakref__", "_count", "_streams")

    def __init__(self) -> None:
        self._count = 0
        self._streams: OrderedDict[str, OrderedDict[int, Message | None]] = OrderedDict()

    def keep(self, stream: str, message: Message | None) -> str:
        """Remember a message, None for one that only marks the place, and return its event id."""
        self._count += 1
        events = self._streams.setdefault(stream, OrderedDict())
        self._streams.move_to_end(stream)
        events[self._count] = message
        if len(events) > EVENTS:
            events.popitem(last=False)
        if len(self._streams) > STREAMS:
            self._streams.popitem(last=False)
        return str(self._count)

    def after(self, event_id: str) -> tuple[str, Sequence[tuple[str, Message]]] | None:
        """The stream that an event belongs to and what came later on it; None if nothing is known of it."""
        if not (event_id.isascii() and event_id.isdecimal() and len(event_id) < 20):
            return None
        number = int(event_id)
        for stream, events in self._streams.items():
            if number in events:
                later = [
                    (str(at), message)
                    for at, message in events.items()
                    if at > number and message is not None
                ]
                return stream, later
        return None
