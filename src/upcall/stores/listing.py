"""Lists as SQL: which rows, in which order, and the cursors of their pages, in words that every SQL database knows.

Placeholders are question marks; a store puts its own in their place.
"""

import math
from typing import NamedTuple

from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.inquiry import STATE_NAMES
from upcall.ports.store import Query
from upcall.stores.state_codec import QUEUED


class Listing(NamedTuple):
    """The parts of the statement that answers a query, and the index that was made for it. A search has no use for that index."""

    wheres: list[str]
    values: list[object]
    using: str | None
    by: str

    @property
    def where(self) -> str:
        """The conditions, joined by AND."""
        return " AND ".join(self.wheres) or "TRUE"


def listing(query: Query, number: str = "number") -> Listing:
    """The conditions and the order of a query; `number` names the column that the list is in the order of.

    Raises:
        InvalidRequest: if the state, the limit or the cursor is not one.
    """
    if query.limit < 1:
        raise InvalidRequest(f"limit {query.limit!r} is not a positive number")
    made = _BEGINNINGS[order(query)](query, number)
    if query.agent is not None:
        made.wheres.append("agent = ?")
        made.values.append(query.agent)
    if query.kind is not None:
        made.wheres.append("kind = ?")
        made.values.append(query.kind.value)
    if query.run is not None:
        made.wheres.append("run = ?")
        made.values.append(query.run)
    return made


def _open(query: Query, number: str) -> Listing:
    name = order(query)
    wheres, values = [f"state = '{name}'"], list[object]()
    if query.cursor is not None:
        wheres.append(f"{number} > ?")
        values.append(_position(name, query.cursor)[0])
    if query.closed_since is not None:
        wheres.append("FALSE")
    return Listing(wheres, values, f"inquiry_{name}" if query.run is None else "inquiry_run", number)


def _closed(query: Query, number: str) -> Listing:
    wheres, values = _ended(query)
    if query.cursor is not None:
        position, at = _position("closed", query.cursor)
        wheres.append(f"(closed_at, {number}) < (?, ?)")
        values += [at, position]
    return Listing(wheres, values, "inquiry_closed", f"closed_at DESC, {number} DESC")


def _asked(query: Query, number: str) -> Listing:
    wheres, values = _ended(query) if _is_of_closed(query) else ([], [])
    if query.cursor is not None:
        wheres.append(f"{number} < ?")
        values.append(_position("asked", query.cursor)[0])
    using = None if query.agent is None else "inquiry_agent"
    return Listing(wheres, values, using if query.run is None else "inquiry_run", f"{number} DESC")


def _ended(query: Query) -> tuple[list[str], list[object]]:
    wheres, values = ["closed_at IS NOT NULL"], list[object]()
    if query.closed_since is not None:
        wheres.append("closed_at >= ?")
        values.append(query.closed_since)
    if query.state not in {None, "closed"}:
        wheres.append("state = ?")
        values.append(query.state)
    return wheres, values


def is_of_open(query: Query) -> bool:
    """Whether it is a list of open inquiries, which are few."""
    return query.state in {"open", QUEUED}


def _is_of_closed(query: Query) -> bool:
    return query.state is not None or query.closed_since is not None


_BEGINNINGS = {"open": _open, QUEUED: _open, "closed": _closed, "asked": _asked}


def order(query: Query) -> str:
    """Which of the orders a query wants: `open`, `queued`, `closed` or `asked`."""
    if query.state is not None and is_of_open(query):
        return query.state
    if query.state in {None, "closed"} or query.state in STATE_NAMES.values():
        # The index of words knows when an inquiry was asked, and not when it was closed.
        return "closed" if _is_of_closed(query) and not query.is_search else "asked"
    states = ", ".join([*STATE_NAMES.values(), QUEUED, "closed"])
    raise InvalidRequest(f"there is no state {query.state!r}", hint=f"it is one of {states}")


def position(query: Query) -> int:
    """The number that the cursor of a query names.

    Raises:
        InvalidRequest: if it is no cursor of that list.
    """
    return _position(order(query), query.cursor or "")[0]


def cursor(query: Query, number: int, closed_at: float | None) -> str:
    """The cursor of the page after the inquiry with this number."""
    name = order(query)
    return f"{name}-{number}" if name != "closed" else f"{name}-{number}-{closed_at!r}"


def _position(name: str, cursor: str) -> tuple[int, float]:
    try:
        begins, number, *at = cursor.split("-", 2)
        position = int(number), float(at[0]) if at else 0.0
    except ValueError:
        begins, position = "", (0, 0.0)
    if begins != name or not 0 < position[0] < 2**63 or not math.isfinite(position[1]):
        raise InvalidRequest(
            f"{cursor[:64]!r} is not a cursor of this list", hint="pass on the `next` of its previous page"
        )
    return position
