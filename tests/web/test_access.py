"""Two daemons on one store know the same tokens, sessions and codes, and reading them anew ends no valid one."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from upcall.access.tokens import CODE_SECONDS, Access
from upcall.daemon.wiring.credentials import loaded_access, owner_name
from upcall.domain.errors import InvalidRequest, Unauthenticated
from upcall.domain.roles import Caller, Role, Token
from upcall.home.files import Home
from upcall.stores.sqlite.store import SqliteStore

ANA = Caller(name="ana", role=Role.PERSON)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "upcall.db")
    yield store
    await store.close()


@pytest.fixture
async def here(store: SqliteStore) -> Access:
    access = Access(store, shared=True)
    await access.load()
    return access


@pytest.fixture
async def there(store: SqliteStore) -> Access:
    access = Access(store, shared=True)
    await access.load()
    return access


async def test_a_token_made_elsewhere_is_known_when_it_first_comes(here: Access, there: Access) -> None:
    secret = await here.create("builder", Role.AGENT)
    with pytest.raises(Unauthenticated):
        there.identify(secret)
    assert (await there.admit(secret)).name == "builder"
    assert there.identify(secret).name == "builder"


async def test_a_name_that_was_taken_elsewhere_is_taken(here: Access, there: Access) -> None:
    secret = await here.create("ana", Role.PERSON)
    with pytest.raises(InvalidRequest, match="already"):
        await there.create("ana", Role.AGENT)
    await here.load()
    assert here.identify(secret) == ANA


async def test_a_session_begun_elsewhere_is_known_when_it_first_comes(here: Access, there: Access) -> None:
    secret = await here.open_session(ANA)
    assert (await there.admit_session(secret)).caller == ANA
    with pytest.raises(Unauthenticated):
        await there.admit(secret)


async def test_a_code_made_elsewhere_lets_in_once_anywhere(here: Access, there: Access) -> None:
    code = await here.codes.issue(ANA)
    assert await there.codes.holder(code) == ANA
    found = await asyncio.gather(here.codes.redeem(code), there.codes.redeem(code))
    assert sorted(each is None for each in found) == [False, True]
    assert await here.codes.holder(code) is None


async def test_codes_end_with_their_time_and_with_their_owners_token(store: SqliteStore) -> None:
    now = 1000.0
    access = Access(store, lambda: now)
    old, theirs = await access.codes.issue(ANA), await access.codes.issue(Caller(name="ben", role=Role.ADMIN))
    await access.revoke("ben")
    assert await access.codes.redeem(theirs) is None
    now += CODE_SECONDS
    assert await access.codes.redeem(old) is None
    # What is over leaves nothing behind once there is another.
    await access.codes.issue(ANA)
    assert len((await store.records("sign-in")).items) == 1


async def test_with_a_token_go_sessions_that_began_elsewhere(here: Access, there: Access) -> None:
    await here.create("ana", Role.PERSON)
    await here.create("an", Role.PERSON)
    secret, other = (
        await there.open_session(ANA),
        await there.open_session(Caller(name="an", role=Role.PERSON)),
    )
    assert await here.revoke("ana")
    for access in (here, there):
        await access.load()
        with pytest.raises(Unauthenticated):
            access.session(secret)
        assert access.session(other).caller.name == "an"


async def test_a_look_that_began_before_a_token_was_revoked_does_not_bring_it_back(
    store: SqliteStore, here: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = await here.create("builder", Role.AGENT)
    tokens, has_read, may_go_on = store.tokens, asyncio.Event(), asyncio.Event()

    async def slowly() -> Sequence[Token]:
        monkeypatch.setattr(store, "tokens", tokens)
        found = await tokens()
        has_read.set()
        await may_go_on.wait()
        return found

    monkeypatch.setattr(store, "tokens", slowly)
    look = asyncio.create_task(here.load())
    await has_read.wait()
    assert await here.revoke("builder")
    may_go_on.set()
    await look
    with pytest.raises(Unauthenticated):
        here.identify(secret)


async def test_strangers_at_once_are_looked_for_together(
    here: Access, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, reads = store.tokens, 0

    async def counted() -> Sequence[Token]:
        nonlocal reads
        reads += 1
        return await read()

    monkeypatch.setattr(store, "tokens", counted)
    found = await asyncio.gather(
        *[here.admit(f"wrong {number}") for number in range(50)], return_exceptions=True
    )
    assert {type(each) for each in found} == {Unauthenticated}
    assert reads <= 2


async def test_no_caller_is_shut_out_while_tokens_are_read_anew(
    here: Access, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = await here.create("builder", Role.AGENT)
    read, reading, go_on = store.tokens, asyncio.Event(), asyncio.Event()

    async def slowly() -> Sequence[Token]:
        reading.set()
        await go_on.wait()
        return await read()

    monkeypatch.setattr(store, "tokens", slowly)
    loading = asyncio.create_task(here.load())
    await reading.wait()
    assert here.identify(secret).name == "builder"
    go_on.set()
    await loading
    assert here.identify(secret).name == "builder"


@pytest.mark.promise("doorway/34")
async def test_homes_that_start_at_the_same_time_on_one_store_keep_their_credentials(
    store: SqliteStore, here: Access, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [Home(tmp_path / name) for name in ("here", "there")]
    for home in homes:
        home.create()
    read, both, looks = store.tokens, asyncio.Barrier(2), 0

    async def together() -> Sequence[Token]:
        # Each home looks twice before it writes: when it loads the tokens, and when it looks for the name.
        nonlocal looks
        looks += 1
        if looks > 4:
            return await read()
        found = await read()
        await both.wait()
        return found

    monkeypatch.setattr(store, "tokens", together)

    async def start(home: Home) -> None:
        async with loaded_access(home, store, shared=True):
            pass

    await asyncio.gather(*(start(home) for home in homes))
    await here.load()
    for home in homes:
        assert here.identify(home.read_secret(home.owner_token_file)).role == Role.ADMIN
        assert here.identify(home.read_secret(home.agent_token_file)).role == Role.AGENT
    names = {token.name for token in await here.tokens()}
    assert len(names) == 4
    assert {"local", owner_name()} < names
