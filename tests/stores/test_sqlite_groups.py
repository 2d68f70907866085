"""Each member of a group sees the writes of the members before it, though nothing is written until the end."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Self

import pytest

from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Change, Inquiry
from upcall.domain.records import NOTHING, Effects, Job, Record
from upcall.ports.store import Decide
from upcall.stores import codec
from upcall.stores.sqlite import ledger
from upcall.stores.sqlite.connections import connect
from upcall.stores.sqlite.reads import Reads
from upcall.stores.sqlite.rows import MOST_ROWS
from upcall.stores.sqlite.writes import Writes
from upcall.stores.tail import Logged
from upcall.testing.examples import NOW, Clock, an_inquiry, answering


class Group:
    """A transaction that is committed when the block ends."""

    def __init__(self, path: Path) -> None:
        opened = connect(path)
        self.db, self.reads = opened.writing, Reads(opened.reading)
        self.writes = Writes(self.db, Clock(), Random(7))
        self.log: list[Logged] = []

    def __enter__(self) -> Self:
        self.log = []
        self.db.execute("BEGIN IMMEDIATE")
        self.writes.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.writes.finish(self.log)
        self.db.execute("COMMIT")

    def ask(self, inquiry: Inquiry, *blobs: bytes) -> Inquiry:
        return self.writes.add(inquiry, codec.body(inquiry), blobs, NOTHING, self.log).inquiry

    def update(self, name: str, decide: Decide) -> Inquiry:
        return self.writes.update(name, decide, self.log).inquiry

    def revise(self, key: str, effects: Effects | None) -> tuple[Record | None, Record | None]:
        found: list[Record | None] = []

        def decide(record: Record | None) -> Effects | None:
            found.append(record)
            return effects

        after = self.writes.revise("note", key, decide, self.log)
        return found[0], after

    def close(self) -> None:
        self.reads.close()
        self.db.close()


@pytest.fixture
def group(path: Path) -> Iterator[Group]:
    with closing(Group(path)) as made:
        yield made


def snoozing(inquiry: Inquiry) -> Change | None:
    return lifecycle.snooze(inquiry, NOW + 60, by="ana", now=NOW)


def test_an_inquiry_is_asked_snoozed_and_answered_in_one(group: Group) -> None:
    with group:
        asked = group.ask(an_inquiry(), b"a file")
        assert group.update(asked.id, snoozing).is_open
        answered = group.update(asked.ref, answering("Red"))
    assert answered.state_name == "answered"
    assert group.reads.get(asked.id) == answered
    assert group.reads.attachment(asked.id, 0) == b"a file"
    assert [event.type for event in group.reads.events(0, 10)] == ["asked", "snoozed", "answered"]


def test_an_older_one_is_changed_twice_in_one_by_its_id_and_by_its_ref(group: Group, path: Path) -> None:
    with group:
        asked = group.ask(an_inquiry())
    with closing(Group(path)) as later, later:
        later.update(asked.ref, snoozing)
        answered = later.update(asked.ref, answering())
        assert later.update(asked.id, answering("Red")) == answered
    assert group.reads.get(asked.ref) == answered


def test_a_request_that_comes_again_in_one_rejoins_what_came_of_it(group: Group) -> None:
    with group:
        before = group.ask(an_inquiry(request_key="k1"))
    with group:
        again = group.ask(an_inquiry(request_key="k1"))
        answered = group.update(before.id, answering())
        assert again == before
        assert group.ask(an_inquiry(request_key="k1")) == answered
        new = group.ask(an_inquiry(request_key="k2"))
        assert group.ask(an_inquiry(request_key="k2")) == new


def test_what_was_taken_back_leaves_neither_numbers_nor_names_behind(group: Group) -> None:
    with group:
        kept = group.ask(an_inquiry())
    with group:
        lost = group.ask(an_inquiry(request_key="k1"))
        group.update(kept.id, answering())
        group.db.execute("ROLLBACK")
        group.writes.undo()
        group.db.execute("BEGIN")
        group.writes.begin()
        group.log = []
        assert group.update(kept.id, snoozing).is_open
        assert group.ask(an_inquiry(request_key="k1")).id != lost.id
    assert [event.seq for event in group.reads.events(0, 10)] == [1, 2, 3]


def test_a_record_is_kept_forgotten_and_kept_again_in_one(group: Group) -> None:
    first, second = (Record(kind="note", key="a", body={"words": [word]}) for word in ("one", "two"))
    with group:
        assert group.revise("a", Effects(records=(first,))) == (None, first)
        assert group.revise("a", Effects(forgotten=(("note", "a"),))) == (first, None)
        assert group.revise("a", None) == (None, None)
        assert group.revise("b", Effects(records=(second,))) == (None, None)
    with group:
        assert group.revise("a", None) == (second, second)
    assert group.reads.ask(lambda db: ledger.look_up(db, "note", "a")) == second


def test_a_job_is_put_replaced_and_dropped_in_one_and_no_fence_is_given_twice(group: Group) -> None:
    def put(name: str, due: float) -> Effects:
        return Effects(jobs=(Job(id=name, kind="call", subject="q1", due=due),))

    with group:
        group.revise("a", put("first", 1))
        group.revise("a", put("second", 2))
        group.revise("a", put("first", 3))
        group.revise("a", Effects(dropped=("second",)))
    (first,) = group.reads.ask(lambda db: ledger.jobs(db, "call", "q1"))
    assert (first.id, first.due) == ("first", 3)
    with group:
        group.revise("a", put("first", 4))
        group.revise("a", put("third", 5))
    later = group.reads.ask(lambda db: ledger.jobs(db, "call", "q1"))
    assert [job.id for job in later] == ["first", "third"]
    assert first.fence < later[0].fence < later[1].fence


def test_work_on_the_database_itself_sees_the_records_and_jobs_of_its_group(group: Group) -> None:
    job = Job(id="first", kind="call", subject="q1", due=1)
    with group:
        group.revise("a", Effects(jobs=(job,), records=(Record(kind="note", key="a"),)))
        assert group.writes.do(lambda db: ledger.hasten(db, "call", "q1", 0)) == 1
        assert group.writes.do(lambda db: ledger.look_up(db, "note", "a")) == Record(kind="note", key="a")
        (claimed,) = group.writes.do(
            lambda db: ledger.claim(db, "me", ["call"], runner="", now=5, lease=10, limit=9)
        )
        group.revise("a", Effects(forgotten=(("note", "a"),)))
        assert group.writes.settle(claimed, NOTHING, group.log)
    assert group.reads.ask(lambda db: ledger.jobs(db, "call", "q1")) == []
    assert group.reads.ask(lambda db: ledger.look_up(db, "note", "a")) is None


def test_a_group_takes_as_many_statements_as_it_concerns_tables(group: Group) -> None:
    with group:
        earlier = [group.ask(an_inquiry()) for _ in range(3)]
    statements: list[str] = []
    with group:
        group.db.set_trace_callback(statements.append)
        asked = [group.ask(an_inquiry()) for _ in range(5)]
        for inquiry in earlier:
            group.update(inquiry.id, answering())
        for key in "abc":
            group.revise(key, Effects(records=(Record(kind="note", key=key),)))
    group.db.set_trace_callback(None)
    tables = [re.findall(r"(?:INTO|UPDATE) (\w+)", sql) for sql in statements]
    assert [found for found in tables if found] == [["inquiry"], ["inquiry"], ["record"], ["event"]]
    assert [group.reads.get(inquiry.id) for inquiry in asked] == asked


@pytest.mark.promise("spec/29")
@pytest.mark.parametrize("count", [1, 2, 3, MOST_ROWS, MOST_ROWS + 1, 3 * MOST_ROWS - 1])
def test_groups_of_any_size_are_written_whole_and_in_order(group: Group, count: int) -> None:
    with group:
        asked = [group.ask(an_inquiry()) for _ in range(count)]
    with group:
        answered = [group.update(inquiry.id, answering()) for inquiry in asked]
    assert [group.reads.get(inquiry.id) for inquiry in asked] == answered
    assert len({inquiry.ref for inquiry in asked}) == count
    assert [event.inquiry for event in group.reads.events(0, 1000)] == [inquiry.id for inquiry in asked] * 2
