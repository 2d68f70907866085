"""The thread that reads: every question gets its own result, in its turn, and a failure is its caller's alone."""

import asyncio
import threading
from functools import partial

import pytest

from upcall.stores.sqlite.reader import Reader


async def test_questions_are_answered_in_their_order_by_one_thread() -> None:
    reader = Reader("reader")
    asked: list[int] = []

    def question(number: int) -> tuple[int, str]:
        asked.append(number)
        return number, threading.current_thread().name

    found = await asyncio.gather(*[reader.submit(partial(question, number)) for number in range(50)])
    assert found == [(number, "reader") for number in range(50)]
    assert asked == list(range(50))
    await reader.stop(lambda: None)


async def test_a_result_does_not_wait_for_the_questions_behind_it() -> None:
    reader = Reader("reader")
    gate = threading.Event()
    first, second = reader.submit(lambda: "first"), reader.submit(gate.wait)
    assert await first == "first"
    assert not second.done()
    gate.set()
    assert await second
    await reader.stop(lambda: None)


@pytest.mark.parametrize("problem", [ValueError("wrong"), StopIteration()])
async def test_a_question_that_fails_fails_alone(problem: Exception) -> None:
    reader = Reader("reader")

    def fail() -> None:
        raise problem

    failed, other = reader.submit(fail), reader.submit(lambda: "fine")
    with pytest.raises((ValueError, RuntimeError)):
        await failed
    assert await other == "fine"
    await reader.stop(lambda: None)


async def test_a_question_that_is_given_up_before_its_turn_is_not_asked() -> None:
    reader = Reader("reader")
    gate, asked = threading.Event(), list[str]()
    first, second = reader.submit(gate.wait), reader.submit(lambda: asked.append("second"))
    second.cancel()
    gate.set()
    await first
    await reader.stop(lambda: asked.append("last"))
    assert asked == ["last"]
