"""Each member of a group sees the writes of the members before it, though nothing is written until the end."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Self

import pytest

from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Change, Inquiry
from upcall.domain.records import NOTHING
from upcall.ports.store import Decide
from upcall.stores import codec
from upcall.stores.sqlite.connections import connect
from upcall.stores.sqlite.reads import Reads
from upcall.stores.sqlite.staged import MOST_ROWS
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
