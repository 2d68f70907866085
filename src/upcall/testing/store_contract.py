"""What every store must do, as a pytest class for the authors of stores.

    class TestMyStore(StoreContract, BackupContract):
        async def open_store(self, folder, clock):
            return await MyStore.open(folder / "my.db", clock=clock)

        def restore(self, backup, folder):
            backup.rename(folder / "my.db")

Where the database has backup tools of its own, the store refuses to make backups and leaves `BackupContract` out.

For readable failures, say `pytest.register_assert_rewrite("upcall.testing.store_contract")`, and the same of
`store_holding`, `store_ledger`, `store_reading`, `store_searching` and `store_several`, in a conftest.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from upcall.domain.errors import KeyConflict, StorageError, UnknownInquiry
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.activity import Activity, ToolUse
from upcall.domain.inquiry.inquiry import Kind
from upcall.domain.records import Happening
from upcall.ports.store import Query, Store
from upcall.testing.examples import DAY, HOUR, NOW, Clock, a_token, an_inquiry, answering
from upcall.testing.store_harness import (
    DecisionFailed,
    StoreHarness,
    contents,
    everything,
    furnish,
    kept,
    names,
    refusing,
)
from upcall.testing.store_holding import HoldingContract
from upcall.testing.store_ledger import LedgerContract
from upcall.testing.store_reading import ListingContract, LogContract
from upcall.testing.store_searching import SearchContract
from upcall.testing.store_several import SeveralContract
from upcall.testing.store_threads import ThreadContract

__all__ = ["AddingContract", "BackupContract", "DecidingContract", "KeepingContract", "StoreContract"]


class AddingContract(StoreHarness):
    """Adding inquiries, and their names."""

    async def test_a_new_inquiry_is_kept_under_a_ref(self, store: Store) -> None:
        """Its ref and its id both name it."""
        asked = an_inquiry()
        added = await store.add(asked)
        assert added.created
        assert added.inquiry == replace(asked, ref=added.inquiry.ref)
        assert added.inquiry.ref
        assert await store.get(asked.id) == added.inquiry
        assert await store.get(added.inquiry.ref) == added.inquiry

    async def test_what_led_to_an_inquiry_is_kept_with_it_in_every_state(self, store: Store) -> None:
        """It is added after the inquiry, and stays when that is answered."""
        asked = (await store.add(an_inquiry())).inquiry
        led = Activity(task="Add a cache", turn=2, calls=(ToolUse(tool="Bash", input="ls"),))
        observed = await store.update(asked.id, lambda inquiry: lifecycle.observe(inquiry, led, NOW))
        assert (observed.applied, observed.inquiry) == (True, replace(asked, activity=led))
        assert (await store.find(Query(state="open"))).items == (observed.inquiry,)
        answered = await store.update(asked.id, answering())
        assert (answered.inquiry.activity, (await store.get(asked.id)).activity) == (led, led)

    async def test_a_name_that_nothing_has_is_unknown(self, store: Store) -> None:
        """In every method that takes a name, and for every text."""
        for name in ("a7", "", "\ud800", "x" * 10_000):
            with pytest.raises(UnknownInquiry):
                await store.get(name)
            with pytest.raises(UnknownInquiry):
                await store.update(name, answering())
            with pytest.raises(UnknownInquiry):
                await store.attachment(name, 0)

    async def test_the_same_request_rejoins_its_inquiry_as_it_is_now(self, store: Store) -> None:
        """An agent that asks again gets what was answered meanwhile, and nothing is written."""
        first = await store.add(an_inquiry(request_key="call-1"))
        assert (await store.add(an_inquiry(request_key="call-1"))).inquiry == first.inquiry
        answered = await store.update(first.inquiry.id, answering())
        again = await store.add(an_inquiry(request_key="call-1"))
        assert not again.created
        assert again.inquiry == answered.inquiry
        assert await store.last_seq() == 2

    async def test_the_same_key_with_other_content_is_a_conflict(self, store: Store) -> None:
        """And nothing of the second is kept."""
        await store.add(an_inquiry(request_key="call-1"))
        other = an_inquiry(request_key="call-1", digest="something else")
        with pytest.raises(KeyConflict):
            await store.add(other)
        with pytest.raises(UnknownInquiry):
            await store.get(other.id)
        assert await store.last_seq() == 1

    async def test_a_key_counts_within_its_agent_session_and_purpose(self, store: Store) -> None:
        """Without one, every request is its own."""
        asked = [
            an_inquiry(request_key="1"),
            an_inquiry(request_key="1", agent="another"),
            an_inquiry(request_key="1", session="another"),
            an_inquiry(request_key="1", purpose="plan"),
            an_inquiry(),
            an_inquiry(),
        ]
        assert [(await store.add(inquiry)).created for inquiry in asked] == [True] * 6

    async def test_agents_that_use_the_same_names_each_rejoin_their_own(self, store: Store) -> None:
        """An agent never gets the inquiry of another."""
        mine = await store.add(an_inquiry(request_key="1"))
        theirs = await store.add(an_inquiry(request_key="1", agent="another"))
        assert (await store.add(an_inquiry(request_key="1"))).inquiry == mine.inquiry
        assert (await store.add(an_inquiry(request_key="1", agent="another"))).inquiry == theirs.inquiry

    async def test_a_yes_is_not_handed_out_past_its_time(self, store: Store) -> None:
        """An approval asked again after its ttl is a new one, and from then on the one with that key."""
        old = an_inquiry(kind=Kind.APPROVAL, request_key="deploy")
        late = an_inquiry(kind=Kind.APPROVAL, request_key="deploy", asked_at=NOW + HOUR)
        late = replace(late, expires_at=NOW + 2 * HOUR)
        again = replace(late, id=an_inquiry().id, asked_at=NOW + HOUR + 1)
        await store.add(old)
        await store.update(old.id, answering("Approve"))
        assert (await store.add(late)).created
        assert (await store.add(again)).inquiry.id == late.id

    async def test_one_request_sent_many_times_at_once_is_one_inquiry(self, store: Store) -> None:
        """The first one makes it."""
        added = await asyncio.gather(*[store.add(an_inquiry(request_key="call-1")) for _ in range(50)])
        assert sum(each.created for each in added) == 1
        assert len({each.inquiry.id for each in added}) == 1

    async def test_open_inquiries_never_share_a_ref(self, store: Store) -> None:
        """However many there are."""
        added = await asyncio.gather(*[store.add(an_inquiry()) for _ in range(500)])
        assert len({each.inquiry.ref for each in added}) == 500

    async def test_any_character_is_kept(self, store: Store) -> None:
        """In texts and in names alike, though databases are particular about some."""
        odd = "a\0b\x01\x02\\u0000 Grüße 👋 '\"%s{}"
        asked = an_inquiry(context=odd, agent=odd, session=odd, purpose=odd, request_key=odd)
        added = (await store.add(asked, [odd.encode()])).inquiry
        assert await store.get(asked.id) == added
        assert added.origin == asked.origin
        assert added.context == odd
        assert not (await store.add(replace(asked, id=an_inquiry().id))).created
        plain = an_inquiry(agent=odd.replace("\0", "\x01\x02"), request_key=odd, session=odd, purpose=odd)
        assert (await store.add(plain)).created
        done = await store.update(asked.id, answering(odd, by=odd))
        assert await store.get(asked.id) == done.inquiry
        assert await names(store, Query(agent=odd)) == [asked.id]
        await store.put_token(a_token(name=odd))
        assert await store.drop_token(odd)
        with pytest.raises(UnknownInquiry):
            await store.get(odd)

    async def test_a_ref_rests_for_thirty_days_after_its_inquiry_closed(
        self, store: Store, clock: Clock
    ) -> None:
        """A late "a7 yes" must not approve something else."""
        used: set[str] = set()
        for day in range(0, 29, 7):
            clock.now = NOW + day * DAY
            asked = [an_inquiry(asked_at=clock.now, expires_at=clock.now + HOUR) for _ in range(60)]
            added = await asyncio.gather(*[store.add(inquiry) for inquiry in asked])
            await asyncio.gather(*[store.update(each.id, answering(at=clock.now)) for each in asked])
            fresh = {each.inquiry.ref for each in added}
            assert len(fresh) == 60
            assert not fresh & used
            used |= fresh

    async def test_attachments_are_kept_in_order(self, store: Store) -> None:
        """By either name; there is none where there is none."""
        blobs = [b"first", b"", bytes(range(256)) * 1000]
        added = (await store.add(an_inquiry(), blobs)).inquiry
        assert [await store.attachment(added.id, index) for index in range(3)] == blobs
        assert await store.attachment(added.ref, 0) == b"first"
        for index in (-1, 3, 2**80):
            with pytest.raises(UnknownInquiry):
                await store.attachment(added.id, index)


class DecidingContract(StoreHarness):
    """Changing inquiries."""

    async def test_a_step_is_applied_and_returned(self, store: Store) -> None:
        """By id or by ref."""
        added = (await store.add(an_inquiry())).inquiry
        done = await store.update(added.ref, answering("Red"))
        assert done.applied
        assert done.inquiry.state_name == "answered"
        assert await store.get(added.id) == done.inquiry

    async def test_a_later_expiry_is_kept(self, store: Store) -> None:
        """A step may change more than the state."""
        added = (await store.add(an_inquiry())).inquiry
        done = await store.update(added.id, lambda it: lifecycle.extend(it, 2 * HOUR, by="ana", now=NOW))
        assert done.inquiry.expires_at == NOW + 2 * HOUR
        assert await store.next_expiry() == NOW + 2 * HOUR

    async def test_a_decision_for_nothing_changes_nothing(self, store: Store) -> None:
        """The inquiry comes back as it is."""
        added = (await store.add(an_inquiry())).inquiry
        done = await store.update(added.id, lambda _: None)
        assert not done.applied
        assert done.inquiry == added
        assert await store.last_seq() == 1

    async def test_what_a_decision_raises_is_raised_and_nothing_changes(self, store: Store) -> None:
        """The rule's own error, not the store's."""
        added = (await store.add(an_inquiry())).inquiry
        with pytest.raises(DecisionFailed):
            await store.update(added.id, refusing)
        assert await store.get(added.id) == added
        assert await store.last_seq() == 1

    async def test_a_decision_that_raises_does_not_hurt_those_beside_it(self, store: Store) -> None:
        """All at once, every third one refused."""
        asked = [(await store.add(an_inquiry())).inquiry.id for _ in range(60)]
        results = await asyncio.gather(
            *[store.update(name, answering() if at % 3 else refusing) for at, name in enumerate(asked)],
            return_exceptions=True,
        )
        assert [isinstance(result, DecisionFailed) for result in results] == [at % 3 == 0 for at in range(60)]
        assert await store.count_open() == 20
        assert len(await everything(store)) == 60 + 40

    async def test_the_first_decision_wins(self, store: Store) -> None:
        """Of a hundred at once exactly one is applied, and the others are told which."""
        added = (await store.add(an_inquiry())).inquiry
        done = await asyncio.gather(
            *[store.update(added.id, answering(str(at), by=f"person-{at}")) for at in range(100)]
        )
        winners = [each.inquiry for each in done if each.applied]
        assert len(winners) == 1
        assert {each.inquiry for each in done} == set(winners)
        assert [event.type for event in await everything(store)] == ["asked", "answered"]

    async def test_one_who_stops_waiting_does_not_hurt_the_others(self, store: Store) -> None:
        """A cancelled request is none of their business."""
        asked = [(await store.add(an_inquiry())).inquiry.id for _ in range(20)]
        steps = [asyncio.create_task(store.update(name, answering())) for name in asked]
        await asyncio.sleep(0)
        for step in steps[::2]:
            step.cancel()
        results = await asyncio.gather(*steps, return_exceptions=True)
        assert all(not isinstance(result, BaseException) and result.applied for result in results[1::2])


class KeepingContract(StoreHarness):
    """Durability."""

    async def test_what_is_old_is_pruned_and_nothing_else(self, tmp_path: Path, clock: Clock) -> None:
        """Open inquiries stay however old, no gap is left within the log, and no number is given again."""
        store = await self.open_store(tmp_path, clock)
        asked = [an_inquiry() for _ in range(6)]
        for each in asked:
            await store.add(each, [b"bytes"])
        *closed, recent, still_open = asked
        for each in closed:
            await store.update(each.id, answering(at=NOW + 1))
        await store.update(recent.id, answering(at=NOW + DAY))
        await store.record(Happening(type="tick", at=NOW, data={}))
        assert await store.prune(NOW, 100) == 0
        # Four inquiries and ten events, at most three of either at a time.
        assert [await store.prune(NOW + DAY, 3) for _ in range(5)] == [6, 4, 3, 1, 0]
        for each in closed:
            with pytest.raises(UnknownInquiry):
                await store.get(each.id)
            with pytest.raises(UnknownInquiry):
                await store.attachment(each.id, 0)
            with pytest.raises(UnknownInquiry):
                await store.update(each.id, answering())
        assert set(await names(store, Query())) == {recent.id, still_open.id}
        assert await store.attachment(recent.id, 0) == b"bytes"
        await store.close()
        again = await self.open_store(tmp_path, clock)
        assert [event.seq for event in await everything(again)] == [11, 12]
        await again.prune(NOW + 9 * DAY, 100)
        assert [event.seq for event in await everything(again)] == [12]
        assert await again.last_seq() == 12
        assert (await again.record(Happening(type="tick", at=NOW, data={}))).seq == 13
        await again.close()

    async def test_its_time_is_that_of_the_clock_it_was_given(self, store: Store, clock: Clock) -> None:
        """All deadlines are measured by the same clock."""
        assert store.now() == clock()
        clock.now = NOW + DAY
        assert store.now() == NOW + DAY

    async def test_what_was_kept_is_there_after_reopening(self, tmp_path: Path, clock: Clock) -> None:
        """Inquiries, bytes, the log and the tokens; and the log goes on where it was."""
        first = await self.open_store(tmp_path, clock)
        name = await furnish(first)
        before = await kept(first, name)
        await first.close()
        second = await self.open_store(tmp_path, clock)
        try:
            assert await kept(second, name) == before
            assert await second.last_seq() == len(before.log)
            event = await second.record(Happening(type="started", at=NOW, data={}))
            assert event.seq == len(before.log) + 1
        finally:
            await second.close()

    async def test_a_backup_that_cannot_be_made_leaves_nothing(self, store: Store, tmp_path: Path) -> None:
        """Here because its place is a folder."""
        place = tmp_path / "place"
        place.mkdir()
        before = contents(tmp_path)
        with pytest.raises(StorageError):
            await store.backup(str(place))
        with pytest.raises(StorageError):
            await store.backup(str(tmp_path / "missing" / "backup"))
        assert contents(tmp_path) == before

    async def test_tokens_are_kept_by_name(self, store: Store) -> None:
        """Replaced, listed in order and forgotten."""
        zoe, ana, again = a_token(name="zoe"), a_token(name="ana"), a_token(name="ana", digest="f" * 64)
        for token in (zoe, ana, again):
            await store.put_token(token)
        assert list(await store.tokens()) == [again, zoe]
        assert await store.drop_token("ana")
        assert not await store.drop_token("ana")
        assert list(await store.tokens()) == [zoe]

    async def test_closing_lets_waiting_readers_go_and_refuses_what_comes_later(self, store: Store) -> None:
        """They get what there is; closing twice is no mistake."""
        waiting = [asyncio.create_task(store.events(0, wait=HOUR)) for _ in range(10)]
        await asyncio.sleep(0)
        await store.close()
        assert [list(await each) for each in waiting] == [[]] * 10
        await store.close()
        with pytest.raises(StorageError):
            await store.add(an_inquiry())
        with pytest.raises(StorageError):
            await store.find(Query())


class BackupContract(StoreHarness):
    """Backups, for stores that make them."""

    def restore(self, backup: Path, folder: Path) -> None:
        """Make an empty folder one in which `open_store` finds what was backed up."""
        raise NotImplementedError

    async def test_a_backup_restores_to_an_equal_store(
        self, store: Store, tmp_path: Path, clock: Clock
    ) -> None:
        """Taken from a store in use, and not changed by what happens later."""
        name = await furnish(store)
        before = await kept(store, name)
        await store.backup(str(tmp_path / "backup"))
        await store.add(an_inquiry())
        folder = tmp_path / "restored"
        folder.mkdir()
        self.restore(tmp_path / "backup", folder)
        restored = await self.open_store(folder, clock)
        try:
            assert await kept(restored, name) == before
        finally:
            await restored.close()

    async def test_a_backup_made_while_work_goes_on_is_of_one_moment(
        self, store: Store, tmp_path: Path, clock: Clock
    ) -> None:
        """Every inquiry in it has its event, and every event its inquiry."""
        asking = asyncio.gather(*[store.add(an_inquiry()) for _ in range(300)])
        await store.backup(str(tmp_path / "backup"))
        await asking
        folder = tmp_path / "restored"
        folder.mkdir()
        self.restore(tmp_path / "backup", folder)
        restored = await self.open_store(folder, clock)
        try:
            told = [event.inquiry for event in await everything(restored)]
            assert told == await names(restored, Query(state="open"))
        finally:
            await restored.close()


class StoreContract(
    AddingContract,
    DecidingContract,
    HoldingContract,
    SeveralContract,
    ListingContract,
    SearchContract,
    LogContract,
    KeepingContract,
    LedgerContract,
    ThreadContract,
):
    """Everything that `upcall.ports.store.Store` promises of every store; subclass it and say how to open yours."""
