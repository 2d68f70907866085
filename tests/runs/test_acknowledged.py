"""Answers handed out through a real pipe: only what was taken counts as delivered.

For a session that was not started by us that is all the proof there is. A run of ours shows what it has in its own output,
unless its program keeps some of that to itself: then what was taken counts as soon as the run has ended well.
"""

import asyncio
import fcntl
import json
import os
import select
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.doors.agent import INITIALIZE, START
from tests.runs.house import ANA, House, a_house
from upcall.domain.inquiry.inquiry import Answered, Inquiry
from upcall.domain.roles import Role
from upcall.domain.run.resume import RESUME
from upcall.domain.run.run import Run, RunState
from upcall.doors.mcp.tools import Tools
from upcall.doors.pipe.server import PipeServer
from upcall.ports.store import Query

pytestmark = pytest.mark.anyio
TOKEN = "upcall_agent_test"
SUBJECT = "session:claude:s-9"


class Client:
    """A program with a pipe, which reads its replies only when it is told to."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def say(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    async def read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        told: dict[str, Any] = json.loads(await asyncio.to_thread(self._process.stdout.readline))
        return told

    async def until_written(self) -> None:
        """Until the pipe has written something, which stays where it is."""
        output = self._process.stdout
        assert output is not None
        assert await asyncio.to_thread(lambda: select.select([output], [], [], 30)[0])

    def unread(self) -> int:
        """How many bytes the pipe has written that its agent has not read."""
        assert self._process.stdout is not None
        counted: bytes = fcntl.ioctl(self._process.stdout, termios.FIONREAD, bytes(4))
        return int.from_bytes(counted, sys.byteorder)

    async def ask(self) -> None:
        self.say({"id": 0, "method": "initialize", "params": INITIALIZE})
        await self.read()
        arguments = {"question": "Which colour?", "options": ["Blue", "Red"]}
        self.say({"id": 1, "method": "tools/call", "params": {"name": "ask_human", "arguments": arguments}})

    async def hang_up(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.to_thread(self._process.wait, 30)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def a_client(house: House, run: Run | None = None) -> Iterator[Client]:
    """Of a session that was not started by us, or of a run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UPCALL_", "CLAUDE"))}
    session = {"CLAUDE_CODE_SESSION_ID": "s-9", "CLAUDE_PROJECT_DIR": str(house.work), "UPCALL_WAIT": "block"}
    if run is not None:
        session = {"UPCALL_TOKEN": house.folder(run).token(), "UPCALL_WAIT": "block"}
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(house.home.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=kept | session,
    )
    with process:
        client = Client(process)
        try:
            yield client
        finally:
            client.kill()


@pytest.fixture
async def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    async with with_pipes(tmp_path, monkeypatch) as made:
        yield made


@asynccontextmanager
async def with_pipes(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, hides_results: bool = False, end: bool = True
) -> AsyncIterator[House]:
    """A house with a door for pipes, and no time for them to find it again."""
    monkeypatch.setattr("upcall.runs.resume.REUNION", 0.0)
    monkeypatch.setattr("upcall.runs.resume.GRACE", 0.0)
    async with a_house(path, hides_results=hides_results, end=end) as made:
        await made.access.adopt("local", Role.AGENT, TOKEN)
        pipes = PipeServer(Tools(made.broker, runner="here"), made.access)
        pipes.held = made.held
        await pipes.start()
        told = {"pid": os.getpid(), "url": "", "pipe_port": pipes.port, "token": TOKEN, "version": "test"}
        made.home.write_private(made.home.runtime_file, json.dumps(told))
        yield made
        await pipes.close()


async def test_who_is_killed_before_it_took_its_answer_is_brought_back_with_it(house: House) -> None:
    with a_client(house) as client:
        await client.ask()
        asked = await opened(house)
        await house.answer(asked)
        await client.until_written()
        assert not await is_collected(house, asked)
        client.kill()
        run = await house.until_begun(1)
        over = await house.until_state(run, RunState.COMPLETED, RunState.FAILED)
        assert (over.session, over.result) == ("s-9", "resumed")
        (heard,) = [str(line["heard"]) for line in house.output(run) if "heard" in line]
        assert "The user answered: Red" in heard


async def test_what_was_taken_is_acknowledged_and_brings_nobody_back(house: House) -> None:
    with a_client(house) as client:
        await client.ask()
        asked = await opened(house)
        await house.answer(asked)
        assert (await client.read())["result"]["structuredContent"]["answers"] == [["Red"]]
        assert (await happened(house, "collected"))["evidence"] == "acknowledged"
    assert await house.store.jobs(RESUME, SUBJECT) == []
    assert (await house.runs.find()).items == ()


async def test_a_no_that_was_taken_brings_nobody_back(house: House) -> None:
    with a_client(house) as client:
        await client.ask()
        asked = await opened(house)
        assert (await house.broker.reject(asked.id, ANA)).accepted
        assert (await client.read())["result"]["structuredContent"]["status"] == "rejected"
        async with asyncio.timeout(30):
            while await house.store.jobs(RESUME, SUBJECT):
                await house.store.events(await house.store.last_seq(), wait=0.05)
    assert (await house.runs.find()).items == ()


@pytest.mark.parametrize(
    ("output", "end", "starts"), [("silent", "ok", 1), ("silent", "bad", 2), ("telling", "ok", 2)]
)
async def test_what_a_run_has_taken_counts_where_its_output_does_not_tell_and_it_has_ended_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, end: str, starts: int
) -> None:
    last = {"ok": "tell(result='ok')", "bad": "tell(result='', bad='agent_error')"}[end]
    async with with_pipes(tmp_path, monkeypatch, hides_results=output == "silent") as house:
        task = f"while not Path('go').exists(): time.sleep(0.02)\n{last}"
        run = await house.until_session(await house.begin(task))
        with a_client(house, run) as client:
            await client.ask()
            asked = await opened(house)
            await house.answer(asked)
            await client.read()
            await until_taken(house, run, asked)
            assert not await is_collected(house, asked)
            (house.work / "go").touch()
            over = await house.until_state(run, RunState.COMPLETED, RunState.FAILED)
        assert (over.state, over.starts) == (RunState.COMPLETED, starts)
        evidence = "acknowledged" if starts == 1 else "spoke after it was told"
        assert (await happened(house, "collected"))["evidence"] == evidence
        assert house.held.taken.by(run.number) == ()
        assert await house.store.jobs(RESUME, "run:1") == []


async def test_what_a_run_has_taken_is_known_to_the_next_daemon_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = "while not Path('go').exists(): time.sleep(0.02)\ntell(result='ok')"
    with ExitStack() as left:
        async with with_pipes(tmp_path, monkeypatch, hides_results=True, end=False) as house:
            run = await house.until_session(await house.begin(task))
            client = left.enter_context(a_client(house, run))
            await client.ask()
            asked = await opened(house)
            await house.answer(asked)
            await client.read()
            await until_taken(house, run, asked)
        async with with_pipes(tmp_path, monkeypatch, hides_results=True) as house:
            await until_taken(house, run, asked)
            (house.work / "go").touch()
            over = await house.until_state(run, RunState.COMPLETED, RunState.FAILED)
            assert (over.state, over.starts) == (RunState.COMPLETED, 1)
            assert await is_collected(house, asked)


async def test_a_reply_that_was_given_up_is_not_acknowledged(house: House) -> None:
    """It may be read when it comes too late, and has no effect."""
    with a_client(house) as client:
        await client.ask()
        asked = await opened(house)
        await house.answer(asked)
        await client.until_written()
        before = client.unread()
        client.say({"method": "notifications/cancelled", "params": {"requestId": 1}})
        client.say({"id": 2, "method": "ping"})
        async with asyncio.timeout(30):
            while client.unread() == before:
                await house.store.events(await house.store.last_seq(), wait=0.01)
        assert [(await client.read())["id"] for _ in range(2)] == [1, 2]
        await client.hang_up()
        run = await house.until_begun(1)
        assert (await house.until_state(run, RunState.COMPLETED, RunState.FAILED)).result == "resumed"


async def test_an_older_pipe_cannot_acknowledge_and_its_session_is_left_in_peace(house: House) -> None:
    running = house.home.running()
    assert running is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", running.pipe_port)
    hello = {"upcall": "pipe", "protocol": 1, "token": TOKEN, "pipe": "p", "wait": "block"}
    call = {"name": "ask_human", "arguments": {"question": "Which colour?", "options": ["Blue", "Red"]}}
    for message in (
        {**hello, "session": "s-9", "program": "claude", "workspace": str(house.work)},
        {"id": 0, "method": "initialize", "params": INITIALIZE},
        {"id": 1, "method": "tools/call", "params": call},
    ):
        writer.write(json.dumps(message).encode() + b"\n")
    asked = await opened(house)
    await house.answer(asked)
    async with asyncio.timeout(30):
        while b"structuredContent" not in await reader.readline():
            pass
        while await house.store.jobs(RESUME, SUBJECT):
            await house.store.events(await house.store.last_seq(), wait=0.05)
    writer.close()
    assert not await is_collected(house, asked)


async def opened(house: House) -> Inquiry:
    """The question, as soon as it is asked."""
    seen = 0
    async with asyncio.timeout(30):
        while not (found := (await house.store.find(Query(state="open"))).items):
            events = await house.store.events(seen, wait=30)
            seen = events[-1].seq if events else seen
    return found[0]


async def until_taken(house: House, run: Run, inquiry: Inquiry) -> None:
    """Until the daemon has heard from the run's pipe that an answer was taken."""
    async with asyncio.timeout(30):
        while inquiry.id not in house.held.taken.by(run.number):
            await house.store.events(await house.store.last_seq(), wait=0.05)


async def is_collected(house: House, inquiry: Inquiry) -> bool:
    state = (await house.store.get(inquiry.id)).state
    assert isinstance(state, Answered)
    return state.collected_at is not None


async def happened(house: House, kind: str) -> dict[str, Any]:
    seen = 0
    async with asyncio.timeout(30):
        while True:
            for event in await house.store.events(seen, wait=30):
                seen = event.seq
                if event.type == kind:
                    return dict(event.data)
