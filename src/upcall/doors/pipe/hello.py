"""The first line of a pipe, and the line that it gets back."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from upcall import __version__
from upcall.domain.errors import InvalidRequest, UpcallError
from upcall.domain.roles import Caller
from upcall.doors.mcp.asker import PIPE, Asker
from upcall.doors.mcp.meta import client_in, shared, wait_of
from upcall.doors.mcp.wire import Message
from upcall.home.files import ACKNOWLEDGING, PIPE_PROTOCOL
from upcall.ports.json_reading import NotJson, read_json

LONGEST_LINE = 8 * 1024 * 1024
"""Bytes of one message."""

LONGEST_HELLO = 64 * 1024
"""Bytes of a hello, which comes before the token is checked."""

MOST_TAKEN = 100
"""Acknowledgements that come with one message."""

OLDEST_PIPE = 1
"""The oldest protocol that is still understood."""

HELLO_EXAMPLE = 'the first line is {"upcall": "pipe", "protocol": 2, "token": "…", "pipe": "…"}'


def hello_of(line: bytes) -> Mapping[str, object]:
    """The fields of a hello.

    Raises:
        InvalidRequest: if it is none, or one of a pipe that is too old.
    """
    hello: object = None
    with suppress(NotJson):
        hello = read_json(line, "the first line")
    if not isinstance(hello, dict):
        raise InvalidRequest("this is the door for `upcall mcp`", hint=HELLO_EXAMPLE)
    fields = cast("Mapping[str, object]", hello)
    protocol = fields.get("protocol")
    if fields.get("upcall") != "pipe" or not isinstance(protocol, int):
        raise InvalidRequest("this is the door for `upcall mcp`", hint=HELLO_EXAMPLE)
    if protocol < OLDEST_PIPE:
        raise InvalidRequest(
            f"this pipe speaks protocol {protocol}, the oldest that is understood is {OLDEST_PIPE}",
            hint="update Upcall where the agent runs",
        )
    return fields


def asker_in(hello: Mapping[str, object], caller: Caller, runner: str) -> Asker:
    """The asker at the other end of a pipe, as its hello and its token tell."""
    return Asker.of(
        caller,
        door=PIPE,
        session=name_of(hello.get("session")),
        # Thousands of pipes may be of one folder and one program.
        workspace=shared(name_of(hello.get("workspace")) or "") or None,
        program=shared(name_of(hello.get("program")) or ""),
        client=client_in(hello.get("client")),
        client_id=name_of(hello.get("pipe")) or "",
        runner=runner,
        wait=wait_of(hello.get("wait")),
    )


def acknowledges(hello: Mapping[str, object]) -> bool:
    """Whether a pipe acknowledges an answer once its agent has taken it."""
    protocol = hello["protocol"]
    return isinstance(protocol, int) and protocol >= ACKNOWLEDGING


def taken_in(hello: Mapping[str, object]) -> Sequence[object]:
    """The inquiries of which the agent has the answer, as far as the pipe does not know that a daemon has heard so."""
    taken = hello.get("taken")
    return cast("list[object]", taken)[:MOST_TAKEN] if isinstance(taken, list) else ()


def greeting() -> Message:
    """The reply to a hello that was understood. The pipe decides whether it can work with this protocol."""
    return {"upcall": "daemon", "protocol": PIPE_PROTOCOL, "version": __version__}


def refusal(problem: UpcallError) -> Message:
    """The reply to a pipe that is not served."""
    told: Message = {"code": problem.code, "message": problem.message, "hint": problem.hint}
    return {"upcall": "error", "protocol": PIPE_PROTOCOL, "version": __version__, "error": told}


def name_of(value: object) -> str | None:
    """A name in a hello; None if it is missing or no text."""
    return value[:1000] if isinstance(value, str) and value else None
