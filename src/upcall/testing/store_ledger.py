"""The part of every store's contract that is about records and jobs."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from upcall.domain.channel import delivery
from upcall.domain.channel.routing import Place
from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.inquiry import Change, Inquiry
from upcall.domain.records import Effects, Happening, Job, Record
from upcall.ports.store import Decide, Revise, Store
from upcall.testing.examples import NOW, Clock, an_inquiry, answering
from upcall.testing.store_harness import DecisionFailed, StoreHarness, everything

__all__ = ["JobsContract", "LedgerContract", "RecordsContract"]

LEASE = 60.0


def a_record(key: str = "1", **changes: Any) -> Record:
    """Some record."""
    return Record(**{"kind": "run", "key": key, "state": "running", "at": NOW, **changes})


def a_job(name: str = "resume:1", **changes: Any) -> Job:
    """A job that is due."""
    return Job(**{"id": name, "kind": "resume", "subject": "run:1", "due": NOW, **changes})


def writing(effects: Effects) -> Revise:
    """A decision to write that, independent of the record."""
    return lambda _: effects


def with_effects(decide: Decide, effects: Effects) -> Decide:
    """A decision about an inquiry that also writes something else."""

    def decided(inquiry: Inquiry) -> Change | None:
        change = decide(inquiry)
        return None if change is None else replace(change, effects=effects)

    return decided


async def put(store: Store, *jobs: Job) -> None:
    """Add jobs."""
    await store.revise("run", "jobs", writing(Effects(jobs=jobs)))


async def claimed(store: Store, now: float = NOW, **changes: Any) -> list[Job]:
    """The jobs that can be had."""
    wanted: dict[str, Any] = {"runner": "", "lease": LEASE, "limit": 10, **changes}
    return list(await store.claim(["resume"], now=now, **wanted))


class RecordsContract(StoreHarness):
    """Records beside the inquiries."""

    async def test_what_channels_keep_of_an_inquiry_is_pruned_with_it(self, store: Store) -> None:
        """And nothing of another one, and nothing else that happens to be called the same."""
        old, still_open = an_inquiry(), an_inquiry()
        place = Place(channel="chat", address="C1")
        others = (a_record(old.id, state=old.id), a_record("1", kind="waiting"))
        for each in (old, still_open):
            shown = delivery.Delivery(inquiry=each.id, place=place, message=f"m{each.id}", at=NOW)
            heard = delivery.heard_record("chat", f"event:{each.id}", each.id, NOW, accepted=True)
            message = delivery.message_record(shown, f"m{each.id}")
            notice = Record(kind=delivery.NOTICE, key=f"{each.id}:chat", state=each.id, at=NOW)
            asked = Record(kind=delivery.ASKED, key=f"{each.id}:words", state=each.id, at=NOW)
            kept = (delivery.record(shown), message, delivery.waiting_record(shown), heard, notice, asked)
            await store.add(each, (), Effects(records=(*kept, *others)))
        await store.update(old.id, answering(at=NOW + 1))
        await store.prune(NOW + 2, 10)
        for kind in delivery.BY_STATE:
            assert [each.state for each in (await store.records(kind)).items] == [still_open.id], kind
        waiting = {each.key for each in (await store.records(delivery.WAITING)).items}
        assert waiting == {"1", f"{still_open.id}:chat:C1"}
        assert await store.look_up("run", old.id) is not None

    async def test_a_record_is_kept_and_replaced_and_forgotten(self, store: Store) -> None:
        """Its body can hold any JSON value."""
        assert await store.look_up("run", "1") is None
        first = a_record(body={"agent": "claude", "turns": 3, "of": [1, None, "ü"]})
        assert await store.revise("run", "1", writing(Effects(records=(first,)))) == first
        assert await store.look_up("run", "1") == first
        second = replace(first, state="completed", body={})
        assert await store.revise("run", "1", writing(Effects(records=(second,)))) == second
        assert await store.revise("run", "1", writing(Effects(forgotten=(("run", "1"),)))) is None
        assert await store.look_up("run", "1") is None

    async def test_a_decision_sees_the_record_as_it_is(self, store: Store) -> None:
        """So nothing is lost when many change one at once."""

        def count(record: Record | None) -> Effects:
            counted = 0 if record is None else int(str(record.body["count"]))
            return Effects(records=(a_record(body={"count": counted + 1}),))

        await asyncio.gather(*[store.revise("run", "1", count) for _ in range(50)])
        record = await store.look_up("run", "1")
        assert record is not None
        assert record.body == {"count": 50}

    async def test_a_decision_that_is_none_changes_nothing(self, store: Store) -> None:
        """Neither does one that fails."""

        def refuse(_: Record | None) -> Effects | None:
            raise DecisionFailed

        await store.revise("run", "1", writing(Effects(records=(a_record(),))))
        assert await store.revise("run", "1", lambda _: None) == a_record()
        with pytest.raises(DecisionFailed):
            await store.revise("run", "1", refuse)
        assert await store.look_up("run", "1") == a_record()
        assert await everything(store) == []

    async def test_what_cannot_be_written_costs_its_neighbours_nothing(self, store: Store) -> None:
        """A body that is not JSON fails alone; the other members of its group are committed."""
        unfit = Effects(records=(a_record("2", body={"no": object()}),))
        inquiry = (await store.add(an_inquiry())).inquiry
        results = await asyncio.gather(
            store.revise("run", "1", writing(Effects(records=(a_record(),)))),
            store.revise("run", "2", writing(unfit)),
            store.update(inquiry.id, with_effects(answering(), unfit)),
            store.add(an_inquiry()),
            return_exceptions=True,
        )
        assert [isinstance(result, TypeError) for result in results] == [False, True, True, False]
        assert (await store.get(inquiry.id)).is_open
        assert await store.look_up("run", "1") == a_record()
        seqs = [event.seq for event in await everything(store)]
        assert seqs == [1, 2]

    async def test_every_character_that_is_one_can_be_in_a_name(self, store: Store) -> None:
        """Different ones stay different."""
        names = ["\0", "\x01", "\x01\x02", "\0\x01", "\u2028", "é", "e\u0301", "👋"]
        kept = [a_record(name, kind=name, state=name, body={"text": name}) for name in names]
        work = [a_job(name, kind=name, subject=name, runner=name, body={"text": name}) for name in names]
        await store.revise("run", "\0", writing(Effects(records=tuple(kept), jobs=tuple(work))))
        for record in kept:
            assert await store.look_up(record.kind, record.key) == record
            assert (await store.records(record.kind, state=record.state)).items == (record,)
            assert await store.revise(record.kind, record.key, lambda found: None) == record
        for job in work:
            (had,) = await store.claim([job.kind], runner=job.runner, now=NOW, lease=LEASE, limit=9)
            assert replace(had, fence=0, due=NOW) == job
            assert list(await store.jobs(job.kind, job.subject)) == [had]
            assert await store.hasten(job.kind, job.subject, NOW) == 1
            assert await store.settle(had, Effects(forgotten=((job.kind, job.id),)))
        assert (await store.records(names[0])).items == ()

    async def test_records_are_listed_newest_first_and_by_state(self, store: Store) -> None:
        """Page by page, each once."""
        made = [a_record(f"{n}", at=NOW + n // 2, state="ab"[n % 2]) for n in range(7)]
        await store.revise("run", "", writing(Effects(records=(*made, a_record("x", kind="rule")))))
        wanted = sorted(made, key=lambda record: (record.at, record.key), reverse=True)
        seen: list[Record] = []
        page = await store.records("run", limit=3)
        while True:
            seen += page.items
            if page.next is None:
                break
            page = await store.records("run", limit=3, cursor=page.next)
        assert seen == wanted
        in_state = await store.records("run", state="a")
        assert list(in_state.items) == [record for record in wanted if record.state == "a"]
        for bad in ("", "x", "[1]", "{}"):
            with pytest.raises(InvalidRequest):
                await store.records("run", cursor=bad)
        with pytest.raises(InvalidRequest):
            await store.records("run", limit=0)

    async def test_effects_are_written_with_the_inquiry_or_not_at_all(self, store: Store) -> None:
        """With a new one, and with a step of one."""
        with_it = Effects(
            records=(a_record(),),
            jobs=(a_job(),),
            happenings=(Happening(type="noted", at=NOW, data={"run": 1}),),
        )
        inquiry = (await store.add(an_inquiry(request_key="k"), effects=with_it)).inquiry
        assert await store.look_up("run", "1") == a_record()
        assert [event.type for event in await everything(store)] == ["asked", "noted"]
        again = Effects(jobs=(a_job("resume:2"),))
        assert not (await store.add(an_inquiry(request_key="k"), effects=again)).created
        assert [job.id for job in await store.jobs("resume", "run:1")] == ["resume:1"]
        late = Effects(dropped=("resume:1",), jobs=(a_job("resume:3"),), forgotten=(("run", "1"),))
        await store.update(inquiry.id, with_effects(answering(), late))
        await store.update(inquiry.id, with_effects(answering(), again))
        assert [job.id for job in await store.jobs("resume", "run:1")] == ["resume:3"]
        assert await store.look_up("run", "1") is None


class JobsContract(StoreHarness):
    """Work that gets done once."""

    async def test_a_due_job_is_had_by_one_claimant_only(self, store: Store) -> None:
        """However many claim at once. A job that is not due is not claimed."""
        await put(store, *[a_job(f"resume:{n}") for n in range(20)], a_job("later", due=NOW + 1))
        claims = await asyncio.gather(*[claimed(store, limit=3) for _ in range(10)])
        names = [job.id for claim in claims for job in claim]
        assert sorted(names) == sorted(f"resume:{n}" for n in range(20))
        assert await claimed(store) == []

    async def test_the_longest_due_comes_first_and_only_of_the_kinds_wanted(self, store: Store) -> None:
        """And a job of a runner goes to that runner only."""
        await put(
            store,
            a_job("b", due=NOW - 1),
            a_job("a", due=NOW - 2),
            a_job("mine", runner="here", due=NOW - 3),
            a_job("other", runner="there", due=NOW - 3),
            a_job("show", kind="show", due=NOW - 9),
        )
        assert [job.id for job in await claimed(store, limit=1)] == ["a"]
        assert [job.id for job in await claimed(store, runner="here")] == ["mine", "b"]
        assert await store.next_due(["resume"], "there") == NOW - 3
        assert await store.next_due(["show"], "") == NOW - 9
        assert await store.next_due(["none"], "") is None

    async def test_jobs_are_counted_by_their_kinds(self, store: Store) -> None:
        """Whether they are due, claimed or for later."""
        await put(store, a_job("now"), a_job("later", due=NOW + 60), a_job("one", kind="show:one"))
        await claimed(store)
        assert await store.count_jobs() == {"resume": 2, "show:one": 1}

    async def test_a_claim_ends_with_its_lease(self, store: Store) -> None:
        """Then another claimant has it, and the late one can neither settle nor renew it."""
        await put(store, a_job())
        (slow,) = await claimed(store)
        assert await store.next_due(["resume"], "") == NOW + LEASE
        (quick,) = await claimed(store, now=NOW + LEASE)
        assert quick.fence > slow.fence
        assert not await store.renew(slow, NOW + 9 * LEASE)
        assert not await store.settle(slow, Effects(records=(a_record(),)))
        assert await store.look_up("run", "1") is None
        assert await store.renew(quick, NOW + 3 * LEASE)
        assert await claimed(store, now=NOW + 2.5 * LEASE) == []
        assert await store.settle(quick, Effects(records=(a_record(),)))
        assert await store.look_up("run", "1") == a_record()
        assert await store.jobs("resume", "run:1") == []
        assert not await store.settle(quick)

    async def test_a_job_is_done_again_when_its_holder_says_so(self, store: Store) -> None:
        """With another fence than before."""
        await put(store, a_job())
        (job,) = await claimed(store)
        again = replace(job, due=NOW + 5, attempts=1, body={"error": "no"})
        assert await store.settle(job, Effects(jobs=(again,)))
        assert await claimed(store, now=NOW + 4) == []
        (second,) = await claimed(store, now=NOW + 5)
        assert (second.attempts, second.body) == (1, {"error": "no"})
        assert second.fence > job.fence

    async def test_a_job_put_in_anothers_place_is_not_settled_by_who_held_that_one(
        self, store: Store
    ) -> None:
        """So what changed meanwhile is looked at again."""
        await put(store, a_job())
        (held,) = await claimed(store)
        await put(store, a_job(body={"newer": True}))
        assert not await store.settle(held)
        (newer,) = await claimed(store)
        assert newer.body == {"newer": True}

    async def test_a_job_that_came_again_is_not_settled_by_who_held_it_long_ago(self, store: Store) -> None:
        """Though it has the same id, and was claimed as often."""
        await put(store, a_job())
        (slow,) = await claimed(store)
        (quick,) = await claimed(store, now=NOW + LEASE)
        assert await store.settle(quick)
        await put(store, a_job())
        assert not await store.settle(slow)
        (again,) = await claimed(store)
        assert not await store.renew(slow, NOW + 9 * LEASE)
        assert not await store.settle(slow)
        assert await store.settle(again)

    async def test_jobs_about_a_subject_can_be_hastened(self, store: Store) -> None:
        """Never delayed."""
        await put(store, a_job("a", due=NOW + 100), a_job("b", due=NOW - 1), a_job("c", subject="run:2"))
        assert await store.hasten("resume", "run:1", NOW) == 2
        assert [(job.id, job.due) for job in await store.jobs("resume", "run:1")] == [
            ("b", NOW - 1),
            ("a", NOW),
        ]

    async def test_jobs_and_records_are_there_after_reopening(self, tmp_path: Path, clock: Clock) -> None:
        """A claim too, until its lease ends."""
        store = await self.open_store(tmp_path, clock)
        await store.revise("run", "1", writing(Effects(records=(a_record(),), jobs=(a_job(), a_job("two")))))
        (job,) = await claimed(store, limit=1)
        await store.close()
        again = await self.open_store(tmp_path, clock)
        assert await again.look_up("run", "1") == a_record()
        assert len(await claimed(again)) == 1
        assert await again.settle(job)
        await again.close()


class LedgerContract(RecordsContract, JobsContract):
    """Everything that `upcall.ports.store.Ledger` promises."""
