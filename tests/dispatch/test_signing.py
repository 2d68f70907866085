"""What is signed: for one purpose, for a time, by keys that the whole installation shares."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from upcall.access.signing import KEY_SECONDS, Forged, Signed, Signing, TooOld
from upcall.domain.records import Record
from upcall.stores.sqlite.store import SqliteStore

DAY = 86400.0


class Clock:
    """Time that moves only when it is told to."""

    now = 1_800_000_000.5

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock of the test's own."""
    return Clock()


@pytest.fixture
async def store(tmp_path: Path, clock: Clock) -> AsyncIterator[SqliteStore]:
    """Where keys are kept."""
    opened = await SqliteStore.open(tmp_path / "upcall.db", clock=clock)
    yield opened
    await opened.close()


async def test_what_was_signed_comes_back_with_its_time(store: SqliteStore, clock: Clock) -> None:
    signing = Signing(store, clock)
    signed = await signing.sign("letter", ("a", "ü\n", ""))
    assert signed.replace("-", "").replace("_", "").replace(".", "").isalnum()
    read = await signing.read("letter", signed, DAY)
    assert (read.values, read.at) == (("a", "ü\n", ""), 1_800_000_000)


async def test_a_signature_is_worthless_for_another_purpose_changed_or_too_old(
    store: SqliteStore, clock: Clock
) -> None:
    signing = Signing(store, clock)
    with pytest.raises(Forged):
        await signing.read("letter", "a.b.c", DAY)
    signed = await signing.sign("letter", ("a",))
    for bad in (signed[:-1], f"x{signed}", "", "..", signed.replace(".", "", 1), "é" * 30):
        with pytest.raises(Forged):
            await signing.read("letter", bad, DAY)
    with pytest.raises(Forged):
        await signing.read("parcel", signed, DAY)
    clock.now += DAY + 1
    with pytest.raises(TooOld):
        await signing.read("letter", signed, DAY)


async def test_everybody_on_the_store_has_the_same_keys(store: SqliteStore, clock: Clock) -> None:
    one, other = Signing(store, clock), Signing(store, clock)
    assert (await other.read("letter", await one.sign("letter", ("a",)), DAY)).values == ("a",)
    clock.now += KEY_SECONDS
    # The other one has not heard of the new key yet.
    assert (await other.read("letter", await one.sign("letter", ("b",)), DAY)).values == ("b",)


async def test_forgeries_cost_one_look_a_second_and_keep_nobody_out(
    store: SqliteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Signing(store, clock), Signing(store, clock)
    signed = await one.sign("letter", ("a",))
    looks = 0
    look_up = store.look_up

    async def counted(kind: str, key: str) -> Record | None:
        nonlocal looks
        looks += 1
        return await look_up(kind, key)

    monkeypatch.setattr(store, "look_up", counted)
    tried = [other.read("letter", each, DAY) for each in (*["a.b.c"] * 20, signed)]
    *forged, good = await asyncio.gather(*tried, return_exceptions=True)
    assert isinstance(good, Signed)
    assert all(isinstance(each, Forged) for each in forged)
    assert not await other.has_stamped("address", "ana", "x")
    assert looks == 1
    clock.now += KEY_SECONDS
    assert (await other.read("letter", await one.sign("letter", ("b",)), DAY)).values == ("b",)
    assert looks == 2


async def test_a_key_is_replaced_after_a_month_and_kept_for_another(store: SqliteStore, clock: Clock) -> None:
    signing = Signing(store, clock)
    first = await signing.stamp("address", "ana")
    clock.now += KEY_SECONDS
    second = await signing.stamp("address", "ana")
    assert second != first
    assert await Signing(store, clock).has_stamped("address", "ana", first)
    assert await Signing(store, clock).has_stamped("address", "ana", second)
    clock.now += KEY_SECONDS
    await signing.stamp("address", "ana")
    assert not await Signing(store, clock).has_stamped("address", "ana", first)


async def test_a_stamp_is_short_and_for_one_text_and_purpose(store: SqliteStore, clock: Clock) -> None:
    signing = Signing(store, clock)
    assert not await signing.has_stamped("address", "ana", "")
    stamp = await signing.stamp("address", "ana")
    assert (len(stamp), stamp) == (16, stamp.lower())
    assert await signing.has_stamped("address", "ana", stamp)
    for purpose, text, tried in (("address", "ben", stamp), ("other", "ana", stamp), ("address", "ana", "ü")):
        assert not await signing.has_stamped(purpose, text, tried)
