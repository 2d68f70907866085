"""A LangGraph server whose interrupted threads are put to a person by `upcall langgraph serve`."""

import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from tests.agents.script import Call, say_back
from tests.frameworks.story import PATIENCE, Story, end

TASK = {"messages": [{"role": "user", "content": "Remove what was built."}]}


@pytest.mark.promise("programs/7", "programs/19", "programs/23", "programs/24")
async def test_a_thread_of_a_langgraph_server_survives_the_watcher_and_goes_on_once(story: Story) -> None:
    port = await story.served(Path(__file__).with_name("served_graph.py"))
    url = f"http://127.0.0.1:{port}"
    watch = [sys.executable, "-m", "upcall", "langgraph", "serve", "--url", url, "--every", "0.1"]
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE) as server:
        await up(server)
        thread = (await server.post("/threads", json={})).json()["thread_id"]
        began = await server.post(
            f"/threads/{thread}/runs/wait", json={"assistant_id": "agent", "input": TASK}
        )
        assert began.json()["__interrupt__"], began.text

        watcher = await story.run(watch)
        inquiry = await story.asked(watcher)
        assert inquiry["request_key"].startswith(f"langgraph-{thread}-")
        await end(watcher)
        await story.answered_in_the_channel(inquiry, "yes")
        await story.run(watch)
        said = await gone_on(server, thread)

    assert said == "I was told: removed build"
    assert story.removed == ["build"]
    assert await story.who_decided(inquiry) == ("ana", "chat")
    assert len(story.model.conversations) == 2


async def up(server: httpx2.AsyncClient) -> None:
    """Wait until the server replies."""
    with anyio.fail_after(PATIENCE):
        while True:
            try:
                if (await server.get("/ok")).is_success:
                    return
            except httpx2.TransportError:
                await anyio.sleep(0.1)


async def gone_on(server: httpx2.AsyncClient, thread: str) -> Any:
    """What the agent says last in a thread that has ended."""
    with anyio.fail_after(PATIENCE):
        while True:
            found = (await server.get(f"/threads/{thread}")).json()
            if found["status"] == "idle":
                return found["values"]["messages"][-1]["content"]
            assert found["status"] != "error", found
            await anyio.sleep(0.1)
