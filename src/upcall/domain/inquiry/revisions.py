"""The plan before: what a plan that is submitted again differs from, and how."""

import difflib
from collections.abc import Iterable
from functools import lru_cache

from upcall.domain.inquiry.inquiry import Answered, Inquiry, Kind, Open, Origin
from upcall.domain.inquiry.plans import is_approved

CONTEXT_LINES = 3
MOST_LINES = 2_000
"""Lines of both plans up to which they are compared: the time for it grows faster than they do."""


def revised(earlier: Iterable[Inquiry], origin: Origin) -> str:
    """The plan that a new one of this session takes up: its last one, unless that was approved or is the same call."""
    plans = [each for each in earlier if each.kind is Kind.PLAN and each.origin.session == origin.session]
    if not plans:
        return ""
    last = max(plans, key=lambda each: each.asked_at)
    same = origin.request_key is not None and last.origin.request_key == origin.request_key
    approved = isinstance(last.state, Answered) and is_approved(last.state.answer)
    return "" if same or approved or isinstance(last.state, Open) else last.context


@lru_cache(maxsize=64)
def difference(before: str, after: str) -> str:
    """How two plans differ, as a unified diff; empty if they do not, or are too long to be compared."""
    old, new = before.strip("\n").split("\n"), after.strip("\n").split("\n")
    if len(old) + len(new) > MOST_LINES:
        return ""
    lines = difflib.unified_diff(old, new, "before", "now", n=CONTEXT_LINES, lineterm="")
    return "\n".join(lines)
