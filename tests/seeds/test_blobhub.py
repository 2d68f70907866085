"""The design "Interactive prompts" of a worker with threads, sentence by sentence, under its preset.

Each test quotes its sentences. The worker is this daemon, the agent is a client with an agent's token, and the standard
thread widget is anything that posts text.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.web.house import House, until
from upcall.approvals.desk import ApprovalDesk
from upcall.broker.broker import Broker, Policy
from upcall.config.settings import load
from upcall.daemon.wiring.broker import policy
from upcall.domain.roles import Caller, Role
from upcall.domain.run.program import Action, Verdict
from upcall.home.files import Home

DEPLOY: dict[str, Any] = {
    "question": "What's the deployment target?",
    "options": [
        {"label": "staging", "description": "push to staging.example.com"},
        {"label": "production", "description": "push to www.example.com"},
    ],
}
APPROVAL: dict[str, Any] = {"kind": "approval", "question": "rm -rf build"}
SHOWN = """\
❓ Provide input:
What's the deployment target?
  1. staging — push to staging.example.com
  2. production — push to www.example.com
Reply with a number, the option text, or free text.
"""


def preset(folder: Path) -> Policy:
    """What the preset says, as a daemon would read it."""
    home = Home(folder)
    home.path.mkdir(exist_ok=True)
    home.config_file.write_text('preset = "blobhub"\n')
    return policy(load(home, {}))


@pytest.fixture
async def worker(tmp_path: Path) -> AsyncIterator[House]:
    async with House.open(tmp_path, policy=preset(tmp_path / "home")) as house:
        yield house


async def asked(worker: House, **body: Any) -> dict[str, Any]:
    return await worker.asked(**(body or DEPLOY), thread="t")


async def items(worker: House) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await worker.as_("ana").get("/v1/threads/t/items")).json()["items"]
    return found


async def types(worker: House) -> list[str]:
    return [item["metadata"]["type"] for item in await items(worker)]


async def say(worker: House, text: str = "", **metadata: Any) -> dict[str, Any]:
    body = {"text": text, "metadata": metadata} if text else {"metadata": metadata}
    response = await worker.as_("ana").post("/v1/threads/t/items", json=body)
    assert response.status_code in {200, 201}, response.text
    told: dict[str, Any] = response.json()
    return told


async def waited(worker: House, inquiry: dict[str, Any]) -> dict[str, Any]:
    """What the agent gets that waits at its tool call."""
    response = await worker.as_("builder").get(f"/v1/inquiries/{inquiry['id']}/wait?timeout=30")
    settled: dict[str, Any] = response.json()
    return settled


async def collected(worker: House, inquiry: dict[str, Any]) -> None:
    await worker.as_("builder").post(f"/v1/inquiries/{inquiry['id']}/collect")


async def mapped(worker: House, text: str, **body: Any) -> list[list[str]]:
    """The answer that a reply in words comes to."""
    inquiry = await asked(worker, **body)
    await say(worker, text)
    answers: list[list[str]] = (await waited(worker, inquiry))["answer"]["answers"]
    await collected(worker, inquiry)
    return answers


@pytest.mark.promise("blobhub/1", "blobhub/5", "blobhub/7", "blobhub/8")
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"question": "Which name?"}, "text"),
        (APPROVAL, "approval"),
        (DEPLOY, "ask_user_question"),
        ({**DEPLOY, "multiSelect": True}, "ask_user_question"),
        ({"questions": [DEPLOY, {"question": "When?", "options": ["now", "later"]}]}, "ask_user_question"),
    ],
)
async def test_the_worker_preserves_the_kind(worker: House, body: dict[str, Any], kind: str) -> None:
    """Claude Code and Codex occasionally pause to ask the user something — for approval before running a risky
    command, to pick from a list of options, or for free-text input. The worker preserves the kind in
    metadata.prompt.kind. Yes/no approval. Structured question(s) with options (single- or multi-select). May carry
    multiple questions.
    """
    await asked(worker, **body)
    (item,) = await items(worker)
    prompt = item["metadata"]["prompt"]
    assert prompt["kind"] == kind
    assert len(prompt["questions"]) == len(body.get("questions", [body]))


@pytest.mark.promise("blobhub/2", "blobhub/3", "blobhub/14", "blobhub/37")
async def test_a_reply_in_plain_text_is_resolved_back_to_the_agent(worker: House) -> None:
    """The worker surfaces these as structured thread items and resolves the user's reply back to the agent. In v1 users
    answer with plain text in the standard thread widget. The user is expected to reply by posting one or more thread
    items. Answered — the user provided a valid answer; agent receives it and continues. Audit item prompt_state:
    answered.
    """
    inquiry = await asked(worker)
    assert (await items(worker))[0]["metadata"]["type"] == "pending_prompt"
    await say(worker, "staging")
    assert (await waited(worker, inquiry))["answer"]["answers"] == [["staging"]]
    await collected(worker, inquiry)
    assert (await items(worker))[-1]["metadata"]["prompt"]["prompt_state"] == "answered"
    response = await worker.as_("builder").post("/v1/threads/t/items", json={"text": "deploying"})
    assert response.status_code == 201


@pytest.mark.promise("blobhub/4")
async def test_the_metadata_preserves_the_whole_payload(worker: House) -> None:
    """The structured metadata preserves the agent's full prompt payload so a future native renderer (approval buttons,
    choice pickers, multi-question forms) can pick it up without protocol changes.
    """
    rich = {"label": "a", "description": "first", "recommended": True, "preview": "print(1)"}
    await asked(worker, question="Which?", header="Pick", options=[rich, "b"], multiSelect=True, custom=False)
    (item,) = await items(worker)
    assert item["metadata"]["prompt"]["questions"] == [
        {
            "question": "Which?",
            "multiSelect": True,
            "options": [rich, {"label": "b", "description": ""}],
            "header": "Pick",
            "custom": False,
        }
    ]


@pytest.mark.promise("blobhub/6", "blobhub/25")
async def test_a_text_question_gets_the_raw_text_as_a_single_string(worker: House) -> None:
    """Free-text question. Answer is a single string. answer = [<raw user text>]."""
    assert await mapped(worker, "1) call it *Ada*", question="Which name?") == [["1) call it *Ada*"]]


def desk(broker: Broker) -> ApprovalDesk:
    caller = Caller(name="builder", role=Role.AGENT)
    return ApprovalDesk(broker, caller=caller, session="s", door="native", thread="t")


ACTION = Action(tool="Bash", input={"command": "rm -rf build"}, cwd="/tmp")


@pytest.mark.promise("blobhub/9")
async def test_under_approval_each_sensitive_action_is_decided_by_a_person(worker: House) -> None:
    """When an agent runs under approval, each sensitive action is routed here for a human decision before it proceeds."""
    verdicts: list[Verdict] = []

    async def act() -> None:
        verdicts.append(await desk(worker.broker).approve(ACTION, "call_1"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(act)
        await until(lambda: worker.broker.waiting == 1)
        assert (await items(worker))[0]["metadata"]["prompt"]["kind"] == "approval"
        assert verdicts == []
        await say(worker, "yes")
    assert verdicts[0].allowed


@pytest.mark.promise("blobhub/10", "blobhub/38")
async def test_an_approval_that_is_open_when_the_worker_shuts_down_is_denied(tmp_path: Path) -> None:
    """If no human answers — for example, the worker shuts down with the prompt still open — the action is denied.
    Cancelled — the prompt was abandoned (worker shutdown, worker restart, agent turn cancelled). Audit item prompt_state:
    cancelled with reason.
    """
    rules = preset(tmp_path / "home")
    verdicts: list[Verdict] = []
    async with House.open(tmp_path, policy=rules) as before:

        async def act() -> None:
            verdicts.append(await desk(before.broker).approve(ACTION, "call_1"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(act)
            await until(lambda: before.broker.waiting == 1)
            await before.broker.close()
    assert not verdicts[0].allowed
    async with House.open(tmp_path, policy=rules) as worker:
        prompt = (await items(worker))[-1]["metadata"]["prompt"]
        assert (prompt["prompt_state"], prompt["reason"]) == ("cancelled", "worker_restart")


@pytest.mark.promise("blobhub/11")
async def test_under_autonomous_no_prompt_is_raised(worker: House) -> None:
    """Under permissions: autonomous there is no approval gate, so the agent does not raise these prompts."""
    await worker.as_("root").post(
        "/v1/threads", json={"id": "t", "agent": "builder", "permissions": "autonomous"}
    )
    assert (await desk(worker.broker).approve(ACTION, "call_1")).allowed
    response = await worker.as_("builder").post("/v1/inquiries", json={**APPROVAL, "thread": "t"})
    assert (response.status_code, response.json()["error"]["code"]) == (409, "no_approval_needed")
    assert "pending_prompt" not in await types(worker)
    # Other questions are asked all the same.
    await asked(worker)


@pytest.mark.promise("blobhub/12", "spec/113")
async def test_permissions_are_the_threads_then_the_agents_then_the_default(tmp_path: Path) -> None:
    """See the permissions setting for how it is resolved."""
    home = Home(tmp_path / "home")
    home.path.mkdir()
    home.config_file.write_text('preset = "blobhub"\n[agents.painter]\npermission = "autonomous"\n')
    async with House.open(tmp_path, policy=policy(load(home, {}))) as house:
        for agent, own, resolved in (
            ("builder", None, "approval"),
            ("painter", None, "autonomous"),
            ("painter", "approval", "approval"),
            ("builder", "autonomous", "autonomous"),
        ):
            body = {"agent": agent, **({"permissions": own} if own else {})}
            made = (await house.as_("root").post("/v1/threads", json=body)).json()
            assert (made["permissions"], made["own_permissions"]) == (resolved, own)


@pytest.mark.promise("blobhub/13", "blobhub/15", "spec/120")
async def test_pending_prompt_is_exactly_as_documented(worker: House) -> None:
    """Posted when the agent's turn pauses for input. […] ❓ Provide input: […] metadata: type: pending_prompt […]"""
    inquiry = await asked(worker)
    (item,) = await items(worker)
    assert item["content"] == [{"type": "text", "text": SHOWN}]
    assert item["metadata"] == {
        "type": "pending_prompt",
        "prompt": {
            "prompt_id": f"prm_{inquiry['id']}",
            "kind": "ask_user_question",
            "prompt_state": "pending",
            "questions": [{**DEPLOY, "multiSelect": False}],
        },
    }


@pytest.mark.promise("blobhub/16", "spec/122")
async def test_the_turn_blocks_and_nothing_further_is_emitted(worker: House) -> None:
    """The agent's turn blocks at the tool call awaiting the answer; no further thread items are emitted until the
    prompt resolves.
    """
    inquiry = await asked(worker)
    still = await worker.as_("builder").get(f"/v1/inquiries/{inquiry['id']}/wait?timeout=0")
    assert still.json()["state"] == "open"
    for kind in ("text", "tool_call", "tool_result", "status", "turn_end"):
        body = {"text": "meanwhile", "metadata": {"type": kind}}
        refused = await worker.as_("builder").post("/v1/threads/t/items", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "prompt_pending")
    assert await types(worker) == ["pending_prompt"]
    await say(worker, "1")
    await collected(worker, inquiry)
    await worker.as_("builder").post("/v1/threads/t/items", json={"text": "done"})
    assert await types(worker) == ["pending_prompt", "text", "pending_prompt_resolved", "text"]


@pytest.mark.promise("blobhub/17", "spec/121", "spec/124")
async def test_there_is_at_most_one_active_prompt(worker: House) -> None:
    """There is at most one active prompt per thread at any time."""
    first = await asked(worker)
    second = await asked(worker, question="And then?")
    assert (first["queued"], second["queued"]) == (False, True)
    assert await types(worker) == ["pending_prompt"]
    worker.clock.now += 3600
    await say(worker, "1")
    await collected(worker, first)
    assert (await types(worker))[-2:] == ["pending_prompt_resolved", "pending_prompt"]
    turn = await worker.as_("ana").get(f"/v1/inquiries/{second['id']}")
    assert turn.json()["expires_at"] == "2027-01-16T09:00:00.000Z"


@pytest.mark.promise("blobhub/18", "blobhub/38", "blobhub/39", "spec/123")
@pytest.mark.parametrize(
    ("by", "action", "body", "state", "reason", "text"),
    [
        ("ana", "reject", {}, "cancelled", "rejected", "✗ Cancelled: rejected"),
        ("builder", "cancel", {}, "cancelled", "agent_turn_cancelled", "✗ Cancelled: agent_turn_cancelled"),
        ("builder", "cancel", {"reason": "found it"}, "cancelled", "found it", "✗ Cancelled: found it"),
        (None, "fail", {}, "failed", "no channel took it", "✗ Failed: no channel took it"),
        (None, "expire", {}, "cancelled", "expired", "✗ Cancelled: expired"),
    ],
)
async def test_every_end_is_posted_with_its_reason(
    worker: House, by: str | None, action: str, body: dict[str, str], state: str, reason: str, text: str
) -> None:
    """Posted once the prompt has been answered, cancelled, or failed. Cancelled — […] agent turn cancelled. Failed — the
    prompt couldn't be resolved due to an internal error. Audit item prompt_state: failed with reason.
    """
    inquiry = await asked(worker)
    if by is not None:
        await worker.as_(by).post(f"/v1/inquiries/{inquiry['id']}/{action}", json=body)
    elif action == "fail":
        await worker.broker.fail(inquiry["id"], via="channels", reason=reason)
    else:
        worker.clock.now += 25 * 3600
        await worker.as_("ana").post(f"/v1/inquiries/{inquiry['id']}/reject")
    item = (await items(worker))[-1]
    assert item["content"] == [{"type": "text", "text": text}]
    assert item["metadata"] == {
        "type": "pending_prompt_resolved",
        "prompt": {
            "prompt_id": f"prm_{inquiry['id']}",
            "kind": "ask_user_question",
            "prompt_state": state,
            "answers": [],
            "reason": reason,
        },
    }


@pytest.mark.promise("blobhub/19")
async def test_the_audit_lands_after_the_agent_has_the_answer(worker: House) -> None:
    """Audit-only — the worker has already delivered the answer to the agent before this item lands."""
    inquiry = await asked(worker)
    await say(worker, "1")
    assert "pending_prompt_resolved" not in await types(worker)
    assert (await waited(worker, inquiry))["state"] == "answered"
    await collected(worker, inquiry)
    log = (await worker.as_("ana").get("/v1/events?after=0")).json()["items"]
    assert [event["type"] for event in log][-2:] == ["collected", "thread_item"]
    assert log[-1]["data"]["metadata"]["type"] == "pending_prompt_resolved"


@pytest.mark.promise("blobhub/20")
async def test_pending_prompt_resolved_is_exactly_as_documented(worker: House) -> None:
    """content: text: "✓ Answered: staging" […] prompt_state: answered […] reason: null"""
    inquiry = await asked(worker)
    await say(worker, "1")
    await collected(worker, inquiry)
    item = (await items(worker))[-1]
    assert item["content"] == [{"type": "text", "text": "✓ Answered: staging"}]
    assert item["metadata"] == {
        "type": "pending_prompt_resolved",
        "prompt": {
            "prompt_id": f"prm_{inquiry['id']}",
            "kind": "ask_user_question",
            "prompt_state": "answered",
            "answers": [{"question": "What's the deployment target?", "answer": ["staging"]}],
            "reason": None,
        },
    }


@pytest.mark.promise("blobhub/21", "blobhub/22", "spec/52")
async def test_the_next_inbound_item_is_the_answer(worker: House) -> None:
    """While a thread has an active pending_prompt, the next inbound user item is the answer. Its text is mapped per
    kind.
    """
    inquiry = await asked(worker)
    told = await say(worker, "2")
    assert told["answered"] == f"prm_{inquiry['id']}"
    assert (await waited(worker, inquiry))["answer"]["answers"] == [["production"]]


@pytest.mark.promise("blobhub/23")
async def test_structured_answers_are_used_verbatim(worker: House) -> None:
    """If an inbound user item carries metadata.prompt.prompt_id matching the active prompt and a structured answers
    array, the worker uses it verbatim. A future native widget posts this shape — no backend changes needed.
    """
    inquiry = await asked(worker)
    prompt = {
        "prompt_id": f"prm_{inquiry['id']}",
        "answers": [{"question": "What's the deployment target?", "answer": ["1"]}],
    }
    await say(worker, prompt=prompt)
    assert (await waited(worker, inquiry))["answer"]["answers"] == [["1"]]


@pytest.mark.promise("blobhub/24", "spec/55")
async def test_items_while_no_prompt_is_active_wait_for_the_next_turn(worker: House) -> None:
    """Items posted while no prompt is active are queued for the next agent turn as usual."""
    await worker.as_("builder").post("/v1/threads", json={"id": "t"})
    await say(worker, "use the new API")
    inquiry = await asked(worker)
    assert (await worker.as_("ana").get(f"/v1/inquiries/{inquiry['id']}")).json()["state"] == "open"
    await say(worker, "1")
    await collected(worker, inquiry)
    turn = (await worker.as_("builder").post("/v1/threads/t/turn")).json()["items"]
    assert [item["content"][0]["text"] for item in turn] == ["use the new API"]


@pytest.mark.promise("blobhub/26", "blobhub/27", "blobhub/28")
async def test_approvals_are_read_by_their_tokens(worker: House) -> None:
    """Affirmative tokens (approve, approved, yes, y, ok, allow, 1) → ["Approve"]. Negative tokens (deny, denied, no, n,
    reject, 2) → ["Deny"]. Unrecognized input → ["Deny"] (defensive deny-on-uncertainty).
    """
    for word in ("approve", "approved", "yes", "y", "ok", "allow", "1", "YES"):
        assert await mapped(worker, word, **APPROVAL) == [["Approve"]], word
    for word in ("deny", "denied", "no", "n", "reject", "2", "sure, why not", "yes but later", "👍"):
        assert await mapped(worker, word, **APPROVAL) == [["Deny"]], word


@pytest.mark.promise("blobhub/29", "blobhub/30", "blobhub/31", "blobhub/36")
async def test_one_question_is_read_by_number_label_or_as_it_is(worker: House) -> None:
    """A bare number N → the Nth option's label. A case-insensitive match to an option label → that label. Otherwise the
    raw text (the "Other" / free-text path). The "Other" path for ask_user_question preserves the user's typed text as the
    free-text answer for that question.
    """
    assert await mapped(worker, "2", **DEPLOY) == [["production"]]
    assert await mapped(worker, "StAgInG", **DEPLOY) == [["staging"]]
    assert await mapped(worker, "the canary cluster", **DEPLOY) == [["the canary cluster"]]
    assert await mapped(worker, "3", **DEPLOY) == [["3"]]
    # A number is a position, always, even where a label is a number too.
    assert await mapped(worker, "2", question="How many?", options=["2", "3"]) == [["3"]]


@pytest.mark.promise("blobhub/32")
async def test_several_options_are_chosen_by_numbers(worker: House) -> None:
    """With multiSelect: true, comma- or space-separated numbers select multiple options."""
    checks: dict[str, Any] = {
        "question": "Which?",
        "options": ["lint", "tests", "types"],
        "multiSelect": True,
    }
    assert await mapped(worker, "1, 3", **checks) == [["lint", "types"]]
    assert await mapped(worker, "1 2", **checks) == [["lint", "tests"]]


@pytest.mark.promise("blobhub/33", "blobhub/34", "blobhub/35")
async def test_several_questions_are_read_line_by_line(worker: House) -> None:
    """Best-effort line-prefixed parse (1) … 2) …, matching the format the prompt's content.text shows). Unparseable
    replies fall back to each question receiving the raw text as free text.
    """
    several: dict[str, Any] = {"questions": [DEPLOY, {"question": "When?", "options": ["now", "later"]}]}
    assert await mapped(worker, "1) 2\n2) now", **several) == [["production"], ["now"]]
    shown = (await items(worker))[0]["content"][0]["text"]
    assert "1) What's the deployment target?" in shown
    assert "2) When?" in shown
    assert "1) … 2) …" in shown
    assert await mapped(worker, "as you like", **several) == [["as you like"], ["as you like"]]


@pytest.mark.promise("blobhub/40", "blobhub/41", "blobhub/42")
async def test_an_unresolved_prompt_does_not_survive_a_restart(tmp_path: Path) -> None:
    """An unresolved prompt does not survive a worker restart. On recovery the worker posts a pending_prompt_resolved
    audit item with prompt_state: cancelled, reason: worker_restart. When the agent resumes, it re-asks if it still
    needs the input.
    """
    rules = preset(tmp_path / "home")
    async with House.open(tmp_path, policy=rules) as before:
        inquiry = await asked(before)
        waiting = await asked(before, question="And then?")
    async with House.open(tmp_path, policy=rules) as worker:
        found = await items(worker)
        assert [item["metadata"]["type"] for item in found] == ["pending_prompt", "pending_prompt_resolved"]
        prompt = found[-1]["metadata"]["prompt"]
        assert prompt["prompt_id"] == f"prm_{inquiry['id']}"
        assert (prompt["prompt_state"], prompt["reason"]) == ("cancelled", "worker_restart")
        ended = (await worker.as_("ana").get(f"/v1/inquiries/{waiting['id']}")).json()
        assert (ended["state"], ended["resolution"]["reason"]) == ("cancelled", "worker_restart")
        again = await asked(worker)
        assert (again["state"], again["queued"]) == ("open", False)
        assert (await types(worker))[-1] == "pending_prompt"


async def test_without_the_preset_a_prompt_survives(tmp_path: Path) -> None:
    """Kept otherwise, with those that wait for their turn: the answer reaches the agent that asks for it."""
    async with House.open(tmp_path) as before:
        inquiry = await asked(before)
        waiting = await asked(before, question="And then?")
    async with House.open(tmp_path) as worker:
        await say(worker, "1")
        assert (await waited(worker, inquiry))["answer"]["answers"] == [["staging"]]
        await collected(worker, inquiry)
        turn = (await worker.as_("ana").get(f"/v1/inquiries/{waiting['id']}")).json()
        assert (turn["state"], turn["queued"]) == ("open", False)
