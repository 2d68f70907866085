"""A child process that asks, waits and answers over HTTP as fast as it is let: a load, not a part of what is measured.

It is told where in one line of JSON, and says how it went in another, for every line that it is sent.
"""

import asyncio
import json
import sys
import time

import uvloop

from benchmarks.bench import percentile
from benchmarks.client import Connection, Json, asking, connect, request

_ID = b'"id":"'
_ID_LENGTH = 26


class Pair:
    """An agent and the person who answers it, each with a connection."""

    def __init__(self, agent: Connection, person: Connection, place: Json) -> None:
        self._agent = agent
        self._person = person
        self._place = place
        address = place["address"]
        self._ask = request("POST", "/v1/inquiries", address, place["agent"], asking("Which cache?"))
        self._tail = request("GET", "", address, place["agent"]).removeprefix(b"GET  ")
        self._reply = request("POST", "", address, place["person"], {"text": "Redis"}).removeprefix(b"POST  ")

    async def cycle(self) -> float:
        """Ask, wait, answer; the seconds from the answer sent to the waiter told."""
        asked = await self._agent.send(self._ask)
        _check(asked)
        start = asked.index(_ID) + len(_ID)
        path = b"/v1/inquiries/" + asked[start : start + _ID_LENGTH]
        waiting = self._agent.send(b"GET " + path + b"/wait?timeout=60 " + self._tail)
        began = time.perf_counter()
        _check(await self._person.send(b"POST " + path + b"/answer " + self._reply))
        told = await waiting
        _check(told)
        assert b'"answered"' in told, told
        return self._agent.arrived - began


def _check(response: bytes) -> None:
    if not response.startswith(b"HTTP/1.1 2"):
        raise ConnectionError(f"refused: {response[:400]!r}")


async def run(place: Json) -> Json:
    """Load a place for some seconds with so many pairs."""
    host, port = place["host"], place["port"]
    pairs = [
        Pair(await connect(host, port), await connect(host, port), place) for _ in range(place["concurrent"])
    ]
    wakes: list[float] = []
    end = time.perf_counter() + place["seconds"]

    async def work(pair: Pair) -> None:
        while time.perf_counter() < end:
            wakes.append(await pair.cycle())

    began = time.perf_counter()
    await asyncio.gather(*[work(pair) for pair in pairs])
    took = time.perf_counter() - began
    return {
        "cycles": len(wakes),
        "rate": len(wakes) / took,
        "p50": percentile(wakes, 0.5),
        "p99": percentile(wakes, 0.99),
    }


def main() -> None:
    """Serve orders until there are no more."""
    for line in sys.stdin:
        print(json.dumps(uvloop.run(run(json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
