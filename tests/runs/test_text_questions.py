"""A question that an agent leaves in its text is asked, or else its run says why not."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.runs.house import ANA, House, a_house, until_logged
from upcall.broker.pacing import Pacing
from upcall.domain.run.run import RunState
from upcall.ports.store import Query

pytestmark = pytest.mark.anyio
ASKS = "tell(turn=True); tell(asked={'question': 'Which cache?', 'options': ['Redis', 'None']}); tell(result='ok')"
SETTLED = (RunState.WAITING, RunState.COMPLETED, RunState.FAILED)
NOT_ASKED = "the question in its text was not asked"
NO_QUESTIONS = """
CREATE TRIGGER no_questions BEFORE INSERT ON inquiry BEGIN SELECT RAISE(ABORT, 'no room'); END
"""


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_house(tmp_path) as made:
        yield made


async def is_asked(house: House) -> bool:
    return [each.questions[0].text for each in (await house.store.find(Query(state="open"))).items] == [
        "Which cache?"
    ]


async def test_a_question_that_the_store_could_not_keep_is_asked_when_it_can(house: House) -> None:
    house.sql(NO_QUESTIONS)
    async with until_logged(NOT_ASKED):
        run = await house.begin(ASKS)
    house.sql("DROP TRIGGER no_questions")
    waiting = await house.until(run, lambda current: not current.alive)
    assert waiting.state is RunState.WAITING
    assert await is_asked(house)


async def test_a_question_of_an_agent_that_has_asked_too_much_is_asked_later(tmp_path: Path) -> None:
    async with a_house(tmp_path, pacing=Pacing(per_second=0.2, burst=1)) as house:
        house.broker.spend("plain")
        waiting = await house.until(await house.begin(ASKS), lambda current: not current.alive)
        assert waiting.state is RunState.WAITING
        assert await is_asked(house)


async def test_the_next_daemon_asks_what_the_store_could_not_keep(tmp_path: Path) -> None:
    async with a_house(tmp_path, end=False) as house:
        house.sql(NO_QUESTIONS)
        async with until_logged(NOT_ASKED):
            run = await house.begin(ASKS)
    house.sql("DROP TRIGGER no_questions")
    async with a_house(tmp_path) as house:
        waiting = await house.until(run, lambda current: not current.alive)
        assert waiting.state is RunState.WAITING
        assert await is_asked(house)


async def test_a_run_whose_question_cannot_be_asked_at_all_has_failed_and_says_why(house: House) -> None:
    run = await house.begin("tell(turn=True); tell(asked={'question': ''}); tell(result='ok')")
    over = await house.until_state(run, *SETTLED)
    assert over.state is RunState.FAILED
    assert over.reason.startswith("question_not_asked: ")


async def test_a_run_that_asks_the_same_again_and_again_has_failed_and_says_so(tmp_path: Path) -> None:
    async with a_house(tmp_path, pacing=Pacing(same=1)) as house:
        (house.work / "then.py").write_text(ASKS)
        run = await house.until_state(await house.begin(ASKS), *SETTLED)
        (asked,) = (await house.store.find(Query(state="open"))).items
        await house.answer(asked, "Redis")
        over = await house.until(run, lambda current: current.starts == 2 and not current.alive)
        assert (over.state, over.reason) == (RunState.FAILED, "question_repeated")


async def test_a_run_that_waits_to_ask_can_be_cancelled(house: House) -> None:
    house.sql(NO_QUESTIONS)
    async with until_logged(NOT_ASKED):
        run = await house.begin(ASKS)
    await house.runs.cancel(run.number, ANA)
    over = await house.until(run, lambda current: not current.alive)
    assert over.state is RunState.CANCELLED
