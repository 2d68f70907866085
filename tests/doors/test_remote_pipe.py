"""A pipe to a daemon on another machine, on a network that loses what was sent."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from upcall.doors.pipe import remote
from upcall.doors.pipe.agent_side import Pipe
from upcall.doors.pipe.remote import RemotePipe

LOST = 3
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def heard(listening: socket.socket, words: bytes) -> int:
    """Leave some connections without a reply, as a daemon that was killed behind a broken network does, then hear; returns their number."""
    mute = [listening.accept()[0] for _ in range(LOST)]
    connection, _ = listening.accept()
    said = b""
    while words not in said:
        said += connection.recv(65536)
    connection.sendall(REPLY)
    for each in (*mute, connection):
        each.close()
    return len(mute)


@pytest.mark.promise("proof/4")
def test_what_a_daemon_has_to_hear_is_said_until_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each attempt that the network swallows takes longer than the patience with a daemon that was never reached.
    monkeypatch.setattr(remote, "REPLIED_WITHIN", 0.1)
    monkeypatch.setattr(remote, "GIVE_UP_AFTER", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as daemon:
        hearing = daemon.submit(heard, listening, b'{"upcall":"taken","id":"i1"}')
        pipe = RemotePipe(Pipe(1), f"http://127.0.0.1:{listening.getsockname()[1]}", "a token")
        pipe.respond("i1", b'{"upcall":"taken","id":"i1"}\n')
        assert hearing.result(60) == LOST
