"""How Claude Code is started and read, without starting it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from typing_extensions import override

from upcall.agents.catalogue import agent_named
from upcall.agents.claude.adapter import PERMISSION_TOOL, TOOLS, ClaudeCode
from upcall.agents.prompt import ASKING
from upcall.config.settings import AgentSettings
from upcall.domain.inquiry.limits import Limits
from upcall.domain.run.program import (
    ActionRefused,
    Deferred,
    Finished,
    Noticed,
    Permission,
    Said,
    SessionSeen,
    Spent,
    ToolCalled,
    ToolReturned,
    TurnTaken,
    Unreadable,
)
from upcall.doors.mcp.definitions import PERMIT, definitions
from upcall.ports.agent import Agent
from upcall.testing.agent_contract import DOOR, SESSION, TOKEN, AgentContract, a_session, a_task, read

USAGE = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 3,
    "output_tokens": 7,
}
ASK = {"question": "Which cache?", "options": [{"label": "Redis"}]}


def line(kind: str, **fields: object) -> str:
    return json.dumps({"type": kind, "session_id": SESSION, **fields})


def spoke(name: str, *content: dict[str, Any], usage: object = USAGE, **more: object) -> str:
    message = {"id": name, "type": "message", "role": "assistant", "content": list(content), "usage": usage}
    return line("assistant", message=message, parent_tool_use_id=None, **more)


def returned(content: object, call: str = "toolu_1", **more: object) -> str:
    block = {"tool_use_id": call, "type": "tool_result", "content": content, **more}
    return line("user", message={"role": "user", "content": [block]})


def ended(**fields: object) -> str:
    spent = {
        "claude-opus-5-5": {
            "inputTokens": 200,
            "outputTokens": 14,
            "cacheReadInputTokens": 6,
            "cacheCreationInputTokens": 40,
            "costUSD": 0.00108,
        }
    }
    usual = {
        "subtype": "success",
        "is_error": False,
        "stop_reason": "end_turn",
        "result": "Done.",
        "total_cost_usd": 0.5,
        "usage": USAGE,
        "modelUsage": {},
        "model_usage_since_last_result": spent,
        "permission_denials": [],
    }
    return line("result", **{**usual, **fields})


CALL = {"type": "tool_use", "id": "toolu_1", "name": "mcp__upcall__ask_human", "input": ASK}


class TestClaudeCode(AgentContract):
    freedoms = ("bypassPermissions",)
    deferral = True
    good_version = "2.1.325 (Claude Code)\n"
    bad_version = "2.1.88 (Claude Code)"
    session = SESSION
    sample = (
        line("system", subtype="init", tools=["Bash"], model="claude-opus-5-5"),
        spoke("msg_1", {"type": "text", "text": "I will ask."}),
        spoke("msg_1", CALL),
        returned('{"status":"answered","answers":[["Redis"]],"message":"The user answered: Redis"}'),
        spoke("msg_2", {"type": "text", "text": "Done."}),
        ended(),
    )
    failing = (
        line("system", subtype="init"),
        ended(subtype="error_during_execution", is_error=True, result=None, errors=["No conversation found"]),
    )

    @override
    def agent(self) -> Agent:
        return ClaudeCode()


def noticed(*lines: str) -> list[Noticed]:
    return read(ClaudeCode().reader(), lines)


def test_the_whole_command_line() -> None:
    command = ClaudeCode().start(a_task(prompt="Fix it", arguments=("--model", "opus")))
    server = {
        "type": "stdio",
        "command": "/opt/upcall/bin/upcall",
        "args": ["mcp", "--wait", "block"],
        "alwaysLoad": True,
        "timeout": 54_381_000,
    }
    hook = {
        "type": "http",
        "url": "http://127.0.0.1:7391/hooks/claude",
        "headers": {"Authorization": "Bearer $UPCALL_TOKEN"},
        "allowedEnvVars": ["UPCALL_TOKEN"],
        "timeout": 54_381,
        "onFailure": "block",
    }
    # Tells the model what was changed; nothing is decided by it, so it blocks nothing.
    told = {name: value for name, value in hook.items() if name != "onFailure"} | {"timeout": 10}
    settings = {
        "hooks": {
            "PreToolUse": [{"matcher": "AskUserQuestion", "hooks": [hook]}],
            "Elicitation": [{"hooks": [hook]}],
            "PostToolUse": [{"hooks": [told]}],
            "PostToolUseFailure": [{"hooks": [told]}],
        }
    }
    assert [_parsed(word) for word in command.argv] == [
        "claude",
        *("--model", "opus"),
        "-p",
        *("--session-id", SESSION),
        *("--output-format", "stream-json", "--verbose"),
        *("--mcp-config", {"mcpServers": {"upcall": server}}),
        "--allowedTools",
        "mcp__upcall__ask_human,mcp__upcall__confirm_action,mcp__upcall__wait_for_answer,mcp__upcall__notify_human",
        *("--permission-prompt-tool", "mcp__upcall__approve_action"),
        *("--permission-mode", "default"),
        *("--settings", settings),
        *("--append-system-prompt", ASKING),
    ]
    assert command.stdin == "Fix it"
    assert command.environment["UPCALL_TOKEN"] == TOKEN
    assert command.environment["UPCALL_HOME"] == DOOR.environment["UPCALL_HOME"]


@pytest.mark.parametrize("permission", list(Permission))
def test_a_resume_differs_only_in_naming_the_session_and_in_its_words(permission: Permission) -> None:
    begun = ClaudeCode().start(a_task(prompt="", permission=permission))
    resumed = ClaudeCode().resume(a_session(permission=permission), None)
    words = tuple("--resume" if word == "--session-id" else word for word in begun.argv)
    assert resumed == replace(begun, argv=words)


def test_whatever_else_our_tools_are_called_may_be_called_without_asking() -> None:
    door = replace(DOOR, aliases=("ask_user",), server="poietai")
    argv = ClaudeCode().start(replace(a_task(), door=door)).argv
    allowed = argv[argv.index("--allowedTools") + 1].split(",")
    assert {"mcp__upcall__ask_user", "mcp__poietai__ask_human", "mcp__poietai__ask_user"} <= set(allowed)


def test_our_tools_are_called_what_the_door_calls_them() -> None:
    assert list(TOOLS) == [tool.name for tool in definitions(Limits())]
    assert PERMISSION_TOOL == PERMIT


@pytest.mark.parametrize("printed", ["2.1.89 (Claude Code)", "2.1.325", "2.2.0", "3.0.1-beta"])
def test_versions_that_can_defer_will_do(printed: str) -> None:
    assert ClaudeCode().version_problem(printed) is None


@pytest.mark.parametrize("printed", ["2.1.88 (Claude Code)", "1.99.999", "", "command not found"])
def test_any_other_is_told_which_works(printed: str) -> None:
    assert "2.1.325" in (ClaudeCode().version_problem(printed) or "")


@pytest.mark.promise("spec/104")
def test_everything_is_noticed_in_its_order() -> None:
    assert noticed(*TestClaudeCode.sample) == [
        SessionSeen(id=SESSION),
        TurnTaken(),
        Spent(input_tokens=123, output_tokens=7),
        Said(text="I will ask."),
        ToolCalled(id="toolu_1", name="mcp__upcall__ask_human", input=ASK),
        ToolReturned(
            id="toolu_1",
            text='{"status":"answered","answers":[["Redis"]],"message":"The user answered: Redis"}',
        ),
        TurnTaken(),
        Spent(input_tokens=123, output_tokens=7),
        Said(text="Done."),
        Spent(cost=0.00108),
        Finished(ok=True, text="Done."),
    ]


def test_a_deferred_call_is_no_end_of_the_work() -> None:
    call: dict[str, Any] = {"id": "toolu_1", "name": "AskUserQuestion", "input": {"questions": []}}
    assert noticed(ended(stop_reason="tool_deferred", deferred_tool_use=call))[-1] == Deferred(**call)


def test_what_was_denied_is_told() -> None:
    denials = [{"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {}}]
    assert ActionRefused(tool="Bash") in noticed(ended(permission_denials=denials))


def test_a_service_that_refuses_ends_the_work_badly() -> None:
    (*_, end) = noticed(ended(is_error=True, result="API Error: 401", api_error_status=401))
    assert end == Finished(ok=False, text="API Error: 401", reason="api_error_401")


@pytest.mark.promise("trust/65")
@pytest.mark.parametrize(
    "marked",
    [{"is_api_error_message": True}, {"message": {"model": "<synthetic>"}}],
    ids=["marked", "synthetic"],
)
def test_an_error_of_the_service_is_shown_and_is_no_turn_of_the_model(marked: dict[str, Any]) -> None:
    words = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Not logged in"}],
        **marked.get("message", {}),
    }
    line = json.dumps({"type": "assistant", "error": "authentication_failed", **marked, "message": words})
    last = ended(is_error=True, result="Not logged in", api_error_status=None)
    shown = noticed(line, last)
    assert TurnTaken() not in shown
    assert [each for each in shown if isinstance(each, Said | Finished)] == [
        Said(text="Not logged in"),
        Finished(ok=False, text="Not logged in", reason="api_error_authentication_failed"),
    ]


def test_results_come_as_text_or_in_blocks() -> None:
    blocks = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]
    assert noticed(returned(blocks, is_error=True))[-1] == ToolReturned(
        id="toolu_1", text="one\ntwo", is_error=True
    )


def test_usage_that_grows_within_one_reply_is_counted_once() -> None:
    more = {**USAGE, "output_tokens": 30}
    spent = [
        each for each in noticed(spoke("m"), spoke("m"), spoke("m", usage=more)) if isinstance(each, Spent)
    ]
    assert spent == [Spent(input_tokens=123, output_tokens=7), Spent(output_tokens=23)]


def test_what_nobody_saw_on_the_way_is_counted_at_the_end() -> None:
    assert noticed(ended())[1] == Spent(cost=0.00108, input_tokens=246, output_tokens=14)


def test_an_older_version_tells_only_the_sum_of_the_costs() -> None:
    assert Spent(cost=0.5, input_tokens=123, output_tokens=7) in noticed(
        ended(model_usage_since_last_result=None)
    )


def test_half_of_a_character_does_not_travel_on() -> None:
    (_, _, _, said) = noticed(spoke("m", {"type": "text", "text": "\ud83d!"}))
    assert said == Said(text="?!")


def test_a_line_that_is_none_is_shown_in_part() -> None:
    assert noticed("Segmentation fault " * 100) == [Unreadable(line=("Segmentation fault " * 100)[:500])]
    assert noticed("", "  \n") == []


def _parsed(word: str) -> object:
    return json.loads(word) if word.startswith("{") else word


def test_it_is_known_by_its_name_and_settings_name_another_program() -> None:
    assert agent_named("claude", {}).program() == "claude"
    settings = AgentSettings(program="/opt/claude")
    assert agent_named("claude", {"claude": settings}).start(a_task()).argv[0] == "/opt/claude"
