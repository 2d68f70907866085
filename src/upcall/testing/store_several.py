"""What every store must do with a decision about several inquiries at once."""

import pytest

from upcall.domain.errors import NotItsTurn, UnknownInquiry, UpcallError
from upcall.domain.inquiry.inquiry import Change, Inquiry
from upcall.domain.records import Effects, Record
from upcall.ports.store import Query, Store, Updated
from upcall.testing.examples import an_inquiry, answering
from upcall.testing.store_harness import DecisionFailed, StoreHarness, everything, names

__all__ = ["SeveralContract"]


class SeveralContract(StoreHarness):
    """Deciding about several in one step."""

    async def test_each_of_several_has_its_own_result_and_event(self, store: Store) -> None:
        """In the order of the names, by id or by ref; what was settled before is left as it is."""
        first, second, third = [(await store.add(an_inquiry())).inquiry for _ in range(3)]
        await store.update(second.id, answering("Red"))
        before = await store.last_seq()
        done = await store.update_all([third.id, second.id, first.ref], answering("Blue"))
        assert [(each.inquiry.id, each.applied) for each in done if isinstance(each, Updated)] == [
            (third.id, True),
            (second.id, False),
            (first.id, True),
        ]
        log = [event for event in await everything(store) if event.seq > before]
        assert [(event.type, event.inquiry) for event in log] == [
            ("answered", third.id),
            ("answered", first.id),
        ]
        assert [await store.get(each.inquiry.id) for each in done if isinstance(each, Updated)] == [
            each.inquiry for each in done if isinstance(each, Updated)
        ]

    async def test_what_is_refused_keeps_no_other_from_being_changed(self, store: Store) -> None:
        """A refusal and an unknown name, also one that no database can hold, stand in the place of their results."""
        first, second = [(await store.add(an_inquiry())).inquiry for _ in range(2)]
        answer = answering("Blue")

        def decide(inquiry: Inquiry) -> Change | None:
            if inquiry.id == first.id:
                raise NotItsTurn(inquiry.ref)
            return answer(inquiry)

        done = await store.update_all([first.id, "nothing", "\ud800", second.id], decide)
        refused = [type(each) for each in done if isinstance(each, UpcallError)]
        assert refused == [NotItsTurn, UnknownInquiry, UnknownInquiry]
        assert await names(store, Query(state="open")) == [first.id]

    async def test_an_inquiry_that_is_named_twice_is_changed_once(self, store: Store) -> None:
        """By its id and by its ref."""
        asked = (await store.add(an_inquiry())).inquiry
        before = await store.last_seq()
        one, other = await store.update_all([asked.id, asked.ref], answering("Blue"))
        assert one == other
        assert await store.last_seq() == before + 1

    async def test_an_error_that_is_no_refusal_leaves_all_of_them_as_they_were(self, store: Store) -> None:
        """Also those that were decided before it, and what would have been written with them."""
        asked = [(await store.add(an_inquiry())).inquiry for _ in range(3)]
        answer = answering("Blue")

        def decide(inquiry: Inquiry) -> Change | None:
            if inquiry.id == asked[2].id:
                raise DecisionFailed
            step = answer(inquiry)
            assert step is not None
            effects = Effects(records=(Record(kind="note", key=inquiry.id),))
            return Change(inquiry=step.inquiry, happening=step.happening, effects=effects)

        before = await store.last_seq()
        with pytest.raises(DecisionFailed):
            await store.update_all([each.id for each in asked], decide)
        assert await names(store, Query(state="open")) == [each.id for each in asked]
        assert (await store.last_seq(), await store.look_up("note", asked[0].id)) == (before, None)
        assert [await store.get(each.id) for each in asked] == asked
