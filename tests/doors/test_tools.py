"""The tools themselves, without any transport."""

import asyncio
import json
import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.adversary.hiding import HIDING_COMMANDS, PAYLOAD
from upcall.broker.broker import Broker, Policy, Reply
from upcall.domain.errors import StorageError, StorageFull
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.inquiry.limits import Limits
from upcall.domain.roles import Caller, Role
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.definitions import definitions
from upcall.doors.mcp.evidence import HandedAnswers
from upcall.doors.mcp.meta import meta_of, request_key_of, session_of, wait_of
from upcall.doors.mcp.progress import Beat
from upcall.doors.mcp.tools import ToolResult, Tools
from upcall.doors.mcp.watching import Watching
from upcall.doors.mcp.wire import encoded
from upcall.ports.store import Query

PERSON = Caller(name="ada", role=Role.PERSON)
AGENT = Caller(name="local", role=Role.AGENT)
ASKER = Asker.of(AGENT, door="mcp", wait=math.inf)
HASTY = replace(ASKER, wait=0.001)
PATIENCE = 30


def tools(broker: Broker) -> Tools:
    return Tools(broker)


async def asked(broker: Broker) -> Inquiry:
    """The one open inquiry, once there is one."""
    after = 0
    async with asyncio.timeout(PATIENCE):
        while True:
            found = (await broker.store.find(Query(state="open"))).items
            if found:
                return found[0]
            for event in await broker.store.events(after, wait=PATIENCE):
                after = event.seq


async def answered(
    broker: Broker, name: str, arguments: object, text: str, asker: Asker = ASKER
) -> ToolResult:
    """Call a tool and let a person answer with `text`."""
    call = asyncio.create_task(tools(broker).call(name, arguments, asker))
    inquiry = await asked(broker)
    await broker.receive(inquiry.id, Reply(text=text), PERSON)
    async with asyncio.timeout(PATIENCE):
        return await call


@pytest.mark.promise("trust/15")
@pytest.mark.parametrize("command", HIDING_COMMANDS)
async def test_confirm_action_hides_nothing_that_could_run(broker: Broker, command: str) -> None:
    await tools(broker).call("confirm_action", {"action": command, "details": command}, HASTY)
    inquiry = await asked(broker)
    assert PAYLOAD in inquiry.questions[0].text
    assert PAYLOAD in inquiry.context


def error_code(result: ToolResult) -> object:
    error = result.structured.get("error")
    return error.get("code") if isinstance(error, dict) else None


@pytest.mark.promise("spec/164")
async def test_an_answer_comes_back_as_a_sentence_and_as_data(broker: Broker) -> None:
    result = await answered(broker, "ask_human", {"question": "Cache?", "options": ["Redis", "None"]}, "1")
    assert "Redis" in result.text
    assert result.structured["status"] == "answered"
    assert result.structured["answers"] == [["Redis"]]
    assert set(result.structured) == {"status", "id", "ref", "answers", "waited_seconds"}
    assert not result.is_error


@pytest.mark.promise("spec/58")
async def test_several_questions_are_answered_one_by_one(broker: Broker) -> None:
    questions = [{"question": "Cache?", "options": ["Redis"]}, {"question": "Name?"}]
    result = await answered(broker, "ask_human", {"questions": questions}, "1) Redis\n2) shop")
    assert result.structured["answers"] == [["Redis"], ["shop"]]


async def test_a_denied_approval_is_an_answer_that_says_deny(broker: Broker) -> None:
    arguments = {"action": "rm -rf build", "reason": "stale", "details": "3 GB"}
    result = await answered(broker, "confirm_action", arguments, "no")
    assert result.structured["status"] == "answered"
    assert result.structured["answers"] == [["Deny"]]
    assert result.text.startswith("The user denied")


@pytest.mark.promise("spec/58")
async def test_an_approval_shows_the_whole_action_with_its_reasons(broker: Broker) -> None:
    call = asyncio.create_task(
        tools(broker).call(
            "confirm_action", {"action": "drop table", "reason": "old", "details": "why"}, HASTY
        )
    )
    inquiry = await asked(broker)
    assert inquiry.questions[0].text == "drop table"
    assert inquiry.context == "old\n\nwhy"
    assert (await call).structured["status"] == "parked"


@pytest.mark.promise("spec/31")
async def test_a_client_that_cannot_block_is_parked_and_takes_it_up_again(broker: Broker) -> None:
    door = tools(broker)
    parked = await door.call("ask_human", {"question": "Name?"}, HASTY)
    assert parked.structured["status"] == "parked"
    assert "answers" not in parked.structured
    assert not parked.is_error
    for name in ("id", "ref"):
        again = await door.call("wait_for_answer", {"id": parked.structured[name]}, HASTY)
        assert again.structured == parked.structured
    await broker.receive(str(parked.structured["id"]), Reply(text="shop"), PERSON)
    settled = await door.call("wait_for_answer", {"id": parked.structured["ref"]}, HASTY)
    assert settled.structured["answers"] == [["shop"]]


@pytest.mark.promise("spec/33")
async def test_the_end_of_the_block_can_be_an_error_by_policy(broker: Broker) -> None:
    broker.policy = Policy(block_timeout=0.001, on_block_end="error")
    result = await tools(broker).call("ask_human", {"question": "Name?"}, ASKER)
    assert result.is_error
    assert error_code(result) == "timeout"
    assert (await asked(broker)).id in result.text


async def test_no_block_ends_while_a_question_waits_in_line(broker: Broker) -> None:
    broker.policy = Policy(block_timeout=0.001, on_block_end="error")
    door, talking = tools(broker), Asker.of(AGENT, door="mcp", thread="t1", wait=0.01)
    await door.call("ask_human", {"question": "First?"}, replace(talking, wait=0))
    queued = await door.call("ask_human", {"question": "Second?"}, talking)
    assert (queued.is_error, queued.structured["status"]) == (False, "parked")


async def test_cancelling_a_call_leaves_the_question_open(broker: Broker) -> None:
    call = asyncio.create_task(tools(broker).call("ask_human", {"question": "Name?"}, ASKER))
    inquiry = await asked(broker)
    call.cancel()
    await asyncio.wait({call}, timeout=PATIENCE)
    assert call.cancelled()
    assert (await broker.store.get(inquiry.id)).is_open
    assert broker.waiting == 0


async def test_the_same_key_rejoins_instead_of_asking_twice(broker: Broker) -> None:
    door, asker = tools(broker), Asker.of(AGENT, door="mcp", request_key="toolu_1", wait=0.001)
    first = await door.call("ask_human", {"question": "Name?"}, asker)
    again = await door.call("ask_human", {"question": "Name?"}, asker)
    other = await door.call("ask_human", {"question": "Age?"}, asker)
    assert again.structured["id"] == first.structured["id"]
    assert error_code(other) == "key_conflict"


async def test_another_agent_is_never_given_what_this_one_asked(broker: Broker) -> None:
    door = tools(broker)
    said = {"door": "mcp", "session": "thread-1", "request_key": "call_1"}
    mine = Asker.of(AGENT, **said, wait=0.001)
    theirs = Asker.of(Caller(name="other", role=Role.AGENT), **said, wait=0.001)
    parked = await door.call("ask_human", {"question": "Name?"}, mine)
    asked = await door.call("ask_human", {"question": "Name?"}, theirs)
    waited = await door.call("wait_for_answer", {"id": parked.structured["id"]}, theirs)
    assert asked.structured["id"] != parked.structured["id"]
    assert error_code(waited) == "unknown_inquiry"


@pytest.mark.promise("spec/24")
@pytest.mark.parametrize(
    ("tool", "wanted"),
    (
        ("confirm_action", {"action": "deploy"}),
        ("ask_human", {"kind": "plan", "question": "Shall it be done?", "context": "1. Deploy"}),
    ),
    ids=("approval", "plan"),
)
async def test_an_approval_is_given_only_to_the_session_that_asked_and_in_its_time(
    broker: Broker, tool: str, wanted: dict[str, object]
) -> None:
    mine = Asker.of(AGENT, door="mcp", session="thread-1", wait=0.001)
    parked = await tools(broker).call(tool, wanted, mine)
    await broker.receive(str(parked.structured["id"]), Reply(text="yes"), PERSON)
    wanted = {"id": parked.structured["id"]}
    elsewhere = await tools(broker).call(
        "wait_for_answer", wanted, Asker.of(AGENT, door="mcp", session="thread-2", wait=0.001)
    )
    assert error_code(elsewhere) == "unknown_inquiry"
    in_time = await tools(broker).call("wait_for_answer", wanted, mine)
    assert in_time.structured["answers"] == [["Approve"]]
    tomorrow = Tools(broker, clock=lambda: 9e9)
    too_late = await tomorrow.call("wait_for_answer", wanted, mine)
    assert error_code(too_late) == "approval_lapsed"


NAMELESS = replace(ASKER, client_id="c1")
"""A client over HTTP, most of which give their calls no key."""


async def test_a_yes_to_a_call_without_a_key_is_no_yes_to_the_next_identical_call(broker: Broker) -> None:
    action = {"action": "deploy"}
    first = await answered(broker, "confirm_action", action, "yes", NAMELESS)
    assert first.structured["answers"] == [["Approve"]]
    second = await tools(broker).call("confirm_action", action, replace(NAMELESS, wait=0.001))
    assert second.structured["status"] == "parked"
    assert second.structured["id"] != first.structured["id"]


async def test_two_calls_without_a_key_at_the_same_time_take_a_yes_each(broker: Broker) -> None:
    door, action = tools(broker), {"action": "deploy"}
    waiting = asyncio.create_task(door.call("confirm_action", action, NAMELESS))
    first = await asked(broker)
    second = await door.call("confirm_action", action, replace(NAMELESS, wait=0.001))
    assert second.structured["id"] != first.id
    await broker.receive(first.id, Reply(text="yes"), PERSON)
    assert (await waiting).structured["answers"] == [["Approve"]]


async def test_a_late_yes_to_a_call_without_a_key_is_used_once(broker: Broker) -> None:
    door, action = tools(broker), {"action": "deploy"}
    hasty = replace(NAMELESS, wait=0.001)
    parked = await door.call("confirm_action", action, hasty)
    await broker.receive(str(parked.structured["id"]), Reply(text="yes"), PERSON)
    assert (await door.call("confirm_action", action, hasty)).structured["answers"] == [["Approve"]]
    assert (await door.call("confirm_action", action, hasty)).structured["status"] == "parked"


@pytest.mark.promise("trust/91")
@pytest.mark.parametrize("anew", [False, True], ids=["at once", "after it was asked anew"])
async def test_a_yes_that_a_call_has_used_is_not_told_again_to_one_that_names_it(
    broker: Broker, *, anew: bool
) -> None:
    door, action = tools(broker), {"action": "deploy"}
    hasty = replace(NAMELESS, wait=0.001)
    first = str((await door.call("confirm_action", action, hasty)).structured["id"])
    await broker.receive(first, Reply(text="yes"), PERSON)
    assert (await door.call("confirm_action", action, hasty)).structured["answers"] == [["Approve"]]
    if anew:
        assert (await door.call("confirm_action", action, hasty)).structured["status"] == "parked"
    assert error_code(await door.call("wait_for_answer", {"id": first}, hasty)) == "approval_lapsed"


async def test_a_yes_that_was_told_by_name_can_be_told_by_name_again(broker: Broker) -> None:
    door, hasty = tools(broker), replace(NAMELESS, wait=0.001)
    first = str((await door.call("confirm_action", {"action": "deploy"}, hasty)).structured["id"])
    await broker.receive(first, Reply(text="yes"), PERSON)
    for _ in range(2):
        told = await door.call("wait_for_answer", {"id": first}, hasty)
        assert told.structured["answers"] == [["Approve"]]


@pytest.mark.parametrize("asker", [NAMELESS, Asker.of(AGENT, door="mcp", session="s-1", client_id="c1")])
async def test_a_question_is_asked_again_once_its_answer_was_delivered(broker: Broker, asker: Asker) -> None:
    door, question = tools(broker), {"question": "Go on?"}
    hasty = replace(asker, wait=0.001)
    parked = await door.call("ask_human", question, hasty)
    await broker.receive(str(parked.structured["id"]), Reply(text="yes"), PERSON)
    told = await door.call("ask_human", question, hasty)
    assert (told.structured["id"], told.structured["status"]) == (parked.structured["id"], "answered")
    door.evidence.handed("connection", 1, str(told.collectable), AGENT)
    door.evidence.heard("connection")
    await door.evidence.settled()
    again = await tools(broker).call("ask_human", question, hasty)
    assert (again.structured["status"], again.structured["id"] != told.structured["id"]) == ("parked", True)


async def test_an_acknowledged_answer_is_not_given_to_the_same_question_again(broker: Broker) -> None:
    """Neither while the evidence is being recorded, nor because another agent claims to have the answer."""
    door, question = tools(broker), {"question": "Go on?"}
    hasty = replace(NAMELESS, wait=0.001)
    parked = await door.call("ask_human", question, hasty)
    first = str(parked.structured["id"])
    await broker.receive(first, Reply(text="yes"), PERSON)
    await door.evidence.acknowledged(first, replace(AGENT, name="mallory"))
    assert (await door.call("ask_human", question, hasty)).structured["id"] == first
    recording = door.evidence.acknowledged(first, AGENT)
    again = await door.call("ask_human", question, hasty)
    assert (again.structured["status"], again.structured["id"] != first) == ("parked", True)
    await recording


@pytest.mark.promise("spec/19")
@pytest.mark.parametrize(
    ("name", "arguments", "code", "says"),
    [
        ("ask_human", None, "invalid_inquiry", "question"),
        ("ask_human", [1], "invalid_inquiry", "arguments"),
        ("ask_human", "nonsense", "invalid_inquiry", "arguments"),
        ("ask_human", {"question": ""}, "invalid_inquiry", "1 to 2000"),
        (
            "ask_human",
            {"question": "?", "options": list("abcdefghijk")},
            "invalid_inquiry",
            "at most 10, got 11",
        ),
        ("ask_human", {"questions": []}, "invalid_inquiry", "1 to 4"),
        ("ask_human", {"question": "?", "ttl": "soon"}, "invalid_request", "24h"),
        ("ask_human", {"question": "?", "agent_id": "root"}, "unknown_agent", "unknown agent_id"),
        ("confirm_action", {}, "invalid_inquiry", "action"),
        ("confirm_action", {"action": "x" * 2001}, "invalid_inquiry", "at most 2000"),
        ("confirm_action", {"action": "x", "details": 5}, "invalid_inquiry", "details"),
        ("wait_for_answer", {}, "invalid_inquiry", "id"),
        ("wait_for_answer", {"id": "zz9"}, "unknown_inquiry", "zz9"),
        ("notify_human", {"message": " "}, "invalid_inquiry", "message"),
        ("format_disk", {}, "invalid_request", "ask_human"),
    ],
)
async def test_a_bad_call_is_told_what_is_wrong_and_nothing_is_asked(
    broker: Broker, name: str, arguments: object, code: str, says: str
) -> None:
    result = await tools(broker).call(name, arguments, ASKER)
    error = result.structured["error"]
    assert isinstance(error, dict)
    assert result.is_error
    assert error["code"] == code
    assert error["hint"]
    assert says in result.text
    assert not (await broker.store.find(Query(state="open"))).items


async def test_an_approval_never_has_approve_for_a_default(broker: Broker) -> None:
    arguments = {"kind": "approval", "question": "Deploy?", "default": "Approve"}
    result = await tools(broker).call("ask_human", arguments, ASKER)
    assert result.is_error
    assert "Deny" in result.text


async def test_a_failure_inside_is_an_error_with_a_code_and_not_silence(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(broker, "ask", broken)
    result = await tools(broker).call("ask_human", {"question": "?"}, ASKER)
    assert result.is_error
    assert error_code(result) == "internal"


@pytest.mark.promise("spec/58")
async def test_notifying_returns_at_once_and_masks_secrets(broker: Broker) -> None:
    secret = "ghp_" + "a1B2" * 9
    result = await tools(broker).call("notify_human", {"message": f"done, token {secret}"}, ASKER)
    [event] = await broker.store.events(0)
    assert result.structured == {"status": "notified"}
    assert event.type == "notified"
    assert secret not in str(event.data)


async def test_a_broker_that_closes_parks_the_waiting_call(broker: Broker) -> None:
    call = asyncio.create_task(tools(broker).call("ask_human", {"question": "Name?"}, ASKER))
    await asked(broker)
    await broker.close()
    async with asyncio.timeout(PATIENCE):
        assert (await call).structured["status"] == "parked"


async def test_a_waiting_call_shows_signs_of_life_that_only_grow(broker: Broker) -> None:
    beats: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
    door = Tools(broker, beat=Beat(interval=0.015))
    watching = Watching(progress=lambda count, text: beats.put_nowait((count, text)))
    call = asyncio.create_task(door.call("ask_human", {"question": "Name?"}, ASKER, watching))
    async with asyncio.timeout(PATIENCE):
        seen = [await beats.get() for _ in range(3)]
    call.cancel()
    assert [count for count, _ in seen] == [1, 2, 3]
    assert (await asked(broker)).ref in seen[0][1]


async def test_one_that_cannot_be_shown_life_does_not_silence_the_others() -> None:
    beat, heard = Beat(interval=0.015), asyncio.Event()

    def broken(count: int) -> None:
        raise OSError

    def sound(count: int) -> None:
        heard.set()

    beat.join(broken)
    beat.join(sound)
    async with asyncio.timeout(PATIENCE):
        await heard.wait()
    beat.leave(broken)
    beat.leave(sound)


@pytest.mark.parametrize("problem", [StorageFull("no room"), StorageError("away")])
async def test_evidence_is_recorded_as_soon_as_the_store_can(
    problem: StorageError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("upcall.doors.mcp.evidence.PAUSES", (0.0,))
    tries: list[str] = []

    async def collect(inquiry: str, caller: Caller, evidence: str) -> None:
        tries.append(inquiry)
        if len(tries) < 10:
            raise problem

    handed = HandedAnswers(collect)
    await handed.acknowledged("answered", AGENT)
    assert tries == ["answered"] * 10


async def test_a_later_message_proves_that_an_answer_arrived() -> None:
    collected: asyncio.Queue[str] = asyncio.Queue()

    async def collect(inquiry: str, caller: Caller, evidence: str) -> None:
        collected.put_nowait(inquiry)
        if inquiry == "broken":
            raise OSError

    handed = HandedAnswers(collect)
    for call, inquiry in enumerate(["broken", "given-up", "good"]):
        handed.handed("here", call, inquiry, AGENT)
    handed.handed("elsewhere", 0, "unheard", AGENT)
    handed.handed("old", 0, "stale", AGENT, good_for=-1)
    handed.missed("here", 1)
    for connection in ("here", "here", "nowhere", "old"):
        handed.heard(connection)
    await handed.settled()
    assert [collected.get_nowait() for _ in range(collected.qsize())] == ["broken", "good"]


async def test_an_answer_that_was_acknowledged_is_not_recorded_again_by_a_later_message() -> None:
    recorded: list[tuple[str, str]] = []

    async def collect(inquiry: str, caller: Caller, evidence: str) -> None:
        recorded.append((inquiry, evidence))

    handed = HandedAnswers(collect)
    for call, inquiry in enumerate(["first", "second"]):
        handed.handed("here", call, inquiry, AGENT)
    handed.handed("elsewhere", 0, "first", AGENT)
    await handed.acknowledged("first", AGENT, "here")
    assert handed.has_given(AGENT, "first")
    handed.heard("here")
    await handed.settled()
    assert recorded == [("first", "acknowledged"), ("second", "later message on the same connection")]


@pytest.mark.parametrize(
    "told", [{"text": "plain"}, {"text": "caf\u00e9 \u2028 \ud83d"}, {"number": 2**70}, {"text": "line\nend"}]
)
def test_a_message_is_one_line_of_ascii(told: dict[str, object]) -> None:
    line = encoded(told)
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == told


@pytest.mark.promise("spec/18")
@pytest.mark.promise("trust/81")
def test_no_schema_has_a_list_of_types() -> None:
    listed = json.dumps([tool.document() for tool in definitions(Limits(), ("ask_user",))])
    assert '"type": [' not in listed
    ask = definitions(Limits())[0].schema["properties"]
    assert isinstance(ask, dict)
    assert ask["ttl"]["anyOf"] == [{"type": "string"}, {"type": "number"}]


def test_the_schema_states_the_configured_limits() -> None:
    limits = Limits(options=3, label=9, question=99)
    by_name = {tool.name: tool.document() for tool in definitions(limits, aliases=["ask_user"])}
    schema = str(by_name["ask_user"]["inputSchema"])
    assert "'maxItems': 3" in schema
    assert "'maxLength': 9}" in schema
    assert "'maxLength': 99" in schema
    assert list(by_name) == ["ask_human", "ask_user", "confirm_action", "wait_for_answer", "notify_human"]
    for document in by_name.values():
        assert "'readOnlyHint': True" in str(document["annotations"])
        assert document["_meta"] == {"anthropic/alwaysLoad": True}


def test_clients_name_their_calls_and_sessions_each_in_its_own_way() -> None:
    codex = {"callId": "call_1", "x-codex-turn-metadata": {"thread_id": "t", "session_id": "s"}}
    assert (session_of(codex), request_key_of(codex)) == ("t", "call_1")
    helper = {"x-codex-turn-metadata": {"thread_id": "h", "session_id": "s", "parent_thread_id": "p"}}
    assert session_of(helper) == "s"
    claude = {"claudecode/toolUseId": "toolu_1", "upcall/requestKey": "pipe:1"}
    assert (session_of(claude), request_key_of(claude)) == (None, "toolu_1")
    assert request_key_of({"upcall/requestKey": "pipe:1"}) == "pipe:1"
    assert request_key_of({"callId": 5}) is None
    assert meta_of({"_meta": 5}) == {}


@pytest.mark.promise("spec/189")
@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("block", math.inf),
        (30, 30),
        ("45", 45),
        ("2m", 120),
        (None, None),
        ("?", None),
        (-1, None),
        (True, None),
    ],
)
def test_a_client_says_how_long_it_can_wait(said: object, seconds: float | None) -> None:
    assert wait_of(said) == seconds


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(
    st.sampled_from(["question", "questions", "options", "id", "action", "message", "ttl", "agent_id"]), JSON
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(arguments=JSON | FIELDS, name=st.sampled_from(["ask_human", "confirm_action", "wait_for_answer"]))
async def test_there_is_a_result_for_all_arguments(broker: Broker, arguments: object, name: str) -> None:
    result = await tools(broker).call(name, arguments, HASTY)
    assert result.text
    assert ("status" in result.structured) is not result.is_error
    assert not result.is_error or error_code(result) != "internal"


@pytest.mark.promise("raised/31")
async def test_a_typed_answer_is_structured_content_of_the_result(broker: Broker) -> None:
    schema = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}
    given = {"question": "Which port?", "response_schema": schema}
    result = await answered(broker, "ask_human", given, "8080")
    assert result.structured["content"] == {"port": 8080}
    assert result.text.startswith('The user filled in the form: {"port": 8080}')
    refused = await tools(broker).call("ask_human", given | {"response_schema": {"type": "string"}}, ASKER)
    assert refused.is_error
    assert "response_schema.type" in refused.text
