"""Answers handed to the hooks of terminals: only what a program was still there for counts as delivered, and nothing is delivered twice."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.plain_http import plain_client
from tests.runs.house import ANA, House, a_house
from tests.runs.test_acknowledged import happened, is_collected, opened
from upcall.approvals.away import AwaySwitch
from upcall.approvals.desk import ApprovalDesk
from upcall.domain.away import AwayMode
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Role
from upcall.domain.run.resume import RESUME
from upcall.domain.run.run import RunState
from upcall.doors.terminal.door import TerminalDoor

pytestmark = pytest.mark.anyio
TOKEN, OTHER_TOKEN = "upcall_agent_test", "upcall_agent_other"
SESSION, SUBJECT = "claude:s-9", "session:claude:s-9"
QUESTION = {"question": "Which cache?", "header": "Cache", "options": ["Redis", "Memcached"]}
ASKED: dict[str, Any] = {"tool_name": "AskUserQuestion", "tool_input": {"questions": [QUESTION]}}
FINISHED = {"hook_event_name": "Stop", "last_assistant_message": "All is done.", "prompt_id": "p-1"}


class Terminal:
    """A daemon with the door for hooks, what hooks have told it, and a hook that a test plays itself."""

    def __init__(self, house: House, client: httpx2.AsyncClient, switch: AwaySwitch) -> None:
        self.house = house
        self.switch = switch
        self.told: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        self.is_deaf = False
        self.url = ""
        self._client = client

    async def report(self, hook: Mapping[str, Any], token: str = TOKEN, **more: Any) -> Any:
        event = {"session_id": "s-9", "cwd": str(self.house.work), **hook}
        sent = {
            "hook": event,
            "idle": 1000.0,
            "attended": True,
            "acknowledges": True,
            "runner": "here",
            **more,
        }
        headers = {"authorization": f"Bearer {token}"}
        response = await self._client.post(f"{self.url}/hooks/terminal", json=sent, headers=headers)
        assert response.status_code == 200, response.text
        return response.json()

    async def waiting(self, hook: Mapping[str, Any], **more: Any) -> "tuple[Inquiry, asyncio.Task[Any]]":
        """What was asked, and the report that waits for its answer."""
        asked = (await self.report(hook))["asked"]
        task = asyncio.create_task(self.report(hook, again=True, asked=asked, **more))
        return await self.house.store.get(asked), task

    async def handed(self, hook: Mapping[str, Any], **more: Any) -> Inquiry:
        """An inquiry with an answer that its hook has, and has said nothing about."""
        asked, task = await self.waiting(hook, **more)
        await self.house.answer(asked, "Memcached")
        reply = await task
        assert (reply["handed"], reply["acknowledge"]) == (asked.id, True)
        assert not await is_collected(self.house, asked)
        return asked

    async def until_told(self, word: str) -> None:
        """Until a hook has told what became of its answer."""
        async with asyncio.timeout(60):
            while not (await self.told.get()).get(word):
                pass

    async def until_put_off(self) -> None:
        """Until the resume job was looked at, and left for later."""
        async with asyncio.timeout(30):
            while not [job for job in await self._jobs() if job.due > self.house.broker.now() + 20]:
                await self.house.store.events(await self.house.store.last_seq(), wait=0.02)

    async def is_resumed_with(self, words: str) -> None:
        """A run takes the session over, and is told these words."""
        run = await self.house.until_begun(1)
        over = await self.house.until_state(run, RunState.COMPLETED, RunState.FAILED)
        assert (over.session, over.result) == ("s-9", "resumed")
        (heard,) = [str(line["heard"]) for line in self.house.output(run) if "heard" in line]
        assert words in heard

    async def is_left_in_peace(self) -> None:
        """Nothing is to be resumed."""
        assert await self._jobs() == []
        assert SESSION not in self.house.held
        assert (await self.house.runs.find()).items == ()

    async def _jobs(self) -> Any:
        return await self.house.store.jobs(RESUME, SUBJECT)

    def around(self, app: ASGIApp) -> ASGIApp:
        """The door, with an ear at it. While it is deaf, it cannot take what hooks say of their answers."""

        async def heard(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            message = await receive()
            while message.get("more_body"):
                message = {**(more := await receive()), "body": message["body"] + more["body"]}
            told = json.loads(message["body"])
            if self.is_deaf and (told.get("acknowledged") or told.get("missed")):
                await Response(status_code=503)(scope, receive, send)
            else:
                await app(scope, _first(message, receive), send)
            self.told.put_nowait(told)

        return heard


def _first(message: Message, receive: Receive) -> Receive:
    left = [message]

    async def next_message() -> Message:
        return left.pop() if left else await receive()

    return next_message


@asynccontextmanager
async def a_terminal(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, reunion: float = 0.0
) -> AsyncIterator[Terminal]:
    """A daemon in which resume jobs are due at once, or when hooks had time to find it again."""
    monkeypatch.setattr("upcall.runs.resume.REUNION", reunion)
    for place in ("upcall.runs.resume.GRACE", "upcall.domain.run.resume.GRACE"):
        monkeypatch.setattr(place, 0.0)
    async with AsyncExitStack() as leaving:
        house = await leaving.enter_async_context(a_house(path))
        for name, token in (("local", TOKEN), ("other", OTHER_TOKEN)):
            await house.access.adopt(name, Role.AGENT, token)
        client = await leaving.enter_async_context(plain_client(timeout=30))
        switch = AwaySwitch(house.store, after=60.0)
        terminal = Terminal(house, client, switch)
        door = TerminalDoor(
            house.broker, house.access, partial(ApprovalDesk, house.broker), switch, house.held
        )
        app = terminal.around(Starlette(routes=door.routes()))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off", ws="none"))
        serving = asyncio.create_task(server.serve())
        leaving.push_async_callback(asyncio.wait, {serving})
        while not server.started:
            assert not serving.done(), "the server did not start"
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        terminal.url = f"http://127.0.0.1:{port}"
        told = {"pid": os.getpid(), "url": terminal.url, "pipe_port": 0, "token": TOKEN, "version": "test"}
        house.home.write_private(house.home.runtime_file, json.dumps(told))
        house.home.write_private(house.home.path / "runner", "here\n")
        yield terminal
        house.home.runtime_file.unlink()
        server.should_exit = True


@pytest.fixture
async def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Terminal]:
    async with a_terminal(tmp_path, monkeypatch) as made:
        yield made


def asking(**more: object) -> dict[str, Any]:
    return {"hook_event_name": "PermissionRequest", "prompt_id": "p-1", **ASKED, **more}


@pytest.mark.promise("raised/48", "raised/49")
async def test_an_answer_is_collected_by_its_acknowledgement_and_not_delivered_twice_while_that_is_late(
    terminal: Terminal,
) -> None:
    asked = await terminal.handed(asking())
    await terminal.until_put_off()
    assert SESSION in terminal.house.held

    await terminal.report(asking(), acknowledged=asked.id)
    assert (await happened(terminal.house, "collected"))["evidence"] == "acknowledged"
    await terminal.is_left_in_peace()


@pytest.mark.promise("raised/48")
async def test_an_answer_that_a_program_missed_stays_uncollected_and_brings_its_session_back(
    terminal: Terminal,
) -> None:
    asked = await terminal.handed(asking())
    await terminal.report(asking(), missed=asked.id)
    await terminal.is_resumed_with("The user answered: Memcached")
    assert (await happened(terminal.house, "collected"))["evidence"] == "spoke after it was told"


@pytest.mark.promise("raised/48")
async def test_a_hook_that_died_with_an_answer_has_missed_it_and_one_that_is_halted_has_not(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("upcall.doors.terminal.handing.HEARD_WITHIN", 0.01)
    hook = await asyncio.create_subprocess_exec("sleep", "600")
    await terminal.handed(asking(), process=hook.pid)
    await terminal.until_put_off()
    assert SESSION in terminal.house.held
    hook.kill()
    await hook.wait()
    await terminal.is_resumed_with("The user answered: Memcached")


@pytest.mark.promise("raised/48")
@pytest.mark.parametrize(
    ("later", "evidence"),
    (
        ({**asking(hook_event_name="PostToolUse"), "tool_use_id": "toolu_1"}, "tool used"),
        ({"hook_event_name": "UserPromptSubmit", "prompt": "go on"}, "later message of the session"),
        ({"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"}, "later message of the session"),
    ),
    ids=("used", "spoken", "left"),
)
async def test_a_session_that_has_gone_on_has_its_answer(
    terminal: Terminal, later: dict[str, Any], evidence: str
) -> None:
    await terminal.handed(asking())
    await terminal.report(later)
    assert (await happened(terminal.house, "collected"))["evidence"] == evidence
    await terminal.is_left_in_peace()


async def test_the_end_of_a_session_that_hung_up_is_no_evidence(terminal: Terminal) -> None:
    asked = await terminal.handed(asking())
    await terminal.report({"hook_event_name": "SessionEnd", "reason": "other"})
    assert not await is_collected(terminal.house, asked)
    assert SESSION in terminal.house.held


async def test_another_agent_neither_acknowledges_nor_misses_an_answer(terminal: Terminal) -> None:
    asked = await terminal.handed(asking())
    await terminal.report(asking(), OTHER_TOKEN, missed=asked.id)
    await terminal.report(asking(), OTHER_TOKEN, acknowledged=asked.id)
    assert not await is_collected(terminal.house, asked)
    assert SESSION in terminal.house.held


async def test_an_older_hook_is_not_asked_and_has_its_answer_with_the_reply(terminal: Terminal) -> None:
    asked, task = await terminal.waiting(asking(), acknowledges=False)
    await terminal.house.answer(asked, "Memcached")
    assert "acknowledge" not in await task
    assert (await happened(terminal.house, "collected"))["evidence"] == "hook"


async def test_a_rejection_that_a_program_was_told_brings_no_session_back(terminal: Terminal) -> None:
    asked, task = await terminal.waiting(asking())
    assert (await terminal.house.broker.reject(asked.id, ANA)).accepted
    assert (await task)["acknowledge"] is True
    await terminal.report(asking(), acknowledged=asked.id)
    await terminal.is_left_in_peace()


async def test_an_answer_that_came_in_the_moment_of_a_key_brings_no_session_back(terminal: Terminal) -> None:
    asked = await terminal.handed(asking())
    await terminal.report(asking(), asked=asked.id, settled=True)
    assert not await is_collected(terminal.house, asked)
    await terminal.is_left_in_peace()


# A program with a hook, which it starts as Claude Code does. A hang-up does not end it at once.
PROGRAM = """
import os, signal, subprocess, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
hook = subprocess.Popen(
    [sys.executable, "-m", "upcall", "hook", *sys.argv[1:]],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
)
said, _ = hook.communicate(os.environ["EVENT"].encode())
with open("said.part", "wb") as file:
    file.write(said)
os.rename("said.part", "said")
signal.pause()
"""


class Program:
    """A program that waits for its hook, in a terminal."""

    def __init__(self, terminal: Terminal, words: str, event: Mapping[str, Any], entry: str = "cli") -> None:
        self._master, slave = pty.openpty()
        self._said = terminal.house.work / "said"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("UPCALL_")}
        known = {
            "session_id": "s-9",
            **dict.fromkeys(("cwd", "directory"), str(terminal.house.work)),
            **event,
        }
        own = {"UPCALL_HOME": str(terminal.house.home.path), "EVENT": json.dumps(known)}
        self._process = subprocess.Popen(
            ["setsid", "--ctty", sys.executable, "-c", PROGRAM, *words.split()],
            stdin=slave,
            cwd=terminal.house.work,
            env={**kept, **own, "CLAUDE_CODE_ENTRYPOINT": entry},
        )
        os.close(slave)

    def hang_up(self) -> None:
        """Close the terminal, with the program in it."""
        os.close(self._master)
        self._master = -1

    def kill(self) -> None:
        """End the program, and leave its terminal as it is."""
        self._process.kill()

    async def until_said(self, terminal: Terminal) -> str:
        """What the hook has said, once it has ended."""
        async with asyncio.timeout(30):
            while not self._said.exists():
                await terminal.house.store.events(await terminal.house.store.last_seq(), wait=0.02)
        return self._said.read_text("utf-8")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._master >= 0:
            os.close(self._master)


@contextmanager
def a_program(
    terminal: Terminal, words: str, event: Mapping[str, Any], entry: str = "cli"
) -> Iterator[Program]:
    made = Program(terminal, words, event, entry)
    try:
        yield made
    finally:
        made.close()


OF_OPENCODE = {"type": "session.idle", "about": {}, "session": "s-9", "words": "Done.", "message": "m-1"}
OF_GEMINI = {
    "hook_event_name": "AfterAgent",
    "event": "AfterAgent",
    "prompt_response": "Done.",
    "timestamp": "1",
}
OF_COPILOT = {"sessionId": "s-9", "transcriptPath": "", "stopReason": "end_turn"}
PROGRAMS = pytest.mark.parametrize(
    ("words", "event"),
    (("away", FINISHED), ("away opencode", OF_OPENCODE), ("away gemini", OF_GEMINI)),
    ids=("claude", "opencode", "gemini"),
)


@pytest.mark.promise("raised/48")
@PROGRAMS
async def test_a_program_that_was_still_there_after_its_hook_had_printed_has_the_answer(
    terminal: Terminal, words: str, event: dict[str, Any]
) -> None:
    await terminal.switch.set(AwayMode.ON, "ana")
    with a_program(terminal, words, event) as program:
        asked = await opened(terminal.house)
        await terminal.house.answer(asked, "Say bye.")
        assert "Say bye." in await program.until_said(terminal)
        assert (await happened(terminal.house, "collected"))["evidence"] == "acknowledged"
    assert (await terminal.house.runs.find()).items == ()


@pytest.mark.promise("raised/48")
@PROGRAMS
async def test_an_answer_that_its_hook_printed_into_a_terminal_that_had_hung_up_brings_the_session_back(
    terminal: Terminal, words: str, event: dict[str, Any]
) -> None:
    await terminal.switch.set(AwayMode.ON, "ana")
    with a_program(terminal, words, event) as program:
        asked = await opened(terminal.house)
        program.hang_up()
        await terminal.house.answer(asked, "Say bye.")
        await terminal.is_resumed_with("The user answered: Say bye.")


@pytest.mark.promise("raised/48")
async def test_an_answer_to_a_program_that_is_not_resumed_stays_uncollected(terminal: Terminal) -> None:
    await terminal.switch.set(AwayMode.ON, "ana")
    with a_program(terminal, "away copilot agentStop", OF_COPILOT) as program:
        asked = await opened(terminal.house)
        program.hang_up()
        await terminal.house.answer(asked, "Say bye.")
        await terminal.until_told("missed")
        assert not await is_collected(terminal.house, asked)


@pytest.mark.promise("raised/48")
async def test_a_session_without_a_screen_that_was_killed_in_the_moment_of_its_answer_comes_back(
    terminal: Terminal,
) -> None:
    with a_program(terminal, "permissions", asking(), entry="sdk-cli") as program:
        asked = await opened(terminal.house)
        program.kill()
        await terminal.house.answer(asked, "Memcached")
        await terminal.is_resumed_with("The user answered: Memcached")


@pytest.mark.promise("raised/49")
async def test_a_hook_is_over_while_the_daemon_is_away_and_the_next_daemon_hears_that_it_has_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as leaving:
        async with a_terminal(tmp_path, monkeypatch) as terminal:
            terminal.is_deaf = True
            program = leaving.enter_context(a_program(terminal, "away", asking()))
            await terminal.switch.set(AwayMode.ON, "ana")
            asked = await opened(terminal.house)
            await terminal.house.answer(asked, "Memcached")
            assert "Memcached" in await program.until_said(terminal)
            await terminal.until_told("acknowledged")
            assert not await is_collected(terminal.house, asked)
        async with a_terminal(tmp_path, monkeypatch, reunion=60.0) as terminal:
            assert (await happened(terminal.house, "collected"))["evidence"] == "acknowledged"
            await terminal.is_left_in_peace()
