"""An outage of a channel as one worker sees it: for how long the vendor is left alone, and what is done when it is over."""

from collections.abc import Sequence

from upcall.ports.channel import SignedOut, Unavailable

PAUSES = (1.0, 2.0, 5.0, 15.0, 30.0)
"""Seconds before each further attempt with a channel that is unavailable; the last one from then on."""


class NotAsked(Unavailable):
    """The vendor was left alone because of an outage, so it has got nothing."""


class Outage:
    """Begins with a refused credential, or when two jobs in a row fail: one alone may be at fault itself.

    While it lasts, nothing is sent. After each pause the next two jobs try whether it is over.
    """

    def __init__(self, pauses: Sequence[float] = PAUSES) -> None:
        self._pauses = pauses
        self._count = 0
        self._until = 0.0
        self._suspect = ""
        self._problem: Unavailable | None = None

    def failed(self, job: str, problem: Unavailable, now: float) -> None:
        """A job could not be done."""
        if not isinstance(problem, SignedOut) and self._suspect in {"", job}:
            self._suspect = job
            return
        self._suspect = ""
        self._problem = problem
        self._until = now + self._pauses[min(self._count, len(self._pauses) - 1)]
        self._count += 1

    def over(self) -> None:
        """Something was sent, or the vendor has taken a connection."""
        self._count, self._until, self._suspect, self._problem = 0, 0.0, "", None

    def problem(self, now: float) -> NotAsked | None:
        """Why nothing is sent at this moment; None if it is to be tried."""
        if self._problem is None or now >= self._until:
            return None
        # A new one each time: an exception that is raised again keeps the history of every time before.
        return NotAsked(str(self._problem))

    def put_off(self, attempts: int, now: float) -> float:
        """When a job that failed so often is tried again."""
        return max(now + self._pauses[min(attempts, len(self._pauses) - 1)], self._until)


class Hurry:
    """For how long jobs are claimed before their time: those that an outage or an earlier daemon has put off."""

    def __init__(self, until: float) -> None:
        self._until = until
        self._count = self._seen = 0

    def begin(self, until: float) -> None:
        """Claim what is due until then."""
        self._count += 1
        self._until = until

    def look(self) -> None:
        """The worker looks for its next job."""
        self._seen = self._count

    def end(self) -> None:
        """Claim nothing early any more, unless the vendor came back while the worker was at its job."""
        if self._count == self._seen:
            self._until = 0.0

    def beyond(self, due: float) -> float:
        """When something that has a time of its own is due: claimed before that, it would be claimed again and again."""
        return max(due, self._until)

    def early(self, now: float) -> float:
        """By how many seconds."""
        return max(self._until - now, 0.0)
