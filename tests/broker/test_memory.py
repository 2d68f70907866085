"""What a steady load leaves in memory: the same after twice as many questions."""

import asyncio
from collections import Counter

import pytest

from tests.broker.conftest import ANA, Clock
from tests.memory import ours
from upcall.broker.broker import Broker, Reply
from upcall.domain.inquiry.asking import draft
from upcall.testing.examples import an_origin

pytestmark = pytest.mark.thorough

AT_ONCE = 50
ROUNDS = 45
"""So many that every cache of a fixed size is full after the first half: the tail of the log has 4096 events."""


@pytest.mark.promise("trust/42")
async def test_twice_as_many_questions_leave_no_more_in_memory(broker: Broker, clock: Clock) -> None:
    async def cycle(number: int) -> None:
        origin = an_origin(session=f"session-{number}", request_key=f"key-{number}")
        asked = draft({"question": f"Which of {number}?", "options": ["a", "b"]})
        inquiry = (await broker.ask(asked, origin, named_session=True)).inquiry
        waiting = asyncio.create_task(broker.wait(inquiry))
        await broker.receive(inquiry.id, Reply(text="a"), ANA)
        assert (await waiting).state_name == "answered"

    async def load(first: int) -> Counter[str]:
        for start in range(first, first + ROUNDS):
            await asyncio.gather(*(cycle(start * AT_ONCE + at) for at in range(AT_ONCE)))
            clock.now += 60
        return ours()

    once, twice = await load(0), await load(ROUNDS)
    grown = {name: (once[name], count) for name, count in twice.items() if count > once[name] + 2 * AT_ONCE}
    assert grown == {}
