"""`Client`: asking people, waiting for their answers, and reading what was asked."""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

import anyio

from upcall.client.connection import Connection, inquiry_path
from upcall.client.outcome import Answered, Inquiry, Outcome, Verdict, allowed, outcome, verdict
from upcall.client.request import (
    Approving,
    Asking,
    Progress,
    Question,
    Span,
    Waiting,
    action_body,
    question_body,
    seconds,
)
from upcall.client.response import schema_of, typed
from upcall.client.waiting import Wait
from upcall.domain.errors import UpcallError

T = TypeVar("T")

PAGE = 200
EVENTS_SECONDS = 25
LATEST = 2**62
"""Higher than the number of any event."""

WITHDRAW_SECONDS = 5.0
"""How long a cancelled task is held up to withdraw its question."""

Event = Mapping[str, Any]
"""A step of an inquiry as the API shows it: `seq`, `type`, `inquiry`, `at` and `data`."""


class Client:
    """A connection to Upcall for many questions at once.

    Without `url`, the daemon of `UPCALL_URL`, or else the one of this machine, which is started if none runs; without
    `token`, that of `UPCALL_TOKEN`, or else the one of this machine that can only ask.

    >>> async def main():
    ...     async with Client(url, token) as broker:
    ...         return await broker.ask("Which cache?", options=["Redis", "Memcached"], key="call-17")
    >>> anyio.run(main).text
    'Redis'
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._daemon = Connection(url, token)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections that are kept, once the daemon has heard which answers arrived. Questions stay as they are."""
        await self._daemon.close()

    @overload
    async def ask(self, question: str, *, response: type[T], **asking: Unpack[Asking]) -> Outcome[T]: ...
    @overload
    async def ask(
        self, question: str, *, response: Mapping[str, Any], **asking: Unpack[Asking]
    ) -> Outcome[Mapping[str, Any]]: ...
    @overload
    async def ask(self, question: str | Sequence[Question], **asking: Unpack[Asking]) -> Outcome[str]: ...
    async def ask(
        self,
        question: Any,
        *,
        response: type[Any] | Mapping[str, Any] | None = None,
        **asking: Unpack[Asking],
    ) -> Any:
        """Ask a person, and wait for the answer. With `response` it is asked as a form.

        `response` is a dataclass or a pydantic model, and the `value` of the answer one of these, or the JSON Schema of an
        object, and the `value` what was filled in.

        Raises:
            UnfitResponse: if the answer is not of the type of `response`, for a reason that no form could tell.
            Refused: the daemon's error for the question, such as `InvalidInquiry` or `KeyConflict`.
            Unreachable: if no daemon is found.
            TypeError: for an argument that there is not.
        """
        body = question_body(question, asking)
        if response is None:
            return await self._ask(body, asking)
        return typed(await self._ask(body | {"response_schema": schema_of(response)}, asking), response)

    # `input` is what tools, frameworks and the API call it.
    async def approve(self, tool: str, input: Mapping[str, Any], **more: Unpack[Approving]) -> Verdict:  # noqa: A002
        """Put an action to a person before it is done; it is shown whole, and only a yes or a remembered rule allows it.

        Raises as `ask` does.
        """
        body, wait = action_body(tool, input, more), self._waiting(more)
        async with self._withdrawn_if_cancelled(partial(self._put_action, body), more) as asked:
            reply = await self._daemon.post("/v1/approvals", body)
            if reply["inquiry"] is None:
                return allowed(reply["allowed_by"], input)
            asked.append(reply["inquiry"])
            return verdict(await self._collected(await wait.until_settled(reply["inquiry"])), input)

    async def wait(
        self,
        name: str,
        *,
        timeout: Span | None = None,
        progress: Callable[[Progress], Awaitable[None] | None] | None = None,
    ) -> Outcome[str]:
        """Wait for a question that was asked before, by its id or ref. Raises as `ask` does."""
        wait = Wait(
            daemon=self._daemon, timeout=None if timeout is None else seconds(timeout), progress=progress
        )
        return await self._collected(await wait.until_settled(await self.get(name)))

    async def get(self, name: str) -> Inquiry:
        """An inquiry by its id or ref, as it stands."""
        found: Inquiry = await self._daemon.get(inquiry_path(name))
        return found

    async def withdraw(self, name: str, reason: str = "") -> Outcome[str]:
        """Take a question back. One that is settled already stays as it is."""
        reply = await self._daemon.post(inquiry_path(name, "cancel"), {"reason": reason} if reason else {})
        return outcome(reply["inquiry"])

    async def answer(self, name: str, text: str) -> Outcome[str]:
        """Answer with a person's token, read like something typed. The outcome is that of the answer that came first."""
        reply = await self._daemon.post(inquiry_path(name, "answer"), {"text": text, "key": _once()})
        return outcome(reply["inquiry"])

    async def reject(self, name: str, reason: str = "") -> Outcome[str]:
        """Decline to answer, with a person's token."""
        body = {"key": _once()} | ({"reason": reason} if reason else {})
        return outcome((await self._daemon.post(inquiry_path(name, "reject"), body))["inquiry"])

    async def find(
        self, search: str | None = None, *, state: str | None = None, workspace: str | None = None
    ) -> AsyncGenerator[Inquiry]:
        """Inquiries page by page: open ones oldest first, others newest first.

        Each word of `search` begins a word of the inquiry or of its answer. `state` is a state, or `closed` for all
        but open. A token of an agent finds what that agent asked.
        """
        cursor = None
        while True:
            page = await self._daemon.get(
                "/v1/inquiries", q=search, state=state, workspace=workspace, limit=PAGE, cursor=cursor
            )
            for inquiry in page["items"]:
                yield inquiry
            cursor = page["next"]
            if not cursor:
                return

    async def events(self, after: int | None = None) -> AsyncGenerator[Event]:
        """What happens, event by event and without end: after the event of that number, or from now on."""
        if after is None:
            after = (await self._daemon.get("/v1/events", after=LATEST, limit=1))["next_after"]
        while True:
            began = anyio.current_time()
            page = await self._daemon.get(
                "/v1/events", patience=EVENTS_SECONDS, after=after, wait=EVENTS_SECONDS
            )
            for event in page["items"]:
                yield event
            after = page["next_after"]
            if not page["items"] and anyio.current_time() - began < 1:
                # A daemon that stops lets go of every request.
                await anyio.sleep(1)

    async def _ask(self, body: dict[str, Any], waiting: Waiting) -> Outcome[str]:
        wait = self._waiting(waiting)
        async with self._withdrawn_if_cancelled(partial(self._put, body), waiting) as asked:
            asked.append(await self._put(body))
            return await self._collected(await wait.until_settled(asked[0]))

    async def _put(self, body: dict[str, Any]) -> Inquiry:
        asked: Inquiry = await self._daemon.post("/v1/inquiries", body)
        return asked

    async def _put_action(self, body: dict[str, Any]) -> Inquiry | None:
        """The inquiry about an action; None where nothing had to be asked."""
        asked: Inquiry | None = (await self._daemon.post("/v1/approvals", body))["inquiry"]
        return asked

    def _waiting(self, how: Waiting) -> Wait:
        timeout = how.get("timeout")
        return Wait(
            daemon=self._daemon,
            timeout=None if timeout is None else seconds(timeout),
            progress=how.get("progress"),
        )

    @asynccontextmanager
    async def _withdrawn_if_cancelled(
        self, put: Callable[[], Awaitable[Inquiry | None]], waiting: Waiting
    ) -> AsyncGenerator[list[Inquiry]]:
        """Takes back what was asked when the task is cancelled, unless it is to stay open. `put` asks the same again."""
        asked: list[Inquiry] = []
        try:
            yield asked
        except anyio.get_cancelled_exc_class():
            if waiting.get("on_cancel", "leave" if waiting.get("key") else "withdraw") == "withdraw":
                with anyio.move_on_after(WITHDRAW_SECONDS, shield=True):
                    await self._take_back(put, asked)
            raise

    async def _take_back(
        self, put: Callable[[], Awaitable[Inquiry | None]], asked: Sequence[Inquiry]
    ) -> None:
        """Withdraw a question whose task was cancelled. That it cannot be withdrawn now is no reason to go on."""
        try:
            if not asked and not self._daemon.is_found:
                return
            # Whether the request had arrived is not known; the same key leads to the same question.
            found = asked[0] if asked else await put()
            if found is not None:
                await self.withdraw(found["id"], "the program that asked was cancelled")
        except UpcallError:
            return

    async def _collected(self, inquiry: Inquiry) -> Outcome[str]:
        """The outcome. The daemon is told that the answer has arrived, and the program goes on meanwhile."""
        ended = outcome(inquiry)
        if isinstance(ended, Answered) and not inquiry["answer"]["collected_at"]:
            await self._daemon.tell(inquiry_path(ended.id, "collect"))
        return ended


def _once() -> str:
    return f"program-{os.urandom(16).hex()}"
