"""What channels keep that belongs to no inquiry is forgotten when it is old, and not before."""

from pathlib import Path

import pytest

from upcall.dispatch.forgetting import forget
from upcall.dispatch.people import CODE, FAILURES, People, WrongCode
from upcall.domain.channel.delivery import HEARD, heard_record
from upcall.domain.records import Effects
from upcall.ports.paging import PAGE
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import DAY, Clock


async def test_old_codes_wrong_ones_and_words_that_answered_nothing_are_forgotten(tmp_path: Path) -> None:
    clock = Clock()
    store = await SqliteStore.open(tmp_path / "upcall.db", clock=clock)
    people = People(store, clock)

    async def leave_traces(name: str, words: int = 1) -> None:
        await people.add(name)
        with pytest.raises(WrongCode):
            await people.enrol("WRNGWRNG22", "one", name)
        heard = tuple(heard_record("one", f"{name}{n}", "", clock(), accepted=False) for n in range(words))
        answered = heard_record("one", f"{name}-answered", "inq", clock(), accepted=True)
        await store.revise(HEARD, name, lambda _: Effects(records=(*heard, answered)))

    await leave_traces("ana", PAGE + 1)
    clock.now += DAY
    await leave_traces("bo")
    assert await forget(store, clock.now - DAY) == 0
    assert await forget(store, clock.now) == 1 + 1 + PAGE + 1
    for kind in (CODE, FAILURES):
        assert len((await store.records(kind)).items) == 1
    assert [each.key for each in (await store.records(HEARD, state="")).items] == ["one:bo0"]
    assert len((await store.records(HEARD, state="inq")).items) == 2, "these go with their inquiry"
    assert {each.name for each in await people.all()} == {"ana", "bo"}
    await store.close()
