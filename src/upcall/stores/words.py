"""The index of words: what a row adds to it, and what a query looks up in it. How words are kept is each store's own."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple

from upcall.domain.errors import DamagedRow
from upcall.domain.inquiry import searching
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.ports.store import Query
from upcall.stores import codec
from upcall.stores.damage import log_once

AT_ONCE = 200
"""How many inquiries a search indexes in one step; other writes go on between the steps."""

MOST_STEPS = 5
"""Steps that one search takes. What changes all the time is indexed in the background; only a restored or an older database has more."""


class Words(NamedTuple):
    """The words of an inquiry in one state, separated by spaces."""

    number: int
    state: str
    words: str


def words_in(rows: Iterable[Sequence[Any]], decode: Callable[[Sequence[Any]], Inquiry]) -> list[Words]:
    """The words of rows that begin with a number and go on with `codec.COLUMNS`."""
    found: list[Words] = []
    for number, *columns in rows:
        state, words = columns[codec.STATE], ""
        try:
            words = " ".join([searching.state_mark(state), *searching.words_of(decode(columns))])
        except DamagedRow as problem:
            # Without words it is not found, and those after it are.
            log_once(problem)
        found.append(Words(number, state, words))
    return found


def marks(query: Query) -> list[str]:
    """The marks of what a query is narrowed to. Closed ones are most of all there is: no mark makes that list shorter."""
    found = [] if query.workspace is None else [searching.workspace_mark(query.workspace)]
    if query.agent is not None:
        found.append(searching.agent_mark(query.agent))
    if query.kind is not None:
        found.append(searching.kind_mark(query.kind))
    if query.run is not None:
        found.append(searching.run_mark(query.run))
    if query.state is not None and query.state != "closed":
        found.append(searching.state_mark(query.state))
    return found


async def caught_up(index_words: Callable[[int], Awaitable[int]]) -> bool:
    """Index what has changed a moment ago, before a search; False where there is more than one search should wait for."""
    for _ in range(MOST_STEPS):
        if await index_words(AT_ONCE) < AT_ONCE:
            return True
    return False
