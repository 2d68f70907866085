"""The results of a group of writes, released to the callers after its commit."""

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple


class Result(NamedTuple):
    """The future of a caller, and what it is settled with: a value, or an error."""

    future: asyncio.Future[Any]
    value: object
    error: BaseException | None


def release(results: Iterable[Result]) -> None:
    """Settle the futures that still wait."""
    for future, value, error in results:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        elif isinstance(error, StopIteration):
            # asyncio forbids it in a future.
            future.set_exception(RuntimeError("a decision raised StopIteration"))
        else:
            future.set_exception(error)
