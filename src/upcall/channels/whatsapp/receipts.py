"""What became of the latest messages, as their receipts say. A receipt may arrive before the reply to the message's own request."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from upcall.channels.whatsapp.messages import Tag
from upcall.channels.whatsapp.reading import Receipt

RECEIPT_SECONDS = 5.0
"""How long a receipt is waited for. Without one, the message counts as sent."""

REMEMBERED = 1000
Name = TypeVar("Name")
Value = TypeVar("Value")


class Receipts:
    """The receipts of one number, as this daemon gets them."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._latest: OrderedDict[str, Receipt] = OrderedDict()
        self._shown: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._attempted: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._sending: set[str] = set()
        self._awaited: dict[str, asyncio.Future[Receipt]] = {}
        self._looked_for: dict[tuple[str, str], asyncio.Future[str]] = {}

    @contextmanager
    def sending(self, tag: Tag) -> Iterator[None]:
        """While a message with this tag is sent, its receipts are for its sender."""
        self._sending.add(tag.attempt)
        _keep(self._attempted, (tag.inquiry, tag.place), time.monotonic())
        try:
            yield
        finally:
            self._sending.discard(tag.attempt)

    def note(self, receipt: Receipt) -> bool:
        """Keep a receipt. Returns whether a sender in this process is waiting for it, and will record it."""
        _keep(self._latest, receipt.message, receipt)
        awaited = self._awaited.get(receipt.message)
        if awaited is not None and not awaited.done():
            awaited.set_result(receipt)
        if receipt.tag is None:
            return awaited is not None
        inquiry = (receipt.tag.inquiry, receipt.tag.place)
        if not receipt.code:
            _keep(self._shown, inquiry, receipt.message)
            looked_for = self._looked_for.get(inquiry)
            if looked_for is not None and not looked_for.done():
                looked_for.set_result(receipt.message)
        elif self._shown.get(inquiry) == receipt.message:
            del self._shown[inquiry]
        return receipt.tag.attempt in self._sending

    async def first(self, message: str) -> Receipt | None:
        """The first receipt of a message; None if none comes in time."""
        known = self._latest.get(message)
        if known is not None:
            return known
        return await _waited(self._awaited, message, RECEIPT_SECONDS)

    async def shown(self, inquiry: str, place: str) -> str | None:
        """The message that shows an inquiry in a place, as a receipt says; None if none does.

        A receipt may be on its way for a while after the message was sent, or after this daemon can be called again.
        """
        name = (inquiry, place)
        known = self._shown.get(name)
        if known is not None:
            return known
        since = max(self._began, self._attempted.get(name, self._began))
        left = since + RECEIPT_SECONDS - time.monotonic()
        if left <= 0:
            return None
        return await _waited(self._looked_for, name, left)


def _keep(kept: OrderedDict[Name, Value], name: Name, value: Value) -> None:
    kept[name] = value
    if len(kept) > REMEMBERED:
        kept.popitem(last=False)


async def _waited(waiting: dict[Name, asyncio.Future[Value]], name: Name, seconds: float) -> Value | None:
    future: asyncio.Future[Value] = asyncio.get_running_loop().create_future()
    waiting[name] = future
    try:
        async with asyncio.timeout(seconds):
            return await future
    except TimeoutError:
        return None
    finally:
        del waiting[name]
