"""Protection against loops, not against work: how often one agent may ask, and how often the same thing."""

from collections import OrderedDict
from dataclasses import dataclass

from upcall.domain.errors import RateLimited
from upcall.domain.inquiry.inquiry import Origin

HOUR = 3600.0
REMEMBERED = 10_000
"""How many different questions are watched for repetition; the oldest are forgotten first."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(slots=True)
class _Repeats:
    inquiry: str
    since: float
    count: int
    keys: set[str | None]


class Pacing:
    """Counts questions in memory: a restart begins at zero."""

    def __init__(
        self,
        *,
        per_second: float = 100,
        burst: float = 5000,
        same: int = 5,
        same_within: float = 600,
        attachment_bytes: int = 256 * 1024 * 1024,
    ) -> None:
        self._attachment_bytes = attachment_bytes
        self._attached: dict[str, _Bucket] = {}
        self._per_second = per_second
        self._burst = burst
        self._same = same
        self._same_within = same_within
        self._buckets: dict[str, _Bucket] = {}
        self._repeats: OrderedDict[tuple[str, int | None, str, str], _Repeats] = OrderedDict()

    def spend(self, agent: str, now: float) -> None:
        """Take one ask out of an agent's allowance.

        Raises:
            RateLimited: if there is none left.
        """
        bucket = self._buckets.setdefault(agent, _Bucket(self._burst, now))
        bucket.tokens = min(self._burst, bucket.tokens + max(now - bucket.at, 0) * self._per_second)
        bucket.at = now
        if bucket.tokens < 1:
            raise RateLimited(
                f"{agent!r} asks more than {self._per_second:g} times a second",
                hint="wait a moment; ask several questions in one inquiry",
            )
        bucket.tokens -= 1

    def attach(self, agent: str, size: int, now: float) -> None:
        """Take the bytes of attachments out of an agent's allowance, which is full again after an hour.

        Raises:
            RateLimited: if there are not so many left.
        """
        if not size:
            return
        most = float(self._attachment_bytes)
        bucket = self._attached.setdefault(agent, _Bucket(most, now))
        bucket.tokens = min(most, bucket.tokens + max(now - bucket.at, 0) * most / HOUR)
        bucket.at = now
        if bucket.tokens < size:
            raise RateLimited(
                f"{agent!r} has attached {self._attachment_bytes} bytes within an hour",
                hint="attach less, or ask for a larger `caps.attachment_bytes`",
            )
        bucket.tokens -= size

    def repeated(self, origin: Origin, digest: str, now: float, *, approval: bool) -> str | None:
        """The earlier inquiry to return instead, when one session keeps asking the same thing.

        Raises:
            RateLimited: if it is an approval, since an earlier yes is never given twice.
        """
        seen = self._repeats.get((origin.agent, origin.run, origin.session, digest))
        if seen is None or now - seen.since > self._same_within or seen.count < self._same:
            return None
        if origin.request_key is not None and origin.request_key in seen.keys:
            # Not asked once more, only sent once more: it rejoins its own.
            return None
        if approval:
            raise RateLimited(
                f"the same approval was asked {seen.count} times in {self._same_within / 60:g} minutes",
                hint="do something else, or stop and report what is blocking",
            )
        return seen.inquiry

    def asked(self, origin: Origin, digest: str, inquiry: str, now: float) -> None:
        """Remember that a session asked this."""
        key = (origin.agent, origin.run, origin.session, digest)
        seen = self._repeats.get(key)
        if seen is None or now - seen.since > self._same_within:
            self._repeats[key] = _Repeats(inquiry, now, 1, {origin.request_key})
        else:
            seen.inquiry, seen.count = inquiry, seen.count + 1
            seen.keys.add(origin.request_key)
        self._repeats.move_to_end(key)
        self._forget(now)

    def _forget(self, now: float) -> None:
        """Let go of what counts no more: the first is the one that was asked longest ago."""
        while self._repeats and (
            len(self._repeats) > REMEMBERED
            or now - next(iter(self._repeats.values())).since > self._same_within
        ):
            self._repeats.popitem(last=False)
