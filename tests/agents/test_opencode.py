"""How opencode is started, read and resumed, without starting it."""

import json
from collections.abc import Mapping
from typing import ClassVar

import pytest
from hypothesis import given, strategies as st
from typing_extensions import override

from upcall.agents.opencode.adapter import Opencode, split
from upcall.agents.opencode.parts import failure
from upcall.agents.opencode.rules import tightened
from upcall.agents.opencode.settings import ASKING, CONTENT, OURS
from upcall.domain.errors import InvalidRequest
from upcall.domain.run.program import ActionRefused, Command, Finished, Permission
from upcall.testing.agent_contract import SESSION, AgentContract, a_session, a_task

NAME = "ses_e1e2b0945ffe54SPCEu6cuUD3v"


def line(kind: str, part: Mapping[str, object]) -> str:
    return json.dumps({"type": kind, "timestamp": 1794790196337, "sessionID": NAME, "part": part})


def a_step(name: str, reason: str) -> str:
    tokens = {
        "total": 107,
        "input": 100,
        "output": 7,
        "reasoning": 0,
        "cache": {"write": 0, "read": 0},
    }
    return line(
        "step_finish", {"id": name, "type": "step-finish", "reason": reason, "tokens": tokens, "cost": 0}
    )


def a_call(**state: object) -> str:
    part = {"id": "prt_2", "type": "tool", "tool": "upcall_ask_human", "callID": "call_1", "state": state}
    return line("tool_use", part)


class TestOpencode(AgentContract):
    freedoms: ClassVar[tuple[str, ...]] = ("--auto",)
    good_version: ClassVar[str] = "1.18.33"
    bad_version: ClassVar[str | None] = "1.2.9"
    session: ClassVar[str] = NAME
    sample: ClassVar[tuple[str, ...]] = (
        line("step_start", {"id": "prt_1", "type": "step-start"}),
        a_call(status="completed", input={"question": "Which cache?"}, output="The user answered: Redis"),
        a_step("prt_3", "tool-calls"),
        line("step_start", {"id": "prt_4", "type": "step-start"}),
        line("text", {"id": "prt_5", "type": "text", "text": "Redis it is.", "time": {"start": 1, "end": 2}}),
        a_step("prt_6", "stop"),
    )
    failing: ClassVar[tuple[str, ...]] = (
        json.dumps(
            {
                "type": "error",
                "sessionID": NAME,
                "error": {"name": "APIError", "data": {"message": "overloaded"}},
            }
        ),
    )

    @override
    def agent(self) -> Opencode:
        return Opencode(surroundings={})


def settings_in(command: Command) -> dict[str, object]:
    settings: dict[str, object] = json.loads(command.environment[CONTENT])
    return settings


def test_the_command_lines_are_these() -> None:
    agent = Opencode(surroundings={})
    more = ("--model", "some/model", "--print-logs")
    free, held = Permission.AUTONOMOUS, Permission.APPROVAL
    assert agent.start(a_task(permission=free, arguments=more)).argv == (
        *("opencode", "run", "--model", "some/model", "--print-logs", "--format", "json", "--auto"),
    )
    assert agent.resume(a_session(permission=free), "Go on").argv == (
        *("opencode", "run", "--format", "json", "--auto", "--session", SESSION),
    )
    assert agent.resume(a_session(permission=free), "Go on").stdin == "Go on"
    # What a server does not take on its command line, it is told with each prompt.
    assert agent.start(a_task(permission=held, arguments=more)).argv == (
        *("opencode", "serve", "--print-logs", "--port", "0", "--hostname", "127.0.0.1"),
    )
    assert agent.attach(a_session(arguments=more)).argv == (
        *("opencode", "--model", "some/model", "--session", SESSION),
    )


def test_the_settings_are_these() -> None:
    agent = Opencode(surroundings={})
    free = settings_in(agent.start(a_task(permission=Permission.AUTONOMOUS)))
    door = a_task().door
    entry = {
        "type": "local",
        "enabled": True,
        "command": list(door.command),
        "environment": dict(door.environment),
        "timeout": 54_381_000,
    }
    assert free == {"mcp": {"upcall": entry}, "permission": {OURS: "allow"}}
    held = settings_in(agent.start(a_task()))
    assert held["permission"] == {**ASKING, OURS: "allow"}
    assert held["experimental"] == {"continue_loop_on_deny": True}


def test_a_server_has_a_password_that_is_not_the_token_and_is_the_same_for_whoever_comes_next() -> None:
    agent = Opencode(surroundings={})
    words = [
        command.environment["OPENCODE_SERVER_PASSWORD"]
        for command in (agent.start(a_task()), agent.resume(a_session(), "Go on"))
    ]
    assert words[0] == words[1]
    assert a_task().door.token not in words[0]


def test_settings_that_the_user_has_in_the_environment_stay() -> None:
    users = {
        "model": "some/model",
        "mcp": {"other": {"type": "local", "command": ["x"]}},
        "permission": {"bash": {"rm *": "deny"}},
    }
    merged = settings_in(Opencode(surroundings={CONTENT: json.dumps(users)}).start(a_task()))
    assert merged["model"] == "some/model"
    assert set(json.loads(json.dumps(merged["mcp"]))) == {"other", "upcall"}
    permission = json.loads(json.dumps(merged["permission"]))
    assert next(iter(permission)) == "bash"
    assert permission["bash"] == {"rm *": "deny"}
    one_word = settings_in(Opencode(surroundings={CONTENT: '{"permission": "allow"}'}).start(a_task()))
    assert list(json.loads(json.dumps(one_word["permission"])))[:2] == ["*", "**"]


@pytest.mark.parametrize("content", ["{ // a remark\n}", "[]", "nonsense", '{"permission": 7}'])
def test_settings_in_the_environment_that_cannot_be_added_to_are_refused(content: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Opencode(surroundings={CONTENT: content}).start(a_task())
    assert CONTENT in refused.value.message


def rule(permission: str, pattern: str, action: str) -> dict[str, str]:
    return {"permission": permission, "pattern": pattern, "action": action}


def test_rules_of_a_session_keep_what_is_denied_and_ask_about_what_is_allowed() -> None:
    rules = [
        rule("*", "*", "allow"),
        rule("read", "*", "allow"),
        rule("read", "*.env", "ask"),
        rule("bash", "*", "deny"),
        rule("bash", "git *", "allow"),
        rule("github_create_issue", "*", "allow"),
        *(rule(name, "*", "ask") for name in ASKING),
        {},
    ]
    assert tightened(rules) == [
        rule("read", "*", "allow"),
        rule("read", "*.env", "ask"),
        rule("bash", "*", "deny"),
        rule("bash", "git *", "ask"),
        rule("github_create_issue", "*", "ask"),
        rule(OURS, "*", "allow"),
    ]


_WORDS = st.sampled_from(["*", "bash", "read", "edit", "question", OURS, "**", "x_y", ""])
_ACTIONS = st.sampled_from(["allow", "deny", "ask", "later", None])


@given(st.lists(st.fixed_dictionaries({"permission": _WORDS, "pattern": _WORDS, "action": _ACTIONS})))
def test_no_rule_of_a_session_allows_what_people_decide(rules: list[dict[str, str]]) -> None:
    made = tightened(rules)
    assert {each["permission"] for each in made if each["action"] == "allow"} <= {"read", "question", OURS}
    kept = [each for each in made if each["action"] == "deny"]
    ours = {*ASKING, OURS, ""}
    assert kept == [
        each
        for each in rules
        if each["action"] == "deny" and each["permission"] not in ours and each["pattern"]
    ]


def test_an_action_that_a_rule_forbids_is_told_as_refused() -> None:
    told = "The user has specified a rule which prevents you from using this specific tool call. …"
    noticed = list(Opencode().reader().notice(a_call(status="error", input={}, error=told)))
    assert [each for each in noticed if isinstance(each, ActionRefused)] == [
        ActionRefused(tool="upcall_ask_human", reason=told)
    ]


def test_a_reply_that_was_cut_off_is_no_success() -> None:
    noticed = list(Opencode().reader().notice(a_step("prt_1", "length")))
    assert noticed[-1] == Finished(ok=False, text="", reason="length")


def test_failures_have_a_short_code() -> None:
    assert failure({"name": "ProviderAuthError", "data": {"message": "no key"}}) == (
        "no key",
        "provider_auth_error",
    )
    assert failure(None)[1] == "unknown_error"


def test_arguments_of_a_prompt_are_told_from_those_of_the_process() -> None:
    given_arguments = ("--agent=plan", "-m", "a/b", "--variant", "high", "--pure", "--model")
    assert split(given_arguments) == (
        {"agent": "plan", "model": "a/b", "variant": "high"},
        ("--pure", "--model"),
    )
