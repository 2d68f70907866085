"""What a program pays for the client: its import, its part of an answered question, and a thousand questions at once."""

import asyncio
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from benchmarks.bench import Bench, median, timed
from benchmarks.client import Json, body_of, connect, request
from benchmarks.daemon import Daemon
from benchmarks.report import Figure, Target
from benchmarks.status import BARE_INTERPRETER
from upcall import Allowed, Client

IMPORT = [sys.executable, "-c", "import upcall"]
USE = [sys.executable, "-c", "import upcall; upcall.ask, upcall.Client"]


def run(bench: Bench) -> Iterator[Figure]:
    """Starts in turns with a bare interpreter's, and questions in turns with raw HTTP."""
    yield from _imports(bench.size(25, 3))
    with Daemon(bench.folder("programs")) as daemon:
        yield asyncio.run(_answered(daemon, bench.size(300, 5)))
        yield asyncio.run(_at_once(daemon, bench.size(1000, 20)))


def _imports(rounds: int) -> Iterator[Figure]:
    took: dict[str, list[float]] = {"bare": [], "import": [], "use": []}
    for _ in range(rounds):
        for name, command in (("bare", BARE_INTERPRETER), ("import", IMPORT), ("use", USE)):
            took[name].append(timed(command))
    bare = median(took["bare"]) * 1e3
    for name, title in (("import", "import upcall"), ("use", "import upcall, and its client")):
        yield Figure(
            name=title,
            measured=median(took[name]) * 1e3,
            limit=bare,
            unit="ms",
            limit_name="python -c pass",
            repetitions=rounds,
            # The client loads an event loop, which a program that asks has anyway.
            target=Target(factor=3) if name == "import" else None,
            details={"on top of the interpreter, ms": median(took[name]) * 1e3 - bare},
        )


async def _answered(daemon: Daemon, rounds: int) -> Figure:
    url = f"http://{daemon.address}"
    asker, person = await connect(daemon.host, daemon.port), await connect(daemon.host, daemon.port)
    took: dict[str, list[float]] = {"raw": [], "client": []}
    async with Client(url, daemon.agent) as client, Client(url, daemon.person) as answerer:

        async def through_client(key: str) -> None:
            parked = await client.ask("Which cache?", key=key, timeout=0)
            await answerer.answer(parked.id, "Redis")
            await client.wait(parked.id)

        async def raw(key: str) -> None:
            asked = body_of(await asker.send(_post(daemon, "", _question(key))))
            await person.send(_post(daemon, f"/{asked['id']}/answer", {"text": "Redis"}, daemon.person))
            await asker.send(request("GET", f"/v1/inquiries/{asked['id']}", daemon.address, daemon.agent))
            await asker.send(_post(daemon, f"/{asked['id']}/collect", {}))

        ways: dict[str, Callable[[str], Awaitable[Any]]] = {"raw": raw, "client": through_client}
        for number in range(rounds):
            for name, ask in ways.items():
                began = time.perf_counter()
                await ask(f"{name}-{number}")
                took[name].append(time.perf_counter() - began)
    return Figure(
        name="ask, answer and collect through the client",
        measured=median(took["client"]) * 1e3,
        limit=median(took["raw"]) * 1e3,
        unit="ms",
        limit_name="the same requests over raw HTTP",
        repetitions=rounds,
        target=Target(factor=1.3),
    )


def _question(key: str) -> Json:
    return {"question": "Which cache?", "request_key": key}


def _post(daemon: Daemon, path: str, body: Json, token: str = "") -> bytes:
    return request("POST", f"/v1/inquiries{path}", daemon.address, token or daemon.agent, body)


async def _at_once(daemon: Daemon, many: int) -> Figure:
    threads = 0
    async with (
        Client(f"http://{daemon.address}", daemon.agent) as client,
        Client(f"http://{daemon.address}", daemon.person) as person,
    ):

        async def approved(number: int) -> bool:
            return isinstance(await client.approve("bash", {"command": f"make {number}"}), Allowed)

        began = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            waiting = [tasks.create_task(approved(number)) for number in range(many)]
            answered = 0
            events = person.events(after=0)
            while answered < many:
                event = await anext(events)
                if event["type"] == "asked" and (await person.get(event["inquiry"]))["kind"] == "approval":
                    await person.answer(event["inquiry"], "yes")
                    answered += 1
                threads = max(threads, threading.active_count())
        assert all(task.result() for task in waiting)
    return Figure(
        name=f"{many} questions at once in one program, until the last one is answered",
        measured=time.perf_counter() - began,
        limit=None,
        unit="s",
        repetitions=1,
        details={"threads of the program": threads},
    )
