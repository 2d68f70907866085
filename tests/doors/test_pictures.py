"""Files of an answer on their way to the model: pictures where the client shows them, and a path in any case."""

import asyncio
import base64
import math
import stat
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.doors.test_tools import AGENT, PATIENCE, PERSON, asked
from upcall.approvals.desk import ApprovalDesk
from upcall.broker.answer_files import forget_copies
from upcall.broker.broker import Broker, Reply
from upcall.domain.answer.files import answer_file
from upcall.domain.run.resume import is_evidence, message
from upcall.doors.mcp import wire
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.pictures import MOST_SHOWN
from upcall.doors.mcp.tools import ToolResult, Tools
from upcall.home.files import Home
from upcall.stores.sqlite.store import SqliteStore

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
QUESTION = {"question": "What should it look like?"}
FILES = (answer_file("../../My shot.png", PNG), answer_file("notes; rm x.txt", b"as on paper"))


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    """A broker that writes copies into a home."""
    store = await SqliteStore.open(tmp_path / "upcall.db")
    home = Home(tmp_path)
    broker = Broker(store, copies=lambda inquiry: home.answer_folder(inquiry.id, inquiry.origin.run))
    await broker.start()
    yield broker
    await broker.close()
    await store.close()


async def told(broker: Broker, client: str, reply: Reply) -> ToolResult:
    """What the tool returns to a client when a person replies."""
    asker = Asker.of(AGENT, door="mcp", wait=math.inf, client=client)
    call = asyncio.create_task(Tools(broker).call("ask_human", QUESTION, asker))
    await broker.receive((await asked(broker)).id, reply, PERSON)
    async with asyncio.timeout(PATIENCE):
        return await call


@pytest.mark.promise("desk/25")
async def test_a_client_that_shows_pictures_gets_them_and_every_file_has_a_path(broker: Broker) -> None:
    got = await told(broker, "claude-code", Reply(text="like this", files=FILES))

    sent: Any = wire.called(got, modern=True)
    assert [each["type"] for each in sent["content"]] == ["text", "image"]
    assert sent["content"][1] == {
        "type": "image",
        "data": base64.b64encode(PNG).decode(),
        "mimeType": "image/png",
    }
    assert "structuredContent" not in sent
    paths = [Path(line.partition(" (")[0]) for line in got.text.splitlines()[-2:]]
    assert [path.name for path in paths] == ["1-My-shot.png", "2-notes-rm-x.txt"]
    assert [path.read_bytes() for path in paths] == [PNG, b"as on paper"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert stat.S_IMODE(paths[0].parent.stat().st_mode) == 0o700


@pytest.mark.promise("desk/25")
async def test_a_client_that_was_not_measured_gets_the_paths_alone(broker: Broker) -> None:
    got = await told(broker, "another", Reply(text="like this", files=FILES))
    sent: Any = wire.called(got, modern=False)
    assert [each["type"] for each in sent["content"]] == ["text"]
    assert "1-My-shot.png (image/png, 24 bytes)" in sent["structuredContent"]["message"]


async def test_a_picture_that_a_model_would_be_refused_for_is_a_file(broker: Broker) -> None:
    large = answer_file("large.png", PNG + bytes(MOST_SHOWN))
    got = await told(broker, "claude-code", Reply(text="like this", files=(large, FILES[0])))
    assert [len(base64.b64decode(each.data)) for each in got.pictures] == [len(PNG)]
    assert "1-large.png" in got.text


@pytest.mark.promise("desk/24")
async def test_a_picture_alone_is_an_answer(broker: Broker) -> None:
    got = await told(broker, "claude-code", Reply(answers=[[]], files=FILES[:1]))
    assert got.structured["answers"] == [["My shot.png"]]


@pytest.mark.promise("desk/25")
async def test_a_run_that_is_resumed_and_a_program_that_takes_only_answers_are_told_the_path(
    broker: Broker, tmp_path: Path
) -> None:
    await asyncio.to_thread((tmp_path / "runs" / "3").mkdir, parents=True)
    desk = ApprovalDesk(broker, caller=replace(AGENT, run=3), session="s", door="native")
    call = asyncio.create_task(desk.ask({"questions": [{"question": "Where?"}]}, "call_1"))
    inquiry = await asked(broker)
    settled = await broker.receive(inquiry.id, Reply(text="here", files=FILES[:1]), PERSON)
    outcome = await call

    path = tmp_path / "runs" / "3" / "answers" / inquiry.id / "1-My-shot.png"
    assert outcome.worded is not None
    assert str(path) in outcome.worded[0][0]
    laid_out = await broker.files.laid_out(settled.inquiry)
    assert str(path) in message([laid_out])
    # What was stored knows no paths; the same text with them is evidence all the same.
    assert is_evidence(settled.inquiry, "", outcome.text)


async def test_an_undone_answer_leaves_no_file_in_the_next_one(broker: Broker) -> None:
    call = asyncio.create_task(Tools(broker).call("ask_human", QUESTION, Asker.of(AGENT, door="mcp")))
    inquiry = await asked(broker)
    await broker.receive(inquiry.id, Reply(text="a", files=FILES[:1], hold=60), PERSON)
    await broker.undo(inquiry.id, PERSON)
    await broker.receive(inquiry.id, Reply(text="b", files=FILES[1:]), PERSON)
    assert (await call).text.endswith("1-notes-rm-x.txt (text/plain, 11 bytes)")
    assert await broker.files.content(inquiry, 0) == b"as on paper"


async def test_a_full_disk_keeps_no_answer_back(broker: Broker, tmp_path: Path) -> None:
    await asyncio.to_thread((tmp_path / "answers").write_text, "in the way")
    got = await told(broker, "another", Reply(text="like this", files=FILES[:1]))
    assert "like this" in got.text
    assert "My-shot.png, which could not be written" in got.text


async def test_copies_are_forgotten_with_what_they_belong_to(broker: Broker, tmp_path: Path) -> None:
    await told(broker, "another", Reply(text="like this", files=FILES[:1]))
    folder = Home(tmp_path).answers_folder
    assert await forget_copies(folder, 0) == 0
    assert await forget_copies(folder, 2**40) == 1
    assert await asyncio.to_thread(lambda: list(folder.iterdir())) == []
