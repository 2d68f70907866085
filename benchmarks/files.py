"""The door through files: from a file renamed into its place to its waiter woken."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.bench import PAUSE, Bench, child, environment, finish, percentile, told
from benchmarks.client import Person
from benchmarks.daemon import Daemon
from benchmarks.probe import Probe, Sample
from benchmarks.report import Figure, Target
from benchmarks.store_wake import wake_figure
from upcall.doors.files.exchange import RESPONSES, STAGING, TASKS, Exchange
from upcall.doors.files.folder_watch import FolderWatch
from upcall.doors.files.inbox import Inbox
from upcall.doors.files.inotify import Inotify

WARM_UP = 5
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def run(bench: Bench) -> Iterator[Figure]:
    """Ours and a bare watcher in turns, then the whole way from a person to a container."""
    folder, count = bench.folder("files"), bench.size(500, 20)
    writer = child("file_writer")
    try:
        bare, ours = asyncio.run(_watched(folder, writer, count))
    finally:
        finish(writer)
    for name, part, target in (("p50", 0.5, Target(factor=2, plus=0.1)), ("p99", 0.99, None)):
        yield Figure(
            name=f"response renamed into place → waiter woken, {name}",
            measured=percentile(ours, part) * 1e3,
            limit=percentile(bare, part) * 1e3,
            unit="ms",
            limit_name="bare inotify on the same loop, nothing read",
            repetitions=count,
            target=target,
        )
    count = bench.size(200, 10)
    with Probe(folder) as probe, Daemon(folder / "home") as daemon:
        limits, wakes = asyncio.run(_answered(daemon, probe, count))
    yield wake_figure("answer sent over HTTP → call through files returned, p50", limits, wakes, None)


async def _watched(
    folder: Path, writer: "subprocess.Popen[str]", count: int
) -> tuple[list[float], list[float]]:
    for name in (TASKS, RESPONSES, STAGING, "bare"):
        (folder / name).mkdir()
    exchange, watch = Exchange(str(folder)), FolderWatch()
    inbox = Inbox(exchange, str(folder), watch)
    bare: list[float] = []
    ours: list[float] = []
    for number in range(count + WARM_UP):
        bare.append(await _bare(folder / "bare" / f"{number}.json", writer))
        ours.append(await _ours(inbox, folder / RESPONSES / f"{number}.json", writer))
    watch.close()
    exchange.close()
    return bare[WARM_UP:], ours[WARM_UP:]


async def _bare(path: Path, writer: "subprocess.Popen[str]") -> float:
    loop = asyncio.get_running_loop()
    arrival: asyncio.Future[float] = loop.create_future()
    news = Inotify()
    news.add(str(path.parent))

    def heard() -> None:
        news.read()
        if not arrival.done():
            arrival.set_result(perf_counter())

    loop.add_reader(news.fileno(), heard)
    began = loop.run_in_executor(None, _write, path, writer)
    woken = await arrival
    loop.remove_reader(news.fileno())
    news.close()
    return woken - await began


async def _ours(inbox: Inbox, path: Path, writer: "subprocess.Popen[str]") -> float:
    arrival = inbox.expect(path.stem)
    began = asyncio.get_running_loop().run_in_executor(None, _write, path, writer)
    response = await arrival
    woken = perf_counter()
    inbox.forget(path.stem)
    assert response["status"] == "answered"
    return woken - await began


def _write(path: Path, writer: "subprocess.Popen[str]") -> float:
    assert writer.stdin is not None
    writer.stdin.write(f"{path}\n")
    return float(told(writer))


async def _answered(daemon: Daemon, probe: Probe, count: int) -> tuple[list[Sample], list[float]]:
    group = daemon.home.ipc_folder / "bench"
    await asyncio.to_thread(group.mkdir)
    agent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "upcall", "mcp", "--ipc", str(group), "--wait", "block"),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert agent.stdin is not None
    assert agent.stdout is not None
    person = await Person.at(daemon)
    agent.stdin.write(_line("init", "initialize", INITIALIZE))
    await agent.stdout.readline()
    limits: list[Sample] = []
    wakes: list[float] = []
    for number in range(count + WARM_UP):
        limits.append(probe.sample())
        arguments = {"name": "ask_human", "arguments": {"question": f"question {number}"}}
        agent.stdin.write(_line(number, "tools/call", arguments))
        inquiry = await person.next_question()
        await asyncio.sleep(PAUSE)
        began = perf_counter()
        settled = person.answer(inquiry, "Redis")
        returned = await agent.stdout.readline()
        wakes.append(perf_counter() - began)
        assert b"Redis" in returned, returned
        await settled
    agent.stdin.close()
    await agent.wait()
    return limits[WARM_UP:], wakes[WARM_UP:]


def _line(request: object, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request, "method": method, "params": params}).encode() + b"\n"
