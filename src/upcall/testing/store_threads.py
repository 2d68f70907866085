"""The part of the contract of stores that is about threads: their items, and those who wait for their turn."""

from dataclasses import replace
from functools import partial

from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Change, Open
from upcall.domain.records import Effects, Happening
from upcall.domain.thread.thread import Item
from upcall.ports.store import Query, Store
from upcall.testing.examples import DAY, HOUR, NOW, an_inquiry, answering, rejecting
from upcall.testing.store_harness import StoreHarness, names

__all__ = ["ThreadContract"]


def said(thread: str, name: str) -> Happening:
    """Something that an agent said in a thread."""
    item = Item(id=name, type="text", role="agent", by="builder", text=f"this is {name}")
    return item.happening(thread, "builder", NOW)


class ThreadContract(StoreHarness):
    """The items of a thread, in their order, and queued inquiries."""

    async def test_the_items_of_a_thread_come_in_the_order_of_the_log(self, store: Store) -> None:
        """Page by page, from the beginning or from the end, without the other events of the log."""
        for number in range(5):
            await store.record(said("one", f"a{number}"))
            await store.record(said("other", f"b{number}"))
            await store.record(Happening(type="noted", at=NOW, data={"thread": "one"}))
        items = await store.thread_items("one")
        assert [item.data["id"] for item in items] == ["a0", "a1", "a2", "a3", "a4"]
        assert [item.seq for item in items] == [1, 4, 7, 10, 13]
        assert [item.seq for item in await store.thread_items("one", after=4, limit=2)] == [7, 10]
        assert [item.seq for item in await store.thread_items("one", before=10, limit=2)] == [4, 7]
        assert list(await store.thread_items("one", after=13)) == []
        assert list(await store.thread_items("unknown")) == []
        assert list(await store.events(0, limit=1)) == [items[0]]

    async def test_an_item_is_written_with_its_step_or_not_at_all(self, store: Store) -> None:
        """Like every effect of a step."""
        asked = (await store.add(an_inquiry(), effects=Effects(happenings=(said("one", "asked"),)))).inquiry
        step = Effects(happenings=(said("one", "done"),))
        await store.update(asked.id, lambda it: _with(answering()(it), step))
        await store.update(asked.id, lambda it: _with(rejecting()(it), step))
        assert [item.data["id"] for item in await store.thread_items("one")] == ["asked", "done"]

    async def test_every_text_can_be_an_item(self, store: Store) -> None:
        """Also texts that databases refuse to keep."""
        odd = 'NUL \x00, half \ud800, "quotes", ünïcødé and 日本'
        item = Item(id="odd", type="text", role="agent", by=odd, text=odd, more={odd: [odd, {"x": odd}]})
        await store.record(item.happening("one", odd, NOW))
        (found,) = await store.thread_items("one")
        assert found.data["by"] == 'NUL \ufffd, half \ufffd, "quotes", ünïcødé and 日本'

    async def test_what_waits_for_its_turn_is_not_among_the_open(self, store: Store) -> None:
        """Nor does its time run out, until it is called up."""
        queued = Open(queued=HOUR)
        waiting = (await store.add(an_inquiry(state=queued, expires_at=NOW + 1))).inquiry
        await store.add(an_inquiry(expires_at=NOW + DAY))
        assert (await store.get(waiting.id)).is_queued
        assert (await store.get(waiting.ref)).id == waiting.id
        assert await names(store, Query(state="queued")) == [waiting.id]
        assert waiting.id not in await names(store, Query(state="open"))
        assert waiting.id in await names(store, Query())
        assert await store.count_open() == 1
        assert await store.next_expiry() == NOW + DAY
        assert list(await store.due(NOW + HOUR, 10)) == []
        await store.update(waiting.id, partial(lifecycle.activate, now=NOW + 5))
        assert await names(store, Query(state="queued")) == []
        assert await store.next_expiry() == NOW + 5 + HOUR
        assert await store.count_open() == 2

    async def test_old_items_are_pruned_with_the_log(self, store: Store) -> None:
        """The last line of the log stays, as always."""
        await store.record(replace(said("one", "old"), at=NOW - DAY))
        await store.record(said("one", "new"))
        await store.record(said("one", "newest"))
        assert await store.prune(NOW, 10) == 1
        assert [item.data["id"] for item in await store.thread_items("one")] == ["new", "newest"]


def _with(change: Change | None, effects: Effects) -> Change | None:
    return None if change is None else replace(change, effects=effects)
