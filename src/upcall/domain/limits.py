"""How much may be asked at once. Counted in characters, except where a name says bytes."""

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of one inquiry; `[limits]` in the configuration."""

    questions: int = 4
    header: int = 30
    question: int = 2000
    options: int = 10
    label: int = 75
    description: int = 300
    preview: int = 4000
    context_bytes: int = 16 * 1024
    attachments: int = 4
    attachment_bytes: int = 1024 * 1024
    answer: int = 64 * 1024
    reason: int = 2000


UNBOUNDED = Limits(
    questions=sys.maxsize,
    header=sys.maxsize,
    question=sys.maxsize,
    options=sys.maxsize,
    label=sys.maxsize,
    description=sys.maxsize,
    preview=sys.maxsize,
    context_bytes=sys.maxsize,
)
"""For questions that a program asks in its own way: nobody could make it ask again, in fewer words."""
