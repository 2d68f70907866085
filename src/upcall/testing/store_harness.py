"""How the contract of stores opens the store under test, and what its parts share."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from upcall.domain.inquiry.inquiry import Change, Inquiry
from upcall.domain.records import Happening
from upcall.domain.roles import Token
from upcall.ports.store import Event, Query, Store
from upcall.testing.examples import NOW, Clock, a_token, an_inquiry, answering, rejecting

__all__ = ["StoreHarness"]


class DecisionFailed(Exception):
    """Stands for any exception of a decision."""


def refusing(_: Inquiry) -> Change | None:
    """A decision that raises."""
    raise DecisionFailed


async def everything(store: Store) -> list[Event]:
    """The whole log, without what only a store in memory has at hand."""
    return [replace(event, subject=None) for event in await store.events(0, limit=100_000)]


async def names(store: Store, query: Query) -> list[str]:
    """The ids on every page of a list."""
    page = await store.find(query)
    found = [inquiry.id for inquiry in page.items]
    while page.next is not None:
        page = await store.find(replace(query, cursor=page.next))
        found += [inquiry.id for inquiry in page.items]
    return found


class StoreHarness:
    """Opens the store under test for a contract."""

    pytestmark = pytest.mark.anyio

    async def open_store(self, folder: Path, clock: Callable[[], float]) -> Store:
        """The store that lives in this folder; a new one when it is empty."""
        raise NotImplementedError

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Stores run on asyncio."""
        return "asyncio"

    @pytest.fixture
    def clock(self) -> Clock:
        """The time, for tests to move."""
        return Clock()

    @pytest.fixture
    async def store(self, tmp_path: Path, clock: Clock) -> AsyncIterator[Store]:
        """An empty store, in `tmp_path`."""
        opened = await self.open_store(tmp_path, clock)
        yield opened
        await opened.close()


def contents(folder: Path) -> set[Path]:
    """The files of a folder and its subfolders."""
    return set(folder.rglob("*"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Everything that can be read from a store."""

    inquiries: tuple[Inquiry, ...]
    open: tuple[Inquiry, ...]
    blobs: tuple[bytes, ...]
    log: tuple[Event, ...]
    tokens: tuple[Token, ...]


async def furnish(store: Store) -> str:
    """Put something of everything into a store; the id of the one with an attachment."""
    with_blob = an_inquiry(context="Grüße 👋", request_key="call-1")
    asked = [with_blob, *[an_inquiry() for _ in range(20)]]
    await asyncio.gather(*[store.add(each, [b"bytes"] if each is with_blob else []) for each in asked])
    await asyncio.gather(*[store.update(each.id, answering("Red")) for each in asked[:5]])
    await asyncio.gather(*[store.update(each.id, rejecting(reason="no")) for each in asked[5:10]])
    await store.record(Happening(type="started", at=NOW, data={"version": "1", "of": ["a", 2, None]}))
    await store.put_token(a_token())
    return with_blob.id


async def kept(store: Store, with_blob: str) -> Kept:
    """All that is in a store."""
    return Kept(
        inquiries=(await store.find(Query(limit=1000))).items,
        open=(await store.find(Query(state="open", limit=1000))).items,
        blobs=(await store.attachment(with_blob, 0),),
        log=tuple(await everything(store)),
        tokens=tuple(await store.tokens()),
    )
