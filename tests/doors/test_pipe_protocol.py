"""The replies of a pipe's connection: there is one to every line, and it is that of the official SDK."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import mcp_types
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from starlette.requests import Request

from tests.doors.agent import INITIALIZE, MODERN
from upcall.access.tokens import Access
from upcall.broker.broker import Broker
from upcall.domain.roles import Caller, Role
from upcall.doors.mcp.asker import PIPE, Asker
from upcall.doors.mcp.conversation import Conversation
from upcall.doors.mcp.link import PlainLink
from upcall.doors.mcp.meta import shared
from upcall.doors.mcp.server import McpDoor
from upcall.doors.mcp.tools import Tools
from upcall.doors.pipe.hello import LONGEST_HELLO, LONGEST_LINE
from upcall.doors.pipe.server import PipeServer
from upcall.http.bearer import CALLER
from upcall.http.gate import Gate

PATIENCE = 30
TOKEN = "upcall_agent_test"
AGENT = Caller(name="local", role=Role.AGENT)
Message = dict[str, Any]


def request(request_id: object, method: str, params: object = None) -> Message:
    message: Message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else message | {"params": params}


def call(request_id: object, **params: object) -> Message:
    return request(request_id, "tools/call", params)


def starting(version: str) -> list[Message]:
    return [
        request(0, "initialize", INITIALIZE | {"protocolVersion": version}),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]


REQUESTS = [
    request(1, "ping"),
    request(2, "tools/list"),
    request(3, "tools/list", {"cursor": 5}),
    request(4, "server/discover"),
    request(5, "resources/list"),
    request(6, "no/such/method"),
    request("seven", "tools/list", {}),
    call(8),
    call(9, name=5),
    call(10, name="no_such_tool", arguments={}),
    call(11, name="ask_human", arguments={"options": ["a"]}),
    call(12, name="ask_human", arguments=[1]),
    call(13, name="wait_for_answer", arguments={"id": "zz9"}),
    request(14, "tools/list", {"_meta": MODERN}),
    request(15, "initialize", {}),
    request(16, "initialize", INITIALIZE | {"clientInfo": {}}),
]


def enveloped(message: Message, envelope: object) -> Message:
    params = message.get("params")
    return message | {"params": {**(params if isinstance(params, dict) else {}), "_meta": envelope}}


VERSION = "io.modelcontextprotocol/protocolVersion"
DIALOGUES = {
    **{
        version: starting(version) + REQUESTS
        for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01")
    },
    "no handshake": REQUESTS,
    "modern": [enveloped(message, MODERN) for message in [request(0, "server/discover"), *REQUESTS]],
    "modern, then not": [
        request(0, "server/discover", {"_meta": MODERN}),
        request(1, "tools/list"),
        request(2, "tools/list", {"_meta": {VERSION: "2026-07-28"}}),
        request(3, "tools/list", {"_meta": MODERN | {VERSION: "2030-01-01"}}),
        request(4, "tools/list", {"_meta": MODERN | {VERSION: 5}}),
        request(5, "initialize", INITIALIZE),
        request(6, "initialize"),
    ],
}


@pytest.fixture
async def tools(broker: Broker) -> Tools:
    return Tools(broker)


@pytest.fixture
async def server(broker: Broker, tools: Tools) -> AsyncIterator[PipeServer]:
    access = Access(broker.store)
    await access.adopt("local", Role.AGENT, TOKEN)
    server = PipeServer(tools, access)
    await server.start()
    yield server
    await server.close()


async def said_by_us(tools: Tools, messages: Sequence[Message]) -> list[Message]:
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    conversation = Conversation(tools, Asker.of(AGENT, door=PIPE), PlainLink(1, lines.put_nowait))
    replies: list[Message] = []
    async with asyncio.timeout(PATIENCE):
        for message in messages:
            conversation.receive(json.dumps(message).encode())
            if "id" in message:
                replies.append(json.loads(await lines.get()))
    return replies


async def said_by_the_sdk(tools: Tools, access: Access, messages: Sequence[Message]) -> list[Message]:
    server = McpDoor(tools, access).server
    to_server, incoming = anyio.create_memory_object_stream[Any](100)
    outgoing, from_server = anyio.create_memory_object_stream[Any](100)
    headers = [(b"authorization", f"Bearer {TOKEN}".encode())]
    scope = {"type": "http", "headers": headers, "query_string": b"", CALLER: AGENT}
    metadata = ServerMessageMetadata(request_context=Request(scope))
    replies: list[Message] = []
    async with to_server, from_server, anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, incoming, outgoing, server.create_initialization_options())
        with anyio.fail_after(PATIENCE):
            for message in messages:
                typed = mcp_types.jsonrpc_message_adapter.validate_python(message)
                await to_server.send(SessionMessage(typed, metadata=metadata))
                if "id" in message:
                    reply = (await from_server.receive()).message
                    replies.append(reply.model_dump(by_alias=True, mode="json", exclude_unset=True))
        tasks.cancel_scope.cancel()
    return replies


@pytest.mark.parametrize("dialogue", DIALOGUES)
async def test_the_pipe_says_exactly_what_the_official_sdk_says(
    broker: Broker, tools: Tools, dialogue: str
) -> None:
    messages = DIALOGUES[dialogue]
    access = Access(broker.store)
    await access.adopt("local", Role.AGENT, TOKEN)
    theirs = await said_by_the_sdk(tools, access, messages)
    ours = await said_by_us(tools, messages)
    assert ours == theirs


class Line:
    """A bare connection to the pipe server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, server: PipeServer, *, greet: bool = True, **hello: object) -> "Line":
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=LONGEST_LINE * 2)
        line = cls(reader, writer)
        if greet:
            line.say({"upcall": "pipe", "protocol": 1, "token": TOKEN, "pipe": "p"} | hello)
            assert (await line.hear())["upcall"] == "daemon"
        return line

    def say(self, message: object) -> None:
        self.say_bytes(json.dumps(message).encode())

    def say_bytes(self, line: bytes) -> None:
        self._writer.write(line + b"\n")

    async def hear(self) -> Message:
        async with asyncio.timeout(PATIENCE):
            heard: Message = json.loads(await self._reader.readline())
            return heard

    async def hear_the_end(self) -> None:
        async with asyncio.timeout(PATIENCE):
            assert await self._reader.read() == b""

    async def close(self) -> None:
        self._writer.close()
        await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        (b"nonsense", "invalid_request"),
        (b"[]", "invalid_request"),
        (b'{"upcall": "pipe"}', "invalid_request"),
        (b'{"upcall": "pipe", "protocol": 0, "token": "t"}', "invalid_request"),
        (b'{"upcall": "pipe", "protocol": 1, "token": "wrong"}', "unauthenticated"),
        (b'{"upcall": "pipe", "protocol": 1}', "unauthenticated"),
        (b"GET / HTTP/1.1", "invalid_request"),
    ],
)
async def test_a_client_without_a_hello_is_told_why_and_hung_up_on(
    server: PipeServer, hello: bytes, code: str
) -> None:
    line = await Line.to(server, greet=False)
    line.say_bytes(hello)
    refusal = await line.hear()
    assert (refusal["upcall"], refusal["error"]["code"]) == ("error", code)
    assert refusal["error"]["hint"]
    await line.hear_the_end()
    await line.close()


async def test_a_pipe_of_a_later_protocol_is_told_which_one_is_spoken_here(server: PipeServer) -> None:
    line = await Line.to(server, protocol=99)
    line.say(request(1, "ping"))
    assert (await line.hear())["result"] == {}
    await line.close()


@pytest.mark.parametrize(
    ("sent", "code", "request_id"),
    [
        (b"{", -32700, None),
        (b"\xff", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600, None),
        (b"null", -32600, None),
        (b"{}", -32600, None),
        (b'{"id": 1}', -32600, 1),
        (b'{"id": 1, "method": 5}', -32600, 1),
        (b'{"id": true, "method": "ping"}', -32600, None),
        (b'{"id": 1, "method": "ping", "params": []}', -32600, 1),
        (b'{"id": 1, "method": "nope"}', -32601, 1),
    ],
)
async def test_a_malformed_message_gets_an_error_and_the_connection_goes_on(
    server: PipeServer, sent: bytes, code: int, request_id: object
) -> None:
    line = await Line.to(server)
    line.say_bytes(sent)
    reply = await line.hear()
    assert (reply["error"]["code"], reply["id"]) == (code, request_id)
    line.say(request(2, "ping"))
    assert (await line.hear())["id"] == 2
    await line.close()


ODD_META = {
    "half a character": rb'{"upcall/requestKey": "\ud800"}',
    "half a character in a session": rb'{"upcall/session": "s\udfff"}',
    "half a character as a name": rb'{"\ud800": 1}',
    "a token that no encoder writes": b'{"progressToken": 1e999}',
    "no number": b'{"progressToken": NaN}',
    "deep": b'{"x": ' + b"[" * 600 + b"]" * 600 + b"}",
    "deeper than any reader follows": b'{"x": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "an id of its own": rb'{"id": 9, "x": "\ud800", "y": "\"id\": 8"}',
}


@pytest.mark.promise("trust/33")
@pytest.mark.parametrize("meta", ODD_META.values(), ids=ODD_META.keys())
async def test_a_call_with_odd_metadata_is_answered(server: PipeServer, meta: bytes) -> None:
    line = await Line.to(server)
    for message in starting("2025-11-25"):
        line.say(message)
    await line.hear()
    params = b'"params": {"name": "notify_human", "arguments": {"message": "Done."}, "_meta": %b}' % meta
    for sent in (
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", %b}' % params,
        b'{"jsonrpc": "2.0", %b, "method": "tools/call", "id": "one"}' % params,
    ):
        line.say_bytes(sent)
        reply = await line.hear()
        while "id" not in reply:
            reply = await line.hear()
        assert reply["id"] in {1, "one"}
        assert reply.get("error", {}).get("code") != -32603
    line.say(request(2, "ping"))
    assert (await line.hear())["id"] == 2
    await line.close()


async def test_a_line_that_is_too_long_is_refused_and_hung_up_on(server: PipeServer) -> None:
    line = await Line.to(server)
    line.say_bytes(b"x" * (LONGEST_LINE + 1))
    assert (await line.hear())["error"]["code"] == -32600
    await line.hear_the_end()
    await line.close()


@pytest.mark.promise("trust/30")
async def test_an_introduction_is_short_and_a_strangers_token_is_kept_nowhere(server: PipeServer) -> None:
    long = await Line.to(server, greet=False)
    long.say_bytes(b"x" * (LONGEST_HELLO + 1))
    assert (await long.hear())["error"]["code"] == -32600
    await long.hear_the_end()
    await long.close()
    kept = shared.cache_info().currsize
    for number in range(20):
        stranger = await Line.to(server, greet=False)
        stranger.say({"upcall": "pipe", "protocol": 2, "token": f"of a stranger {number}"})
        assert (await stranger.hear())["error"]["code"] == "unauthenticated"
        await stranger.close()
    assert shared.cache_info().currsize == kept


@pytest.mark.promise("trust/29")
async def test_pipes_that_do_not_introduce_themselves_give_way_to_those_that_do(
    broker: Broker, tools: Tools
) -> None:
    access = Access(broker.store)
    await access.adopt("local", Role.AGENT, TOKEN)
    server = PipeServer(tools, access, gate=Gate(5))
    await server.start()
    known = await Line.to(server)
    silent = [await Line.to(server, greet=False) for _ in range(20)]
    later = await Line.to(server)
    for line in (known, later):
        line.say(request(1, "ping"))
        assert (await line.hear())["result"] == {}
    assert len(server.connections) <= 5
    for line in (known, later, *silent):
        await line.close()
    await server.close()


async def test_a_large_message_in_many_pieces_arrives_whole(server: PipeServer) -> None:
    line = await Line.to(server)
    line.say(request(1, "ping", {"padding": "x" * (LONGEST_LINE - 1000)}))
    assert (await line.hear())["result"] == {}
    await line.close()


async def test_a_call_under_way_keeps_its_id_to_itself(broker: Broker, server: PipeServer) -> None:
    line = await Line.to(server, wait="block")
    for message in starting("2025-11-25"):
        line.say(message)
    await line.hear()
    line.say(call(5, name="ask_human", arguments={"question": "?"}))
    assert (await line.hear())["upcall"] == "opened"
    line.say(call(5, name="ask_human", arguments={"question": "?"}))
    assert "already in use" in (await line.hear())["error"]["message"]
    await line.close()


@pytest.mark.promise("trust/37")
async def test_a_pipe_has_a_limited_number_of_calls_that_wait(broker: Broker, tools: Tools) -> None:
    access = Access(broker.store)
    await access.adopt("local", Role.AGENT, TOKEN)
    server = PipeServer(tools, access, waits=2)
    await server.start()
    line = await Line.to(server, wait="block")
    opened = []
    for number in range(2):
        line.say(enveloped(call(number, name="ask_human", arguments={"question": f"{number}?"}), MODERN))
        opened.append(await line.hear())
    line.say(enveloped(call(2, name="ask_human", arguments={"question": "2?"}), MODERN))
    refused = await line.hear()
    assert (refused["id"], refused["error"]["code"]) == (2, -32600)
    assert "caps.waits" in refused["error"]["message"]
    line.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}})
    line.say(enveloped(request(3, "tools/list"), MODERN))
    assert (await line.hear())["id"] == 3
    line.say(enveloped(call(4, name="ask_human", arguments={"question": "4?"}), MODERN))
    assert (await line.hear())["upcall"] == "opened"
    await line.close()
    await server.close()


async def test_a_cancelled_call_gets_no_reply_and_its_question_stays_open(
    broker: Broker, server: PipeServer
) -> None:
    line = await Line.to(server, wait="block")
    line.say(enveloped(call(1, name="ask_human", arguments={"question": "?"}), MODERN))
    opened = await line.hear()
    line.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    line.say(enveloped(request(2, "tools/list"), MODERN))
    assert (await line.hear())["id"] == 2
    assert (await broker.store.get(opened["id"])).is_open
    assert broker.waiting == 0
    await line.close()


async def test_a_token_that_was_made_at_another_daemon_is_known_when_a_pipe_first_brings_it(
    broker: Broker, tools: Tools
) -> None:
    here, there = Access(broker.store, shared=True), Access(broker.store, shared=True)
    await here.load()
    server = PipeServer(tools, here)
    await server.start()
    secret = await there.create("builder", Role.AGENT)
    line = await Line.to(server, token=secret)
    line.say(request(1, "ping"))
    assert (await line.hear())["result"] == {}
    # All at once, as a pipe does that connects again.
    hasty = await Line.to(server, greet=False)
    hello = {"upcall": "pipe", "protocol": 2, "token": await there.create("tester", Role.AGENT)}
    hasty.say_bytes(
        b"\n".join(json.dumps(each).encode() for each in (hello, request(1, "ping"), request(2, "ping")))
    )
    assert (await hasty.hear())["upcall"] == "daemon"
    assert [(await hasty.hear())["id"] for _ in range(2)] == [1, 2]
    for each in (line, hasty):
        await each.close()
    await server.close()


async def test_an_admission_under_way_is_cancelled_when_the_server_closes(
    broker: Broker, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    access, looking = Access(broker.store), asyncio.Event()

    async def slow(token: str) -> Caller:
        looking.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(access, "admit", slow)
    server = PipeServer(tools, access)
    await server.start()
    line = await Line.to(server, greet=False)
    line.say({"upcall": "pipe", "protocol": 2, "token": "unheard of"})
    await looking.wait()
    (admission,) = server.admissions
    await server.close()
    assert admission.cancelled()
    await line.close()


async def test_at_an_end_every_call_is_parked_and_before_a_restart_none_is(
    broker: Broker, tools: Tools, server: PipeServer
) -> None:
    for end in (False, True):
        access = server.access
        other = PipeServer(tools, access)
        await other.start()
        line = await Line.to(other, wait="block")
        line.say(enveloped(call(1, name="ask_human", arguments={"question": "?"}), MODERN))
        opened = await line.hear()
        await other.close(end=end)
        if end:
            told = (await line.hear())["result"]
            assert told["structuredContent"] == {
                "status": "parked",
                "id": opened["id"],
                "ref": opened["ref"],
                "message": told["content"][0]["text"],
            }
        await line.hear_the_end()
        await line.close()


async def test_a_connection_that_is_lost_leaves_nothing_behind(broker: Broker, server: PipeServer) -> None:
    line = await Line.to(server, wait="block")
    line.say(enveloped(call(1, name="ask_human", arguments={"question": "?"}), MODERN))
    opened = await line.hear()
    await line.close()
    other = await Line.to(server)
    async with asyncio.timeout(PATIENCE):
        while broker.waiting:
            other.say(enveloped(request(1, "tools/list"), MODERN))
            await other.hear()
    assert (await broker.store.get(opened["id"])).is_open
    await other.close()


LINES = st.binary(max_size=200).map(lambda data: data.replace(b"\n", b"")) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["jsonrpc", "id", "method", "params", "_meta", "name", "arguments", "requestId"]),
            inner | st.sampled_from(["ping", "initialize", "tools/call", "tools/list", "ask_human"]),
            max_size=5,
        )
    ),
    max_leaves=12,
).map(lambda value: json.dumps(value).encode())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(lines=st.lists(LINES, max_size=6))
async def test_no_line_silences_the_connection(tools: Tools, lines: list[bytes]) -> None:
    said: list[Message] = []
    asker = Asker.of(AGENT, door=PIPE, wait=0.001)
    conversation = Conversation(tools, asker, PlainLink(1, lambda line: said.append(json.loads(line))))
    for line in lines:
        before = len(said)
        conversation.receive(line)
        sent = _read(line)
        if not isinstance(sent, dict) or ("method" not in sent and not {"result", "error"} & sent.keys()):
            assert len(said) == before + 1
            assert "error" in said[-1]
    conversation.detach()
    conversation.receive(b'{"jsonrpc": "2.0", "id": "last", "method": "ping"}')
    assert said[-1]["id"] == "last"


def _read(line: bytes) -> object:
    try:
        read: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return read


def test_the_pipe_and_the_daemon_agree_on_how_long_a_line_may_be() -> None:
    from upcall.doors.pipe import agent_side

    assert agent_side.LONGEST_LINE == LONGEST_LINE
