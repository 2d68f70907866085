"""The beginning of a writing transaction: takes the lock of all writers, and reads what its decisions need."""

from collections.abc import Sequence

from upcall.stores.postgres import statements
from upcall.stores.postgres.connection import Connection, Statement
from upcall.stores.postgres.free_refs import FreeRefs
from upcall.stores.postgres.group import Group, Known
from upcall.stores.postgres.jobs import Errands
from upcall.stores.postgres.rows import columns, is_text, keep, located, plain
from upcall.stores.postgres.staged_ledger import RECORD
from upcall.stores.postgres.work import Adding, Outright, Revising, Revoking, Updating, UpdatingAll, Work

RECORDS = f"""
    SELECT {RECORD} FROM upcall.record WHERE (kind, key) IN (SELECT * FROM unnest(%s::text[], %s::text[]))
"""  # noqa: S608 - our own constant; values are bound


async def begin(connection: Connection, works: Sequence[Work], refs: FreeRefs) -> Group:
    """Begin a transaction, in one round trip unless refs are hard to find.

    The counter's is the only lock. Every writer takes it, so what is read here stays as it is until the commit.
    """
    adding = [work for work in works if isinstance(work, Adding)]
    names = [work.name for work in works if isinstance(work, Updating) and is_text(work.name)]
    several = (name for work in works if isinstance(work, UpdatingAll) for name in work.names)
    names += filter(is_text, several)
    keys = [tuple(map(keep, work.key)) for work in adding if work.key is not None]
    tokens = [keep(work.name) for work in works if isinstance(work, Revoking)]
    records = [(keep(work.kind), keep(work.key)) for work in works if isinstance(work, Revising)]
    errands = Errands([work for work in works if isinstance(work, Outright)])
    asked: dict[str, Statement] = {
        "begin": (statements.BEGIN, ()),
        "counter": statements.locked(),
    }
    if names:
        asked["named"] = located(names)
    if keys:
        asked["before"] = statements.ASKED_BEFORE, columns(keys)
    if adding:
        asked["taken"] = statements.TAKEN, (refs.offer(), refs.rested)
    if tokens:
        asked["tokens"] = statements.KNOWN_TOKENS, (tokens,)
    if records:
        asked["records"] = RECORDS, columns(records)
    results = await connection.in_one_go([*asked.values(), *errands.statements()])
    rows = {name: result.rows for name, result in zip(asked, results, strict=False)}
    if adding:
        refs.settle({ref for (ref,) in rows["taken"]})
    while refs.unnamed:
        more = await connection.execute(statements.TAKEN, (refs.offer(), refs.rested))
        refs.settle({ref for (ref,) in await more.fetchall()})
    ((last_seq, last_number, *_),) = rows["counter"]
    done = errands.done(results[len(asked) :])
    return Group(
        Known(
            last_seq=last_seq,
            last_number=last_number,
            named=rows.get("named", ()),
            asked_before=rows.get("before", ()),
            tokens=[plain(name) for (name,) in rows.get("tokens", ())],
            records=rows.get("records", ()),
            done=done,
            wrote=errands.wrote,
        ),
        refs.chosen,
    )
