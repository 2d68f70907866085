"""Tokens: made of 256 random bits, kept as SHA-256, shown once, looked up in memory."""

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Sequence

from upcall.domain.errors import InvalidRequest, Unauthenticated
from upcall.domain.roles import Caller, Role, Token
from upcall.ports import Store

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")


def digest(secret: str) -> str:
    """What is kept of a token's secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


class Access:
    """Who holds which token. One per process; `load` it once."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._callers: dict[str, Caller] = {}
        # Hashing a token is most of looking it up, and the same ones come all day. Holds only valid ones.
        self._seen: dict[str, Caller] = {}

    async def load(self) -> None:
        """Read the tokens into memory, where every request looks them up."""
        self._callers = {
            token.digest: Caller(name=token.name, role=token.role) for token in await self._store.tokens()
        }
        self._seen.clear()

    def identify(self, secret: str) -> Caller:
        """Who holds this token.

        Raises:
            Unauthenticated: if nobody does.
        """
        caller = self._seen.get(secret)
        if caller is None:
            caller = self._callers.get(digest(secret))
            if caller is not None:
                self._seen[secret] = caller
        if caller is None:
            raise Unauthenticated(
                "the token is missing, unknown or revoked",
                hint="send `Authorization: Bearer TOKEN`; `upcall tokens create` makes one",
            )
        return caller

    async def create(self, name: str, role: Role) -> str:
        """Make a token and return its secret, which is shown this once.

        Raises:
            InvalidRequest: if the name cannot be one, or is taken.
        """
        if not NAME.fullmatch(name):
            raise InvalidRequest(
                f"{name!r} cannot be a token's name", hint="use up to 64 letters, digits and . _ - @"
            )
        if any(caller.name == name for caller in self._callers.values()):
            raise InvalidRequest(
                f"there is a token {name!r} already", hint=f"`upcall tokens revoke {name}` first"
            )
        secret = f"upcall_{role.value}_{secrets.token_urlsafe(32)}"
        await self.adopt(name, role, secret)
        return secret

    async def adopt(self, name: str, role: Role, secret: str) -> None:
        """Keep a token whose secret is already known, replacing the one of that name."""
        await self._store.put_token(
            Token(name=name, role=role, digest=digest(secret), created_at=self._clock())
        )
        await self.load()

    async def revoke(self, name: str) -> bool:
        """Forget a token; False when there is none of that name."""
        dropped = await self._store.drop_token(name)
        await self.load()
        return dropped

    async def tokens(self) -> Sequence[Token]:
        """Every token, without its secret."""
        return await self._store.tokens()
