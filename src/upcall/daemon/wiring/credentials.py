"""The credentials of a home: those of its owner and of its local agents, and tokens from other daemons."""

import asyncio
import logging
import os
import pwd
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from upcall.access.tokens import Access, digest
from upcall.domain.errors import InvalidSetting
from upcall.domain.inquiry.inquiry import LOCAL_AGENT
from upcall.domain.records import Effects, Record
from upcall.domain.roles import Role
from upcall.home.files import Home
from upcall.ports.background import Background
from upcall.ports.store import Store

TOKENS_EVERY = 5.0
"""Seconds until this daemon knows a token that another daemon has made or revoked."""

HOLDER = "token-holder"
"""The kind of the records that say which home has a name, by the digest of its secret."""

log = logging.getLogger("upcall.wiring")


@asynccontextmanager
async def loaded_access(home: Home, store: Store, *, shared: bool) -> AsyncIterator[Access]:
    """The tokens of a store, with those of this home; on a shared store, read again while it is open.

    Raises:
        InvalidSetting: if the home's own tokens cannot be used.
    """
    access = Access(store, store.now, shared=shared)
    await access.load()
    await _adopt_local_tokens(home, access, store if shared else None)
    if not shared:
        yield access
        return
    refreshing = Background("reading the tokens", partial(_refresh, access), log)
    refreshing.start()
    try:
        yield access
    finally:
        await refreshing.close()


async def _adopt_local_tokens(home: Home, access: Access, shared: Store | None) -> None:
    """Register the tokens in the home's files, the owner's and the ask-only one of local agents; create missing ones.

    Homes that share a store have tokens of their own: a name that another home has taken gets a suffix.

    Raises:
        InvalidSetting: if a file holds no secret, or both files hold the same one.
    """
    known = {token.name: token.digest for token in await access.tokens()}
    taken: dict[str, Path] = {}
    for path, name, role in (
        (home.owner_token_file, owner_name(), Role.ADMIN),
        (home.agent_token_file, LOCAL_AGENT, Role.AGENT),
    ):
        if not path.exists():
            home.write_private(path, f"upcall_{role.value}_{secrets.token_urlsafe(32)}\n")
        secret = home.read_secret(path)
        other = taken.setdefault(secret, path)
        if other != path:
            # With one token for both, agents would have the rights of the owner.
            raise InvalidSetting(
                f"{path}: it holds the same secret as {other}",
                hint=f"delete {path}, or mount another secret there",
            )
        if shared and (
            known.get(name, digest(secret)) != digest(secret)
            or not await _holds(shared, name, digest(secret))
        ):
            name = f"{name}.{digest(secret)[:8]}"
        if known.get(name) != digest(secret):
            await access.adopt(name, role, secret)


async def _holds(store: Store, name: str, own: str) -> bool:
    """Take a name for a home unless another has it: daemons that start at the same time all find it free."""
    taken = Record(kind=HOLDER, key=name, state=own, at=store.now())
    kept = await store.revise(HOLDER, name, lambda found: None if found else Effects(records=(taken,)))
    return kept is not None and kept.state == own


async def _refresh(access: Access) -> None:
    """Wait, then load the tokens that other daemons on the same database have made or revoked."""
    await asyncio.sleep(TOKENS_EVERY)
    await access.load()


def owner_name() -> str:
    """The owner's name: that of the system's user."""
    name = pwd.getpwuid(os.getuid()).pw_name
    return "owner" if name == LOCAL_AGENT else name
