"""What ACP agents may do beside what the well-known ones do, shown by one that follows a script."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from typing_extensions import override

from tests.agents.talking import Notes, ScriptedDesk, talking
from upcall.agents.acp import adapter as acp
from upcall.agents.acp.adapter import Acp, AcpDriver
from upcall.agents.acp.requests import is_ours
from upcall.domain.run.program import (
    LOST_TOUCH,
    ActionRefused,
    Door,
    Finished,
    Said,
    Session,
    Task,
    Unreadable,
    Verdict,
)
from upcall.ports.agent import Agent
from upcall.testing.agent_contract import AgentContract
from upcall.web.pages.markdown import rendered

SCRIPTED = (sys.executable, str(Path(__file__).with_name("scripted_acp.py")))
DOOR = Door(command=("upcall", "mcp"), environment={}, url="", token="")


def update(**fields: object) -> str:
    params = {"sessionId": "ses_1", "update": fields}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})


class TestAcp(AgentContract):
    attachable = False
    session = "ses_1"
    sample = (
        '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"ses_1","configOptions":[]}}',
        update(sessionUpdate="available_commands_update", availableCommands=[]),
        update(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "Hm."}),
        update(
            sessionUpdate="tool_call",
            toolCallId="call_1",
            title="upcall_ask_human",
            kind="other",
            status="pending",
            rawInput={},
        ),
        update(
            sessionUpdate="tool_call_update",
            toolCallId="call_1",
            status="in_progress",
            title="upcall_ask_human",
            rawInput={"question": "Which cache?"},
        ),
        update(
            sessionUpdate="tool_call_update",
            toolCallId="call_1",
            status="completed",
            content=[{"type": "content", "content": {"type": "text", "text": "The user answered: Redis"}}],
        ),
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "Redis it is."}),
        update(sessionUpdate="usage_update", used=100, size=200000, cost={"amount": 0.5, "currency": "USD"}),
        '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":7}}}',
    )
    failing: ClassVar[tuple[str, ...]] = (
        '{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error","data":{"details":"no"}}}',
    )

    @override
    def agent(self) -> Agent:
        return Acp(("opencode", "acp"))


def a_task(folder: Path, prompt: str) -> Task:
    return Task(prompt=prompt, cwd=str(folder), door=DOOR, session="")


async def done(folder: Path, prompt: str, desk: ScriptedDesk | None = None, *words: str) -> Notes:
    """What is noticed when the agent is told this."""
    task, notes = a_task(folder, prompt), Notes()
    async with talking(Acp((*SCRIPTED, *words)).start(task), os.environ) as process:
        await AcpDriver(task).drive(process.console(), desk or ScriptedDesk(), notes)
    return notes


def said(notes: Notes) -> str:
    return "".join(each.text for each in notes.of(Said))


@pytest.mark.anyio
async def test_a_form_is_asked_in_questions_and_filled_in_with_what_they_stand_for(tmp_path: Path) -> None:
    answers: Sequence[Sequence[Sequence[str]]] = [
        [["Redis"], ["many"], ["lint", "tests"], ["Yes"]],
        [["Redis"], ["3"], ["lint", "tests"], ["Yes"]],
        [["Skip"]],
    ]
    desk = ScriptedDesk(answers=answers)

    notes = await done(tmp_path, "form", desk)

    filled = json.loads(said(notes).removesuffix("done"))
    assert filled == {
        "action": "accept",
        "content": {"cache": "r", "size": 3, "tools": ["lint", "tests"], "now": True},
    }
    assert "a number, got 'many'" in str(desk.asked[1]["context"])
    assert desk.asked[0]["context"] == "How shall I set it up?"
    assert "'label': 'Redis'" in str(desk.asked[0]["questions"])
    # The second try and the rest of the form are questions of their own.
    assert len(set(desk.keys)) == 3


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("outcome", "action"),
    [("rejected", "decline"), ("parked", "cancel")],
)
async def test_a_form_that_nobody_fills_in_is_not_accepted(tmp_path: Path, outcome: str, action: str) -> None:
    notes = await done(tmp_path, "empty", ScriptedDesk(answers=[outcome]))

    assert json.loads(said(notes).removesuffix("done")) == {"action": action}


@pytest.mark.anyio
async def test_a_form_without_fields_is_a_question_too(tmp_path: Path) -> None:
    notes = await done(tmp_path, "empty", ScriptedDesk(answers=[[["Yes"]]]))

    assert json.loads(said(notes).removesuffix("done")) == {"action": "accept", "content": {}}


@pytest.mark.anyio
@pytest.mark.promise("raised/37")
@pytest.mark.parametrize(
    ("outcome", "action"),
    [([["Done"]], "accept"), ("rejected", "decline"), ("parked", "cancel")],
)
async def test_an_address_to_open_is_a_question_with_a_link(
    tmp_path: Path, outcome: str | Sequence[Sequence[str]], action: str
) -> None:
    desk = ScriptedDesk(answers=[outcome])

    notes = await done(tmp_path, "link https://tracker.example/login?to=a_b&x=*1*", desk)

    assert json.loads(said(notes).removesuffix("done")) == {"action": action}
    (asked,) = desk.asked
    assert asked["context"] == "<https://tracker.example/login?to=a_b&x=*1*>"
    link = 'href="https://tracker.example/login?to=a_b&amp;x=*1*"'
    assert link in str(rendered(str(asked["context"])))
    assert "Sign in to the tracker" in str(asked["questions"])


@pytest.mark.anyio
async def test_an_address_that_is_none_of_the_web_is_declined(tmp_path: Path) -> None:
    desk = ScriptedDesk()

    notes = await done(tmp_path, "link file:///etc/passwd", desk)

    assert json.loads(said(notes).removesuffix("done")) == {"action": "decline"}
    assert not desk.asked


@pytest.mark.anyio
async def test_a_yes_is_never_turned_into_a_standing_one(tmp_path: Path) -> None:
    notes = await done(tmp_path, "always", ScriptedDesk(lambda _: Verdict(allowed=True)))

    assert '"optionId": "reject_once"' in said(notes)
    assert [each.tool for each in notes.of(ActionRefused)] == ["execute"]


@pytest.mark.anyio
async def test_without_a_way_to_say_no_the_request_is_cancelled(tmp_path: Path) -> None:
    notes = await done(tmp_path, "nothing", ScriptedDesk(lambda _: Verdict(allowed=False, open=True)))

    assert '"outcome": "cancelled"' in said(notes)


@pytest.mark.anyio
async def test_noise_is_passed_over(tmp_path: Path) -> None:
    notes = await done(tmp_path, "noise")

    assert [each.line for each in notes.of(Unreadable)] == ["not JSON", "[1]"]
    assert notes.of(Finished) == [Finished(ok=True, text="done")]


@pytest.mark.anyio
async def test_files_and_terminals_are_not_ours_to_give(tmp_path: Path) -> None:
    assert said(await done(tmp_path, "files")) == "fs/read_text_file: -32601 terminal/create: -32601 done"


@pytest.mark.anyio
@pytest.mark.parametrize(("prompt", "reason"), [("refuse", "refusal"), ("fail", "protocol_error")])
async def test_work_that_ended_badly_has_the_agents_own_reason(
    tmp_path: Path, prompt: str, reason: str
) -> None:
    (end,) = (await done(tmp_path, prompt)).of(Finished)

    assert (end.ok, end.reason) == (False, reason)


@pytest.mark.anyio
async def test_an_agent_that_dies_has_said_nothing_about_its_end(tmp_path: Path) -> None:
    assert (await done(tmp_path, "die")).of(Finished) == []


@pytest.mark.anyio
async def test_an_agent_that_is_not_logged_in_says_so(tmp_path: Path) -> None:
    (end,) = (await done(tmp_path, "hello", None, "--logged-out")).of(Finished)

    assert end.reason == "auth_required"
    assert "run `scripted login`" in end.text


@pytest.mark.anyio
async def test_a_session_that_cannot_be_loaded_is_gone(tmp_path: Path) -> None:
    session, notes = Session(id="s-0", cwd=str(tmp_path), door=DOOR), Notes()
    async with talking(Acp(SCRIPTED).resume(session, "Go on"), os.environ) as process:
        await AcpDriver(session, "Go on").drive(process.console(), ScriptedDesk(), notes)

    assert [end.reason for end in notes.of(Finished)] == ["session_gone"]


@pytest.mark.anyio
async def test_a_process_that_was_taken_over_is_given_up(tmp_path: Path) -> None:
    session, notes = Session(id="s-0", cwd=str(tmp_path), door=DOOR), Notes()
    async with talking(Acp(SCRIPTED).resume(session, "Go on"), os.environ) as process:
        await AcpDriver(session).drive(process.console(), ScriptedDesk(), notes)
        assert process.written == []

    assert [end.reason for end in notes.of(Finished)] == [LOST_TOUCH]


@pytest.mark.anyio
async def test_without_the_sdk_the_run_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise ImportError("No module named 'acp'")

    monkeypatch.setattr(acp, "_client", missing)
    (end,) = (await done(tmp_path, "hello")).of(Finished)

    assert end.reason == "missing_extra"
    assert "pip install 'upcall[acp]'" in end.text


@pytest.mark.parametrize(
    "title", ["upcall_ask_human", "ask_human (upcall MCP Server)", "mcp__upcall__ask_human"]
)
def test_our_own_tools_are_known_by_their_name_and_never_by_what_a_command_looks_like(title: str) -> None:
    assert is_ours({"title": title, "kind": "other"})
    assert not is_ours({"title": title, "kind": "execute"})
    assert not is_ours({"title": f"{title}; rm -rf /", "kind": "other"})
