"""`upcall.ask` and `upcall.approve`: one question, without a connection to keep."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, Unpack, overload

from upcall.client.client import Client
from upcall.client.outcome import Outcome, Verdict
from upcall.client.request import Approving, Asking, Question

T = TypeVar("T")


@overload
async def ask(question: str, *, response: type[T], **asking: Unpack[Asking]) -> Outcome[T]: ...
@overload
async def ask(
    question: str, *, response: Mapping[str, Any], **asking: Unpack[Asking]
) -> Outcome[Mapping[str, Any]]: ...
@overload
async def ask(question: str | Sequence[Question], **asking: Unpack[Asking]) -> Outcome[str]: ...
async def ask(question: Any, **asking: Any) -> Any:
    """Ask a person, and wait for the answer. With `response`, a dataclass or a pydantic model, it is asked as a form.

    The daemon is found as the commands find it: by `UPCALL_URL` and `UPCALL_TOKEN`, or else on this machine, where it is
    started if none runs. With a `key`, a program that was killed and started again rejoins its question.

    >>> answer = anyio.run(partial(ask, "Which cache?", options=["Redis", "Memcached"], key="call-17"))
    >>> match answer:
    ...     case Answered(text=words):
    ...         print(words)
    ...     case Rejected() | Expired() | Cancelled() | Failed() | Parked():
    ...         print("no answer")
    Redis

    >>> @dataclass
    ... class Deploy:
    ...     where: Literal["staging", "production"]
    ...     copies: int = 2
    >>> anyio.run(partial(ask, "Where to?", response=Deploy)).value
    Deploy(where='staging', copies=2)

    Raises as `Client.ask` does.
    """
    async with Client() as client:
        return await client.ask(question, **asking)


# `input` is what tools, frameworks and the API call it.
async def approve(tool: str, input: Mapping[str, Any], **more: Unpack[Approving]) -> Verdict:  # noqa: A002
    """Put an action to a person before it is done; it is shown whole, and only a yes allows it.

    >>> verdict = anyio.run(approve, "bash", {"command": "rm -rf build"})
    >>> match verdict:
    ...     case Allowed(input=exactly):
    ...         print("running", exactly["command"])
    ...     case Denied(reason=why):
    ...         print("not running:", why)
    running rm -rf build

    Raises as `Client.ask` does.
    """
    async with Client() as client:
        return await client.approve(tool, input, **more)
