"""Metrics of inquiries, from the log: how many, how long people take, and how long an answer takes to its agent."""

import logging
from collections.abc import Callable, Collection, Sequence

from upcall.domain.inquiry.inquiry import STATE_NAMES, Answered
from upcall.domain.inquiry.lifecycle import POLICY
from upcall.ports.store import Event, Store
from upcall.telemetry.batches import Batches
from upcall.telemetry.metrics import Counter, Family, Histogram

COUNTED = ("asked", "answered", "rejected", "cancelled", "expired", "failed", "collected", "notified")
BUILT_IN = ("api", "cli", "terminal", "thread", "web")
"""Where people answer besides channels, as their answers name it."""
OTHER = "other"
"""For every other name, which a program may have made up: there may be any number of those."""

ANSWERED_WITHIN = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400)
DELIVERED_WITHIN = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 1800, 3600, 6 * 3600, 86400)

log = logging.getLogger("upcall.telemetry")


class InquiryMetrics:
    """Of one daemon. Daemons on the same store read the same log, so they all count the same."""

    def __init__(self, store: Store, channels: Callable[[], Collection[str]] = tuple) -> None:
        self._channels = channels
        self._events = Counter(
            "upcall_events",
            "Events of the log since this daemon started, by type.",
            ("type",),
            [(each,) for each in COUNTED],
        )
        labels = ("channel", "kind")
        self._answering = Histogram(
            "upcall_inquiry_answer_seconds",
            "From asking a question to a person's answer, by where it was given.",
            labels,
            ANSWERED_WITHIN,
        )
        self._delivering = Histogram(
            "upcall_answer_delivery_seconds",
            "From a person's answer to evidence that its agent has it.",
            labels,
            DELIVERED_WITHIN,
        )
        self._batches = Batches("counting the log", store, self._take, log)

    async def start(self) -> None:
        """Count from now on."""
        await self._batches.start()

    async def close(self) -> None:
        """Stop."""
        await self._batches.close()

    async def families(self) -> Sequence[Family]:
        """The numbers, with everything in them that has been written by now."""
        await self._batches.catch_up()
        return [self._events.family(), self._answering.family(), self._delivering.family()]

    def _take(self, event: Event) -> None:
        if event.type in COUNTED:
            self._events.add(event.type)
        inquiry = event.subject
        # An event that was read from the database after a gap comes without its inquiry: it is counted and not timed.
        if inquiry is None or not isinstance(inquiry.state, Answered):
            return
        closing = inquiry.state.closing
        if closing.by == POLICY:
            return
        known = closing.via in BUILT_IN or closing.via in self._channels()
        labels = (closing.via if known else OTHER, inquiry.kind.value)
        if event.type == STATE_NAMES[Answered]:
            self._answering.observe(max(closing.at - inquiry.asked_at, 0.0), *labels)
        elif event.type == "collected":
            self._delivering.observe(max(event.at - closing.at, 0.0), *labels)
