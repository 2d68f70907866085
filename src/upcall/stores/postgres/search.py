"""Words in PostgreSQL: written down for what has changed since the last search, and looked up."""

from typing import Any

from upcall.domain.errors import DamagedRow
from upcall.domain.inquiry import searching
from upcall.ports.store import Query
from upcall.stores import codec
from upcall.stores.damage import log_once
from upcall.stores.postgres.rows import columns, decode
from upcall.stores.sqlite.search import marks

AT_ONCE = 200

FOUND = "number IN (SELECT number FROM upcall.inquiry_words WHERE words @@ %s::tsquery)"
UNSEARCHED = f"""
    SELECT number, {codec.COLUMNS} FROM upcall.inquiry WHERE searched IS DISTINCT FROM state ORDER BY number LIMIT %s
"""  # noqa: S608 - our own constant; values are bound
# Rows that a writer has locked are left for the next search, so that neither waits for the other.
CATCH_UP = """
    WITH new AS (
        SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS new (number, state, words)
    ), free AS (
        SELECT inquiry.number FROM upcall.inquiry JOIN new ON inquiry.number = new.number AND inquiry.state = new.state
        FOR UPDATE OF inquiry SKIP LOCKED
    ), marked AS (
        UPDATE upcall.inquiry SET searched = state FROM free WHERE inquiry.number = free.number
    ), written AS (
        INSERT INTO upcall.inquiry_words (number, words)
        SELECT new.number, array_to_tsvector(string_to_array(new.words, ' ')) FROM new JOIN free USING (number)
        ON CONFLICT (number) DO UPDATE SET words = EXCLUDED.words
        RETURNING number
    )
    SELECT count(*) FROM written
"""


def words(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """The values of `CATCH_UP` for rows of `UNSEARCHED`."""
    made: list[tuple[int, str, str]] = []
    for number, *values in rows:
        try:
            inquiry = decode(values)
            made.append((number, inquiry.state_name, " ".join(searching.words_of(inquiry))))
        except DamagedRow as problem:
            # Without words it is not found, and those after it are.
            log_once(problem)
            made.append((number, values[codec.STATE], ""))
    return columns(made)


def condition(query: Query) -> tuple[str, list[object]]:
    """The further condition of a search."""
    # Words are letters and digits, so none of them ends its quotation marks.
    wanted = [
        *[f"'{word}':*" for word in searching.wanted(query.text)],
        *[f"'{mark}'" for mark in marks(query)],
    ]
    return (FOUND, [" & ".join(wanted)]) if wanted else ("FALSE", [])
