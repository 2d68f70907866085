"""Tokens in a path, where several daemons share a store."""

from pathlib import Path

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.config.presets.settings import PresetSettings
from upcall.domain.roles import Role
from upcall.presets.token_in_path import token_routes
from upcall.stores.sqlite.store import SqliteStore

SETTINGS = PresetSettings(token_in_path=True)


async def door(scope: Scope, receive: Receive, send: Send) -> None:
    """Replies with the credentials of the request."""
    said = Request(scope).headers.get("authorization", "")
    await PlainTextResponse(said)(scope, receive, send)


async def test_a_token_made_at_another_daemon_lets_an_agent_in(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "upcall.db")
    here, there = Access(store, shared=True), Access(store, shared=True)
    agents, persons = await there.create("builder", Role.AGENT), await there.create("ana", Role.PERSON)
    app = Starlette(routes=token_routes(SETTINGS, here, {"/sse": door}))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://here") as client:
        assert (await client.get(f"/sse/{agents}")).text == f"Bearer {agents}"
        assert (await client.get(f"/sse/{persons}")).text == ""
    await store.close()


async def test_without_the_setting_there_are_no_such_routes(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "upcall.db")
    assert token_routes(PresetSettings(), Access(store), {"/sse": door}) == []
    await store.close()
