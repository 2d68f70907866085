"""The daemon's side of keepers: what it does with a connection that comes at the wrong moment."""

import asyncio
import json
import socket
from pathlib import Path

import pytest

from upcall.home.files import Home
from upcall.runs.process.keeper import ADDRESS_FILE, KEEPER, key_of, proof
from upcall.runs.process.keeper_server import Hello, KeeperConnection, KeeperServer, KnownKeeper

pytestmark = pytest.mark.anyio
KEY = key_of("secret")


class Owner:
    """Knows every keeper, and remembers those that have proved themselves."""

    def __init__(self) -> None:
        self.met: list[int] = []

    async def known(self, hello: Hello) -> KnownKeeper | None:
        return KnownKeeper(key=KEY, is_newest=True)

    def connected(self, keeper: KeeperConnection) -> None:
        self.met.append(keeper.run)


async def test_a_keeper_that_proves_itself_is_followed(tmp_path: Path) -> None:
    owner, server, keeper = await _listening(tmp_path)
    with keeper:
        await asyncio.to_thread(keeper.recv, 1)
        assert owner.met == [7]
        await server.close()


async def test_a_connection_that_was_accepted_before_the_close_is_not_served_after_it(tmp_path: Path) -> None:
    """Its task exists, and has not begun when the server closes."""
    owner, server, keeper = await _listening(tmp_path)
    with keeper:
        while not _accepted():  # noqa: ASYNC110 - one step of the loop at a time, so that the task has not begun
            await asyncio.sleep(0)
        await server.close()
        assert await asyncio.to_thread(keeper.recv, 1) == b""
        assert owner.met == []


async def _listening(path: Path) -> tuple[Owner, KeeperServer, socket.socket]:
    """A server, and a keeper that has connected and said hello before the server could look."""
    home, owner = Home(path), Owner()
    server = KeeperServer(home, owner)
    await server.start()
    port = json.loads((path / "runs" / ADDRESS_FILE).read_text())["port"]
    keeper = socket.create_connection(("127.0.0.1", port), timeout=30)
    hello = {"run": 7, "start": 1, "nonce": "n", "proof": proof(KEY, KEEPER, "n")}
    keeper.sendall(json.dumps(hello).encode() + b"\n")
    return owner, server, keeper


def _accepted() -> list["asyncio.Task[object]"]:
    """The tasks that serve a connection."""
    return [task for task in asyncio.all_tasks() if "KeeperServer._accept" in repr(task.get_coro())]
