"""Signed values that leave the installation and come back: readable by all, forgeable by none.

Every daemon on a store shares its keys. A new key is added every month; the previous one stays valid, so that values
signed with it can still come back.
"""

import asyncio
import base64
import hashlib
import hmac
import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from itsdangerous import BadData, SignatureExpired, TimestampSigner, URLSafeTimedSerializer
from typing_extensions import override

from upcall.domain.records import Effects, Record
from upcall.ports.store import Ledger

KIND = "signing-keys"
NAME = "keys"
KEY_SECONDS = 30 * 86400.0
"""After how long a new key is made. Nothing may be valid for longer: only the latest two are kept."""

LOOK_EVERY = 1.0
"""Seconds between two reads of the keys of other daemons: forged values cost no more reads than that."""

STAMP_BYTES = 10


class Forged(Exception):
    """Not signed by us, or for another purpose, or by a key that is no longer kept."""


class TooOld(Exception):
    """Signed by us, but too long ago."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """The signed values, and when they were signed, to the second."""

    values: tuple[str, ...]
    at: float


class Signing:
    """Signs for one installation. A signature is for one purpose and worthless for any other."""

    def __init__(self, store: Ledger, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._keys: tuple[str, ...] = ()
        self._newest = 0.0
        self._looking = asyncio.Lock()
        self._looked = -math.inf

    async def sign(self, purpose: str, values: Sequence[str]) -> str:
        """Texts as one text that fits into an address."""
        return _serializer(await self._current(), purpose, self._clock).dumps(list(values))

    async def read(self, purpose: str, signed: str, seconds: float) -> Signed:
        """The texts that were signed.

        Raises:
            Forged: if they were not, or not for this.
            TooOld: if that was too long ago.
        """
        try:
            return _read(self._keys, purpose, signed, seconds, self._clock)
        except Forged:
            # Another daemon may have made a key since we looked.
            await self._look()
            return _read(self._keys, purpose, signed, seconds, self._clock)

    async def stamp(self, purpose: str, text: str) -> str:
        """A short signature of small letters and digits, for places that take no more."""
        return _stamp((await self._current())[-1], purpose, text)

    async def has_stamped(self, purpose: str, text: str, stamp: str) -> bool:
        """Whether a short signature is ours."""
        if not _is_among(self._keys, purpose, text, stamp):
            await self._look()
        return _is_among(self._keys, purpose, text, stamp)

    async def _current(self) -> tuple[str, ...]:
        """The keys, of which the last one is recent enough to sign with."""
        now = self._clock()
        if not self._keys or now - self._newest >= KEY_SECONDS:
            fresh = secrets.token_hex(32)
            kept = await self._store.revise(KIND, NAME, lambda kept: _renewed(kept, fresh, now))
            assert kept is not None
            self._keep(kept)
        return self._keys

    async def _look(self) -> None:
        # A caller that comes during a read waits for its result.
        async with self._looking:
            now = self._clock()
            if 0 <= now - self._looked < LOOK_EVERY:
                return
            kept = await self._store.look_up(KIND, NAME)
            self._looked = now
            if kept is not None:
                self._keep(kept)

    def _keep(self, record: Record) -> None:
        self._keys, self._newest = _keys_in(record), record.at


def _renewed(kept: Record | None, fresh: str, now: float) -> Effects | None:
    if kept is not None and now - kept.at < KEY_SECONDS:
        return None
    before = _keys_in(kept)[-1:] if kept is not None else ()
    return Effects(records=(Record(kind=KIND, key=NAME, at=now, body={"keys": [*before, fresh]}),))


def _keys_in(record: Record) -> tuple[str, ...]:
    return tuple(str(key) for key in cast("list[object]", record.body["keys"]))


def _read(
    keys: Sequence[str], purpose: str, signed: str, seconds: float, clock: Callable[[], float]
) -> Signed:
    if not keys:
        raise Forged
    try:
        values, at = _serializer(keys, purpose, clock).loads(
            signed, max_age=int(seconds), return_timestamp=True
        )
    except SignatureExpired:
        raise TooOld from None
    except BadData:
        raise Forged from None
    return Signed(values=tuple(str(value) for value in values), at=at.timestamp())


def _serializer(keys: Sequence[str], purpose: str, clock: Callable[[], float]) -> URLSafeTimedSerializer:
    class Signer(TimestampSigner):
        """Uses the clock of the store, as everything else does."""

        @override
        def get_timestamp(self) -> int:
            return int(clock())

    return URLSafeTimedSerializer(
        list(keys),
        salt=f"upcall.{purpose}",
        signer=Signer,
        signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
    )


def _stamp(key: str, purpose: str, text: str) -> str:
    mac = hmac.digest(bytes.fromhex(key), f"upcall.{purpose}:{text}".encode("utf-8", "replace"), "sha256")
    return base64.b32encode(mac[:STAMP_BYTES]).decode().lower()


def _is_among(keys: Sequence[str], purpose: str, text: str, stamp: str) -> bool:
    return any(
        hmac.compare_digest(_stamp(key, purpose, text).encode(), stamp.encode("utf-8", "replace"))
        for key in keys
    )
