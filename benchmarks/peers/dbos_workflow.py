"""DBOS: each question is a workflow that shows it in a step and waits in `recv`, and a person's program sends the answer."""

# Installed in the environment of the peers only.
# pyright: reportMissingImports=false

import time
from typing import Any

from dbos import DBOS, DBOSClient, SetWorkflowID

from benchmarks.peers.harness import Heard, Json, Shown, main

TOPIC = "answer"
PATIENCE = 3600
_SHOWN: dict[str, Shown] = {}
"""Whom to tell that a question is shown, by the workflow's id: a workflow's arguments are stored, and a function cannot be."""


async def _show(key: str) -> None:
    if key in _SHOWN:
        _SHOWN[key](key)


async def _question(key: str) -> list[Any]:
    await show(key)
    text = await DBOS.recv_async(TOPIC, timeout_seconds=PATIENCE)
    return [text, time.monotonic()]


show = DBOS.step()(_show)
question = DBOS.workflow()(_question)


class Asking:
    def __init__(self, place: Json) -> None:
        config = {"name": "bench", "system_database_url": place["database"], "log_level": "ERROR"}
        DBOS(config=config)
        self._launched = False

    async def start(self, many: int) -> None:
        if not self._launched:
            self._launched = True
            DBOS.launch()

    async def ask(self, agent: int, key: str, shown: Shown) -> Heard:
        _SHOWN[key] = shown
        with SetWorkflowID(key):
            handle = await DBOS.start_workflow_async(question, key)
        text, at = await handle.get_result()
        del _SHOWN[key]
        return Heard(text, at)

    async def stop(self) -> None:
        DBOS.destroy()


class Answering:
    def __init__(self, place: Json) -> None:
        self._client = DBOSClient(system_database_url=place["database"])

    async def sees(self, handle: str) -> str:
        return handle

    async def answer(self, handle: str, text: str) -> None:
        await self._client.send_async(handle, text, TOPIC)

    async def open_questions(self) -> int:
        return len(await self._client.list_workflows_async(status="PENDING"))


if __name__ == "__main__":
    main(Asking, Answering)
