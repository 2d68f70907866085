"""What is over is forgotten after the time that was set, and not before."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from upcall.broker.retention import Retention
from upcall.config.settings import load
from upcall.daemon.wiring.assembly import assembled
from upcall.domain.errors import InvalidSetting, StorageError, UnknownInquiry
from upcall.domain.inquiry.inquiry import Attachment
from upcall.domain.records import Happening
from upcall.home.files import Home
from upcall.ports.store import Query
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import DAY, Clock, an_inquiry, answering


@pytest.mark.promise("spec/154")
async def test_everything_too_old_goes_however_much_it_is(store: SqliteStore, clock: Clock) -> None:
    asked = [an_inquiry(asked_at=clock.now) for _ in range(700)]
    await asyncio.gather(*[store.add(each) for each in asked])
    await asyncio.gather(*[store.update(each.id, answering(at=clock.now)) for each in asked[1:]])
    retention = Retention(store, 30 * DAY)
    clock.now += 30 * DAY
    await store.record(Happening(type="tick", at=clock.now, data={}))
    assert await retention.sweep() == 0
    clock.now += 1
    assert await retention.sweep() == 699 + 1399
    assert [each.id for each in (await store.find(Query())).items] == [asked[0].id]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (StorageError("no"), "forgetting what is old: no"),
        (OSError("a disk of its own"), "forgetting what is old failed"),
    ],
)
async def test_what_fails_is_tried_again_later(
    store: SqliteStore,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
    said: str,
) -> None:
    failures, failed = 0, asyncio.Event()
    monkeypatch.setattr("upcall.broker.retention.EVERY", 0)

    async def fail(before: float, limit: int) -> int:
        nonlocal failures
        failures += 1
        if failures == 2:
            failed.set()
        raise fault

    monkeypatch.setattr(store, "prune", fail)
    retention = Retention(store, DAY)
    await retention.start()
    async with asyncio.timeout(30):
        await failed.wait()
    await retention.close()
    assert said in caplog.text


async def test_what_was_closed_before_that_goes_and_everything_else_stays(
    store: SqliteStore, clock: Clock
) -> None:
    asked = clock.now
    old, young, still_open = [an_inquiry(asked_at=asked) for _ in range(3)]
    note = Attachment(name="plan.md", media_type="text/markdown", size=4, digest="4d0")
    old = replace(old, attachments=(note,))
    old = (await store.add(old, [b"plan"])).inquiry
    young, still_open = [(await store.add(each)).inquiry for each in (young, still_open)]
    await store.update(old.id, answering(at=asked))
    await store.update(young.id, answering(at=asked + 1))
    clock.now = asked + 30 * DAY + 0.5
    cutoffs: list[float] = []

    async def forget(before: float) -> int:
        cutoffs.append(before)
        return 7

    # Three questions and the first answer were written before the cutoff; the second answer was not.
    assert await Retention(store, 30 * DAY, forget).sweep() == 1 + 4 + 7
    assert cutoffs == [asked + 0.5]
    for name in (old.id, old.ref):
        with pytest.raises(UnknownInquiry):
            await store.get(name)
    with pytest.raises(UnknownInquiry):
        await store.attachment(old.id, 0)
    for kept in (young, still_open):
        assert (await store.get(kept.ref)).id == kept.id
    (last,) = await store.events(4)
    assert (last.type, last.inquiry) == ("answered", young.id)
    assert await Retention(store, 30 * DAY).sweep() == 0


async def test_no_fewer_days_can_be_set_than_a_ref_means_its_question(tmp_path: Path) -> None:
    home = Home(tmp_path)
    config = load(home, {"UPCALL_RETENTION_DAYS": "7"})
    with pytest.raises(InvalidSetting, match=r"retention\.days"):
        async with assembled(home, config, "http://127.0.0.1:1", lambda: config):
            pass
