"""Answers for the terminal of a Codex, which its background server gets: only what the server has taken counts as delivered."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve

from tests.runs.test_acknowledged import happened, opened
from tests.runs.test_handed_to_hooks import Terminal, a_terminal
from upcall.agents.codex.link import connected
from upcall.domain.away import AwayMode
from upcall.doors.terminal.codex import Beside, DecidedError, wait_beside
from upcall.doors.terminal.screen import Screen

pytestmark = pytest.mark.anyio
NO_TERMINAL = Screen("", 0)
COMMAND = "touch made"
THREAD = {"threadId": "s-9", "turnId": "t-1"}
REQUEST = {
    "id": 7,
    "method": "item/commandExecution/requestApproval",
    "params": {**THREAD, "itemId": "call_1", "command": f"/bin/bash -lc '{COMMAND}'"},
}
RESOLVED = {"method": "serverRequest/resolved", "params": {"threadId": "s-9", "requestId": 7}}
ASKING = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": COMMAND}}
FINISHED = {"hook_event_name": "Stop", "last_assistant_message": "All is done.", "turn_id": "t-1"}


class Server:
    """The background server of a Codex. One that is `dying` takes nothing any more."""

    def __init__(self) -> None:
        self.dying = False
        self.told: list[dict[str, Any]] = []

    async def serve(self, connection: ServerConnection) -> None:
        async for text in connection:
            message = json.loads(text)
            self.told.append(message)
            match message.get("method"):
                case "thread/resume":
                    await self._send(connection, {"id": message["id"], "result": {}}, REQUEST)
                case "initialize":
                    await self._send(connection, {"id": message["id"], "result": {}})
                case "initialized":
                    pass
                case _ if self.dying:
                    return
                case "turn/start":
                    await self._send(connection, {"id": message["id"], "result": {}})
                case _:
                    await self._send(connection, RESOLVED)

    async def _send(self, connection: ServerConnection, *messages: object) -> None:
        for message in messages:
            await connection.send(json.dumps(message))


@pytest.fixture
async def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Terminal]:
    async with a_terminal(tmp_path, monkeypatch) as made:
        await made.switch.set(AwayMode.ON, "ana")
        yield made


@asynccontextmanager
async def beside(terminal: Terminal, path: Path, event: dict[str, Any]) -> AsyncIterator[Server]:
    """A server, and what the hook of a Codex leaves behind, which waits beside it."""
    server, known = Server(), {"session_id": "s-9", "cwd": str(terminal.house.work), **event}
    async with unix_serve(server.serve, path):
        words = (terminal.house.home, known, NO_TERMINAL, str(path))
        waiting = threading.Thread(target=wait_beside, args=words)
        waiting.start()
        yield server
        await asyncio.to_thread(waiting.join, 30)


@pytest.mark.promise("raised/48")
@pytest.mark.parametrize(
    ("event", "words", "method"),
    ((ASKING, "approve", None), (FINISHED, "Say bye.", "turn/start")),
    ids=("action", "next"),
)
async def test_what_the_server_of_codex_has_taken_is_collected(
    terminal: Terminal, tmp_path: Path, event: dict[str, Any], words: str, method: str | None
) -> None:
    async with beside(terminal, tmp_path / "codex.sock", event) as server:
        await terminal.house.answer(await opened(terminal.house), words)
        assert (await happened(terminal.house, "collected"))["evidence"] == "acknowledged"
    assert server.told[-1].get("method") == method
    assert (await terminal.house.runs.find()).items == ()


@pytest.mark.promise("raised/48")
@pytest.mark.parametrize(
    ("event", "words"), ((ASKING, "Approve"), (FINISHED, "Say bye.")), ids=("action", "next")
)
async def test_an_answer_that_a_dying_server_of_codex_got_brings_the_session_back(
    terminal: Terminal, tmp_path: Path, event: dict[str, Any], words: str
) -> None:
    async with beside(terminal, tmp_path / "codex.sock", event) as server:
        server.dying = True
        await terminal.house.answer(await opened(terminal.house), words)
        await terminal.is_resumed_with(f"The user answered: {words}")


async def test_a_decision_is_not_given_to_a_server_of_codex_that_has_one_from_the_terminal(
    tmp_path: Path,
) -> None:
    server, event = Server(), {**ASKING, "session_id": "s-9"}
    path = tmp_path / "codex.sock"
    async with unix_serve(server.serve, path), connected(str(path)) as link:
        dialog = Beside(link, event)
        await dialog.join()
        # As if the terminal had replied: the server says that its request is resolved.
        await link.tell("terminal/replied")
        await dialog.listen()
        with pytest.raises(DecidedError):
            await dialog.is_delivered({"decision": {"allowed": True}})
