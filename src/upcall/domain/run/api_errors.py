"""Failures of the service that a program's model is reached through, and when work that met one is tried again.

They are told as reasons: `api_error_529` with the status that the service gave, `api_error_authentication_failed` with the
program's own word, `api_error` where it says no more. Most of them pass, by themselves or once a person has logged in or paid,
so an answer that met one is kept for hours. A request that the service will never take is a failure like any other.
"""

REASON = "api_error"
FINAL = frozenset({"400", "404", "405", "413", "422"})
"""Statuses that say that the request itself is wrong."""

NOT_LOGGED_IN = frozenset({"auth_required", "provider_auth_error"})
"""The reasons of programs that could not even ask."""

PAUSES = (15.0, 60.0, 300.0, 900.0, 1800.0)
"""Seconds before each further try, counted from the end of the one before it; the last one counts for all later tries."""

MOST_REFUSALS = 50
"""How many tries in a row the service may refuse, about a day's worth."""

_ANSWERED = range(100, 600)


def api_error(status: object = None, word: str = "") -> str:
    """The reason of a process that ended because the service refused it."""
    if isinstance(status, int) and not isinstance(status, bool) and status in _ANSWERED:
        return f"{REASON}_{status}"
    return f"{REASON}_{word}" if word else REASON


def awaited(reason: str) -> str | None:
    """What the service said, in words, if that is why a process ended and the next one may fare better."""
    name, _, said = reason.partition(f"{REASON}_")
    if reason in NOT_LOGGED_IN:
        return "not logged in"
    if reason == REASON:
        return "it gives no reason"
    return said.replace("_", " ") if not name and said and said not in FINAL else None


def next_try(refusals: int, refused_at: float) -> float:
    """When work is tried again that the service has refused so many times in a row."""
    return refused_at + PAUSES[min(max(refusals, 1), len(PAUSES)) - 1]


def waiting_for(agent: str, reason: str) -> str | None:
    """What a run waits for, in words, if it is the service of its model."""
    said = awaited(reason)
    return None if said is None else f"waiting for the API of {agent}: {said}"
