"""Reading a whole listing of a store, one page after the other."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Record
from upcall.ports.store import Ledger, Query, Store

PAGE = 200
"""Rows of a page, where the caller has no reason for another number."""

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


class Paged(Protocol[Item_co]):
    """A page of a listing, and the cursor of the next page; None on the last one."""

    @property
    def items(self) -> Sequence[Item_co]:
        """The rows of this page."""
        ...

    @property
    def next(self) -> str | None:
        """The cursor of the next page."""
        ...


async def each_page(
    read: Callable[[str | None], Awaitable[Paged[Item]]],
) -> AsyncIterator[Sequence[Item]]:
    """The items of each page; `read` fetches the page at a cursor."""
    cursor: str | None = None
    while True:
        page = await read(cursor)
        yield page.items
        cursor = page.next
        if cursor is None:
            return


async def each_record(ledger: Ledger, kind: str, state: str | None = None) -> AsyncIterator[Record]:
    """Every record of a kind, the newest first; with `state`, those in that state."""

    async def read(cursor: str | None) -> Paged[Record]:
        return await ledger.records(kind, state=state, cursor=cursor, limit=PAGE)

    async for records in each_page(read):
        for record in records:
            yield record


async def each_inquiry(store: Store, query: Query) -> AsyncIterator[Inquiry]:
    """Every inquiry that a query finds, in the order of its listing, without regard to the query's limit."""

    async def read(cursor: str | None) -> Paged[Inquiry]:
        return await store.find(replace(query, cursor=cursor, limit=PAGE))

    async for inquiries in each_page(read):
        for inquiry in inquiries:
            yield inquiry
