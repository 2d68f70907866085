"""Statements that are sent in one go: all of them are answered, or the first that fails is told."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from upcall.stores.postgres.connection import Connection, Result
from upcall.stores.postgres.connector import Connector
from upcall.stores.postgres.errors import is_lost

COUNTED = "SELECT %s::int + 1"


@pytest.fixture(params=[False, True], ids=["prepared", "pooled"])
async def connection(request: pytest.FixtureRequest, address: str) -> AsyncIterator[Connection]:
    opened = await Connector(address, pooled=request.param).connect()
    yield opened
    await opened.close()


async def test_each_statement_has_its_own_result_in_their_order(connection: Connection) -> None:
    for _ in range(2):
        results = await connection.in_one_go(
            [
                ("CREATE TEMPORARY TABLE seen (word TEXT)", ()),
                ("INSERT INTO seen SELECT unnest(%s::text[])", (["a", "b", 'c"\\'],)),
                ("SELECT word FROM seen ORDER BY word", ()),
                (COUNTED, (1,)),
                (COUNTED, (2,)),
                ("DROP TABLE seen", ()),
            ]
        )
        assert results[1].concerned == 3
        assert results[2:5] == [
            Result([("a",), ("b",), ('c"\\',)], 3),
            Result([(2,)], 1),
            Result([(3,)], 1),
        ]


async def test_after_the_first_failure_nothing_is_done_and_the_next_batch_is(connection: Connection) -> None:
    await connection.in_one_go([("CREATE TEMPORARY TABLE kept (word TEXT)", ())])
    written = "INSERT INTO kept VALUES (%s)"
    for _ in range(2):
        with pytest.raises(psycopg.errors.DivisionByZero):
            await connection.in_one_go(
                [("BEGIN", ()), ("SELECT 1 / %s", (0,)), (written, ("x",)), ("COMMIT", ())]
            )
        await connection.execute("ROLLBACK")
    _, kept = await connection.in_one_go([(written, ("y",)), ("SELECT word FROM kept", ())])
    assert kept.rows == [("y",)]


async def test_more_than_a_socket_holds_passes_both_ways_at_once(connection: Connection) -> None:
    texts = [chr(97 + number) * 300_000 for number in range(20)]
    results = await connection.in_one_go([("SELECT %s::text", (text,)) for text in texts])
    assert [result.rows for result in results] == [[(text,)] for text in texts]


async def test_what_cannot_be_put_into_words_is_refused_with_nothing_under_way(
    connection: Connection,
) -> None:
    with pytest.raises(UnicodeEncodeError):
        await connection.in_one_go([(COUNTED, (1,)), ("SELECT %s::text", ("\ud800",))])
    assert await connection.in_one_go([(COUNTED, (1,))]) == [Result([(2,)], 1)]


async def test_a_session_that_the_server_ends_is_known_to_be_over(
    connection: Connection, address: str
) -> None:
    process = connection.info.backend_pid
    with psycopg.connect(address, autocommit=True) as administrator:
        administrator.execute("SELECT pg_terminate_backend(%s, 5000)", (process,))
    with pytest.raises(psycopg.OperationalError) as failure:
        await connection.in_one_go([(COUNTED, (1,))])
    assert is_lost(failure.value)


async def test_notifications_are_told_with_the_process_that_sent_them(connection: Connection) -> None:
    await connection.execute("LISTEN upcall_test")
    await connection.in_one_go([("SELECT pg_notify('upcall_test', %s)", ("é",))])
    assert [(news.process, news.text) for news in connection.told()] == [(connection.info.backend_pid, "é")]
