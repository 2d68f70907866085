"""Words in PostgreSQL: a GIN index finds rare words, and the latest inquiries are looked through for common ones."""

from typing import Any

from upcall.domain.inquiry import searching
from upcall.ports.store import Query
from upcall.stores import codec
from upcall.stores.listing import Listing, is_of_open, listing, position
from upcall.stores.postgres.rows import MOST, columns, decode, keep
from upcall.stores.words import marks, words_in

WINDOW = 4000
"""How many of the latest inquiries are looked through first. What fills no page from these is rare enough for the index."""

UNINDEXED = f"""
    SELECT number, {codec.COLUMNS} FROM upcall.inquiry WHERE searched IS DISTINCT FROM '2:' || state
    ORDER BY number DESC LIMIT %s
"""  # noqa: S608 - our own constant; values are bound
# Rows that a writer has locked are left for the next step, so that neither waits for the other.
INDEX = """
    WITH new AS (
        SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS new (number, state, words)
    ), free AS (
        SELECT inquiry.number FROM upcall.inquiry JOIN new ON inquiry.number = new.number AND inquiry.state = new.state
        FOR UPDATE OF inquiry SKIP LOCKED
    ), marked AS (
        UPDATE upcall.inquiry SET searched = '2:' || state FROM free WHERE inquiry.number = free.number
    ), written AS (
        INSERT INTO upcall.inquiry_words (number, words)
        SELECT new.number, array_to_tsvector(string_to_array(new.words, ' ')) FROM new JOIN free USING (number)
        ON CONFLICT (number) DO UPDATE SET words = EXCLUDED.words
        RETURNING number
    )
    SELECT count(*) FROM written
"""
_OPEN = """
    upcall.inquiry JOIN upcall.inquiry_words AS found ON found.number = inquiry.number WHERE found.words @@ %s::tsquery
"""
_LATEST = """
    (SELECT number, words FROM upcall.inquiry_words WHERE number < %s ORDER BY number DESC LIMIT %s) AS found
    JOIN upcall.inquiry ON inquiry.number = found.number WHERE found.words @@ %s::tsquery
"""
# Not in the order of numbers, which would be to look through everything until enough is found.
_FOUND = """
    (SELECT number FROM upcall.inquiry_words WHERE number < %s AND words @@ %s::tsquery OFFSET 0) AS found
    JOIN upcall.inquiry ON inquiry.number = found.number WHERE TRUE
"""
Statement = tuple[bytes, list[object]]


def words(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """The values of `INDEX` for rows of `UNINDEXED`."""
    return columns(words_in(rows, decode))


def statements(query: Query) -> list[Statement]:
    """What to ask, one after the other, until a page is full.

    Raises:
        InvalidRequest: if the state, the limit or the cursor is not one.
    """
    made = listing(query, "found.number")
    words = searching.wanted(query.text)
    if query.text.strip() and not words:
        # A text without a single word is in no inquiry.
        return []
    # Words are letters and digits, so none of them ends its quotation marks.
    wanted = " & ".join([*[f"'{word}':*" for word in words], *[f"'{mark}'" for mark in marks(query)]])
    further = [keep(value) if isinstance(value, str) else value for value in made.values]
    last = min(query.limit + 1, MOST)
    if is_of_open(query):
        return [_statement(_OPEN, made, [wanted, *further, last])]
    before = MOST if query.cursor is None else position(query)
    return [
        _statement(_LATEST, made, [before, WINDOW, wanted, *further, last]),
        _statement(_FOUND, made, [before, wanted, *further, last]),
    ]


def _statement(found: str, made: Listing, values: list[object]) -> Statement:
    sql = f"""
        SELECT inquiry.number, closed_at, {codec.COLUMNS} FROM {found} AND {made.where.replace("?", "%s")}
        ORDER BY {made.by} LIMIT %s
    """  # noqa: S608 - every part is one of our own constants
    return sql.encode(), values
