"""Claude Code's hooks over real HTTP: what comes in, what is decided, and that nothing unclear is allowed."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.doors.house import AGENT_TOKEN, PATIENCE, PERSON, House
from tests.plain_http import plain_client
from upcall.access.tokens import digest
from upcall.domain.roles import Caller, Role
from upcall.doors.hooks import SAME_TURN, DeferrableCalls

RUN_TOKEN = "upcall_agent_of_a_run"
QUESTION = {
    "question": "Which database?",
    "header": "DB",
    "multiSelect": False,
    "options": [{"label": "Postgres", "description": ""}, {"label": "SQLite", "description": "a file"}],
}
CHECKS = {
    "question": "Which checks, or something else altogether?",
    "header": "Checks",
    "multiSelect": True,
    "options": [{"label": "lint", "description": ""}, {"label": "tests", "description": ""}],
}


def asking(key: str = "toolu_1", *questions: dict[str, Any], **more: object) -> dict[str, object]:
    """What a hook is given when the model asks a question."""
    return {
        "hook_event_name": "PreToolUse",
        "session_id": "s1",
        "cwd": "/w",
        "permission_mode": "default",
        "tool_name": "AskUserQuestion",
        "tool_input": {"questions": list(questions or [QUESTION])},
        "tool_use_id": key,
        **more,
    }


def acting(event: str = "PreToolUse", key: str = "toolu_2", **more: object) -> dict[str, object]:
    """What a hook is given when a command is to run."""
    tool = {"tool_name": "Bash", "tool_input": {"command": "rm -r 'build dir'"}}
    return asking(key, **tool, hook_event_name=event, **more)


class Hook:
    """Claude Code's side of one connection."""

    def __init__(self, house: House, client: httpx2.AsyncClient) -> None:
        self.house = house
        self._client = client

    async def send(self, sent: object, token: str = RUN_TOKEN) -> httpx2.Response:
        content = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        return await self._client.post(f"{self.house.url}/hooks/claude", content=content, headers=headers)

    async def decided(self, sent: object, token: str = RUN_TOKEN) -> Any:
        """What is said about it."""
        response = await self.send(sent, token)
        assert response.status_code == 200, response.text
        return response.json()["hookSpecificOutput"]

    async def answered(self, sent: object, text: str, token: str = RUN_TOKEN) -> Any:
        """What is said once a person has answered."""
        deciding = asyncio.create_task(self.decided(sent, token))
        (inquiry,) = await asyncio.to_thread(self.house.opened)
        await asyncio.to_thread(self.house.answer, inquiry.id, text)
        return await deciding


@pytest.fixture
async def hook(tmp_path: Path) -> AsyncIterator[Hook]:
    async with at_home(House(tmp_path / "home")) as hook:
        yield hook


@pytest.fixture
async def hasty(tmp_path: Path) -> AsyncIterator[Hook]:
    """A hook of a daemon that hardly waits."""
    house = House(tmp_path / "home")
    house.hook_wait = 0.01
    async with at_home(house) as hook:
        yield hook


@asynccontextmanager
async def at_home(house: House) -> AsyncIterator[Hook]:
    house.start()
    house.access.lend(digest(RUN_TOKEN), Caller(name="claude", role=Role.AGENT, run=7))
    try:
        async with plain_client(timeout=PATIENCE) as client:
            yield Hook(house, client)
    finally:
        await asyncio.to_thread(house.stop)


async def test_answers_come_back_under_the_questions_as_they_were_given(hook: Hook) -> None:
    said = await hook.answered(asking("t", QUESTION, CHECKS), "1) SQLite\n2) lint, tests")
    assert said == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {
            "questions": [QUESTION, CHECKS],
            "answers": {QUESTION["question"]: "SQLite", CHECKS["question"]: "lint, tests"},
        },
    }


async def test_an_inquiry_of_a_hook_says_where_it_comes_from(hook: Hook) -> None:
    asked = asyncio.create_task(hook.decided(asking("toolu_9")))
    (inquiry,) = await asyncio.to_thread(hook.house.opened)
    origin = inquiry.origin
    assert (origin.agent, origin.session, origin.run) == ("claude", "s1", 7)
    assert (origin.request_key, origin.purpose, origin.workspace) == ("toolu_9", "question", "/w")
    await asyncio.to_thread(hook.house.answer, inquiry.id, "1")
    await asked


async def test_free_text_is_passed_on_as_it_is(hook: Hook) -> None:
    said = await hook.answered(asking(), "Neither, ask ops")
    assert said["updatedInput"]["answers"] == {"Which database?": "Neither, ask ops"}


@pytest.mark.promise("trust/61")
async def test_questions_with_the_same_words_are_refused_since_their_answers_would_be_one(hook: Hook) -> None:
    told = await hook.decided(asking("toolu_1", QUESTION, {**QUESTION, "header": "Test DB"}))
    assert (told["permissionDecision"], "same words" in told["permissionDecisionReason"]) == ("deny", True)
    assert await asyncio.to_thread(hook.house.history) == []


async def test_a_question_is_never_refused_for_its_length(hook: Hook) -> None:
    long = {**QUESTION, "question": "Why? " * 2000, "header": "h" * 200}
    said = await hook.answered(asking("t", long), "1")
    assert said["updatedInput"]["answers"] == {long["question"]: "Postgres"}


async def test_a_person_who_declines_is_a_no_with_their_reason(hook: Hook) -> None:
    deciding = asyncio.create_task(hook.decided(asking()))
    (inquiry,) = await asyncio.to_thread(hook.house.opened)
    rejecting = hook.house.broker.reject(inquiry.id, PERSON, reason="Not now")
    await asyncio.to_thread(hook.house.run, rejecting)
    said = await deciding
    assert said["permissionDecision"] == "deny"
    assert "Not now" in said["permissionDecisionReason"]


async def test_a_run_without_an_answer_in_time_is_deferred_and_rejoins_its_question(hasty: Hook) -> None:
    assert (await hasty.decided(asking()))["permissionDecision"] == "defer"
    assert (await hasty.decided(asking()))["permissionDecision"] == "defer"
    (inquiry,) = await asyncio.to_thread(hasty.house.opened)
    await asyncio.to_thread(hasty.house.answer, inquiry.id, "2")
    said = await hasty.decided(asking())
    assert said["updatedInput"]["answers"] == {"Which database?": "SQLite"}
    assert hasty.house.history().count("asked") == 1


async def test_one_turn_defers_one_question_and_no_other(hasty: Hook) -> None:
    assert (await hasty.decided(asking("one")))["permissionDecision"] == "defer"
    said = await hasty.decided(asking("two", CHECKS))
    assert said["permissionDecision"] == "deny"
    assert "one at a time" in said["permissionDecisionReason"]
    assert hasty.house.history().count("asked") == 1
    assert (await hasty.decided(asking("one", session_id="s2")))["permissionDecision"] == "defer"


def test_a_call_that_is_made_again_keeps_its_turn_when_the_first_hangs_up() -> None:
    turns = DeferrableCalls(lambda: 0.0)
    with turns.taken("s", "call-1") as again:
        with turns.taken("s", "call-1") as first:
            assert (first.is_first, again.is_first) == (True, True)
        assert not turns.taken("s", "call-2").is_first
    assert turns.taken("s", "call-2").is_first


def test_a_turn_is_over_when_its_process_must_have_ended() -> None:
    now = [0.0]
    turns = DeferrableCalls(lambda: now[0])
    with turns.taken("s", "one") as turn:
        turn.defer()
    assert not turns.taken("s", "two").is_first
    now[0] = SAME_TURN
    assert turns.taken("s", "two").is_first


async def test_a_subagents_question_is_parked_and_not_deferred(hasty: Hook) -> None:
    said = await hasty.decided(asking(agent_id="a1", agent_type="Explore"))
    assert said["permissionDecision"] == "deny"
    assert "wait_for_answer" in said["permissionDecisionReason"]


async def test_who_was_not_started_by_us_is_parked_and_not_deferred(hasty: Hook) -> None:
    said = await hasty.decided(asking(), AGENT_TOKEN)
    assert said["permissionDecision"] == "deny"
    assert "No answer yet" in said["permissionDecisionReason"]


async def test_an_action_is_shown_and_runs_as_it_was_approved(hook: Hook) -> None:
    deciding = asyncio.create_task(hook.decided(acting()))
    (inquiry,) = await asyncio.to_thread(hook.house.opened)
    assert "rm -r 'build dir'" in inquiry.questions[0].text
    await asyncio.to_thread(hook.house.answer, inquiry.id, "yes")
    said = await deciding
    assert said["permissionDecision"] == "allow"
    assert said["updatedInput"] == {"command": "rm -r 'build dir'"}


async def test_a_permission_request_is_answered_in_its_own_words(hook: Hook) -> None:
    allowed = await hook.answered(acting("PermissionRequest", "one"), "yes", AGENT_TOKEN)
    assert allowed["decision"] == {"behavior": "allow", "updatedInput": {"command": "rm -r 'build dir'"}}
    denied = await hook.answered(acting("PermissionRequest", "two"), "no", AGENT_TOKEN)
    assert denied["decision"]["behavior"] == "deny"
    assert "denied" in denied["decision"]["message"]


def unnamed(command: str = "make deploy", **more: object) -> dict[str, object]:
    """What Claude Code 2.1.325 sends with a permission request, which has no id of the call."""
    sent = {name: value for name, value in acting("PermissionRequest").items() if name != "tool_use_id"}
    return {**sent, "prompt_id": "turn-1", "tool_input": {"command": command}, **more}


@pytest.mark.promise("trust/69")
async def test_a_permission_request_without_an_id_is_put_to_a_person(hook: Hook) -> None:
    allowed = await hook.answered(unnamed(), "yes", AGENT_TOKEN)
    assert allowed["decision"] == {"behavior": "allow", "updatedInput": {"command": "make deploy"}}
    denied = await hook.answered(unnamed("make clean"), "no", AGENT_TOKEN)
    assert denied["decision"]["behavior"] == "deny"
    assert hook.house.history().count("asked") == 2


async def test_a_yes_to_a_call_without_an_id_is_used_once(hook: Hook) -> None:
    assert (await hook.answered(unnamed(), "yes", AGENT_TOKEN))["decision"]["behavior"] == "allow"
    again = await hook.answered(unnamed(), "no", AGENT_TOKEN)
    assert again["decision"]["behavior"] == "deny"
    assert hook.house.history().count("asked") == 2


async def test_a_yes_to_a_call_without_an_id_is_used_once_across_a_restart(tmp_path: Path) -> None:
    house = House(tmp_path / "home")
    async with at_home(house) as hook:
        assert (await hook.answered(unnamed(), "yes"))["decision"]["behavior"] == "allow"
    async with at_home(house) as hook:
        assert (await hook.answered(unnamed(), "no"))["decision"]["behavior"] == "deny"


async def test_a_call_without_an_id_that_is_delivered_again_rejoins_its_question(tmp_path: Path) -> None:
    house = House(tmp_path / "home")
    async with at_home(house) as hook:
        asked = asyncio.create_task(hook.send(unnamed()))
        (inquiry,) = await asyncio.to_thread(house.opened)
        await asyncio.to_thread(house.stop)
        await asyncio.gather(asked, return_exceptions=True)
        await asyncio.to_thread(house.start)
        house.access.lend(digest(RUN_TOKEN), Caller(name="claude", role=Role.AGENT, run=7))
        await asyncio.to_thread(house.answer, inquiry.id, "yes")
        assert (await hook.decided(unnamed()))["decision"]["behavior"] == "allow"
        assert house.history().count("asked") == 1


async def test_two_calls_of_one_action_at_the_same_time_are_two_questions(hook: Hook) -> None:
    one = asyncio.create_task(hook.decided(unnamed(), AGENT_TOKEN))
    (first,) = await asyncio.to_thread(hook.house.opened)
    other = asyncio.create_task(hook.decided(unnamed(), AGENT_TOKEN))
    both = await asyncio.to_thread(hook.house.opened, 2)
    (second,) = [inquiry for inquiry in both if inquiry.id != first.id]
    await asyncio.to_thread(hook.house.answer, second.id, "no")
    assert (await other)["decision"]["behavior"] == "deny"
    await asyncio.to_thread(hook.house.answer, first.id, "yes")
    assert (await one)["decision"]["behavior"] == "allow"


async def test_about_our_own_tools_nothing_is_said(hook: Hook) -> None:
    response = await hook.send(asking(tool_name="mcp__upcall__ask_human", tool_input={"question": "?"}))
    assert (response.status_code, response.json()) == (200, {})


UNCLEAR: tuple[object, ...] = (
    b"",
    b"{",
    b"\xff\xfe",
    b"[" * 100_000,
    b"[]",
    b"null",
    {},
    asking(tool_use_id=None),
    asking(tool_use_id="k" * 201),
    asking(session_id=""),
    asking(tool_name=7),
    asking(tool_input=None),
    asking(tool_input={}),
    asking(tool_input={"questions": "what?"}),
    asking(tool_input={"questions": []}),
    asking(tool_input={"questions": [{"question": ""}]}),
    asking(tool_input={"questions": [{"question": "?", "options": 3}]}),
)


async def test_what_is_unclear_is_a_no_with_a_reason(hasty: Hook) -> None:
    for sent in UNCLEAR:
        said = await hasty.decided(sent)
        assert said["permissionDecision"] == "deny", sent
        assert said["permissionDecisionReason"]


async def test_no_body_is_allowed_unasked(hasty: Hook) -> None:
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    )
    changed = st.dictionaries(st.sampled_from(sorted(asking())), anything, min_size=1)
    loop = asyncio.get_running_loop()

    @settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
    @given(changed)
    def is_not_allowed(changes: dict[str, object]) -> None:
        sent = {**asking(), **changes}
        sending = asyncio.run_coroutine_threadsafe(hasty.send(sent, AGENT_TOKEN), loop)
        response = sending.result(PATIENCE)
        assert response.status_code in {200, 400}
        assert "allow" not in response.text

    await asyncio.to_thread(is_not_allowed)


def form(**more: object) -> dict[str, object]:
    """What a hook is given when another MCP server wants a form filled in."""
    schema = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}
    told = {"mcp_server_name": "other", "message": "Which port?", "mode": "form", "requested_schema": schema}
    return {
        "hook_event_name": "Elicitation",
        "session_id": "s1",
        "cwd": "/w",
        "prompt_id": "p1",
        **told,
        **more,
    }


@pytest.mark.promise("raised/32")
async def test_a_form_of_another_server_is_filled_in_by_a_person(hook: Hook) -> None:
    filling = asyncio.create_task(hook.decided(form(), AGENT_TOKEN))
    (asked,) = await asyncio.to_thread(hook.house.opened)
    assert asked.origin.asker == "claude-code in w"
    assert "the MCP server other" in asked.questions[0].text
    await asyncio.to_thread(hook.house.answer, asked.id, "eight")
    (again,) = await asyncio.to_thread(hook.house.opened)
    assert "a number, got 'eight'" in again.context
    await asyncio.to_thread(hook.house.answer, again.id, "8080")

    assert await filling == {"hookEventName": "Elicitation", "action": "accept", "content": {"port": 8080}}


async def test_a_form_without_an_answer_is_cancelled_and_a_link_is_left_to_claude_code(hasty: Hook) -> None:
    assert (await hasty.decided(form(), AGENT_TOKEN))["action"] == "cancel"
    assert (await hasty.send(form(mode="url"), AGENT_TOKEN)).json() == {}


async def test_events_that_are_none_of_ours_are_refused_with_what_to_do(hook: Hook) -> None:
    response = await hook.send(asking(hook_event_name="Stop"))
    assert response.status_code == 400
    assert "PreToolUse" in response.json()["error"]["hint"]


async def test_strangers_and_other_methods_get_nothing(hook: Hook) -> None:
    assert (await hook.send(asking(), "a stranger's")).status_code == 401
    async with plain_client() as client:
        headers = {"authorization": f"Bearer {RUN_TOKEN}"}
        response = await client.get(f"{hook.house.url}/hooks/claude", headers=headers)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def test_a_body_without_end_is_refused(hook: Hook) -> None:
    assert (await hook.send(b" " * (6 * 1024 * 1024 + 1))).status_code == 413


async def test_a_hook_that_hangs_up_leaves_its_question_and_rejoins_it(hook: Hook) -> None:
    asked = asyncio.create_task(hook.send(asking()))
    (inquiry,) = await asyncio.to_thread(hook.house.opened)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    said = await hook.answered(asking(), "2")
    assert said["updatedInput"]["answers"] == {"Which database?": "SQLite"}
    assert hook.house.run(hook.house.broker.get(inquiry.id, PERSON)).state_name == "answered"
    assert hook.house.history().count("asked") == 1


async def test_a_token_that_was_taken_back_meanwhile_gets_no_yes(hook: Hook) -> None:
    deciding = asyncio.create_task(hook.decided(asking()))
    (inquiry,) = await asyncio.to_thread(hook.house.opened)
    hook.house.access.take_back(digest(RUN_TOKEN))
    await asyncio.to_thread(hook.house.answer, inquiry.id, "1")
    assert (await deciding)["permissionDecision"] == "deny"


async def test_a_daemon_that_closes_defers_its_runs(hook: Hook) -> None:
    deciding = asyncio.create_task(hook.decided(asking()))
    await asyncio.to_thread(hook.house.opened)
    await asyncio.to_thread(hook.house.run, hook.house.broker.close())
    assert (await deciding)["permissionDecision"] == "defer"


PLAN = "# Cache\n\n1. Install Redis"


def planning(event: str, key: str, plan: str = PLAN, **more: object) -> dict[str, object]:
    """What a hook is given when a plan is submitted."""
    tool = {"tool_name": "ExitPlanMode", "tool_input": {"plan": plan, "planFilePath": "/p.md"}}
    return asking(key, **tool, hook_event_name=event, permission_mode="plan", **more)


@pytest.mark.promise("raised/14", "raised/15")
async def test_a_plan_is_put_to_a_person_by_either_hook_and_shows_what_changed(hook: Hook) -> None:
    back = await hook.answered(planning("PreToolUse", "toolu_1"), "> Install Redis\nMemcached is enough")
    assert back["permissionDecision"] == "deny"
    assert "Line 3:\n> Install Redis\nMemcached is enough" in back["permissionDecisionReason"]

    again = planning("PermissionRequest", "toolu_2", PLAN.replace("Redis", "Memcached"))
    deciding = asyncio.create_task(hook.decided(again))
    (inquiry,) = await asyncio.to_thread(hook.house.opened)
    assert (inquiry.kind.value, inquiry.earlier_plan) == ("plan", PLAN)
    await asyncio.to_thread(hook.house.answer, inquiry.id, "Approve and accept edits")
    decision = (await deciding)["decision"]
    assert decision["behavior"] == "allow"
    assert [each["mode"] for each in decision["updatedPermissions"]] == ["acceptEdits"]


async def test_nothing_is_put_off_in_plan_mode_which_a_resumed_session_would_have_left(hasty: Hook) -> None:
    kept = await hasty.answered(asking("toolu_1", permission_mode="plan"), "SQLite")
    assert kept["permissionDecision"] == "allow"
