"""`upcall.sync`: the same for programs without an event loop. Each call blocks its thread.

The asynchronous client runs on an event loop in a thread of its own, so this works below a running event loop too, such as in
a tool that a framework calls.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

from anyio.from_thread import BlockingPortal, start_blocking_portal

from upcall.client import client as asynchronous
from upcall.client.client import Event
from upcall.client.outcome import Inquiry, Outcome, Verdict
from upcall.client.request import Approving, Asking, Progress, Question, Span

T = TypeVar("T")


class Client:
    """The blocking twin of `upcall.Client`: the same methods, each returning when it is done.

    >>> with Client(url, token) as broker:
    ...     broker.ask("Which cache?", options=["Redis", "Memcached"], key="call-17").text
    'Redis'
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._where = url, token
        self._loop: AbstractContextManager[BlockingPortal] | None = None
        self._opened: asynchronous.Client | None = None

    def __enter__(self) -> Self:
        self._loop = start_blocking_portal()
        self._portal = self._loop.__enter__()
        self._opened = self._portal.call(asynchronous.Client, *self._where)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None
        self._portal.call(self._client.close)
        # An interrupt cancels what still waits, which withdraws its question or leaves it open.
        self._loop.__exit__(kind, error, trace)

    @overload
    def ask(self, question: str, *, response: type[T], **asking: Unpack[Asking]) -> Outcome[T]: ...
    @overload
    def ask(
        self, question: str, *, response: Mapping[str, Any], **asking: Unpack[Asking]
    ) -> Outcome[Mapping[str, Any]]: ...
    @overload
    def ask(self, question: str | Sequence[Question], **asking: Unpack[Asking]) -> Outcome[str]: ...
    def ask(self, question: Any, **asking: Any) -> Any:
        """As `upcall.Client.ask`."""
        return self._run(partial(self._client.ask, question, **asking))

    # `input` is what tools, frameworks and the API call it.
    def approve(self, tool: str, input: Mapping[str, Any], **more: Unpack[Approving]) -> Verdict:  # noqa: A002
        """As `upcall.Client.approve`."""
        return self._run(partial(self._client.approve, tool, input, **more))

    def wait(
        self,
        name: str,
        *,
        timeout: Span | None = None,
        progress: Callable[[Progress], Awaitable[None] | None] | None = None,
    ) -> Outcome[str]:
        """As `upcall.Client.wait`; `progress` is called in the thread of the event loop."""
        return self._run(partial(self._client.wait, name, timeout=timeout, progress=progress))

    def get(self, name: str) -> Inquiry:
        """As `upcall.Client.get`."""
        return self._run(partial(self._client.get, name))

    def withdraw(self, name: str, reason: str = "") -> Outcome[str]:
        """As `upcall.Client.withdraw`."""
        return self._run(partial(self._client.withdraw, name, reason))

    def answer(self, name: str, text: str) -> Outcome[str]:
        """As `upcall.Client.answer`."""
        return self._run(partial(self._client.answer, name, text))

    def reject(self, name: str, reason: str = "") -> Outcome[str]:
        """As `upcall.Client.reject`."""
        return self._run(partial(self._client.reject, name, reason))

    def find(
        self, search: str | None = None, *, state: str | None = None, workspace: str | None = None
    ) -> Iterator[Inquiry]:
        """As `upcall.Client.find`."""
        return self._each(self._client.find(search, state=state, workspace=workspace))

    def events(self, after: int | None = None) -> Iterator[Event]:
        """As `upcall.Client.events`."""
        return self._each(self._client.events(after))

    @property
    def _client(self) -> asynchronous.Client:
        if self._opened is None:
            raise RuntimeError("the client is not open; open it by: with upcall.sync.Client() as broker")
        return self._opened

    def _run(self, call: Callable[[], Awaitable[T]]) -> T:
        return self._portal.call(call)

    def _each(self, items: AsyncIterator[T]) -> Iterator[T]:
        while True:
            try:
                yield self._run(items.__anext__)
            except StopAsyncIteration:
                return


@overload
def ask(question: str, *, response: type[T], **asking: Unpack[Asking]) -> Outcome[T]: ...
@overload
def ask(
    question: str, *, response: Mapping[str, Any], **asking: Unpack[Asking]
) -> Outcome[Mapping[str, Any]]: ...
@overload
def ask(question: str | Sequence[Question], **asking: Unpack[Asking]) -> Outcome[str]: ...
def ask(question: Any, **asking: Any) -> Any:
    """As `upcall.ask`, and blocks until there is an outcome."""
    with Client() as client:
        return client.ask(question, **asking)


# As above.
def approve(tool: str, input: Mapping[str, Any], **more: Unpack[Approving]) -> Verdict:  # noqa: A002
    """As `upcall.approve`, and blocks until there is a verdict."""
    with Client() as client:
        return client.approve(tool, input, **more)
