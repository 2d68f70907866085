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
    """The parts of the statement that answers a query, and the index that was made for it."""

    wheres: list[str]
    values: list[object]
    using: str | None
    by: str

    @property
    def where(self) -> str:
        """The conditions, joined by AND."""
        return " AND ".join(self.wheres) or "TRUE"


def listing(query: Query) -> Listing:
    """The conditions and the order of a query.

    Raises:
        InvalidRequest: if the state, the limit or the cursor is not one.
    """
    if query.limit < 1:
        raise InvalidRequest(f"limit {query.limit!r} is not a positive number")
    made = _BEGINNINGS[order(query)](query)
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


def _open(query: Query) -> Listing:
    name = order(query)
    wheres, values = [f"state = '{name}'"], list[object]()
    if query.cursor is not None:
        wheres.append("number > ?")
        values.append(_position(name, query.cursor)[0])
    if query.closed_since is not None:
        wheres.append("FALSE")
    return Listing(wheres, values, f"inquiry_{name}" if query.run is None else "inquiry_run", "number")


def _closed(query: Query) -> Listing:
    wheres, values = ["closed_at IS NOT NULL"], list[object]()
    if query.cursor is not None:
        number, at = _position("closed", query.cursor)
        wheres.append("(closed_at, number) < (?, ?)")
        values += [at, number]
    if query.closed_since is not None:
        wheres.append("closed_at >= ?")
        values.append(query.closed_since)
    if query.state not in {None, "closed"}:
        wheres.append("state = ?")
        values.append(query.state)
    return Listing(wheres, values, "inquiry_closed", "closed_at DESC, number DESC")


def _asked(query: Query) -> Listing:
    wheres, values = list[str](), list[object]()
    if query.cursor is not None:
        wheres.append("number < ?")
        values.append(_position("asked", query.cursor)[0])
    using = None if query.agent is None else "inquiry_agent"
    return Listing(wheres, values, using if query.run is None else "inquiry_run", "number DESC")


_BEGINNINGS = {"open": _open, QUEUED: _open, "closed": _closed, "asked": _asked}


def order(query: Query) -> str:
    """Which of the orders a query wants: `open`, `queued`, `closed` or `asked`."""
    if query.state is None:
        return "asked" if query.closed_since is None else "closed"
    if query.state in {"open", QUEUED}:
        return query.state
    if query.state == "closed" or query.state in STATE_NAMES.values():
        return "closed"
    states = ", ".join([*STATE_NAMES.values(), QUEUED, "closed"])
    raise InvalidRequest(f"there is no state {query.state!r}", hint=f"it is one of {states}")


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
