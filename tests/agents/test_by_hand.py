"""Each real program, given our door by hand, asks a person and goes on with the answer."""

import pytest

from tests.agents import by_hand
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import PROGRAMS, Desk, Program
from tests.agents.script import Call, say_back

CACHE = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Memcached"}]}

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


@every_program
def test_a_program_asks_and_goes_on_with_the_answer(
    program: Program, model: Model, desk: Desk, person: Person
) -> None:
    model.play(Call("ask_human", CACHE), say_back)
    work = by_hand.start(program, desk, person.home, "Set up the cache. Ask me which one.")

    question = person.next_question(work)
    assert question["questions"][0]["question"] == "Which cache?"
    person.answer(question["ref"], "2")

    assert work.finish().code == 0, work.report()
    assert "Memcached" in model.conversations[-1].results[-1]
    assert model.left == 0
