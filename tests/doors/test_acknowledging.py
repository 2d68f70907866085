"""What a pipe claims of its agent: nothing, where the system does not tell what was read."""

import io
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from upcall.doors.pipe.acknowledging import Acknowledging
from upcall.doors.pipe.agent_side import Pipe, Request, Uplink, introduction

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask_human"}}
REPLY = {"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": {"status": "answered", "id": "01"}}}


@pytest.fixture
def output(tmp_path: Path) -> Iterator[int]:
    """An output of which the system does not report whether it was read."""
    with (tmp_path / "out").open("wb") as file:
        yield file.fileno()


def test_an_answer_is_not_acknowledged_where_the_system_does_not_report_reads(
    output: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, told = Pipe(output), list[str]()

    def request(name: str, request: Request) -> None:
        pipe.outstanding[name] = request
        pipe.replied(json.dumps(REPLY).encode() + b"\n")

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(CALL).encode() + b"\n")))
    assert pipe.run(Uplink(lambda: None, request, lambda line: None, told.append)) == 0
    assert os.fstat(output).st_size > 0
    assert told == []
    assert introduction(pipe)["protocol"] == 1


def test_only_linux_tells_what_was_read_of_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    try:
        for system, protocol in (("linux", 2), ("darwin", 1), ("freebsd14", 1)):
            monkeypatch.setattr(sys, "platform", system)
            assert introduction(Pipe(writing))["protocol"] == protocol
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.promise("proof/15")
def test_one_thread_watches_for_every_answer_of_a_pipe() -> None:
    reading, writing = os.pipe()
    told, watchers, heard = list[str](), set[int](), threading.Semaphore(0)

    def tell(inquiry: str) -> None:
        told.append(inquiry)
        watchers.add(threading.get_ident())
        heard.release()

    try:
        taking = Acknowledging(writing, tell)
        for number in range(3):
            taking.writing(str(number), f"0{number}")
            os.write(writing, b"answer\n")
            taking.wrote(str(number))
            assert told == [f"0{earlier}" for earlier in range(number)]
            assert os.read(reading, 100) == b"answer\n"
            assert heard.acquire(timeout=60)
        taking.finish(60)
    finally:
        os.close(reading)
        os.close(writing)
    assert told == ["00", "01", "02"]
    assert len(watchers) == 1


@pytest.mark.promise("proof/24")
def test_what_an_agent_has_taken_is_told_before_its_next_request_is_passed_on() -> None:
    reading, writing = os.pipe()
    pipe, happened = Pipe(writing), list[str]()
    link = Uplink(
        lambda: None,
        lambda name, request: happened.append(f"request {name}"),
        lambda line: None,
        lambda inquiry: happened.append(f"acknowledged {inquiry}"),
    )
    taking = pipe.acknowledging(link)
    try:
        for number in range(3):
            taking.writing(str(number), f"i{number}")
            os.write(writing, b"an answer")
            taking.wrote(str(number))
            os.read(reading, 100)
            pipe.take(json.dumps(CALL | {"id": number}).encode(), link)
        expected = [[f"acknowledged i{number}", f"request {number}"] for number in range(3)]
        assert happened == [each for pair in expected for each in pair]
    finally:
        os.close(reading)
        os.close(writing)
