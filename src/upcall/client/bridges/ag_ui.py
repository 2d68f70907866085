"""`upcall.ag_ui`: interrupts of every agent that is served by AG-UI. It needs no library of a framework.

A run that needs a person ends with its interrupts, and the next run carries the answers. What was said so far stays with the
program, which may be all that there is of it: many servers keep nothing between runs.
"""

import inspect
import json
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Unpack

import httpx2

from upcall.client.bridges.conversation import Conversation, Fields, Message
from upcall.client.bridges.interrupts import Undecided
from upcall.client.bridges.putting import call_key, connected, together
from upcall.client.bridges.replies import reply
from upcall.client.client import Client
from upcall.client.errors import RunFailed
from upcall.client.request import Waiting

VERSION = "1.0"
CONNECT_SECONDS = 10.0

Keep = Callable[[dict[str, Any]], Awaitable[None] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a run ended. `interrupts` are those that no person has decided when a `timeout` ended."""

    thread: str
    messages: Sequence[Message] = field(repr=False)
    state: Any
    result: Any
    interrupts: Sequence[Fields] = ()

    @property
    def text(self) -> str:
        """What the agent said last."""
        said = [
            each["content"] for each in self.messages if each["role"] == "assistant" and each.get("content")
        ]
        return str(said[-1]) if said else ""


# `input` is what the protocol calls it.
async def run(
    url: str,
    input: str | Mapping[str, Any],  # noqa: A002 - see above
    *,
    keep: Keep | None = None,
    headers: Mapping[str, str] | None = None,
    client: Client | None = None,
    **waiting: Unpack[Waiting],
) -> Ran:
    """Run the agent at this address, with each interrupt put to a person and the agent resumed with the answers.

    `input` is a task in words, or a `RunAgentInput` as JSON has it. `keep` is given a document before a person is asked; a program
    that was started again gives it as the input: the interrupts in it are put again, and get their stored answers.

    Raises:
        RunFailed: if the run ended with an error, or the server cannot be reached.
    """
    body: dict[str, Any] = _body(input)
    thread: str = body["threadId"]
    talk = Conversation(messages=list(body["messages"]), state=body.get("state"))
    waits: Sequence[Fields] = body.pop("interrupts", ())
    result = None
    while True:
        if not waits:
            result, waits = await _turn(url, body | {"runId": uuid.uuid4().hex}, headers or {}, talk)
            body = {**body, "messages": talk.messages, "state": talk.state}
            body.pop("resume", None)
            if not waits:
                break
            if keep is not None:
                kept = keep({**body, "interrupts": list(waits)})
                if inspect.isawaitable(kept):
                    await kept
        replies = await _replies(waits, talk, thread, client, waiting)
        if replies is None:
            break
        body, waits = body | {"resume": replies}, ()
    return Ran(thread=thread, messages=talk.messages, state=talk.state, result=result, interrupts=waits)


def _body(given: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(given, str):
        given = {"messages": [{"id": uuid.uuid4().hex, "role": "user", "content": given}]}
    usual = {"threadId": uuid.uuid4().hex, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    return {"protocolVersion": VERSION, **usual, **given}


async def _turn(
    url: str, body: Fields, headers: Mapping[str, str], talk: Conversation
) -> tuple[Any, Sequence[Fields]]:
    """One run: its result, and the interrupts that it ended with."""
    async with aclosing(_events(url, body, headers)) as events:
        async for event in events:
            talk.take(event)
            match event:
                case {"type": "RUN_ERROR"}:
                    raise RunFailed(f"the agent at {url} failed: {event.get('message')}")
                case {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [*waits]}}:
                    return None, waits
                case {"type": "RUN_FINISHED"}:
                    return event.get("result"), ()
                case _:
                    pass
    raise RunFailed(f"the agent at {url} stopped in the middle of a run", hint="look into its log")


async def _events(url: str, body: Fields, headers: Mapping[str, str]) -> AsyncGenerator[Fields]:
    patient = httpx2.Timeout(None, connect=CONNECT_SECONDS)
    sent = {"Accept": "text/event-stream", **headers}
    try:
        async with (
            httpx2.AsyncClient(timeout=patient) as http,
            http.stream("POST", url, json=body, headers=sent) as stream,
        ):
            if not stream.is_success:
                said = (await stream.aread()).decode("utf-8", "replace")[:500]
                raise RunFailed(
                    f"{url} replied {stream.status_code}: {said}", hint="is it an agent of AG-UI?"
                )
            data = ""
            async for line in stream.aiter_lines():
                if line.startswith("data:"):
                    data += line.removeprefix("data:").removeprefix(" ")
                elif not line and data:
                    yield json.loads(data)
                    data = ""
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as problem:
        raise RunFailed(
            f"cannot run the agent at {url}: {str(problem) or type(problem).__name__}"
        ) from problem


async def _replies(
    waits: Sequence[Fields], talk: Conversation, thread: str, client: Client | None, waiting: Waiting
) -> list[dict[str, Any]] | None:
    """An entry for each interrupt, or None if one is still open."""
    found: dict[str, dict[str, Any]] = {}

    async def put(broker: Client, each: Fields) -> None:
        # Those beside it still have until the end of their own time.
        with suppress(Undecided):
            replied = await reply(broker, each, talk, call_key("ag-ui", thread, each["id"]), waiting)
            found[each["id"]] = {"interruptId": each["id"], **replied}

    async with connected(client) as broker:
        await together(*(partial(put, broker, each) for each in waits))
    return [found[each["id"]] for each in waits] if all(each["id"] in found for each in waits) else None
