"""Consequences: rules that add records and jobs to a step of an inquiry."""

from collections.abc import Callable

from upcall.domain.inquiry.inquiry import Change
from upcall.domain.records import NOTHING, Effects

FollowUp = Callable[[Change], Effects]
"""What is written together with a step of an inquiry: a pure rule, which a store may run more than once."""


def nothing_more(_: Change) -> Effects:
    """A step that has no consequences."""
    return NOTHING


def both(one: FollowUp, other: FollowUp) -> FollowUp:
    """Two rules as one."""
    return lambda change: one(change) + other(change)
