"""A comment on a plan: what a person says about a passage of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """Words about a `passage`, which begins at a `line` of the plan, counted from 1, where that is known."""

    text: str
    passage: str = ""
    line: int | None = None
