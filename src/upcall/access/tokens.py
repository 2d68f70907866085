"""Credentials: tokens, browser sessions and one-time codes.

All are made of 256 random bits and kept in the store as SHA-256; tokens and sessions are looked up in memory. A session is
not accepted in place of a token, nor a token in place of a session.
"""

import asyncio
import hashlib
import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from upcall.domain.errors import InvalidRequest, Unauthenticated
from upcall.domain.records import Effects, Record
from upcall.domain.roles import Caller, Role, Token
from upcall.home.files import flaw_of
from upcall.ports.paging import each_record
from upcall.ports.store import Ledger, Store

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
SESSION = re.compile(r"session-[0-9a-f]{8}@(.+)")
"""The name of a session among the tokens; the group is its owner."""

REVOKED = "revoked"
"""The kind of the records of revoked digests, so that restoring an older backup does not bring them back."""

SESSION_SECONDS = 30 * 86400.0
CODE_SECONDS = 600.0
CODE = "sign-in"


def digest(secret: str) -> str:
    """The digest of a secret, which is all that is stored of it."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSession:
    """A browser that a person has signed in with."""

    name: str
    caller: Caller
    opened_at: float


class Codes:
    """One-time codes: each lets one person in, once, within ten minutes, at any daemon on the store."""

    def __init__(self, store: Ledger, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    async def issue(self, caller: Caller) -> str:
        """Make a code for a person."""
        code, now = secrets.token_urlsafe(32), self._clock()
        body = {"role": caller.role.value}
        issued = Record(kind=CODE, key=digest(code), state=caller.name, at=now, body=body)
        stale = await self._keys(lambda record: not self._is_good(record))
        await self._store.revise(CODE, issued.key, lambda _: Effects(records=(issued,), forgotten=stale))
        return code

    async def holder(self, code: str) -> Caller | None:
        """The caller that a code would sign in, without using the code up."""
        return self._caller(await self._store.look_up(CODE, digest(code)))

    async def redeem(self, code: str) -> Caller | None:
        """The caller that a code signs in; the code is used up."""
        key = digest(code)
        caller: Caller | None = None

        def decide(kept: Record | None) -> Effects | None:
            nonlocal caller
            caller = self._caller(kept)
            return None if kept is None else Effects(forgotten=((CODE, key),))

        await self._store.revise(CODE, key, decide)
        return caller

    async def revoke(self, name: str) -> None:
        """Revoke every code of a person."""
        theirs = await self._keys(lambda record: record.state == name)
        if theirs:
            await self._store.revise(CODE, theirs[0][1], lambda _: Effects(forgotten=theirs))

    def _caller(self, record: Record | None) -> Caller | None:
        if record is None or not self._is_good(record):
            return None
        return Caller(name=record.state, role=Role(str(record.body["role"])))

    def _is_good(self, record: Record) -> bool:
        return self._clock() < record.at + CODE_SECONDS

    async def _keys(self, wanted: Callable[[Record], bool]) -> tuple[tuple[str, str], ...]:
        return tuple(
            [(CODE, record.key) async for record in each_record(self._store, CODE) if wanted(record)]
        )


class Access:
    """Finds the holder of a token. One per process; `load` it once. Other daemons on the store make tokens too."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time, *, shared: bool = False) -> None:
        self._store = store
        self._shared = shared
        self._learning: asyncio.Task[None] | None = None
        self._clock = clock
        self._looks = self._latest = 0
        self._callers: dict[str, Caller] = {}
        self._sessions: dict[str, BrowserSession] = {}
        self._lent: dict[str, Caller] = {}
        self._withheld: set[str] = set()
        # Hashing a token is most of looking it up, and the same ones come all day. Holds only valid ones.
        self._seen: dict[str, Caller] = {}
        self.codes = Codes(store, clock)

    async def load(self) -> None:
        """Read the tokens into memory, where every request looks them up."""
        self._looks += 1
        mine = self._looks
        tokens = await self._store.tokens()
        if mine < self._latest:
            # A later read has finished first: a token that was there when this one began may be revoked by now.
            return
        self._latest = mine
        # No await from here on: a request sees the tokens of before or of after, never a part.
        self._callers, self._sessions = {}, {}
        for token in tokens:
            session = SESSION.fullmatch(token.name)
            caller = Caller(name=session[1] if session else token.name, role=token.role)
            if session:
                self._sessions[token.digest] = BrowserSession(
                    name=token.name, caller=caller, opened_at=token.created_at
                )
            else:
                self._callers[token.digest] = caller
        self._seen.clear()

    def identify(self, secret: str, *, monitors: bool = False) -> Caller:
        """The holder of this token. A monitor is let in only where `monitors` are meant to be.

        Raises:
            Unauthenticated: if it is not a valid token.
        """
        caller = self._seen.get(secret)
        if caller is None and secret:
            hashed = digest(secret)
            # A secret that is lent was made here. One that is kept may have come from a file without content.
            caller = self._lent.get(hashed) or (None if flaw_of(secret) else self._callers.get(hashed))
            if caller is not None:
                self._seen[secret] = caller
        if caller is None:
            raise Unauthenticated(
                "the token is missing, unknown or revoked",
                hint="send `Authorization: Bearer TOKEN`; `upcall tokens create` makes one",
            )
        if caller.role is Role.MONITOR and not monitors:
            raise Unauthenticated(
                "a monitor's token reads metrics and nothing else", hint="use an agent's or a person's token"
            )
        return caller

    async def admit(self, secret: str, *, monitors: bool = False) -> Caller:
        """The holder of this token, which another daemon may have made a moment ago. Raises as `identify` does."""
        try:
            return self.identify(secret, monitors=monitors)
        except Unauthenticated:
            if not self._shared or not secret:
                raise
        await self._learn()
        return self.identify(secret, monitors=monitors)

    def has_people(self) -> bool:
        """Whether any person could answer."""
        return any(caller.is_person for caller in self._callers.values())

    async def person_since(self, name: str) -> float | None:
        """Since when there is a token of that name with which one may answer, at any daemon on this store."""
        for token in await self._store.tokens():
            if token.name == name and token.role in {Role.PERSON, Role.ADMIN} and not SESSION.fullmatch(name):
                return token.created_at
        return None

    def lend(self, hashed: str, caller: Caller) -> None:
        """Accept the secret with this digest as an agent's, until it is taken back or this process ends."""
        self._lent[hashed] = caller

    def withhold(self, hashed: str) -> None:
        """Keep a pipe with this secret waiting until the secret is taken back: its program is about to be ended."""
        self._withheld.add(hashed)

    def is_withheld(self, secret: str) -> bool:
        """Whether a pipe with this secret is neither let in nor refused."""
        return bool(self._withheld) and digest(secret) in self._withheld

    def take_back(self, hashed: str) -> None:
        """Stop accepting that secret."""
        self._lent.pop(hashed, None)
        self._withheld.discard(hashed)
        self._seen.clear()

    def session(self, secret: str) -> BrowserSession:
        """The session that a browser's cookie stands for.

        Raises:
            Unauthenticated: if there is none, or it has become too old.
        """
        found = self._sessions.get(digest(secret)) if secret else None
        if found is None or self._is_over(found):
            raise Unauthenticated(
                "this browser is not signed in", hint="`upcall inbox` prints a sign-in link"
            )
        return found

    async def is_open(self, name: str) -> bool:
        """Whether there is a session of that name, at any daemon on this store, and it is not over."""
        if not self._is_open(name) and self._shared:
            await self._learn()
        return self._is_open(name)

    def _is_open(self, name: str) -> bool:
        return any(each.name == name and not self._is_over(each) for each in self._sessions.values())

    async def admit_session(self, secret: str) -> BrowserSession:
        """The session that a cookie stands for, which may have begun at another daemon. Raises as `session` does."""
        try:
            return self.session(secret)
        except Unauthenticated:
            if not self._shared or not secret:
                raise
        await self._learn()
        return self.session(secret)

    async def _learn(self) -> None:
        """Read what other daemons have made. Callers that come during a read share the next one."""
        before = self._learning
        if before is not None and not before.done():
            # What was made since it began may be missing there.
            await asyncio.wait({before})
        if self._learning is before:
            self._learning = asyncio.create_task(self.load())
        assert self._learning is not None
        await asyncio.shield(self._learning)

    def sessions(self, caller: Caller) -> Sequence[BrowserSession]:
        """The sessions that a caller may end, the newest first: its own, and for an admin all."""
        mine = [
            session
            for session in self._sessions.values()
            if not self._is_over(session)
            and (caller.role is Role.ADMIN or session.caller.name == caller.name)
        ]
        return sorted(mine, key=lambda session: session.opened_at, reverse=True)

    async def open_session(self, caller: Caller) -> str:
        """Sign a browser in, and return the secret for its cookie."""
        for session in list(self._sessions.values()):
            if self._is_over(session):
                await self._store.drop_token(session.name)
        secret = secrets.token_urlsafe(32)
        await self.adopt(f"session-{secrets.token_hex(4)}@{caller.name}", caller.role, secret)
        return secret

    async def create(self, name: str, role: Role) -> str:
        """Make a token and return its secret, which is shown this once.

        Raises:
            InvalidRequest: if the name cannot be one, or is taken.
        """
        if not NAME.fullmatch(name) or SESSION.fullmatch(name):
            raise InvalidRequest(
                f"{name!r} cannot be a token's name", hint="use up to 64 letters, digits and . _ - @"
            )
        # One that was made at another daemon may not be known here yet.
        if any(token.name == name for token in await self._store.tokens()):
            raise InvalidRequest(
                f"there is a token {name!r} already", hint=f"`upcall tokens revoke {name}` first"
            )
        secret = f"upcall_{role.value}_{secrets.token_urlsafe(32)}"
        await self.adopt(name, role, secret)
        return secret

    async def adopt(self, name: str, role: Role, secret: str) -> None:
        """Keep a token with a given secret, replacing the one of that name.

        Raises:
            InvalidRequest: if the secret protects nothing.
        """
        flaw = flaw_of(secret)
        if flaw:
            raise InvalidRequest(f"the secret of {name!r} {flaw}", hint="use 40 random letters and digits")
        replaced = [t for t in await self._store.tokens() if t.name == name and t.digest != digest(secret)]
        await self._note_revoked(replaced)
        await self._store.put_token(
            Token(name=name, role=role, digest=digest(secret), created_at=self._clock())
        )
        await self.load()

    async def revoke(self, name: str) -> bool:
        """Forget a token or a session; the sessions and codes of a token's holder go with it."""
        await self._note_revoked([token for token in await self._store.tokens() if _falls_with(token, name)])
        dropped = await self._store.drop_token(name)
        await self.codes.revoke(name)
        # Of those that began at another daemon nothing may be known here yet.
        for token in await self._store.tokens():
            if _falls_with(token, name):
                await self._note_revoked([token])
                await self._store.drop_token(token.name)
        await self.load()
        return dropped

    async def _note_revoked(self, tokens: Sequence[Token]) -> None:
        """Record revoked tokens before they are dropped: a second record does no harm, a missing one would."""
        now = self._clock()
        noted = tuple(Record(kind=REVOKED, key=token.digest, state=token.name, at=now) for token in tokens)
        if noted:
            await self._store.revise(REVOKED, noted[0].key, lambda _: Effects(records=noted))

    async def tokens(self) -> Sequence[Token]:
        """Every token, without its secret."""
        return await self._store.tokens()

    def _is_over(self, session: BrowserSession) -> bool:
        return self._clock() >= session.opened_at + SESSION_SECONDS


def _falls_with(token: Token, name: str) -> bool:
    """Whether a token is the one of that name, or a session of its holder."""
    session = SESSION.fullmatch(token.name)
    return token.name == name or (session is not None and session[1] == name)
