"""The design "ask_human MCP Tool", sentence by sentence, under `preset = "poietai"`.

The application is a client with a person's token; Claude is a program that speaks like it.
"""

import asyncio
import http.client
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp import Client as McpClient
from mcp.client.sse import sse_client
from mcp_types import CallToolResult, TextContent

from tests.cli.conftest import Program
from upcall.broker.broker import Broker
from upcall.cli.client import Client
from upcall.config.settings import Config, load
from upcall.daemon.wiring.broker import policy
from upcall.domain.errors import UpcallError
from upcall.domain.roles import Caller, Role
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.tools import ToolResult, Tools
from upcall.home.files import Home
from upcall.presets.label_cards import card_label
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import an_inquiry
from upcall.web.pages.locales import Words
from upcall.web.pages.rendering import Rendering

CLAUDE = Path(__file__).with_name("sse_claude.py")
ASKER = Asker.of(Caller(name="claude", role=Role.AGENT), door="mcp")


class App(Program):
    """A home under the preset, and the application's side of it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "home")
        self.work = folder / "work"
        self.work.mkdir()
        script = folder / "claude"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {CLAUDE} "$@"\n')
        script.chmod(0o755)
        self.home.mkdir(mode=0o700)
        (self.home / "upcall.toml").write_text(f'preset = "poietai"\n[agents.claude]\nprogram = "{script}"\n')
        self.token = self("tokens", "create", "--role", "agent", "--name", "abc-123").stdout.strip()
        self.person = Client(home=Home(self.home))

    @property
    def url(self) -> str:
        url: str = json.loads((self.home / "run.json").read_text())["url"]
        return url

    def status_of(self, path: str, token: str = "") -> int:
        """What a request comes to."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=30)
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        status = connection.getresponse().status
        connection.close()
        return status

    def answer_agent(self, agent_id: str, reply: str) -> dict[str, Any]:
        """`answer_agent(agent_id, reply)`."""
        told: dict[str, Any] = self.person.post("/v1/answer-agent", {"agent_id": agent_id, "reply": reply})
        return told


class Listener:
    """The application listening for `agent-question`."""

    def __init__(self, app: App) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(app.url).netloc, timeout=60)
        owner = (app.home / "owner.token").read_text().strip()
        self._connection.request("GET", "/v1/agent-questions", headers={"Authorization": f"Bearer {owner}"})
        self._stream = self._connection.getresponse()
        assert self._stream.status == 200
        assert self._stream.readline() == b": upcall\n"

    def next(self) -> dict[str, Any]:
        """The payload of the next event."""
        kind = b""
        while True:
            line = self._stream.readline()
            assert line, "the stream ended"
            name, _, value = line.strip().partition(b": ")
            if name == b"event":
                kind = value
            elif name == b"data":
                assert kind == b"agent-question"
                payload: dict[str, Any] = json.loads(value)
                return payload

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    made = App(tmp_path_factory.mktemp("poietai"))
    yield made
    made.person.hang_up()
    made("down")


@pytest.fixture
def listener(app: App) -> Iterator[Listener]:
    made = Listener(app)
    yield made
    made.close()


@pytest.fixture(scope="module")
def preset(tmp_path_factory: pytest.TempPathFactory) -> Config:
    return load(Home(tmp_path_factory.mktemp("nothing")), {"UPCALL_PRESET": "poietai"})


def text_of(told: CallToolResult) -> str:
    (block,) = told.content
    assert isinstance(block, TextContent)
    return block.text


def code_of(told: ToolResult) -> object:
    error = told.structured["error"]
    assert isinstance(error, dict)
    return error["code"]


@asynccontextmanager
async def connected(app: App) -> AsyncIterator[McpClient]:
    """An agent that was given an address and nothing else."""
    async with McpClient(sse_client(f"{app.url}/sse/{app.token}"), mode="legacy") as client:
        yield client


@pytest.mark.promise(
    "poietai/1",
    "poietai/4",
    "poietai/7",
    "poietai/8",
    "poietai/9",
    "poietai/10",
    "poietai/13",
    "poietai/14",
    "poietai/16",
    "poietai/17",
)
def test_claude_finds_the_server_asks_and_goes_on_with_the_reply(app: App, listener: Listener) -> None:
    """Before spawning Claude, `process.rs` writes a `.claude/settings.json` into the worktree.

    `app.emit("agent-question", { agent_id, question })` […] `invoke("answer_agent", …)` […] Claude continues the task.
    """
    begun = app("run", "claude", "add a theme", "--cwd", str(app.work))
    assert begun.returncode == 0, begun.stderr
    asked = listener.next()
    assert (asked["agent_id"], asked["question"]) == ("claude", "Dark or light?")
    assert app.json("show", "1")["state"] == "waiting_input"
    found = json.loads((app.work / "found.json").read_text())
    for file in found["files"]:
        server = file["mcpServers"]["poietai"]
        assert server["type"] == "sse"
        assert server["url"].startswith(f"{app.url}/sse/upcall_run_")
    assert "You have an `ask_human(question, agent_id)` tool available via MCP." in found["prompt"]
    assert 'Always pass agent_id="claude" exactly as given.' in found["prompt"]
    assert app.answer_agent("claude", "Dark, please")["accepted"] is True
    assert "The user answered: Dark, please" in app("log", "1", "-f").stdout
    assert app.json("show", "1")["state"] == "completed"
    # The address is of no use any more, and gone from the work tree.
    assert [(app.work / name).exists() for name in (".claude/settings.json", ".mcp.json")] == [False, False]
    assert app.status_of(urlsplit(found["files"][0]["mcpServers"]["poietai"]["url"]).path) == 401


@pytest.mark.promise("poietai/2", "poietai/3")
def test_the_prompt_suppresses_what_cannot_work_without_a_screen(preset: Config) -> None:
    """Add two lines to the system prompt that suppress `AskUserQuestion` and skills in headless mode."""
    lines = preset.advice.splitlines()
    assert (
        "Do NOT use the `AskUserQuestion` tool — it is disabled in headless mode and will always error."
        in lines
    )
    assert any(line.startswith("Do NOT invoke skills (brainstorming, ") for line in lines)


@pytest.mark.promise("poietai/6", "poietai/22")
def test_the_system_chooses_the_port_and_the_home_knows_it(app: App, preset: Config) -> None:
    """Bind to port 0 (OS-assigned) eliminates this entirely. The actual port is stored."""
    assert (preset.host, preset.port) == ("127.0.0.1", 0)
    address = urlsplit(app.url)
    assert address.hostname == "127.0.0.1"
    assert address.port


@pytest.mark.promise("poietai/11", "poietai/12", "poietai/23")
async def test_the_identity_is_in_the_path_and_a_wrong_agent_id_is_a_structured_error(
    app: App, listener: Listener
) -> None:
    """Wrong agent_id in ask_human call: MCP returns structured error: "unknown agent_id"."""
    async with connected(app) as agent:
        told = await agent.call_tool("ask_human", {"question": "Who am I?", "agent_id": "abc-124"})
        assert told.is_error
        assert told.structured_content is not None
        assert told.structured_content["error"]["code"] == "unknown_agent"
        assert "unknown agent_id" in told.structured_content["error"]["message"]
        call = asyncio.create_task(
            agent.call_tool("ask_human", {"question": "Who am I?", "agent_id": "abc-123"})
        )
        assert (await asyncio.to_thread(listener.next))["agent_id"] == "abc-123"
        await asyncio.to_thread(app.answer_agent, "abc-123", "an agent")
        assert text_of(await call) == "The user answered: an agent"


def test_only_an_agents_token_opens_a_path(app: App) -> None:
    owner = (app.home / "owner.token").read_text().strip()
    assert [app.status_of(f"/sse/{secret}") for secret in ("guessed", owner)] == [401, 401]
    assert app.status_of(f"/sse/{owner}/messages/") == 401


@pytest.mark.promise("poietai/24")
async def test_two_questions_of_one_agent_are_both_answered(app: App, listener: Listener) -> None:
    """A second question does not take the place of the first in `pending`."""
    async with connected(app) as agent:
        first = asyncio.create_task(agent.call_tool("ask_human", {"question": "First?"}))
        assert (await asyncio.to_thread(listener.next))["question"] == "First?"
        second = asyncio.create_task(agent.call_tool("ask_human", {"question": "Second?"}))
        assert (await asyncio.to_thread(listener.next))["question"] == "Second?"
        for reply in ("one", "two"):
            assert (await asyncio.to_thread(app.answer_agent, "abc-123", reply))["accepted"]
        texts = [text_of(await call) for call in (first, second)]
        assert texts == ["The user answered: one", "The user answered: two"]


def test_an_agent_that_asks_nothing_is_unknown_and_agents_neither_listen_nor_answer(app: App) -> None:
    with pytest.raises(UpcallError, match="unknown agent_id 'abc-123'"):
        app.answer_agent("abc-123", "x")
    with pytest.raises(UpcallError, match="agent_id and reply: text, both of them"):
        app.person.post("/v1/answer-agent", {"agent_id": "abc-123"})
    assert app.status_of("/v1/agent-questions", app.token) == 403


@pytest.mark.promise("poietai/19")
def test_an_open_card_is_labelled(preset: Config) -> None:
    """Renders an inline question card […] labeled "Agent needs input"."""
    words = Words("en")
    inquiry = an_inquiry()
    labelled = Rendering(card_label=card_label(preset)).card(inquiry, words, now=1.0, token="t")
    assert "Agent needs input" in labelled
    assert "Agent needs input" not in Rendering().card(inquiry, words, now=1.0, token="t")


@asynccontextmanager
async def a_broker(folder: Path, config: Config) -> AsyncIterator[Broker]:
    store = await SqliteStore.open(folder / "upcall.db")
    broker = Broker(store, policy(config))
    await broker.start()
    try:
        yield broker
    finally:
        await broker.close()
        await store.close()


@pytest.mark.promise("poietai/21")
async def test_no_reply_in_time_is_a_structured_error(preset: Config, tmp_path: Path) -> None:
    """No reply after 10 minutes: […] MCP returns timeout error to Claude."""
    assert (preset.block_timeout, preset.slice) == (600, 600)
    brief = replace(preset, block_timeout=0.05)
    async with a_broker(tmp_path, brief) as broker:
        told = await Tools(broker, slice_seconds=brief.slice).call("ask_human", {"question": "Well?"}, ASKER)
    assert told.is_error
    assert code_of(told) == "timeout"


@pytest.mark.promise("poietai/20")
async def test_closing_in_the_middle_of_a_question_is_an_error_that_says_so(
    preset: Config, tmp_path: Path
) -> None:
    """User closes app mid-question: […] MCP returns error to Claude → Claude surfaces it and stops."""
    async with a_broker(tmp_path, preset) as broker:
        tools = Tools(broker, slice_seconds=preset.slice)
        call = asyncio.create_task(tools.call("ask_human", {"question": "Well?"}, ASKER))
        await broker.store.events(0, wait=30)
        await broker.close()
        told = await call
    assert told.is_error
    assert code_of(told) == "closed"
    assert "Stop and report" in told.text
