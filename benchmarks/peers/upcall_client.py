"""Upcall through its Python client: agents that call `ask`, and a person who answers over the API."""

from benchmarks.peers.harness import Heard, Json, Shown, heard, main
from upcall import Answered, Client
from upcall.client.request import Progress


class Asking:
    def __init__(self, place: Json) -> None:
        self._client = Client(place["url"], place["agent"])

    async def start(self, many: int) -> None:
        """Nothing: agents share one client, as the calls of a program do."""

    async def ask(self, agent: int, key: str, shown: Shown) -> Heard:
        def told(progress: Progress) -> None:
            if progress.stage == "asked":
                shown(progress.inquiry["id"])

        outcome = await self._client.ask(f"Which cache? {key}", key=key, progress=told)
        assert isinstance(outcome, Answered), outcome
        return heard(outcome.text)

    async def stop(self) -> None:
        await self._client.close()


class Answering:
    def __init__(self, place: Json) -> None:
        self._client = Client(place["url"], place["person"])

    async def sees(self, handle: str) -> str:
        return handle

    async def answer(self, handle: str, text: str) -> None:
        await self._client.answer(handle, text)

    async def open_questions(self) -> int:
        return len([each async for each in self._client.find(state="open")])


if __name__ == "__main__":
    main(Asking, Answering)
