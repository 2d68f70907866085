"""A request of a client that speaks in lines, from when it is taken until it is answered."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast

from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller
from upcall.doors.mcp import wire
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.definitions import Definition
from upcall.doors.mcp.evidence import HandedAnswers
from upcall.doors.mcp.tools import ToolResult, failure, result
from upcall.doors.mcp.watching import Watcher
from upcall.doors.mcp.wire import Message, RequestId


class Toolbox(Protocol):
    """The tools that a client is offered: those of a broker, or those that reach one through a folder."""

    def offered(self, caller: Caller) -> Sequence[Definition]:
        """The tools as they are listed for a caller."""
        ...

    @property
    def evidence(self) -> HandedAnswers:
        """Told of every answer that went out and of everything that was heard."""
        ...

    async def call(self, name: str, arguments: object, asker: Asker, watching: Watcher = ...) -> ToolResult:
        """Do what a tool says. Never raises, except when it is cancelled."""
        ...


class Sender(Protocol):
    """The conversation that a call belongs to."""

    def send(self, message: Message) -> None:
        """Write one message to the client."""
        ...

    def asked(self, inquiry: Inquiry, asker: Asker) -> None:
        """A call of this client is about an inquiry."""
        ...


class LineCall:
    """A tool call under way, and the watcher of it."""

    __slots__ = (
        "arguments",
        "asker",
        "conversation",
        "inquiry",
        "modern",
        "request_id",
        "rounds",
        "task",
        "token",
    )

    def __init__(
        self,
        conversation: Sender,
        request_id: RequestId,
        asker: Asker,
        token: str | int | None,
        *,
        modern: bool,
    ) -> None:
        self.conversation = conversation
        self.request_id = request_id
        self.asker = asker
        self.token = token
        self.modern = modern
        self.arguments: object = None
        self.rounds: Mapping[str, object] | None = None
        self.inquiry: Inquiry | None = None
        self.task: asyncio.Task[None] | None = None

    def taken(self) -> object:
        """The arguments, which are not kept beyond this: a call may wait for long."""
        arguments, self.arguments = self.arguments, None
        return arguments

    def opened(self, inquiry: Inquiry) -> None:
        """Tell the pipe what its call became: it can then name the question even when we are gone."""
        self.inquiry = inquiry
        self.conversation.send(
            {"upcall": "opened", "request": self.request_id, "id": inquiry.id, "ref": inquiry.ref}
        )
        self.conversation.asked(inquiry, self.asker)

    @property
    def progress(self) -> Callable[[int, str], None] | None:
        """Shows a sign of life, if the client gave a token for it."""
        return None if self.token is None else self._show_life

    def _show_life(self, count: int, sentence: str) -> None:
        self.conversation.send(wire.progress(cast("str | int", self.token), count, sentence))

    def cancel(self) -> None:
        """Detach: no reply, and the question stays open."""
        if self.task is not None:
            self.task.cancel()

    def park(self) -> None:
        """Detach with a typed result."""
        self.cancel()
        if self.inquiry is None:
            told = failure(
                "shutting_down", "Upcall is shutting down", "start it with `upcall up` and ask again"
            )
        else:
            told = result(self.inquiry)
        self.conversation.send(wire.response(self.request_id, wire.called(told, modern=self.modern)))
