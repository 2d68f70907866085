"""Moments and spans of time in short words, without the weight of `datetime`."""

import math

LONG_WAIT = 60.0
"""Seconds that a person took, from which on an agent is told: it may take that for its own working time."""


def moment(text: str) -> float:
    """Seconds since 1970 of a moment like `2030-01-31T09:00:00.000Z`, which is how the daemon writes them."""
    year, month, day = int(text[0:4]), int(text[5:7]), int(text[8:10])
    hour, minute, second = int(text[11:13]), int(text[14:16]), float(text[17:].rstrip("Z"))
    # Count years from March, so that the leap day is the last of a year.
    years = year - (month <= 2)
    days = 365 * years + years // 4 - years // 100 + years // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 1 - 719468
    return days * 86400 + hour * 3600 + minute * 60 + second


def span(seconds: float) -> str:
    """A length of time, roughly: `45s`, `12 min`, `2h`, `3d`; the clock may have gone backwards."""
    whole = int(seconds) if 0 < seconds < math.inf else 0
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60} min"
    return f"{whole // 3600}h" if whole < 2 * 86400 else f"{whole // 86400}d"


def since(text: str, now: float) -> str:
    """How long ago a moment was."""
    return span(now - moment(text))


def waiting(done: str, seconds: float | None) -> str:
    """That an agent was not at work while a person took so long; empty for a moment, or where no person decided."""
    if seconds is None or seconds < LONG_WAIT:
        return ""
    return f"{done} after {span(seconds)}; waiting for a person, not running time"
