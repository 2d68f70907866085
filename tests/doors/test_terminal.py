"""The hooks of sessions that people sit in: when a dialog goes to people, what closes it, and that nothing else decides it."""

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.doors.house import AGENT_TOKEN, OTHER_TOKEN, PATIENCE, House
from tests.plain_http import plain_client
from upcall.approvals import unnamed
from upcall.approvals.unnamed import UnnamedCalls
from upcall.domain.away import AwayMode, seconds_left
from upcall.domain.inquiry.inquiry import OWN_TERMINAL
from upcall.domain.inquiry.wording import resolution_text
from upcall.domain.records import Record
from upcall.domain.roles import Caller, Role
from upcall.doors.terminal import before
from upcall.doors.terminal.door import CLIENTS

BASH: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make deploy"}}
QUESTION = {
    "question": "Which cache?",
    "header": "Cache",
    "multiSelect": False,
    "options": ["Redis", "Memcached"],
}
ASKED: dict[str, Any] = {"tool_name": "AskUserQuestion", "tool_input": {"questions": [QUESTION]}}
LONG_AGO, JUST_NOW = 1000.0, 0.0


def event(name: str = "PermissionRequest", **more: object) -> dict[str, object]:
    """What Claude Code gives to a hook."""
    return {"hook_event_name": name, "session_id": "s1", "cwd": "/srv/shop", "prompt_id": "p1", **more}


class Hooks:
    """The hooks of one terminal, as the daemon sees them."""

    def __init__(self, house: House, client: httpx2.AsyncClient) -> None:
        self.house = house
        self._client = client

    async def send(self, sent: object, token: str = AGENT_TOKEN) -> httpx2.Response:
        headers = {"authorization": f"Bearer {token}"}
        return await self._client.post(f"{self.house.url}/hooks/terminal", json=sent, headers=headers)

    async def report(self, hook: dict[str, object], idle: float | None = LONG_AGO, **more: object) -> Any:
        response = await self.send({"hook": hook, "idle": idle, "attended": True, **more})
        assert response.status_code == 200, response.text
        return response.json()

    async def held(self, hook: dict[str, object]) -> tuple[str, "asyncio.Task[Any]"]:
        """The id of what was asked, and the request that waits for its decision."""
        reply = await self.report(hook)
        assert reply["again"] is True
        return reply["asked"], asyncio.create_task(self.report(hook, again=True, asked=reply["asked"]))

    async def until(self, fact: Callable[[], bool]) -> None:
        """Until something is true of the daemon that no event tells."""
        async with asyncio.timeout(PATIENCE):
            while not fact():  # noqa: ASYNC110 - see above
                await asyncio.sleep(0.01)

    async def state(self, inquiry: str) -> Any:
        return await asyncio.to_thread(self.house.run, self.house.broker.store.get(inquiry))


@pytest.fixture
async def hooks(tmp_path: Path) -> AsyncIterator[Hooks]:
    house = House(tmp_path / "home")
    await asyncio.to_thread(house.start)
    try:
        async with plain_client(timeout=PATIENCE) as client:
            yield Hooks(house, client)
    finally:
        await asyncio.to_thread(house.stop)


@pytest.mark.promise("raised/3")
def test_the_switch_decides_before_the_time_without_a_key_does() -> None:
    assert seconds_left(AwayMode.ON, JUST_NOW, 60) == 0
    assert seconds_left(AwayMode.OFF, LONG_AGO, 60) > LONG_AGO
    assert seconds_left(AwayMode.AUTO, 45, 60) == 15
    assert seconds_left(AwayMode.AUTO, LONG_AGO, 60) == 0
    assert seconds_left(AwayMode.AUTO, None, 60) > LONG_AGO


@pytest.mark.promise("raised/3")
async def test_switching_to_away_wakes_a_dialog_that_waits_and_it_is_asked(hooks: Hooks) -> None:
    waiting = asyncio.create_task(hooks.report(event(**BASH), JUST_NOW))
    await hooks.report(event("PostToolUse", tool_name="Read", tool_input={}))
    await asyncio.to_thread(hooks.house.run, hooks.house.switch.set(AwayMode.ON, "ana"))
    assert await waiting == {"again": True}

    reply = await hooks.report(event(**BASH), JUST_NOW, again=True)
    assert (await hooks.state(reply["asked"])).origin.asker == "claude-code in shop"


async def test_the_answer_of_a_person_closes_the_dialog_and_is_collected(hooks: Hooks) -> None:
    asked, waiting = await hooks.held(event(**ASKED))
    await asyncio.to_thread(hooks.house.answer, asked, "Memcached")

    decision = (await waiting)["say"]["hookSpecificOutput"]["decision"]
    assert decision["behavior"] == "allow"
    assert decision["updatedInput"] == {"questions": [QUESTION], "answers": {"Which cache?": "Memcached"}}
    collected = await asyncio.to_thread(hooks.house.happened, "collected")
    assert collected.inquiry == asked


async def test_a_person_who_denies_is_heard_and_silence_is_no_decision(hooks: Hooks) -> None:
    asked, waiting = await hooks.held(event(**BASH))
    await asyncio.to_thread(hooks.house.answer, asked, "no, not today")
    decision = (await waiting)["say"]["hookSpecificOutput"]["decision"]
    assert decision["behavior"] == "deny"
    assert "not today" in decision["message"]

    other = event(tool_name="Bash", tool_input={"command": "make test"})
    asked, waiting = await hooks.held(other)
    await asyncio.to_thread(hooks.house.run, hooks.house.broker.fail(asked, via="test", reason="no place"))
    assert await waiting == {}


@pytest.mark.promise("raised/5")
@pytest.mark.parametrize(
    "over",
    (
        event(
            "PostToolUse",
            tool_use_id="toolu_1",
            **{**ASKED, "tool_input": {**ASKED["tool_input"], "answers": {}}},
        ),
        event("UserPromptSubmit", prompt="go on"),
        event("SessionEnd", reason="prompt_input_exit"),
    ),
    ids=("used", "spoken", "left"),
)
async def test_what_happens_in_the_terminal_closes_the_card(hooks: Hooks, over: dict[str, object]) -> None:
    asked, waiting = await hooks.held(event(**ASKED))
    await hooks.report(over)

    assert await waiting == {}
    assert resolution_text(await hooks.state(asked)) == "✓ Answered in the terminal"


@pytest.mark.parametrize("asks", (ASKED, BASH), ids=("question", "action"))
async def test_a_dialog_that_ends_between_two_requests_of_its_hook_is_not_asked_again(
    hooks: Hooks, asks: dict[str, Any]
) -> None:
    asked = (await hooks.report(event(**asks)))["asked"]
    await hooks.report(event("UserPromptSubmit", prompt="go on"))

    assert await hooks.report(event(**asks), again=True, asked=asked) == {}
    found = await asyncio.to_thread(hooks.house.run, hooks.house.broker.count_waiting())
    assert found == 0


async def test_a_dialog_that_ends_at_another_daemon_while_this_one_reads_its_hook_is_not_asked_again(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = hooks.house.broker
    store, read = broker.store, broker.store.look_up
    asked = (await hooks.report(event(**BASH)))["asked"]
    over = False

    async def end() -> None:
        """What the other daemon does when the person speaks to the session."""
        nonlocal over
        over = True
        ended = await broker.cancel(asked, Caller(name="local", role=Role.AGENT), via=OWN_TERMINAL)
        await UnnamedCalls(store).withdrawn(ended.inquiry.origin.request_key, broker.now())

    async def look_up(kind: str, key: str) -> Record | None:
        if kind == unnamed.KIND and not over:
            await end()
        return await read(kind, key)

    monkeypatch.setattr(store, "look_up", look_up)
    waiting = asyncio.create_task(hooks.report(event(**BASH), again=True, asked=asked))
    await hooks.until(lambda: waiting.done() or broker.waiting > 0)
    if not over:
        await asyncio.to_thread(hooks.house.run, end())
    assert await asyncio.to_thread(hooks.house.run, broker.count_waiting()) == 0
    assert await waiting == {}


async def test_a_hook_that_comes_again_before_its_old_connection_is_known_to_be_lost_asks_nothing_new(
    hooks: Hooks,
) -> None:
    asked, waiting = await hooks.held(event(**BASH))
    again = asyncio.create_task(hooks.report(event(**BASH), again=True, asked=asked))
    await hooks.until(lambda: hooks.house.broker.waiting == 2)
    other = await hooks.report(event(**BASH))
    assert other["asked"] != asked
    assert await asyncio.to_thread(hooks.house.run, hooks.house.broker.count_waiting()) == 2

    await asyncio.to_thread(hooks.house.answer, asked, "yes")
    for reply in (await waiting, await again):
        assert reply["say"]["hookSpecificOutput"]["decision"]["behavior"] == "allow"
    assert (await hooks.state(other["asked"])).is_open


async def test_a_decision_that_was_lost_on_its_way_is_given_to_its_hook_again_and_to_no_other_call(
    hooks: Hooks,
) -> None:
    asked, waiting = await hooks.held(event(**BASH))
    await asyncio.to_thread(hooks.house.answer, asked, "yes")
    decision = (await waiting)["say"]
    assert (await hooks.report(event(**BASH), again=True, asked=asked))["say"] == decision

    later = await hooks.report(event(**BASH))
    assert later["asked"] not in {"", asked}


async def test_a_dialog_that_was_closed_by_a_key_is_asked_anew_the_next_time(hooks: Hooks) -> None:
    asked, waiting = await hooks.held(event(**BASH))
    assert await hooks.report(event(**BASH), asked=asked, settled=True) == {}
    assert await waiting == {}

    again = await hooks.report(event(**BASH))
    assert again["asked"] not in {"", asked}


async def test_a_terminal_that_is_gone_leaves_its_question_open(hooks: Hooks) -> None:
    asked, waiting = await hooks.held(event("Stop", last_assistant_message="Done."))
    waiting.cancel()
    await hooks.report(event("SessionEnd", reason="other"))

    inquiry = await hooks.state(asked)
    assert inquiry.is_open
    assert inquiry.context == "Done."


@pytest.mark.promise("raised/7")
async def test_the_hook_of_a_subagent_does_not_keep_its_dialog_from_a_person_who_is_there(
    hooks: Hooks,
) -> None:
    assert await hooks.report(event(**BASH, agent_id="a1"), JUST_NOW) == {}
    assert (await hooks.report(event(**BASH, agent_id="a1"), LONG_AGO))["again"] is True


async def test_a_session_without_a_screen_asks_at_once(hooks: Hooks) -> None:
    reply = await hooks.report(event(**BASH), None, attended=False)
    assert (await hooks.state(reply["asked"])).is_open


def of_opencode(kind: str, about: dict[str, object], **more: object) -> dict[str, object]:
    """What the plugin of opencode gives to a hook."""
    return {"type": kind, "about": about, "session": "ses_1", "directory": "/srv/shop", **more}


def of_codex(method: str, **params: object) -> dict[str, object]:
    """What the hook of Codex tells once it has found the request at the server."""
    return event(turn_id="t1", **BASH, request={"id": 0, "method": method, "params": params})


def of_gemini(kind: str, **more: object) -> dict[str, object]:
    """What Gemini CLI gives to a hook, with what the hook adds."""
    return {
        **event(kind),
        "event": kind,
        "timestamp": "2026-01-02T03:04:05Z",
        **more,
    }


def of_copilot(kind: str, **more: object) -> dict[str, object]:
    """What Copilot CLI gives to a hook, with what the hook adds."""
    return {"sessionId": "s1", "cwd": "/srv/shop", "event": kind, **more}


APPROVED = {"allowed": True, "reason": "The user approved this.", "remark": ""}
CACHES = {"id": "cache", "question": "Which cache?", "header": "Cache", "options": [{"label": "Redis"}]}
FORM = {"properties": {"cache": {"type": "string", "title": "Cache", "enum": ["Redis", "Memcached"]}}}
OTHERS = {
    "opencode acts": (
        "opencode",
        of_opencode(
            "permission.asked",
            {"id": "per_1", "permission": "bash", "patterns": ["make deploy"], "metadata": {}},
            input={"command": "make deploy"},
        ),
        ("approve", APPROVED),
    ),
    "opencode asks": (
        "opencode",
        of_opencode("question.asked", {"id": "que_1", "questions": [CACHES]}),
        ("Redis", {"allowed": True, "reason": "", "remark": "", "answers": [["Redis"]]}),
    ),
    "codex acts": (
        "codex",
        of_codex(
            "item/commandExecution/requestApproval",
            itemId="call_1",
            command="bash -lc 'make deploy'",
            cwd="/srv/shop",
        ),
        ("approve", APPROVED),
    ),
    "codex asks": (
        "codex",
        of_codex("item/tool/requestUserInput", itemId="call_2", questions=[CACHES]),
        ("Redis", {"allowed": True, "reason": "", "remark": "", "answers": [["Redis"]]}),
    ),
    "codex patches": (
        "codex",
        of_codex("item/fileChange/requestApproval", itemId="call_3"),
        ("approve", APPROVED),
    ),
    "gemini-cli asks": (
        "gemini",
        of_gemini("BeforeTool", tool_name="ask_user", tool_input={"questions": [CACHES]}),
        ("Redis", {"allowed": True, "reason": "", "remark": "", "answers": [["Redis"]]}),
    ),
    "gemini-cli asks for a yes": (
        "gemini",
        of_gemini(
            "BeforeTool",
            tool_name="ask_user",
            tool_input={"questions": [{"question": "Go on?", "type": "yesno"}]},
        ),
        ("Yes", {"allowed": True, "reason": "", "remark": "", "answers": [["Yes"]]}),
    ),
    "copilot acts": (
        "copilot",
        of_copilot("permissionRequest", toolName="bash", toolInput={"command": "make deploy"}),
        ("approve", APPROVED),
    ),
    "copilot asks": (
        "copilot",
        of_copilot(
            "preToolUse",
            toolName="ask_user",
            toolArgs={"question": "Which cache?", "choices": ["Redis", "Memcached"]},
        ),
        ("Redis", {"allowed": True, "reason": "", "remark": "", "answers": [["Redis"]]}),
    ),
    "copilot asks in a form": (
        "copilot",
        of_copilot(
            "preToolUse", toolName="ask_user", toolArgs={"message": "Which?", "requestedSchema": FORM}
        ),
        ("Neither", {"allowed": True, "reason": "", "remark": "", "answers": [["Neither"]]}),
    ),
    "copilot asks in a form without fields": (
        "copilot",
        of_copilot("preToolUse", toolName="ask_user", toolArgs={"message": "Which?", "requestedSchema": {}}),
        ("Redis", {"allowed": True, "reason": "", "remark": "", "answers": [["Redis"]]}),
    ),
}


@pytest.mark.promise("raised/10")
@pytest.mark.parametrize("told", OTHERS.values(), ids=OTHERS)
async def test_the_dialogs_of_other_programs_are_decided_in_plain_words(
    hooks: Hooks, told: tuple[str, dict[str, object], tuple[str, object]]
) -> None:
    program, sent, (answer, decision) = told
    asked = (await hooks.report(sent, program=program))["asked"]
    assert (await hooks.state(asked)).origin.asker == f"{CLIENTS[program]} in shop"
    waiting = asyncio.create_task(hooks.report(sent, program=program, again=True, asked=asked))
    await asyncio.to_thread(hooks.house.answer, asked, answer)
    assert (await waiting)["decision"] == decision


@pytest.mark.promise("raised/10")
async def test_a_form_of_copilot_with_several_fields_is_several_questions_below_its_message(
    hooks: Hooks,
) -> None:
    several = {
        "cache": FORM["properties"]["cache"],
        "cache_size": {"type": "string", "title": "Size", "description": "in megabytes"},
        "where": {"type": "array", "title": "Where", "items": {"type": "string", "enum": ["here", "there"]}},
        "sure": {"type": "boolean", "title": "Sure?"},
    }
    asks = {"message": "About the cache.", "requestedSchema": {"properties": several}}
    sent = of_copilot("preToolUse", toolName="ask_user", toolArgs=asks)
    asked = (await hooks.report(sent, program="copilot"))["asked"]
    inquiry = await hooks.state(asked)
    assert inquiry.context == "About the cache."
    assert [(each.text, each.labels, each.multi, each.custom) for each in inquiry.questions] == [
        ("Cache", ("Redis", "Memcached"), False, True),
        ("in megabytes", (), False, True),
        ("Where", ("here", "there"), True, True),
        ("Sure?", ("Yes", "No"), False, True),
    ]


@pytest.mark.promise("raised/7", "raised/10")
@pytest.mark.parametrize(
    ("program", "finished", "spoken"),
    (
        ("gemini", of_gemini("AfterAgent", prompt_response="All is done."), of_gemini("BeforeAgent")),
        (
            "copilot",
            of_copilot("agentStop", words="All is done.", turn="m1"),
            of_copilot("userPromptSubmitted"),
        ),
    ),
)
async def test_a_program_whose_hook_comes_before_its_dialog_waits_only_while_its_person_is_away(
    hooks: Hooks, program: str, finished: dict[str, object], spoken: dict[str, object]
) -> None:
    assert await hooks.report(finished, JUST_NOW, program=program) == {}

    asked = (await hooks.report(finished, LONG_AGO, program=program))["asked"]
    assert (await hooks.state(asked)).context == "All is done."
    waiting = asyncio.create_task(hooks.report(finished, program=program, again=True, asked=asked))
    await asyncio.to_thread(hooks.house.answer, asked, "Say bye.")
    assert (await waiting)["said"] == "Say bye."
    await hooks.report(spoken, program=program)


@pytest.mark.promise("raised/10")
@pytest.mark.parametrize(
    ("name", "reply", "said"),
    (
        ("agentStop", {"said": "Say bye."}, {"decision": "block", "reason": "Say bye."}),
        ("permissionRequest", {"decision": {"allowed": True}}, {"behavior": "allow"}),
        (
            "permissionRequest",
            {"decision": {"allowed": False, "reason": "not this one"}},
            {"behavior": "deny", "message": "not this one"},
        ),
        (
            "preToolUse",
            {"decision": {"allowed": False, "reason": "no answer"}},
            {"permissionDecision": "deny", "permissionDecisionReason": "no answer"},
        ),
        ("permissionRequest", {}, {}),
        ("agentStop", {}, {}),
    ),
)
def test_copilot_reads_what_was_decided_in_its_own_words(
    name: str, reply: dict[str, object], said: dict[str, object]
) -> None:
    assert before.output("copilot", name, reply) == said


@pytest.mark.promise("raised/10")
def test_what_needs_no_dialog_of_copilot_is_put_to_no_person() -> None:
    acts: dict[str, object] = {"toolName": "bash"}
    assert before.is_asked("copilot", "permissionRequest", acts, ["copilot"], {})
    assert not before.is_asked("copilot", "permissionRequest", acts, ["copilot", "--allow-all-tools"], {})
    assert not before.is_asked("copilot", "permissionRequest", acts, ["copilot"], {"COPILOT_ALLOW_ALL": "1"})
    assert not before.is_asked("copilot", "permissionRequest", acts, ["copilot", "-p", "x"], {})
    assert not before.is_asked("copilot", "preToolUse", acts, ["copilot"], {})
    assert not before.is_asked("gemini", "AfterAgent", {}, ["node", "gemini", "--prompt=x"], {})
    assert before.is_asked("copilot", "agentStop", {}, ["copilot"], {})
    assert not before.is_asked("copilot", "agentStop", {"parentAgentId": "s1"}, ["copilot"], {})


def test_the_last_words_of_copilot_are_read_from_its_transcript(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    lines = [
        {"type": "assistant.message", "id": "m1", "data": {"content": "All is done."}},
        {"type": "assistant.turn_end", "id": "m2", "data": {}},
    ]
    file.write_text("cut off\n" + "".join(f"{json.dumps(line)}\n" for line in lines))
    told = before.told("agentStop", {"transcriptPath": str(file)})
    assert (told["words"], told["turn"]) == ("All is done.", "m1")
    assert before.told("agentStop", {"transcriptPath": str(tmp_path / "none")})["words"] == ""


@pytest.mark.parametrize(
    "last",
    [
        {"type": "user.message", "data": {"content": "Go on."}},
        {"type": "tool.execution_complete", "data": {}},
        {"type": "assistant.message", "id": "m2", "data": {"content": "", "toolRequests": [{}]}},
    ],
    ids=lambda last: last["type"],
)
def test_a_transcript_of_copilot_that_is_behind_its_turn_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: dict[str, object]
) -> None:
    file = tmp_path / "events.jsonl"
    before_it = {"type": "assistant.message", "id": "m1", "data": {"content": "An earlier turn."}}
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (before_it, last)))
    looks: list[float] = []

    def pause(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            ended = {
                "type": "assistant.message",
                "id": "m3",
                "data": {"content": "Done.", "toolRequests": []},
            }
            with file.open("a") as more:
                more.write(f"{json.dumps(ended)}\n")

    monkeypatch.setattr(time, "sleep", pause)
    monkeypatch.setattr(before, "BEHIND", 3600.0)
    told = before.told("agentStop", {"transcriptPath": str(file)})
    assert (told["words"], told["turn"], len(looks)) == ("Done.", "m3", 2)


@pytest.mark.promise("raised/10")
async def test_a_finished_session_of_another_program_is_told_the_words_alone(hooks: Hooks) -> None:
    sent = of_opencode("session.idle", {}, words="All is done.", message="msg_1")
    asked = (await hooks.report(sent, program="opencode"))["asked"]
    waiting = asyncio.create_task(hooks.report(sent, program="opencode", again=True, asked=asked))
    await asyncio.to_thread(hooks.house.answer, asked, "Say bye.")
    assert (await waiting)["said"] == "Say bye."

    asked = (await hooks.report({**sent, "message": "msg_2"}, program="opencode"))["asked"]
    await hooks.report(of_opencode("session.busy", {}), program="opencode")
    assert (await hooks.state(asked)).state.closing.via == "own_terminal"


@pytest.mark.parametrize(
    "sent",
    (
        [],
        {},
        {"hook": 1},
        {"hook": event("PreCompact")},
        {"hook": {**event(), "session_id": ""}},
        {"hook": event(**BASH), "program": "emacs"},
        {"hook": {"type": "session.deleted", "session": "s1"}, "program": "opencode"},
    ),
    ids=("list", "empty", "number", "event", "session", "program", "event of opencode"),
)
async def test_a_report_that_is_none_is_refused_with_the_next_step(hooks: Hooks, sent: object) -> None:
    response = await hooks.send(sent)
    assert response.status_code == 400
    assert "upcall setup AGENT --away" in response.json()["error"]["hint"]


@pytest.mark.promise("raised/6", "raised/10")
@pytest.mark.parametrize(
    "kind", ("away", "permissions", "away codex", "away opencode", "away gemini", "away copilot agentStop")
)
def test_without_a_daemon_a_hook_decides_nothing_and_tries_nothing(tmp_path: Path, kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "upcall", "hook", *kind.split()],
        input=json.dumps(event(**BASH)),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "UPCALL_HOME": str(tmp_path), "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"},
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


async def test_a_dialog_whose_hook_hung_up_before_it_told_of_a_key_is_asked_anew(hooks: Hooks) -> None:
    asked, waiting = await hooks.held(event(**BASH))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert await hooks.report(event(**BASH), again=True, asked=asked, settled=True) == {}

    reply = await hooks.report(event(**BASH), again=True)
    assert reply["again"] is True
    assert reply["asked"] != asked


async def test_a_yes_that_came_after_the_terminal_decided_allows_no_later_call(hooks: Hooks) -> None:
    asked, waiting = await hooks.held(event(**BASH))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.to_thread(hooks.house.answer, asked, "yes")
    assert await hooks.report(event(**BASH), again=True, asked=asked, settled=True) == {}

    reply = await hooks.report(event(**BASH))
    assert reply.get("say") is None
    assert reply["asked"] != asked


async def test_another_agent_closes_no_dialog_by_naming_its_session(hooks: Hooks) -> None:
    asked, waiting = await hooks.held(event(**BASH))
    response = await hooks.send({"hook": event("PostToolUse", **BASH), "attended": True}, OTHER_TOKEN)
    assert response.json() == {}

    await asyncio.to_thread(hooks.house.answer, asked, "yes")
    assert (await waiting)["say"]["hookSpecificOutput"]["decision"]["behavior"] == "allow"


# Ends its hook as Claude Code does on Esc: all of its processes, gently, and a second later by force.
AGENT = """
import os, signal, subprocess, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
hook = subprocess.Popen([sys.executable, "-m", "upcall", "hook", "away"], stdin=subprocess.PIPE, start_new_session=True)
hook.stdin.write(os.environ["EVENT"].encode())
hook.stdin.close()
signal.sigwait({signal.SIGUSR1})
os.killpg(hook.pid, signal.SIGTERM)
try:
    hook.wait(1)
except subprocess.TimeoutExpired:
    os.killpg(hook.pid, signal.SIGKILL)
sys.stdin.readline()
"""


# Ends its hook as the plugin of opencode does when a dialog was answered.
OPENCODE = """
import os, signal, subprocess, sys
hook = subprocess.Popen([sys.executable, "-m", "upcall", "hook", "away", "opencode"], stdin=subprocess.PIPE)
# Only now: what is blocked here is blocked in a process that is started from here.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
hook.stdin.write(os.environ["EVENT"].encode())
hook.stdin.close()
signal.sigwait({signal.SIGUSR1})
hook.send_signal(signal.SIGUSR1)
print(flush=True)
sys.stdin.readline()
"""


@pytest.mark.promise("raised/5")
async def test_a_dialog_of_opencode_that_is_answered_before_its_hook_knows_what_was_asked_closes_its_card(
    tmp_path: Path,
) -> None:
    house, answered = House(tmp_path / "home"), threading.Event()

    def slow(app: ASGIApp) -> ASGIApp:
        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            async def sending(message: Message) -> None:
                await asyncio.to_thread(answered.wait, PATIENCE)
                await send(message)

            await app(scope, receive, sending if scope["type"] == "http" else send)

        return serve

    house.around = slow
    await asyncio.to_thread(house.start)
    await asyncio.to_thread(house.run, house.switch.set(AwayMode.ON, "ana"))
    about: dict[str, object] = {"id": "per_1", "permission": "bash", "patterns": ["ls"], "metadata": {}}
    sent = json.dumps(of_opencode("permission.asked", about, input={"command": "ls"}))
    master, slave = pty.openpty()
    here = {"UPCALL_URL": house.url, "UPCALL_TOKEN": AGENT_TOKEN, "EVENT": sent}
    agent = await asyncio.create_subprocess_exec(
        *("setsid", "--ctty", sys.executable, "-c", OPENCODE),
        stdin=slave,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **here},
    )
    os.close(slave)
    assert agent.stdout is not None
    try:
        asked = (await asyncio.to_thread(house.happened, "asked")).inquiry
        agent.send_signal(signal.SIGUSR1)
        await agent.stdout.readline()
        answered.set()
        assert (await asyncio.to_thread(house.happened, "cancelled")).inquiry == asked
    finally:
        agent.kill()
        await agent.wait()
        os.close(master)
        await asyncio.to_thread(house.stop)


@pytest.mark.promise("raised/5")
async def test_escape_closes_the_card_where_the_terminal_does_not_tell_of_the_key(hooks: Hooks) -> None:
    house = hooks.house
    await asyncio.to_thread(house.run, house.switch.set(AwayMode.ON, "ana"))
    master, slave = pty.openpty()
    here = {"UPCALL_URL": house.url, "UPCALL_TOKEN": AGENT_TOKEN, "EVENT": json.dumps(event(**ASKED))}
    agent = await asyncio.create_subprocess_exec(
        *("setsid", "--ctty", sys.executable, "-c", AGENT),
        stdin=slave,
        env={**os.environ, **here, "CLAUDE_CODE_ENTRYPOINT": "cli"},
    )
    os.close(slave)
    try:
        asked = (await asyncio.to_thread(house.happened, "asked")).inquiry
        # Linux tells of a key at most once in eight seconds: here, of none.
        agent.send_signal(signal.SIGUSR1)
        ended = await asyncio.to_thread(house.happened, "cancelled")
        assert asked is not None
        assert ended.inquiry == asked
        assert resolution_text(await hooks.state(asked)) == "✓ Answered in the terminal"
    finally:
        agent.kill()
        await agent.wait()
        os.close(master)
