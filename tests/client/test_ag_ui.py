"""Conversations of AG-UI, and what an interrupt of each framework is resumed with."""

from functools import partial
from typing import Any

import pytest

import upcall
from tests.client.program import Crew, a_server
from upcall import ag_ui
from upcall.client.bridges.conversation import Conversation, patched
from upcall.client.bridges.interrupts import Undecided
from upcall.client.bridges.replies import reply

CALL = {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "remove", "parentMessageId": "m1"}
ARGUMENTS = {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"folder": "build"}'}
PYDANTIC_AI = {
    "approved": {"type": "boolean"},
    "editedArgs": {"type": "object"},
    "reason": {"type": "string"},
}
PORT = {"port": {"type": "integer", "minimum": 1}}
MIDDLEWARE = {
    "action_requests": [{"name": "remove", "args": {"folder": "build"}}],
    "review_configs": [{"action_name": "remove", "allowed_decisions": ["approve", "reject"]}],
}


def an_interrupt(**fields: Any) -> dict[str, Any]:
    return {"id": "int-1", "reason": "tool_call", "message": "Approve remove?", **fields}


def an_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def a_conversation(*events: dict[str, Any]) -> Conversation:
    talk = Conversation(messages=[{"id": "u1", "role": "user", "content": "Remove it."}])
    for event in events:
        talk.take(event)
    return talk


def test_messages_are_put_together_from_the_events_of_a_run() -> None:
    talk = a_conversation(
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "REASONING_MESSAGE_START", "messageId": "r1"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r1", "delta": "Hm."},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r1", "encryptedValue": "x"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "I will "},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "remove it."},
        {
            "type": "REASONING_ENCRYPTED_VALUE",
            "subtype": "tool-call",
            "entityId": "c1",
            "encryptedValue": "y",
        },
        CALL,
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"folder": '},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '"build"}'},
        {"type": "TOOL_CALL_RESULT", "messageId": "m2", "toolCallId": "c1", "content": "done"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c2", "toolCallName": "look", "delta": "{"},
        {"type": "TOOL_CALL_CHUNK", "delta": "}"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m3", "delta": "That "},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "is all."},
        {"type": "CUSTOM", "name": "colour", "value": "red"},
    )

    called = {"name": "remove", "arguments": '{"folder": "build"}'}
    looked = {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    assert talk.messages == [
        {"id": "u1", "role": "user", "content": "Remove it."},
        {"id": "r1", "role": "reasoning", "content": "Hm.", "encryptedValue": "x"},
        {
            "id": "m1",
            "role": "assistant",
            "content": "I will remove it.",
            "toolCalls": [{"id": "c1", "type": "function", "encryptedValue": "y", "function": called}],
        },
        {"id": "m2", "role": "tool", "toolCallId": "c1", "content": "done"},
        {"id": "c2", "role": "assistant", "toolCalls": [looked]},
        {"id": "m3", "role": "assistant", "content": "That is all."},
    ]


def test_snapshots_replace_what_was_there_and_deltas_change_it() -> None:
    talk = a_conversation(
        {"type": "STATE_SNAPSHOT", "snapshot": {"steps": ["a"], "n": 1}},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/steps/0", "value": "first"}]},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m9", "role": "assistant", "content": "Hi."}]},
    )

    assert talk.state == {"steps": ["first", "a"], "n": 1}
    assert [each["id"] for each in talk.messages] == ["m9"]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/a/-", "value": 3}, {"a": [1, 2, 3], "b/c": {"d": 1}}),
        ({"op": "replace", "path": "/a/0", "value": 9}, {"a": [9, 2], "b/c": {"d": 1}}),
        ({"op": "remove", "path": "/b~1c/d"}, {"a": [1, 2], "b/c": {}}),
        ({"op": "move", "from": "/a/0", "path": "/e"}, {"a": [2], "b/c": {"d": 1}, "e": 1}),
        ({"op": "copy", "from": "/b~1c", "path": "/e"}, {"a": [1, 2], "b/c": {"d": 1}, "e": {"d": 1}}),
        ({"op": "test", "path": "/a/1", "value": 2}, {"a": [1, 2], "b/c": {"d": 1}}),
        ({"op": "replace", "path": "", "value": None}, None),
    ],
)
def test_every_operation_of_a_json_patch_is_known(operation: dict[str, Any], expected: Any) -> None:
    before = {"a": [1, 2], "b/c": {"d": 1}}

    assert patched(before, [operation]) == expected
    assert before == {"a": [1, 2], "b/c": {"d": 1}}


def test_an_operation_that_does_not_fit_is_an_error() -> None:
    for operation in (
        {"op": "test", "path": "/a", "value": 2},
        {"op": "remove", "path": "/b"},
        {"op": "add", "path": "/b/c", "value": 1},
        {"op": "shuffle", "path": "/a"},
    ):
        with pytest.raises(LookupError):
            patched({"a": 1}, [operation])


@pytest.mark.promise("programs/21")
@pytest.mark.parametrize(
    ("interrupt", "chosen", "expected"),
    [
        # Pydantic AI.
        (an_interrupt(toolCallId="c1", responseSchema=an_object(PYDANTIC_AI)), "Approve", {"approved": True}),
        (
            an_interrupt(toolCallId="c1", responseSchema=an_object(PYDANTIC_AI)),
            "Deny",
            {"approved": False, "reason": "Denied by ana: not now"},
        ),
        # Strands: its schema has no place for a reason.
        (
            an_interrupt(toolCallId="c9", responseSchema=an_object({"approved": {"type": "boolean"}})),
            "Deny",
            {"approved": False},
        ),
        # Microsoft's Agent Framework, about steps.
        (
            an_interrupt(
                responseSchema=an_object({"accepted": {"type": "boolean"}, "steps": {"type": "array"}})
            ),
            "Approve",
            {"accepted": True},
        ),
        # Google ADK, which has no schema.
        (an_interrupt(toolCallId="c1", reason="confirmation"), "Approve", {"approved": True}),
        # LangGraph: a request of the middleware, and a question.
        (
            an_interrupt(metadata={"langgraph": {"raw": MIDDLEWARE}}),
            "Approve",
            {"decisions": [{"type": "approve"}]},
        ),
        (an_interrupt(metadata={"langgraph": {"raw": "Which cache?"}}), "Redis", "Redis"),
        # Of any framework: choices, a yes or no, and words.
        (an_interrupt(responseSchema={"type": "string", "enum": ["Redis", "none"]}), "none", "none"),
        (an_interrupt(responseSchema={"type": "boolean"}), "Yes", True),
        (an_interrupt(responseSchema={"type": "boolean"}), "No", False),
        (an_interrupt(reason="input_required"), "as you like", "as you like"),
    ],
)
async def test_an_interrupt_of_each_framework_is_resumed_in_its_own_words(
    crew: Crew, interrupt: dict[str, Any], chosen: str, expected: Any
) -> None:
    async def said(ref: str) -> None:
        await crew.said(ref, chosen, note="not now" if chosen == "Deny" else "")

    ask = partial(reply, crew.asker, interrupt, a_conversation(CALL, ARGUMENTS), "ag-ui-t-1", {})

    assert await crew.outcome_of(ask, said) == {"status": "resolved", "payload": expected}


@pytest.mark.promise("programs/21")
async def test_an_interrupt_with_a_schema_is_a_form_and_a_refusal_cancels_it(crew: Crew) -> None:
    interrupt = an_interrupt(reason="input_required", message="Which port?", responseSchema=an_object(PORT))
    ask = partial(reply, crew.asker, interrupt, a_conversation())

    filled = await crew.outcome_of(
        partial(ask, key="ag-ui-t-1", waiting={}), lambda ref: crew.fill_in(ref, {"port": 8080})
    )
    refused = await crew.outcome_of(partial(ask, key="ag-ui-t-2", waiting={}), crew.ana.reject)

    assert filled == {"status": "resolved", "payload": {"port": 8080}}
    assert refused == {"status": "cancelled"}
    with pytest.raises(Undecided):
        await ask(key="ag-ui-t-3", waiting={"timeout": 0})


@pytest.mark.parametrize(
    ("replied", "message"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nwho?", "replied 404: who?"),
        (
            b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata: {"type": "RUN_ERROR", "message": "no key"}\n\n',
            "failed: no key",
        ),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata: {}\n\n", "stopped in the middle of a run"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata: <html>\n\n", "cannot run the agent at"),
    ],
)
async def test_a_run_that_does_not_end_as_it_should_is_an_error(replied: bytes, message: str) -> None:
    async with a_server(replied) as (url, _):
        with pytest.raises(upcall.errors.RunFailed, match=message):
            await ag_ui.run(url, "Remove what was built.")


async def test_interrupts_that_are_not_decided_in_time_are_what_a_run_ends_with(crew: Crew) -> None:
    waits = [an_interrupt(toolCallId="c1")]
    kept = {"threadId": "t", "messages": a_conversation(CALL, ARGUMENTS).messages, "interrupts": waits}

    ran = await ag_ui.run("http://127.0.0.1:1", kept, client=crew.asker, timeout=0)

    assert (ran.thread, ran.interrupts, ran.text) == ("t", waits, "")
