"""The design "Question Tool (Agent-to-User Choices)" of a chat, sentence by sentence, under its preset.

Each test quotes its sentences. A conversation is a thread, the assistant's message is what the agent posts in it, and the
renderer is any reader of items and their blocks; the pages of the inbox are one, and have tests of their own.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import pytest

from tests.web.house import House, until
from upcall.config.settings import Config, load
from upcall.daemon.wiring.broker import policy
from upcall.domain.roles import Caller, Role
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.tools import ToolResult, Tools
from upcall.home.files import Home

STORAGE: dict[str, Any] = {
    "header": "Storage",
    "question": "Where should it go?",
    "options": [{"label": "Redis", "description": "in memory"}, {"label": "Disk", "description": "slower"}],
    "multiple": False,
    "custom": True,
}


def preset(folder: Path, more: str = "") -> Config:
    """What the preset says, as a daemon would read it."""
    home = Home(folder)
    home.path.mkdir(exist_ok=True)
    home.config_file.write_text(f'preset = "deepchat"\n{more}')
    return load(home, {})


@dataclass
class Chat:
    """A conversation, the agent in it, and the user in front of it."""

    house: House
    tools: Tools

    def asker(self, call: str = "call_1") -> Asker:
        return Asker.of(
            Caller(name="builder", role=Role.AGENT),
            door="mcp",
            request_key=call,
            thread="t",
            wait=600,
        )

    async def question(self, call: str = "call_1", **fields: Any) -> ToolResult:
        """What the agent's loop gets from calling the tool."""
        return await self.tools.call("question", fields or STORAGE, self.asker(call))

    async def items(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.house.as_("ana").get("/v1/threads/t/items")).json()["items"]
        return found

    async def block(self) -> dict[str, Any]:
        """The last question, as the assistant's message shows it now."""
        found: dict[str, Any] = [item["block"] for item in await self.items() if item["block"]][-1]
        return found

    async def post(self, path: str, by: str = "ana", **body: Any) -> httpx2.Response:
        return await self.house.as_(by).post(f"/v1/threads/t/{path}", json=body)

    async def prompt(self) -> str:
        """The id of the pending question."""
        prompt: str = (await self.house.as_("ana").get("/v1/threads/t")).json()["prompt"]["prompt_id"]
        return prompt

    async def pending(self) -> None:
        await until(lambda: self.house.broker.waiting == 1)

    async def texts(self) -> list[str]:
        """What the user has said."""
        return [item["content"][0]["text"] for item in await self.items() if item["role"] == "user"]


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Chat]:
    config = preset(tmp_path / "home")
    async with House.open(tmp_path, policy=policy(config)) as house:
        await house.as_("builder").post("/v1/threads", json={"id": "t"})
        yield Chat(house, Tools(house.broker, aliases=config.tool_aliases))


@pytest.mark.promise("deepchat/1", "deepchat/14")
async def test_there_is_a_tool_question_with_these_fields(chat: Chat) -> None:
    """Add a built-in agent tool `question`. Tool input (model): QuestionInfo (header, question, options, multiple,
    custom).
    """
    offered = {tool.name: tool for tool in chat.tools.definitions}
    taken = cast("dict[str, Any]", offered["question"].schema["properties"])
    assert {"header", "question", "options", "custom"} <= set(taken)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: chat.question(**{**STORAGE, "multiple": True}))
        await chat.pending()
        assert (await chat.block())["extra"] == {**STORAGE, "multiple": True}
        await chat.post("items", text="1, 2")


@pytest.mark.promise("deepchat/2", "deepchat/32")
async def test_the_loop_pauses_on_asked_and_goes_on_only_after_resolution(chat: Chat) -> None:
    """Treat `question` as a "pause for user input" boundary. Pause on asked; resume only after resolution."""
    results: list[ToolResult] = []

    async def loop() -> None:
        results.append(await chat.question())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(loop)
        await chat.pending()
        refused = await chat.post("items", by="builder", text="meanwhile")
        assert refused.json()["error"]["code"] == "prompt_pending"
        assert results == []
        await chat.post("resolve", prompt_id=await chat.prompt(), text="1")
    assert results[0].structured["answers"] == [["Redis"]]


@pytest.mark.promise("deepchat/3", "deepchat/8", "deepchat/9", "deepchat/15")
async def test_the_block_is_kept_and_updated_in_place(chat: Chat) -> None:
    """Persist and update the question request block in the assistant message content. action_type union to include
    question_request. Reuse existing status values (pending/success/denied) for asked/replied/rejected. Stored block
    fields: serialized in AssistantMessageBlock.extra for persistence.
    """
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chat.question)
        await chat.pending()
        block = await chat.block()
        assert (block["type"], block["action_type"], block["status"]) == (
            "action",
            "question_request",
            "pending",
        )
        assert block["tool_call"] == {"id": "call_1", "name": "question"}
        assert block["extra"] == STORAGE
        await chat.post("items", text="Disk")
    (item,) = [item for item in await chat.items() if item["metadata"]["type"] == "pending_prompt"]
    assert item["block"]["status"] == "success"
    assert item["block"]["extra"]["answerText"] == "Disk"


@pytest.mark.promise("deepchat/4", "deepchat/11")
async def test_selecting_inserts_a_user_message_and_resolves(chat: Chat) -> None:
    """User selects option(s): insert user message (selected labels); resolve pending question; update question block to
    replied (success). A typed presenter method to resolve a pending question.
    """
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: chat.question(**{**STORAGE, "multiple": True}))
        await chat.pending()
        done = await chat.post("resolve", prompt_id=await chat.prompt(), answers=[["Redis", "Disk"]])
        assert done.json()["accepted"] is True
    assert await chat.texts() == ["Redis, Disk"]
    assert (await chat.block())["status"] == "success"


@pytest.mark.promise("deepchat/6", "deepchat/12", "deepchat/16", "deepchat/26", "spec/126")
async def test_any_new_message_resolves_the_pending_question(chat: Chat) -> None:
    """Ensure auto-resolve when any new user message is sent while a question is pending. User sends manual message:
    update question block to replied (success, answerMessageId). When a user message is accepted by main while a question
    is pending, main resolves it using `answerMessageId` and updates the assistant message content.
    """
    messages: list[str] = []
    results: list[ToolResult] = []

    async def loop() -> None:
        results.append(await chat.question())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(loop)
        await chat.pending()
        messages.append((await chat.post("items", text="neither, use S3")).json()["item"]["id"])
    assert results[0].structured["answers"] == [["neither, use S3"]]
    block = await chat.block()
    assert (block["status"], block["extra"]["answerMessageId"]) == ("success", messages[0])


@pytest.mark.promise("deepchat/10")
async def test_a_question_is_standalone_and_the_last_tool_call(chat: Chat) -> None:
    """Enforce "standalone + last tool call" at runtime — reduces ambiguous UI state and avoids chained tool execution
    after asking the user.
    """
    call = {"type": "tool_call", "tool_call_id": "other"}
    await chat.post("items", by="builder", text="npm test", metadata=call)
    result = await chat.question()
    assert result.is_error
    error = cast("dict[str, str]", result.structured["error"])
    assert error["code"] == "question_not_alone"
    assert chat.house.broker.waiting == 0
    await chat.post(
        "items", by="builder", text="ok", metadata={"type": "tool_result", "tool_call_id": "other"}
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chat.question)
        await chat.pending()
        after = await chat.post(
            "items", by="builder", text="npm i", metadata={**call, "tool_call_id": "next"}
        )
        assert after.json()["error"]["code"] == "prompt_pending"
        await chat.post("items", text="1")


@pytest.mark.promise("deepchat/13", "deepchat/35")
async def test_rejecting_denies_the_block_and_inserts_no_message(chat: Chat) -> None:
    """User rejects: reject pending question; update question block to rejected (denied). Reject collapses without
    insertion.
    """
    results: list[ToolResult] = []

    async def loop() -> None:
        results.append(await chat.question())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(loop)
        await chat.pending()
        await chat.post("reject", prompt_id=await chat.prompt())
    assert results[0].structured["status"] == "rejected"
    assert (await chat.block())["status"] == "denied"
    assert await chat.texts() == []


@pytest.mark.promise("deepchat/17", "deepchat/18", "deepchat/19", "deepchat/20", "deepchat/28", "spec/125")
@pytest.mark.parametrize(
    "wrong",
    [
        {"options": [str(number) for number in range(11)]},
        {"options": ["x" * 31]},
        {"question": "x" * 501},
        {"options": [{"label": "a", "description": "x" * 201}]},
        {"options": "neither"},
        {"question": ""},
    ],
)
async def test_an_invalid_call_is_an_error_block_and_does_not_pause(
    chat: Chat, wrong: dict[str, Any]
) -> None:
    """Max options: 10 (v1). Max label length: 30 chars. Max question length: 500 chars. Description length: 200 chars.
    Invalid payload (too many options, invalid strings): show an error block in the assistant message and do not pause.
    """
    result = await chat.question(**{**STORAGE, **wrong})
    assert result.is_error
    (item,) = await chat.items()
    assert (item["block"]["type"], item["block"]["status"]) == ("error", "error")
    assert chat.house.broker.waiting == 0
    assert (await chat.post("items", by="builder", text="going on")).status_code == 201


@pytest.mark.promise("deepchat/17", "deepchat/18", "deepchat/19", "deepchat/20")
async def test_what_is_just_within_the_limits_is_asked(chat: Chat) -> None:
    """Max options: 10; label 30; question 500; description 200."""
    options = [{"label": f"{number}" * 30, "description": "d" * 200} for number in range(10)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: chat.question(question="q" * 500, options=options))
        await chat.pending()
        await chat.post("items", text="1")


@pytest.mark.promise("deepchat/21", "deepchat/22", "deepchat/29", "spec/128")
async def test_the_first_resolution_stays(chat: Chat) -> None:
    """resolveQuestion (idempotent). rejectQuestion (idempotent). Double submit: ignore subsequent resolves; keep first
    resolution.
    """
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chat.question)
        await chat.pending()
        prompt = await chat.prompt()
        first = await chat.post("resolve", prompt_id=prompt, text="1")
        again = await chat.post("resolve", prompt_id=prompt, text="2")
        rejected = await chat.post("reject", prompt_id=prompt)
        assert [each.json()["accepted"] for each in (first, again, rejected)] == [True, False, False]
    assert (await chat.block())["extra"]["answerText"] == "1"
    assert await chat.texts() == ["1"]


@pytest.mark.promise("deepchat/23", "deepchat/24", "spec/128")
async def test_stale_and_foreign_questions_are_ignored(chat: Chat) -> None:
    """Only allow resolving questions for the active conversation/session. Ignore stale/unknown toolCallId."""
    house = chat.house
    other = await house.as_("builder").post("/v1/inquiries", json={"question": "Elsewhere?", "thread": "t2"})
    foreign = f"prm_{other.json()['id']}"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chat.question)
        await chat.pending()
        by_call = {"tool_call_id": "call_0", "text": "1"}
        for body in ({"prompt_id": foreign, "text": "1"}, {"prompt_id": "prm_unknown", "text": "1"}, by_call):
            ignored = await chat.post("resolve", **body)
            assert ignored.json() == {"accepted": False, "inquiry": None, "told": None}
        assert (await chat.block())["status"] == "pending"
        named = await chat.post("resolve", tool_call_id="call_1", text="1")
        assert named.json()["accepted"] is True
    assert (await house.as_("ana").get(f"/v1/inquiries/{other.json()['id']}")).json()["state"] == "open"


@pytest.mark.promise("deepchat/30", "deepchat/31")
async def test_the_payload_is_small(chat: Chat) -> None:
    """Keep payload small (labels/descriptions only). Avoid adding large serialized blobs to `extra`."""
    options = [{"label": "a", "description": "b", "preview": "p" * 4000}]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: chat.question(question="Which?", options=options, context="c" * 10_000))
        await chat.pending()
        extra = (await chat.block())["extra"]
        await chat.post("items", text="1")
        assert extra["options"] == [{"label": "a", "description": "b"}]
        assert len(json.dumps(extra)) < 500


@pytest.mark.promise("deepchat/34")
async def test_one_option_is_inserted_by_its_label(chat: Chat) -> None:
    """Selecting option inserts message and collapses block."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chat.question)
        await chat.pending()
        await chat.post("resolve", prompt_id=await chat.prompt(), answers=[["Disk"]])
    assert await chat.texts() == ["Disk"]
    assert (await chat.block())["content"] == "✓ Answered: Disk"


@pytest.mark.promise("deepchat/36")
async def test_the_tool_can_be_switched_off(tmp_path: Path) -> None:
    """Feature flag (optional): gate tool injection behind a config toggle until stable."""
    assert preset(tmp_path / "on").tool_aliases == ("question",)
    config = preset(tmp_path / "off", "tool_aliases = []\n")
    async with House.open(tmp_path, policy=policy(config)) as house:
        tools = Tools(house.broker, aliases=config.tool_aliases)
        assert "question" not in {tool.name for tool in tools.definitions}


@pytest.mark.promise("deepchat/37")
async def test_who_does_not_know_the_block_can_show_its_text(chat: Chat) -> None:
    """Safe fallback: if renderer does not recognize `question_request`, render as a generic action block with text
    only.
    """
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chat.question)
        await chat.pending()
        content = (await chat.block())["content"]
        await chat.post("items", text="1")
        for said in (
            "Where should it go?",
            "1. Redis — in memory",
            "2. Disk — slower",
            "Reply with a number",
        ):
            assert said in content
