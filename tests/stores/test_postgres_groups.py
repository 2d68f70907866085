"""How writes share transactions in PostgreSQL, and what one that fails does to the others."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from upcall.domain.errors import InvalidRequest, StorageError
from upcall.domain.inquiry.inquiry import Change, Inquiry
from upcall.domain.records import Happening
from upcall.ports.store import Query
from upcall.stores.postgres import statements
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import HOUR, NOW, Clock, a_token, an_inquiry, answering


@pytest.fixture
def listener(shared: PostgresStore, address: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(address, autocommit=True) as opened:
        opened.execute("LISTEN upcall")
        yield opened


@pytest.fixture
async def one_by_one(address: str, clock: Clock) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(address, clock=clock, max_group=1)
    yield opened
    await opened.close()


def told(listener: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    # Notifications come before the answer to a statement that is sent after them.
    listener.execute("SELECT 1")
    return [news.payload for news in listener.notifies(timeout=0)]


async def test_writes_at_the_same_time_share_a_commit_and_one_notification(
    shared: PostgresStore, listener: psycopg.Connection[tuple[object, ...]]
) -> None:
    await asyncio.gather(*[shared.add(an_inquiry()) for _ in range(100)])
    news = told(listener)
    # The first may have been alone or not: a transaction takes the work that is there when it begins.
    assert len(news) <= 2
    assert news[-1] == "100"


async def test_a_group_of_one_gives_every_write_its_own_commit(
    one_by_one: PostgresStore, listener: psycopg.Connection[tuple[object, ...]]
) -> None:
    await asyncio.gather(*[one_by_one.add(an_inquiry()) for _ in range(20)])
    assert told(listener) == [str(number) for number in range(1, 21)]


async def test_nothing_to_write_sends_no_notification(
    shared: PostgresStore, listener: psycopg.Connection[tuple[object, ...]]
) -> None:
    added = (await shared.add(an_inquiry(request_key="1"))).inquiry
    await shared.add(an_inquiry(request_key="1"))
    await shared.update(added.id, lambda _: None)
    await shared.put_token(a_token())
    assert told(listener) == ["1"]


async def test_one_that_the_database_refuses_fails_alone_and_in_our_words(shared: PostgresStore) -> None:
    first = an_inquiry()
    asked = [first, an_inquiry(), an_inquiry(id=first.id), an_inquiry()]
    results = await asyncio.gather(*[shared.add(each) for each in asked], return_exceptions=True)
    assert [type(result).__name__ for result in results] == ["Added", "Added", "StorageError", "Added"]
    assert [event.seq for event in await shared.events(0)] == [1, 2, 3]
    page = await shared.find(Query(state="open"))
    assert [each.id for each in page.items] == [asked[0].id, asked[1].id, asked[3].id]


async def test_members_of_a_group_see_what_those_before_them_did(shared: PostgresStore) -> None:
    asked = an_inquiry(request_key="1")
    added, answered, again, late = await asyncio.gather(
        shared.add(asked),
        shared.update(asked.id, answering("Red")),
        shared.add(an_inquiry(request_key="1")),
        shared.update(asked.id, answering("Blue", by="ben")),
    )
    assert added.created
    assert answered.applied
    assert again.inquiry == answered.inquiry == late.inquiry
    assert not late.applied
    assert await shared.get(asked.id) == answered.inquiry


async def test_even_what_a_loop_cannot_carry_reaches_its_caller(shared: PostgresStore) -> None:
    def stop(_: Inquiry) -> Change | None:
        raise StopIteration

    def leave(_: Inquiry) -> Change | None:
        raise SystemExit

    added = (await shared.add(an_inquiry())).inquiry
    with pytest.raises(RuntimeError):
        await shared.update(added.id, stop)
    with pytest.raises(SystemExit):
        await shared.update(added.id, leave)
    assert (await shared.update(added.id, answering())).applied


async def test_half_a_character_is_kept_in_a_text_but_names_nothing(shared: PostgresStore) -> None:
    half = "\ud83d"
    added = (await shared.add(an_inquiry(context=half))).inquiry
    assert (await shared.find(Query())).items == (added,)
    with pytest.raises(InvalidRequest):
        await shared.add(an_inquiry(request_key=half))
    with pytest.raises(InvalidRequest):
        await shared.find(Query(agent=half))


async def test_numbers_of_two_stores_are_one_log_without_gaps(
    shared: PostgresStore, other: PostgresStore
) -> None:
    async def work(store: PostgresStore, number: int) -> None:
        added = await store.add(an_inquiry(session=f"{number}"))
        await (other if number % 2 else shared).update(added.inquiry.id, answering())

    await asyncio.gather(*[work(store, number) for number in range(60) for store in (shared, other)])
    for store in (shared, other):
        seen: list[int] = []
        while len(seen) < 240:
            seen += [event.seq for event in await store.events(len(seen), wait=HOUR)]
        assert seen == list(range(1, 241))
    assert await shared.count_open() == 0


async def test_one_request_at_two_stores_at_once_is_one_inquiry(
    shared: PostgresStore, other: PostgresStore
) -> None:
    stores = (shared, other) * 20
    added = await asyncio.gather(*[store.add(an_inquiry(request_key="call-1")) for store in stores])
    assert sum(each.created for each in added) == 1
    assert len({each.inquiry.id for each in added}) == 1


async def test_of_two_answers_at_two_stores_one_stands_and_both_hear_which(
    shared: PostgresStore, other: PostgresStore
) -> None:
    asked = [(await shared.add(an_inquiry())).inquiry.id for _ in range(30)]
    for name in asked:
        here, there = await asyncio.gather(
            shared.update(name, answering("Red", by="ana")), other.update(name, answering("Blue", by="ben"))
        )
        assert here.applied != there.applied
        assert here.inquiry == there.inquiry


async def test_what_another_store_wrote_is_read_at_once(shared: PostgresStore, other: PostgresStore) -> None:
    added = (await shared.add(an_inquiry())).inquiry
    done = await other.update(added.ref, answering())
    assert await shared.get(added.id) == done.inquiry
    assert await shared.get(added.ref) == done.inquiry


async def test_an_event_of_another_store_comes_with_the_inquiry_that_it_left(
    shared: PostgresStore, other: PostgresStore
) -> None:
    waiting = asyncio.create_task(shared.events(0, wait=HOUR))
    await asyncio.sleep(0)
    asked = an_inquiry()
    _, done = await asyncio.gather(other.add(asked), other.update(asked.id, answering()))
    # The two were one transaction; no reader has seen the inquiry between them.
    assert [event.subject for event in await waiting] == [None, done.inquiry]


async def test_open_inquiries_of_two_stores_never_share_a_ref(
    shared: PostgresStore, other: PostgresStore
) -> None:
    added = await asyncio.gather(*[store.add(an_inquiry()) for _ in range(150) for store in (shared, other)])
    assert len({each.inquiry.ref for each in added}) == 300


async def test_a_daemon_stopped_in_the_middle_of_a_transaction_does_not_hold_others_up_for_long(
    shared: PostgresStore, address: str
) -> None:
    # What a process leaves that was halted after it took the lock; the server ends its transaction.
    with psycopg.connect(address, autocommit=True) as stopped:
        stopped.execute(statements.BEGIN)
        stopped.execute(statements.LOCK, ("10s", "100ms", "10s"))
        assert (await shared.add(an_inquiry())).created
        with pytest.raises(psycopg.Error, match="idle-in-transaction"):
            stopped.execute("UPDATE upcall.counter SET last_seq = 100")
    assert (await shared.record(Happening(type="tick", at=NOW, data={}))).seq == 2


async def test_a_daemon_stopped_between_two_statements_of_one_message_does_not_hold_others_up_either(
    shared: PostgresStore, address: str
) -> None:
    async def hold_up() -> None:
        with psycopg.connect(address, autocommit=True) as stopped, stopped.pipeline():
            stopped.execute(statements.BEGIN)
            assert stopped.execute(statements.LOCK, ("10s", "10s", "100ms")).fetchone() is not None
            assert (await shared.add(an_inquiry())).created
            stopped.execute("UPDATE upcall.counter SET last_seq = 100")

    with pytest.raises(psycopg.OperationalError, match="closed the connection"):
        await hold_up()
    assert (await shared.record(Happening(type="tick", at=NOW, data={}))).seq == 2


async def test_a_lock_that_is_never_let_go_is_an_error_of_ours_for_the_whole_group(
    shared: PostgresStore, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "LOCKED", 0.1)
    with psycopg.connect(address) as other:
        other.execute("SELECT 1 FROM upcall.counter FOR UPDATE")
        results = await asyncio.gather(*[shared.add(an_inquiry()) for _ in range(50)], return_exceptions=True)
    assert {type(result) for result in results} == {StorageError}
    assert "locked" in str(results[0])
    assert (await shared.add(an_inquiry())).created


async def test_a_server_that_acknowledges_too_early_is_told_not_to(address: str, clock: Clock) -> None:
    name = conninfo_to_dict(address)["dbname"]
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} SET synchronous_commit = off".encode())
    store = await PostgresStore.open(address, clock=clock)
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(
            """
            CREATE TABLE setting (value TEXT);
            CREATE FUNCTION note() RETURNS TRIGGER LANGUAGE plpgsql AS
                'BEGIN INSERT INTO setting VALUES (current_setting(''synchronous_commit'')); RETURN NULL; END';
            CREATE TRIGGER note AFTER INSERT ON upcall.event EXECUTE FUNCTION note();
            """
        )
        await store.add(an_inquiry())
        assert admin.execute("SELECT value FROM setting").fetchall() == [("on",)]
    await store.close()
