"""The part of the contract of stores that is about reading: lists, deadlines and the log."""

import asyncio
from dataclasses import replace

import pytest

from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Edit, Kind, Open
from upcall.domain.records import Happening
from upcall.ports.store import Event, Query, Store
from upcall.testing.examples import HOUR, NOW, a_closing, an_inquiry, answering, rejecting
from upcall.testing.store_harness import DecisionFailed, StoreHarness, everything, names, refusing

__all__ = ["ListingContract", "LogContract"]


class ListingContract(StoreHarness):
    """Lists: which inquiries, in which order, page by page."""

    async def test_a_request_leads_to_what_was_asked_under_its_key(self, store: Store) -> None:
        """As it is now, and never to the inquiry of another agent; a request without a key leads nowhere."""
        asked = (await store.add(an_inquiry(request_key="call-1"))).inquiry
        answered = (await store.update(asked.id, answering())).inquiry
        assert await store.requested(asked.origin) == answered
        assert await store.requested(replace(asked.origin, agent="another")) is None
        assert await store.requested(replace(asked.origin, request_key=None)) is None

    async def test_open_inquiries_come_oldest_first(self, store: Store) -> None:
        """Without those that are closed, snoozed ones included."""
        asked = [(await store.add(an_inquiry())).inquiry.id for _ in range(6)]
        await store.update(asked[1], answering())
        await store.update(asked[2], lambda it: lifecycle.snooze(it, NOW + HOUR, by="ana", now=NOW))
        expected = [asked[0], *asked[2:]]
        assert await names(store, Query(state="open")) == expected
        assert await names(store, Query(state="open", limit=2)) == expected
        assert await store.count_open() == 5
        assert await store.count_open(NOW) == 4
        assert await store.count_open(NOW + HOUR) == 5

    async def test_no_field_of_an_edited_action_makes_an_inquiry_a_snoozed_one(self, store: Store) -> None:
        """An agent chooses their names."""
        later: dict[str, object] = {"snoozed_until": NOW + HOUR, "text": '{"snoozed_until":9999999999.0'}
        edit = Edit(input=later, digest="1", before="a", after="b", difference="c")
        asked = [(await store.add(an_inquiry(state=Open(edits=(edit,))))).inquiry for _ in range(2)]
        await store.update(asked[1].id, lambda it: lifecycle.snooze(it, NOW + HOUR, by="ana", now=NOW))
        assert await store.count_open(NOW) == 1

    async def test_everything_comes_newest_first(self, store: Store) -> None:
        """Open or closed."""
        asked = [(await store.add(an_inquiry())).inquiry.id for _ in range(5)]
        await store.update(asked[1], answering())
        assert await names(store, Query()) == asked[::-1]
        assert await names(store, Query(limit=2)) == asked[::-1]

    async def test_closed_inquiries_come_latest_closed_first(self, store: Store) -> None:
        """All of them, or those of one state; inquiries closed at the same moment are not lost between pages."""
        asked = [(await store.add(an_inquiry())).inquiry.id for _ in range(7)]
        for name, at in ((asked[3], 5.5), (asked[0], 10), (asked[5], 10), (asked[1], 20)):
            await store.update(name, answering(at=NOW + at))
        await store.update(asked[2], rejecting(at=NOW + 15))
        answered = [asked[1], asked[5], asked[0], asked[3]]
        both = [asked[1], asked[2], asked[5], asked[0], asked[3]]
        for limit in (1, 2, 50):
            assert await names(store, Query(state="answered", limit=limit)) == answered
            assert await names(store, Query(state="closed", limit=limit)) == both
        assert await names(store, Query(state="rejected")) == [asked[2]]
        assert await names(store, Query(state="failed")) == []

    async def test_what_was_closed_since_then_is_found(self, store: Store) -> None:
        """With that moment itself; what is open was never closed."""
        asked = [(await store.add(an_inquiry())).inquiry.id for _ in range(4)]
        for at, name in enumerate(asked[:3]):
            await store.update(name, answering(at=NOW + at))
        assert await names(store, Query(closed_since=NOW + 1)) == [asked[2], asked[1]]
        assert await names(store, Query(state="closed", closed_since=NOW + 1, limit=1)) == [
            asked[2],
            asked[1],
        ]
        assert await names(store, Query(state="rejected", closed_since=NOW)) == []
        assert await names(store, Query(state="open", closed_since=NOW)) == []

    async def test_lists_are_narrowed_to_an_agent_and_a_kind(self, store: Store) -> None:
        """Alone and together, in every state."""
        mine = (await store.add(an_inquiry(agent="painter", kind=Kind.TEXT))).inquiry.id
        also = (await store.add(an_inquiry(agent="painter"))).inquiry.id
        other = (await store.add(an_inquiry(agent="builder", kind=Kind.TEXT))).inquiry.id
        assert await names(store, Query(agent="painter", limit=1)) == [also, mine]
        assert await names(store, Query(kind=Kind.TEXT)) == [other, mine]
        assert await names(store, Query(state="open", agent="painter", kind=Kind.TEXT)) == [mine]
        await store.update(mine, answering())
        assert await names(store, Query(state="closed", agent="painter", kind=Kind.TEXT)) == [mine]
        assert await names(store, Query(state="closed", agent="builder")) == []

    async def test_lists_are_narrowed_to_a_run(self, store: Store) -> None:
        """In every state, and page by page."""
        mine = [(await store.add(an_inquiry(run=7))).inquiry.id for _ in range(3)]
        other = (await store.add(an_inquiry(run=8))).inquiry.id
        await store.add(an_inquiry())
        assert await names(store, Query(run=7, state="open", limit=2)) == mine
        assert await names(store, Query(run=7, limit=2)) == mine[::-1]
        assert await names(store, Query(run=8)) == [other]
        assert await names(store, Query(run=9)) == []
        await store.update(mine[1], answering())
        assert await names(store, Query(run=7, state="open")) == [mine[0], mine[2]]
        assert await names(store, Query(run=7, state="closed")) == [mine[1]]

    async def test_pages_stay_in_place_when_inquiries_are_added_or_closed(self, store: Store) -> None:
        """Nothing is shown twice, and nothing that was there all the time is left out."""
        asked = [(await store.add(an_inquiry())).inquiry.id for _ in range(6)]
        newest, oldest = Query(limit=3), Query(state="open", limit=3)
        first, first_open = await store.find(newest), await store.find(oldest)
        later = (await store.add(an_inquiry())).inquiry.id
        await store.update(asked[0], answering())
        rest = await store.find(replace(newest, cursor=first.next))
        rest_open = await store.find(replace(oldest, cursor=first_open.next, limit=10))
        assert [each.id for each in first.items + rest.items] == asked[::-1]
        assert [each.id for each in first_open.items + rest_open.items] == [*asked, later]

    async def test_a_page_that_ends_the_list_has_no_next(self, store: Store) -> None:
        """Even when it is full."""
        for _ in range(4):
            await store.add(an_inquiry())
        page = await store.find(Query(limit=2))
        assert page.next is not None
        assert (await store.find(Query(limit=2, cursor=page.next))).next is None

    async def test_a_query_that_makes_no_sense_is_refused(self, store: Store) -> None:
        """A cursor of another list included."""
        for _ in range(3):
            await store.add(an_inquiry())
        of_all = (await store.find(Query(limit=1))).next
        for query in (
            Query(cursor="nonsense"),
            Query(cursor=""),
            Query(cursor="9" * 5000),
            Query(state="closed", cursor=of_all),
            Query(state="open", cursor=of_all),
            Query(state="thinking"),
            Query(limit=0),
        ):
            with pytest.raises(InvalidRequest):
                await store.find(query)

    async def test_due_are_the_open_ones_whose_time_has_passed(self, store: Store) -> None:
        """The longest overdue first, to the second and at most so many."""
        times = (30.0, 10.0, 20.0, 40.0)
        asked = [(await store.add(an_inquiry(expires_at=NOW + at))).inquiry.id for at in times]
        assert await store.next_expiry() == NOW + 10
        assert list(await store.due(NOW + 9.9, 10)) == []
        assert list(await store.due(NOW + 30, 10)) == [asked[1], asked[2], asked[0]]
        assert list(await store.due(NOW + 30, 2)) == [asked[1], asked[2]]
        await store.update(asked[1], answering())
        assert await store.next_expiry() == NOW + 20
        assert list(await store.due(NOW + 20, 10)) == [asked[2]]

    async def test_an_empty_store_expects_nothing(self, store: Store) -> None:
        """And says so everywhere."""
        assert await store.next_expiry() is None
        assert await store.count_open() == 0
        assert await store.last_seq() == 0
        assert list(await store.events(0)) == []
        assert (await store.find(Query())).items == ()


class LogContract(StoreHarness):
    """The log: which events, for which readers, and when."""

    async def test_every_write_has_its_event(self, store: Store) -> None:
        """Numbered from 1, with what the rule said."""
        added = (await store.add(an_inquiry())).inquiry
        await store.update(added.id, rejecting(reason="later"))
        recorded = await store.record(Happening(type="started", at=NOW + 5, data={"version": "1"}))
        asked, rejected, started = await everything(store)
        opening, ending = lifecycle.asked(added).happening, lifecycle.reject(added, a_closing(reason="later"))
        assert ending is not None
        assert asked == Event(seq=1, type="asked", inquiry=added.id, at=NOW, data=opening.data)
        assert rejected == Event(
            seq=2, type="rejected", inquiry=added.id, at=NOW + 1, data=ending.happening.data
        )
        assert started == Event(seq=3, type="started", inquiry=None, at=NOW + 5, data={"version": "1"})
        assert recorded == started
        assert await store.last_seq() == 3

    async def test_a_subject_is_the_inquiry_right_after_its_event(self, store: Store) -> None:
        """Where the store has it at hand."""
        added = (await store.add(an_inquiry())).inquiry
        done = await store.update(added.id, answering())
        for event, subject in zip(await store.events(0), (added, done.inquiry), strict=True):
            assert event.subject in {None, subject}

    async def test_the_log_is_read_on_from_any_number(self, store: Store) -> None:
        """In pages, in order and without gaps."""
        await asyncio.gather(*[store.add(an_inquiry()) for _ in range(95)])
        seen: list[int] = []
        while page := await store.events(seen[-1] if seen else 0, limit=10):
            assert len(page) <= 10
            seen += [event.seq for event in page]
        assert seen == list(range(1, 96))
        assert [event.seq for event in await store.events(93)] == [94, 95]
        assert list(await store.events(2**70)) == []

    async def test_a_write_that_failed_left_no_event(self, store: Store) -> None:
        """And no gap in the numbers."""
        asked = [(await store.add(an_inquiry())).inquiry.id for _ in range(10)]
        steps = [store.update(name, refusing if at % 2 else answering()) for at, name in enumerate(asked)]
        results = await asyncio.gather(*steps, return_exceptions=True)
        assert sum(isinstance(result, DecisionFailed) for result in results) == 5
        assert [event.seq for event in await everything(store)] == list(range(1, 16))

    async def test_a_waiting_reader_is_woken_by_the_write(self, store: Store) -> None:
        """It and every other waiting reader get the event no later than the writer gets its result."""
        waiting = [asyncio.create_task(store.events(0, wait=HOUR)) for _ in range(500)]
        await asyncio.sleep(0)
        added = (await store.add(an_inquiry())).inquiry
        for reader in waiting:
            assert [event.inquiry for event in await reader] == [added.id]

    async def test_a_reader_for_which_events_gather_is_woken_later_with_all_of_them(
        self, store: Store
    ) -> None:
        """It takes no turn that a reader without such a pause would have to wait for."""
        patient = asyncio.create_task(store.events(0, wait=HOUR, gather=0.01))
        very_patient = asyncio.create_task(store.events(0, wait=HOUR, gather=HOUR))
        at_once = asyncio.create_task(store.events(0, wait=HOUR))
        await asyncio.sleep(0)
        added = (await store.add(an_inquiry())).inquiry
        assert [event.inquiry for event in await at_once] == [added.id]
        assert not patient.done()
        assert (await patient)[0].inquiry == added.id
        assert not very_patient.done()
        assert (await store.events(0, wait=HOUR, gather=HOUR))[0].inquiry == added.id
        await store.close()
        assert (await very_patient)[0].inquiry == added.id

    async def test_a_reader_whose_time_is_up_gets_nothing(self, store: Store) -> None:
        """And one that went away leaves nothing behind that would hurt."""
        await store.add(an_inquiry())
        assert list(await store.events(1, wait=0.001)) == []
        gone = asyncio.create_task(store.events(1, wait=HOUR))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        await store.add(an_inquiry())
        assert [event.seq for event in await store.events(1, wait=HOUR)] == [2]

    async def test_a_reader_that_keeps_up_misses_nothing(self, store: Store) -> None:
        """While many write at once, and however small its pages are."""

        async def follow(limit: int) -> list[int]:
            seen: list[int] = []
            while len(seen) < 400:
                seen += [e.seq for e in await store.events(len(seen), wait=HOUR, limit=limit)]
            return seen

        async def ask_and_answer() -> None:
            added = await store.add(an_inquiry())
            await store.update(added.inquiry.id, answering())

        following = [asyncio.create_task(follow(limit)) for limit in (1, 7, 1000)]
        await asyncio.gather(*[ask_and_answer() for _ in range(200)])
        for reader in following:
            assert await reader == list(range(1, 401))

    async def test_what_an_event_tells_can_be_read_at_once(self, store: Store) -> None:
        """A write and its event are one."""
        told = asyncio.create_task(store.events(0, wait=HOUR))
        await asyncio.sleep(0)
        adding = asyncio.create_task(store.add(an_inquiry()))
        (event,) = await told
        assert event.inquiry is not None
        assert (await store.get(event.inquiry)).is_open
        assert await names(store, Query(state="open")) == [event.inquiry]
        await adding
