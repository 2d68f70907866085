"""The order of the list in the inbox: the group that an inquiry stands in, and the order within it."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.inquiry import Inquiry, Kind, Open

GROUPS = ("expiring", "approvals", "questions", "snoozed")
"""The groups of what waits, in their order."""

SETTLED = "settled"
EXPIRING = 900.0
"""Seconds before its end from which on a question stands in the first group."""

CURSOR = re.compile(
    r"(\d{1,12}(?:\.\d{1,6})?)_(\d)_(\d{1,12}(?:\.\d{1,6})?)_(\d{1,12}(?:\.\d{1,6})?)_(\w{1,60})"
)

Key = tuple[int, float, float, str]


class Found(NamedTuple):
    """Some of the inquiries that wait, in the order of the list, and where the next ones begin."""

    items: Sequence[Inquiry]
    next: str


def group(inquiry: Inquiry, now: float) -> str:
    """Where an inquiry stands."""
    state = inquiry.state
    if not isinstance(state, Open):
        return SETTLED
    if state.snoozed_until is not None and state.snoozed_until > now:
        return "snoozed"
    if inquiry.expires_at - now < EXPIRING:
        return "expiring"
    return "approvals" if inquiry.kind is Kind.APPROVAL else "questions"


def ordered(inquiries: Iterable[Inquiry], now: float, *, most: int, cursor: str = "") -> Found:
    """Group by group, in each by deadline, then by how long it has been blocked; the next ones after a cursor.

    A list is turned as of the moment at which its first page was drawn, so that none is passed over while time moves
    one from its group to another.

    Raises:
        InvalidRequest: if the cursor is not one.
    """
    after: Key | None = None
    if cursor:
        parts = CURSOR.fullmatch(cursor)
        if parts is None:
            raise InvalidRequest("that is no place in the list")
        now = float(parts[1])
        after = (int(parts[2]), float(parts[3]), float(parts[4]), parts[5])
    keyed = sorted((_key(inquiry, now), inquiry) for inquiry in inquiries)
    left = [each for each in keyed if after is None or each[0] > after]
    following = ""
    if len(left) > most:
        number, expires, asked, name = left[most - 1][0]
        following = f"{now:.6f}_{number}_{expires:.6f}_{asked:.6f}_{name}"
    return Found([inquiry for _, inquiry in left[:most]], following)


def _key(inquiry: Inquiry, now: float) -> Key:
    number = GROUPS.index(group(inquiry, now))
    return number, round(inquiry.expires_at, 6), round(inquiry.asked_at, 6), inquiry.id
