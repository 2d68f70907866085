"""A pipe to a daemon on another machine, on a network that loses what was sent."""

import json
import socket
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.doors.house import AGENT_TOKEN, House
from upcall.doors.pipe import remote
from upcall.doors.pipe.agent_side import Message, Pipe, Request
from upcall.doors.pipe.remote import RemotePipe
from upcall.home.files import ACKNOWLEDGING, PIPE_PROTOCOL

LOST = 3
EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
GREETING = json.dumps({"upcall": "daemon", "protocol": ACKNOWLEDGING}).encode() + b"\n"
GREETED = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(GREETING), GREETING)
TAKEN = b'{"upcall":"taken","id":"i1"}'
PATIENCE = 60


def said(connection: socket.socket, words: bytes) -> bytes:
    """What a connection has said once it has said these words."""
    heard = b""
    while words not in heard:
        heard += connection.recv(65536)
    return heard


def heard(listening: socket.socket, words: bytes) -> int:
    """Leave some connections without a reply, as a daemon that was killed behind a broken network does, then hear; returns their number."""
    mute = [listening.accept()[0] for _ in range(LOST)]
    connection, _ = listening.accept()
    said(connection, words)
    connection.sendall(EMPTY)
    for each in (*mute, connection):
        each.close()
    return len(mute)


def pipe_to(listening: socket.socket) -> RemotePipe:
    return RemotePipe(Pipe(1), f"http://127.0.0.1:{listening.getsockname()[1]}", "a token")


@pytest.mark.promise("proof/4")
def test_what_a_daemon_has_to_hear_is_said_until_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each attempt that the network swallows takes longer than the patience with a daemon that was never reached.
    monkeypatch.setattr(remote, "REPLIED_WITHIN", 0.1)
    monkeypatch.setattr(remote, "GIVE_UP_AFTER", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as daemon:
        hearing = daemon.submit(heard, listening, TAKEN)
        pipe_to(listening).respond("i1", TAKEN + b"\n")
        assert hearing.result(PATIENCE) == LOST


@pytest.mark.promise("proof/24")
def test_a_request_says_what_the_agent_has_while_its_acknowledgement_is_on_its_way() -> None:
    """The request may be heard by a daemon that the acknowledgement does not reach before the pipe is killed."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        pipe = pipe_to(listening)

        def next_request(number: int) -> socket.socket:
            ping: Message = {"jsonrpc": "2.0", "id": number, "method": "ping"}
            pipe.request(str(number), Request(ping, json.dumps(ping).encode() + b"\n"))
            return listening.accept()[0]

        with next_request(1) as met:
            met.sendall(GREETED)
            # What the daemon has closed, the pipe has read: it knows now that acknowledgements are understood.
            with listening.accept()[0]:
                pipe.acknowledge("i1")
                with listening.accept()[0] as swallowed, next_request(2) as other:
                    said(swallowed, TAKEN)
                    hello = json.loads(said(other, b'"id": 2').split(b"\r\n\r\n")[1].splitlines()[0])
                    assert hello["taken"] == ["i1"]
                    swallowed.sendall(EMPTY)
                    pipe.finish(PATIENCE)
                with next_request(3) as later:
                    hello = json.loads(said(later, b'"id": 3').split(b"\r\n\r\n")[1].splitlines()[0])
                    assert hello["taken"] == []


@pytest.mark.promise("proof/24")
def test_a_daemon_hears_with_the_next_remote_message_what_its_agent_has(house: House) -> None:
    """The daemon that handed the answer over was killed, and the acknowledgement by itself has not come through."""
    hello = {"upcall": "pipe", "protocol": PIPE_PROTOCOL, "pipe": "p1", "initialized": True, "wait": "block"}

    def replies(message: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        body = "".join(json.dumps(line) + "\n" for line in (hello | more, {"jsonrpc": "2.0", **message}))
        request = urllib.request.Request(
            f"{house.url}/v1/pipe", body.encode(), {"Authorization": f"Bearer {AGENT_TOKEN}"}
        )
        with urllib.request.urlopen(request) as reply:
            return [json.loads(line) for line in reply.read().splitlines() if line]

    call = {"name": "ask_human", "arguments": {"question": "Which cache?", "options": ["Redis", "None"]}}
    with ThreadPoolExecutor(1) as waiting:
        asking = waiting.submit(replies, {"id": 1, "method": "tools/call", "params": call})
        [inquiry] = house.opened()
        house.answer(inquiry.id, "1")
        assert asking.result()[-1]["result"]["structuredContent"]["answers"] == [["Redis"]]
    house.crash()
    house.start()
    assert replies({"id": 2, "method": "ping"}, taken=[inquiry.id, 5])[-1]["result"] == {}
    assert house.happened("collected").inquiry == inquiry.id
    # Neither holds anything up that is no list of names.
    assert replies({"id": 3, "method": "ping"}, taken={"id": inquiry.id})[-1]["result"] == {}
    assert house.history() == ["asked", "answered", "collected"]
