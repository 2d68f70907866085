"""LangGraph: each question is a thread of a graph that stops in `interrupt`, with its SQLite checkpointer.

LangGraph has no way from another process to a waiting program, so the person's answer travels over a loopback port of ours,
and the program resumes the thread with it.
"""

# Installed in the environment of the peers only.
# pyright: reportMissingImports=false

import asyncio
import json
import time
from contextlib import AsyncExitStack
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from benchmarks.peers.harness import Heard, Json, Shown, main


class State(TypedDict):
    question: str
    answer: str
    at: float


async def ask(state: State) -> dict[str, Any]:
    answer = interrupt({"question": state["question"]})
    return {"answer": answer, "at": time.monotonic()}


def graph(saver: AsyncSqliteSaver) -> Any:
    """Start, ask, end."""
    steps = StateGraph(State)
    steps.add_node("ask", ask)
    steps.add_edge(START, "ask")
    steps.add_edge("ask", END)
    return steps.compile(checkpointer=saver)


def thread(key: str) -> Json:
    return {"configurable": {"thread_id": key}}


class Asking:
    def __init__(self, place: Json) -> None:
        self._place = place
        self._open = AsyncExitStack()
        self._graph: Any = None
        self._answers: dict[str, asyncio.Future[str]] = {}

    async def start(self, many: int) -> None:
        if self._graph is not None:
            return
        saver = AsyncSqliteSaver.from_conn_string(self._place["database"])
        self._graph = graph(await self._open.enter_async_context(saver))
        server = await asyncio.start_server(self._answered, "127.0.0.1", self._place["answer_port"])
        self._open.callback(server.close)

    async def ask(self, agent: int, key: str, shown: Shown) -> Heard:
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._answers[key] = told
        # A thread that stopped at its question before a crash is still there.
        if not (await self._graph.aget_state(thread(key))).interrupts:
            await self._graph.ainvoke({"question": "Which cache?", "answer": "", "at": 0.0}, thread(key))
        shown(key)
        ended = await self._graph.ainvoke(Command(resume=await told), thread(key))
        return Heard(ended["answer"], ended["at"])

    async def stop(self) -> None:
        await self._open.aclose()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            told: Json = json.loads(line)
            self._answers.pop(told["key"]).set_result(told["text"])
        writer.close()


class Answering:
    def __init__(self, place: Json) -> None:
        self._place = place
        self._link: asyncio.StreamWriter | None = None

    async def sees(self, handle: str) -> str:
        return handle

    async def answer(self, handle: str, text: str) -> None:
        if self._link is None or self._link.is_closing():
            _, self._link = await asyncio.open_connection("127.0.0.1", self._place["answer_port"])
        self._link.write(json.dumps({"key": handle, "text": text}).encode() + b"\n")

    async def open_questions(self) -> int:
        async with AsyncSqliteSaver.from_conn_string(self._place["database"]) as saver:
            asked = graph(saver)
            keys = {each.config["configurable"]["thread_id"] async for each in saver.alist(None)}
            states = [await asked.aget_state(thread(key)) for key in keys]
        return sum(bool(state.interrupts) for state in states)


if __name__ == "__main__":
    main(Asking, Answering)
