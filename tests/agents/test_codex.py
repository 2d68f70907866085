"""The adapter for Codex: what it starts, and how it reads lines that the real program wrote."""

import subprocess
import sys

import pytest
from typing_extensions import override

from upcall.agents.codex.adapter import Codex
from upcall.agents.codex.events import AppReader
from upcall.agents.prompt import with_advice
from upcall.domain.run.program import (
    ActionRefused,
    Finished,
    Noticed,
    Permission,
    Spent,
    ToolCalled,
    ToolReturned,
    TurnTaken,
    Unreadable,
)
from upcall.ports.agent import Agent
from upcall.testing.agent_contract import AgentContract, a_session, a_task, read

SAMPLE = (
    '{"type":"thread.started","thread_id":"01a1e1d8-df43-7522-a27e-d83b4048d7bc"}',
    '{"type":"turn.started"}',
    """{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"/bin/bash -lc 'ls'",\
"aggregated_output":"","exit_code":null,"status":"in_progress"}}""",
    """{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"/bin/bash -lc 'ls'",\
"aggregated_output":"a.txt\\n","exit_code":0,"status":"completed"}}""",
    """{"type":"item.started","item":{"id":"item_1","type":"mcp_tool_call","server":"upcall","tool":"ask_human",\
"arguments":{"question":"Which?","options":["Redis","b"]},"result":null,"error":null,"status":"in_progress"}}""",
    """{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -lc 'sleep 0.1'",\
"aggregated_output":"","exit_code":null,"status":"in_progress"}}""",
    """{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -lc 'sleep 0.1'",\
"aggregated_output":"","exit_code":0,"status":"completed"}}""",
    """{"type":"item.completed","item":{"id":"item_1","type":"mcp_tool_call","server":"upcall","tool":"ask_human",\
"arguments":{"question":"Which?","options":["Redis","b"]},"result":{"content":[{"type":"text","text":"The user \
answered: Redis"}],"structured_content":{"status":"answered","answers":[["Redis"]]}},"error":null,\
"status":"completed"}}""",
    """{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"/w/new.txt",\
"kind":"add"}],"status":"completed"}}""",
    '{"type":"item.completed","item":{"id":"item_4","type":"agent_message","text":"done"}}',
    """{"type":"turn.completed","usage":{"input_tokens":400,"cached_input_tokens":0,"cache_write_input_tokens":0,\
"output_tokens":28,"reasoning_output_tokens":0}}""",
)
FAILING = (
    '{"type":"thread.started","thread_id":"01a1e1d8-df43-7522-a27e-d83b4048d7bc"}',
    '{"type":"turn.started"}',
    '{"type":"error","message":"We are currently experiencing high demand."}',
    '{"type":"turn.failed","error":{"message":"We are currently experiencing high demand."}}',
)
DOOR = (
    'mcp_servers.upcall={command="/opt/upcall/bin/upcall",args=["mcp","--wait","block"],'
    'env_vars=["UPCALL_HOME","UPCALL_TOKEN"],required=true,startup_timeout_sec=30,tool_timeout_sec=54381,'
    'default_tools_approval_mode="approve",omit_tools_from=["deferred","code_mode"]}'
)


class TestCodex(AgentContract):
    freedoms = ('approval_policy="never"',)
    good_version = "codex-cli 0.166.0"
    bad_version = "codex-cli 0.165.9"
    sample = SAMPLE
    session = "01a1e1d8-df43-7522-a27e-d83b4048d7bc"
    failing = FAILING

    @override
    def agent(self) -> Agent:
        return Codex()


def test_it_works_on_its_own_through_exec() -> None:
    task = a_task(permission=Permission.AUTONOMOUS, arguments=("-m", "gpt-6"))
    flags = (
        *("codex", "exec", "--json", "--skip-git-repo-check", "-c", DOOR),
        *("-c", 'sandbox_mode="workspace-write"', "-c", 'approval_policy="never"', "-m", "gpt-6"),
    )
    begun = Codex().start(task)
    assert begun.argv == (*flags, "-")
    assert begun.stdin == with_advice("Fix the tests")
    assert begun.environment == task.door.environment

    session = a_session(permission=Permission.AUTONOMOUS, arguments=("-m", "gpt-6"))
    resumed = Codex().resume(session, "Go on")
    assert resumed.argv == (*flags, "resume", session.id, "-")
    assert resumed.stdin == "Go on"


def test_it_is_talked_to_where_a_person_decides() -> None:
    begun = Codex().start(a_task(arguments=("-c", "x=1")))
    listen = begun.argv[3]
    assert begun.argv == (
        *("codex", "app-server", "--listen", listen, "-c", DOOR),
        *("-c", 'sandbox_mode="workspace-write"', "-c", "features.default_mode_request_user_input=true"),
        *("-c", "x=1"),
    )
    assert listen.startswith("unix:///home/ana/.upcall/codex-")
    assert begun.stdin == ""
    assert Codex().resume(a_session(arguments=("-c", "x=1")), "Go on").argv == begun.argv


def test_a_person_takes_over_with_resume() -> None:
    session = a_session()
    assert Codex().attach(session).argv == ("codex", "resume", session.id)


@pytest.mark.parametrize("printed", ["", "codex", "codex-cli x.y", "codex-cli 0.9.1"])
def test_an_unfit_version_is_told_which_one_works(printed: str) -> None:
    assert "0.166 or newer" in (Codex().version_problem(printed) or "")


@pytest.mark.parametrize("printed", ["codex-cli 0.166.0", "codex-cli 0.170.2-alpha.1", "1.0.0"])
def test_a_later_version_will_do(printed: str) -> None:
    assert Codex().version_problem(printed) is None


def test_calls_side_by_side_are_one_turn_of_the_model() -> None:
    noticed = read(Codex().reader(), SAMPLE)
    assert noticed.count(TurnTaken()) == 4
    assert [each.name for each in noticed if isinstance(each, ToolCalled)] == [
        "exec_command",
        "mcp__upcall__ask_human",
        "exec_command",
        "apply_patch",
    ]
    assert noticed[-1] == Finished(ok=True, text="done")


def test_what_the_sandbox_refused_is_noticed() -> None:
    line = """{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"rm x",\
"aggregated_output":"rejected by policy","status":"declined"}}"""
    noticed = read(Codex().reader(), [line])
    assert ActionRefused(tool="exec_command", reason="rejected by policy") in noticed
    assert ToolReturned(id="item_0", text="rejected by policy", is_error=True) in noticed


def test_a_line_that_is_no_event_is_unreadable() -> None:
    assert read(Codex().reader(), ["ERROR: no"]) == [Unreadable(line="ERROR: no")]


def usage(total: int) -> dict[str, object]:
    return {
        "threadId": "t",
        "tokenUsage": {"total": {"inputTokens": total, "outputTokens": 1}, "last": {"inputTokens": 7}},
    }


def used(reader: AppReader, *totals: int) -> list[Noticed]:
    found = [each for total in totals for each in reader.notice("thread/tokenUsage/updated", usage(total))]
    return [each for each in found if isinstance(each, Spent)]


def test_only_what_is_used_from_now_on_counts_in_a_thread_with_a_past() -> None:
    reader = AppReader()
    reader.follow("t", resumed=True)
    assert used(reader, 100, 100, 130) == [Spent(input_tokens=30, output_tokens=0)]


def test_everything_counts_in_a_thread_of_our_own() -> None:
    reader = AppReader()
    reader.follow("t", resumed=False)
    reader.follow("t", resumed=True)
    assert used(reader, 100, 130) == [
        Spent(input_tokens=100, output_tokens=1),
        Spent(input_tokens=30, output_tokens=0),
    ]


def test_the_adapter_is_there_without_what_only_talking_needs() -> None:
    code = "import sys, upcall.agents.codex; print('websockets' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "False"
