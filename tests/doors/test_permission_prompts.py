"""The tool that Claude Code calls before it acts: for runs alone, and its only words are yes and no."""

import asyncio
import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.doors.test_tools import ASKER, HASTY, PATIENCE, PERSON, asked
from upcall.approvals.desk import ApprovalDesk
from upcall.broker.broker import Broker, Reply
from upcall.domain.roles import Caller, Role
from upcall.doors.mcp.asker import PIPE, Asker
from upcall.doors.mcp.conversation import Conversation
from upcall.doors.mcp.definitions import PERMIT
from upcall.doors.mcp.link import PlainLink
from upcall.doors.mcp.tools import Tools
from upcall.doors.mcp.watching import Watching

RUN = Caller(name="claude", role=Role.AGENT, run=3)
ASKING_RUN = Asker.of(RUN, door="mcp", session="s1", workspace="/w", wait=ASKER.wait)
COMMAND = {"command": "rm -r 'build dir'", "description": "Clean"}
PROMPT = {"tool_name": "Bash", "input": COMMAND, "tool_use_id": "toolu_1"}
QUESTIONS = [{"question": "Which database?", "options": [{"label": "Postgres"}, {"label": "SQLite"}]}]


@pytest.fixture
def tools(broker: Broker) -> Tools:
    return Tools(broker, desk_for=partial(ApprovalDesk, broker))


async def decided(tools: Tools, sent: object, asker: Asker = ASKING_RUN) -> Any:
    """What the tool says; it is one text and nothing else."""
    told = await tools.call(PERMIT, sent, asker)
    assert (told.structured, told.is_error, told.collectable) == ({}, False, None)
    return json.loads(told.text)


async def answered(broker: Broker, tools: Tools, sent: object, text: str) -> Any:
    deciding = asyncio.create_task(decided(tools, sent))
    inquiry = await asked(broker)
    await broker.receive(inquiry.id, Reply(text=text), PERSON)
    async with asyncio.timeout(PATIENCE):
        return await deciding


async def test_what_a_person_allowed_runs_to_the_letter(broker: Broker, tools: Tools) -> None:
    said = await answered(broker, tools, PROMPT, "yes")
    assert said == {"behavior": "allow", "updatedInput": COMMAND}


async def test_the_person_sees_what_will_run_and_who_wants_it(broker: Broker, tools: Tools) -> None:
    deciding = asyncio.create_task(decided(tools, PROMPT))
    inquiry = await asked(broker)
    assert "rm -r 'build dir'" in inquiry.questions[0].text
    origin = inquiry.origin
    assert (origin.agent, origin.session, origin.run) == ("claude", "s1", 3)
    assert (origin.purpose, origin.request_key) == ("permission", "toolu_1")
    await broker.receive(inquiry.id, Reply(text="yes"), PERSON)
    await deciding


async def test_what_a_person_denied_does_not_run(broker: Broker, tools: Tools) -> None:
    said = await answered(broker, tools, PROMPT, "no")
    assert said["behavior"] == "deny"
    assert "denied" in said["message"]


async def test_silence_is_a_no(tools: Tools) -> None:
    said = await decided(tools, PROMPT, replace(ASKING_RUN, wait=HASTY.wait))
    assert said["behavior"] == "deny"
    assert "This is not a yes" in said["message"]


async def test_its_question_tool_is_answered_here_as_at_the_hook(broker: Broker, tools: Tools) -> None:
    # A model may write answers of its own into the call; no person gave them.
    sent = {"questions": QUESTIONS, "answers": {"Which database?": "Postgres"}}
    prompt = {"tool_name": "AskUserQuestion", "input": sent, "tool_use_id": "toolu_2"}
    said = await answered(broker, tools, prompt, "2")
    assert said == {
        "behavior": "allow",
        "updatedInput": {"questions": QUESTIONS, "answers": {"Which database?": "SQLite"}},
    }


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "nonsense",
        [],
        {},
        {**PROMPT, "input": "ls"},
        {**PROMPT, "tool_use_id": ""},
        {**PROMPT, "tool_name": 1},
    ],
)
async def test_what_is_unclear_is_a_no(tools: Tools, sent: object) -> None:
    assert (await decided(tools, sent))["behavior"] == "deny"


async def test_a_desk_that_fails_is_a_no(broker: Broker) -> None:
    def broken(**_: object) -> ApprovalDesk:
        return ApprovalDesk(broker, caller=RUN, session="s1", door="mcp", has_people=lambda: 1 / 0 > 0)

    said = await decided(Tools(broker, desk_for=broken), PROMPT)
    assert said["behavior"] == "deny"
    assert "log" in said["message"]


async def test_it_is_offered_to_runs_alone(broker: Broker, tools: Tools) -> None:
    stranger = Caller(name="local", role=Role.AGENT)
    assert [tool.name for tool in tools.offered(RUN)][-1] == PERMIT
    assert PERMIT not in [tool.name for tool in tools.offered(stranger)]
    assert PERMIT not in [tool.name for tool in Tools(broker).offered(RUN)]
    for other in (
        await tools.call(PERMIT, PROMPT, ASKER),
        await Tools(broker).call(PERMIT, PROMPT, ASKING_RUN),
    ):
        assert other.is_error
        assert "there is no tool" in other.text


async def test_over_the_wire_it_is_one_block_of_text(tools: Tools) -> None:
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    asker = Asker.of(RUN, door=PIPE, session="s1", wait=0.01)
    conversation = Conversation(tools, asker, PlainLink(1, lines.put_nowait), initialized=True)
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": PERMIT, "arguments": PROMPT},
    }
    conversation.receive(json.dumps(call).encode())
    async with asyncio.timeout(PATIENCE):
        result = json.loads(await lines.get())["result"]
    assert set(result) == {"content", "isError"}
    (block,) = result["content"]
    assert json.loads(block["text"])["behavior"] == "deny"


async def test_signs_of_life_are_shown_while_it_waits(broker: Broker) -> None:
    from upcall.doors.mcp.progress import Beat

    shown = asyncio.Event()
    tools = Tools(broker, desk_for=partial(ApprovalDesk, broker), beat=Beat(0.01))
    watching = Watching(progress=lambda count, sentence: shown.set())
    deciding = asyncio.create_task(tools.call(PERMIT, PROMPT, ASKING_RUN, watching))
    async with asyncio.timeout(PATIENCE):
        await shown.wait()
    deciding.cancel()
    await asyncio.gather(deciding, return_exceptions=True)


@pytest.mark.promise("raised/14")
async def test_a_plan_is_approved_with_its_edits_sent_back_with_comments_or_rejected(
    broker: Broker, tools: Tools
) -> None:
    plan = {"plan": "# Cache\n\n1. Install Redis", "planFilePath": "/p.md"}
    prompts = [
        {"tool_name": "ExitPlanMode", "input": plan, "tool_use_id": f"toolu_{number}"} for number in range(4)
    ]
    accepted = await answered(broker, tools, prompts[0], "Approve and accept edits")
    assert (accepted["behavior"], accepted["updatedInput"]) == ("allow", plan)
    # No decision about a plan leads to a mode in which nothing is asked any more.
    assert [each["mode"] for each in accepted["updatedPermissions"]] == ["acceptEdits"]
    assert await answered(broker, tools, prompts[1], "yes") == {"behavior": "allow", "updatedInput": plan}
    revised = await answered(broker, tools, prompts[2], "L3: Memcached is enough")
    assert revised["behavior"] == "deny"
    assert "> 1. Install Redis\nMemcached is enough" in revised["message"]
    rejected = await answered(broker, tools, prompts[3], "no")
    assert "rejected the plan" in rejected["message"]
