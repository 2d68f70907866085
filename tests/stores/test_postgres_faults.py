"""When the server or the way to it fails: nothing is lost, nothing is done twice, and on it goes."""

import asyncio

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.postgres_server import PostgresServer
from tests.stores.wire_tap import WireTap
from upcall.domain.errors import InvalidSetting, NewerDatabase, StorageError
from upcall.domain.records import Happening
from upcall.ports.store import Query
from upcall.stores.postgres.schema import migrations
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import HOUR, NOW, Clock, an_inquiry, answering

# As it is sent: with the end of a statement, for BEGIN speaks of what is COMMITTED.
COMMIT = b"COMMIT\0"
TICK = Happening(type="tick", at=NOW, data={})


def drop_connections(address: str) -> int:
    """What an administrator does; how many there were."""
    with psycopg.connect(address, autocommit=True) as admin:
        ended = admin.execute(
            """
            SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """
        )
        return len(ended.fetchall())


async def test_a_server_that_is_not_there_is_a_clear_error_without_the_password() -> None:
    with pytest.raises(StorageError, match="cannot reach the database") as refused:
        await PostgresStore.open("postgresql://ana:open-sesame@127.0.0.1:1/upcall")
    assert "'postgresql://127.0.0.1:1/upcall'" in refused.value.message
    assert "sesame" not in refused.value.message + str(refused.value.hint)


async def test_what_is_not_an_address_is_refused_without_repeating_it() -> None:
    with pytest.raises(InvalidSetting, match="not an address") as refused:
        await PostgresStore.open("postgresql://ana:open%sesame@host/upcall")
    assert "sesame" not in refused.value.message


async def test_a_database_that_does_not_exist_is_a_clear_error(postgres: PostgresServer) -> None:
    with pytest.raises(StorageError, match='database "nothing" does not exist'):
        await PostgresStore.open(postgres.address("nothing"))


async def test_a_server_that_takes_no_more_connections_says_so(
    postgres: PostgresServer, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS narrow; CREATE ROLE narrow LOGIN CONNECTION LIMIT 2")
        admin.execute("CREATE SCHEMA upcall AUTHORIZATION narrow")
    narrow = address.replace("postgres@", "narrow@")
    with psycopg.connect(narrow), psycopg.connect(narrow), pytest.raises(StorageError) as refused:
        await PostgresStore.open(narrow)
    assert "takes no more connections" in refused.value.message
    assert refused.value.hint is not None

    # A server goes on counting connections for a moment after they were closed.
    gone = "SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'narrow'"
    with psycopg.connect(address, autocommit=True) as admin:
        while admin.execute(gone).fetchone() != (True,):
            pass
    # One to listen and one to read with are all that there are, and none to write with.
    store = await PostgresStore.open(narrow, patience=2.0)
    await store.find(Query())
    with pytest.raises(StorageError, match="takes no more connections"):
        await store.add(an_inquiry())
    assert "takes no more connections; trying again" in caplog.text
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute("ALTER ROLE narrow CONNECTION LIMIT 3")
    assert (await store.add(an_inquiry())).created
    await store.close()


async def test_a_role_that_may_not_make_the_schema_is_told_what_it_needs(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    with pytest.raises(StorageError, match="permission denied") as refused:
        await PostgresStore.open(address.replace("postgres@", "guest@"))
    assert "owner" in str(refused.value.hint)


async def test_a_database_of_a_newer_version_is_refused_and_left_alone(address: str) -> None:
    await (await PostgresStore.open(address)).close()
    newer = migrations()[-1].number + 1
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute("UPDATE upcall.version SET number = %s", (newer,))
        with pytest.raises(NewerDatabase, match=f"version {newer}"):
            await PostgresStore.open(address)
        assert admin.execute("SELECT number FROM upcall.version").fetchall() == [(newer,)]


async def test_a_schema_of_another_program_is_refused_and_left_alone(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute("CREATE SCHEMA upcall CREATE TABLE recipe (name TEXT)")
        with pytest.raises(StorageError, match="another program"):
            await PostgresStore.open(address)
        found = admin.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'upcall'")
        assert found.fetchall() == [("recipe",)]


async def test_a_database_that_cannot_keep_every_text_is_refused(
    postgres: PostgresServer, address: str
) -> None:
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute("CREATE DATABASE upcall_western ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StorageError, match="LATIN1"):
        await PostgresStore.open(postgres.address("upcall_western"))


async def test_daemons_that_start_at_once_make_the_schema_once(address: str) -> None:
    stores = await asyncio.gather(*[PostgresStore.open(address) for _ in range(5)])
    assert [(await store.record(TICK)).seq for store in stores] == [1, 2, 3, 4, 5]
    await asyncio.gather(*[store.close() for store in stores])


async def test_dropped_connections_are_made_again_when_they_are_needed(
    shared: PostgresStore, other: PostgresStore, address: str
) -> None:
    added = (await shared.add(an_inquiry())).inquiry
    await shared.find(Query())
    waiting = asyncio.create_task(shared.events(2, wait=HOUR))
    assert drop_connections(address) >= 4

    assert (await shared.update(added.id, answering())).applied
    assert [each.id for each in (await shared.find(Query())).items] == [added.id]
    # Told by the other one, over a connection that had to be made again.
    await other.record(TICK)
    assert [event.type for event in await waiting] == ["tick"]


async def test_a_server_that_crashes_under_load_costs_nothing_that_was_acknowledged(
    postgres: PostgresServer, shared: PostgresStore
) -> None:
    kept: list[str] = []
    enough = asyncio.Event()

    async def work() -> None:
        while len(kept) < 600:
            added = await shared.add(an_inquiry())
            await shared.update(added.inquiry.id, answering())
            kept.append(added.inquiry.id)
            if len(kept) >= 100:
                enough.set()

    working = [asyncio.create_task(work()) for _ in range(20)]
    await enough.wait()
    await asyncio.to_thread(postgres.stop, "immediate")
    await asyncio.to_thread(postgres.start)
    await asyncio.gather(*working)

    page = await shared.find(Query(state="answered", limit=10_000))
    assert {each.id for each in page.items} == set(kept)
    events = await shared.events(0, limit=10_000)
    assert [event.seq for event in events] == list(range(1, 2 * len(kept) + 1))


async def test_a_commit_that_never_reached_the_server_is_made_once(
    shared: PostgresStore, tap: WireTap, address: str, clock: Clock
) -> None:
    await _answers_once_though(shared, tap, address, clock, before=True)


async def test_a_commit_with_a_lost_confirmation_is_not_made_again(
    shared: PostgresStore, tap: WireTap, address: str, clock: Clock
) -> None:
    await _answers_once_though(shared, tap, address, clock, before=False)


async def _answers_once_though(
    shared: PostgresStore, tap: WireTap, address: str, clock: Clock, *, before: bool
) -> None:
    store = await PostgresStore.open(tap.address(address), clock=clock)
    added = (await store.add(an_inquiry())).inquiry
    if before:
        tap.cut_before = COMMIT
    else:
        tap.cut_after = COMMIT
    done = await store.update(added.id, answering("Red", by="ana"))
    new = await store.add(an_inquiry())

    assert tap.cuts == 1
    assert done.applied
    assert new.created
    for each in (store, shared):
        assert await each.get(added.id) == done.inquiry
        seen: list[str] = []
        while len(seen) < 3:
            seen += [event.type for event in await each.events(len(seen), wait=HOUR)]
        assert seen == ["asked", "answered", "asked"]
    await store.close()


async def test_a_commit_of_which_nothing_can_be_learned_is_called_unknown(
    tap: WireTap, address: str, clock: Clock
) -> None:
    store = await PostgresStore.open(tap.address(address), clock=clock, patience=0.05)
    await store.add(an_inquiry())
    tap.cut_after, tap.for_good = COMMIT, True
    with pytest.raises(StorageError, match="not known"):
        await store.add(an_inquiry())
    await tap.stop()
    await tap.start()
    assert (await store.add(an_inquiry())).created
    await store.close()


async def test_a_database_that_is_away_too_long_is_an_error_and_comes_back_by_itself(
    tap: WireTap, address: str, clock: Clock
) -> None:
    store = await PostgresStore.open(tap.address(address), clock=clock, patience=0.05)
    added = (await store.add(an_inquiry())).inquiry
    await tap.stop()
    results = await asyncio.gather(
        store.add(an_inquiry()),
        store.update(added.id, answering()),
        store.get(added.id),
        store.find(Query()),
        return_exceptions=True,
    )
    assert {type(result) for result in results} == {StorageError}
    await tap.start()
    assert (await store.update(added.id, answering())).applied
    assert (await store.get(added.id)).state_name == "answered"
    await store.close()


async def test_a_server_that_only_reads_is_left_for_another_as_soon_as_there_is_one(
    postgres: PostgresServer, address: str, clock: Clock
) -> None:
    store = await PostgresStore.open(address, clock=clock, patience=0.05)
    name = conninfo_to_dict(address)["dbname"]
    with psycopg.connect(postgres.address(), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
        drop_connections(address)
        with pytest.raises(StorageError, match="can only be read"):
            await store.add(an_inquiry())
        admin.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())
    # No connection was kept that would go on refusing.
    assert (await store.add(an_inquiry())).created
    await store.close()


async def test_a_missed_notification_costs_a_moment_and_never_an_event(
    shared: PostgresStore, tap: WireTap, address: str, clock: Clock
) -> None:
    deaf = await PostgresStore.open(address, direct=tap.address(address), clock=clock, safety=0.05)
    tap.mute = True
    waiting = asyncio.create_task(deaf.events(0, wait=HOUR))
    await asyncio.sleep(0)
    added = (await shared.add(an_inquiry())).inquiry
    assert [event.inquiry for event in await waiting] == [added.id]
    await deaf.close()


async def test_events_from_while_the_listener_was_away_are_read_on_the_next_connection(
    shared: PostgresStore, tap: WireTap, address: str, clock: Clock
) -> None:
    away = await PostgresStore.open(address, direct=tap.address(address), clock=clock, safety=HOUR)
    await tap.stop()
    waiting = asyncio.create_task(away.events(0, wait=HOUR))
    added = (await shared.add(an_inquiry())).inquiry
    await tap.start()
    assert [event.inquiry for event in await waiting] == [added.id]
    await away.close()


async def test_noise_on_the_channel_is_only_noise(shared: PostgresStore, address: str) -> None:
    with psycopg.connect(address, autocommit=True) as other:
        for payload in ("", "9" * 30, "what?"):
            other.execute("SELECT pg_notify('upcall', %s)", (payload,))
    event = await shared.record(TICK)
    assert list(await shared.events(0)) == [event]


async def test_a_closed_store_has_let_go_of_every_connection(tap: WireTap, address: str) -> None:
    store = await PostgresStore.open(tap.address(address))
    await asyncio.gather(*[store.find(Query()) for _ in range(20)], store.add(an_inquiry()))
    assert tap.connections
    await store.close()
    await store.close()
    # A connection that was left open would now hang.
    await tap.all_gone()


@pytest.mark.promise("proof/28")
async def test_a_read_that_is_cancelled_while_its_connection_is_lost_ends(address: str) -> None:
    """A daemon that ends cancels its reads, and would wait for ever for one that is tried again instead."""
    waiting = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    store = await PostgresStore.open(address)
    try:
        with psycopg.connect(address) as holder, psycopg.connect(address, autocommit=True) as admin:
            holder.execute("LOCK TABLE upcall.job IN ACCESS EXCLUSIVE MODE")
            reading = asyncio.create_task(store.next_due(["resume"], ""))
            while (found := admin.execute(waiting).fetchone()) is None:  # noqa: ASYNC110 - the server tells nothing by itself
                await asyncio.sleep(0.01)
            reading.cancel()
            admin.execute("SELECT pg_terminate_backend(%s, 5000)", found)
            await asyncio.wait([reading], timeout=30)
            assert reading.cancelled()
    finally:
        await store.close()
