"""What a writing transaction does first: takes the lock that everybody takes, and reads what its decisions need."""

from collections.abc import Sequence
from typing import Any

from upcall.stores.postgres import statements
from upcall.stores.postgres.book import RECORD
from upcall.stores.postgres.group import Group, Known
from upcall.stores.postgres.jobs import Sent
from upcall.stores.postgres.link import Connection, Cursor
from upcall.stores.postgres.naming import Naming
from upcall.stores.postgres.rows import columns, is_text, keep, located, plain
from upcall.stores.postgres.work import Adding, Outright, Revising, Revoking, Updating, Work

RECORDS = f"""
    SELECT {RECORD} FROM upcall.record WHERE (kind, key) IN (SELECT * FROM unnest(%s::text[], %s::text[]))
    ORDER BY kind, key FOR UPDATE
"""  # noqa: S608 - our own constant; values are bound


async def begin(connection: Connection, works: Sequence[Work], naming: Naming) -> Group:
    """Begin a transaction, in one round trip unless refs are hard to find.

    Rows are locked in the order of their names and after the counter: nobody waits in a circle.
    """
    adding = [work for work in works if isinstance(work, Adding)]
    names = [work.name for work in works if isinstance(work, Updating) and is_text(work.name)]
    keys = [tuple(map(keep, work.key)) for work in adding if work.key is not None]
    tokens = [keep(work.name) for work in works if isinstance(work, Revoking)]
    records = [(keep(work.kind), keep(work.key)) for work in works if isinstance(work, Revising)]
    named = asked = taken = known = kept = None
    sent = Sent()
    async with connection.pipeline():
        await connection.execute(statements.BEGIN)
        await connection.execute(statements.SETTINGS, (f"{statements.LOCKED}s", f"{statements.PAUSED}s"))
        counter = await connection.execute(statements.LOCK, (f"{statements.PAUSED}s",))
        if names:
            sql, values = located(names)
            named = await connection.execute(f"{sql} ORDER BY id FOR UPDATE", values)
        if keys:
            asked = await connection.execute(statements.ASKED_BEFORE, columns(keys))
        if adding:
            taken = await connection.execute(statements.TAKEN, (naming.offer(), naming.rested))
        if tokens:
            known = await connection.execute(statements.KNOWN_TOKENS, (tokens,))
        if records:
            kept = await connection.execute(RECORDS, columns(records))
        await sent.send(connection, [work for work in works if isinstance(work, Outright)])
    if taken is not None:
        naming.settle({ref for (ref,) in await taken.fetchall()})
    while naming.unnamed:
        more = await connection.execute(statements.TAKEN, (naming.offer(), naming.rested))
        naming.settle({ref for (ref,) in await more.fetchall()})
    ((last_seq, last_number, _),) = await counter.fetchall()
    return Group(
        Known(
            last_seq=last_seq,
            last_number=last_number,
            named=await _rows(named),
            asked_before=await _rows(asked),
            tokens=[plain(name) for (name,) in await _rows(known)],
            records=await _rows(kept),
            done=await sent.results(),
        ),
        naming.chosen,
    )


async def _rows(cursor: Cursor | None) -> list[tuple[Any, ...]]:
    return [] if cursor is None else await cursor.fetchall()
