"""The real command-line agents, each with a scripted model behind it and a real daemon beside it.

    def test_an_answer_reaches_the_model(model, desk, person):
        model.play(Call("ask_human", {"question": "Which cache?"}), say_back)
        work = desk.start(CLAUDE, "-p", "Ask me.", …)
        question = person.next_question(work)
        person.answer(question["ref"], "Redis")
        assert work.finish().code == 0
        assert "Redis" in model.conversations[-1].results[-1]

`script` has the words of which a script is made, `model_server` the model, `programs` the programs and the scratch home
they live in, `by_hand` the flags that give each of them our door.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import Desk
from upcall.home import Home
from upcall.instance import stop_running
from upcall.launch import ensure_running


@pytest.fixture
def model() -> Iterator[Model]:
    """A model; the test says what it plays, and fails if the program wanted something else."""
    with Model() as scripted:
        yield scripted
    scripted.check()


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Callable[[Model], Desk]]:
    """Desks for tests with several agents; each has a home of its own and the model it is given."""
    taken: list[Desk] = []

    def sit(model: Model) -> Desk:
        desk = Desk(tmp_path / f"desk{len(taken)}", model.url)
        taken.append(desk)
        return desk

    yield sit
    for desk in taken:
        desk.close()


@pytest.fixture
def desk(seat: Callable[[Model], Desk], model: Model) -> Desk:
    """Where a program works."""
    return seat(model)


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    """Somebody who answers, in a home with a daemon that is up."""
    for name in ("UPCALL_URL", "UPCALL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    home = Home(tmp_path / "upcall")
    monkeypatch.setenv("UPCALL_HOME", str(home.path))
    ensure_running(home)
    owner = Person(home)
    yield owner
    owner.leave()
    stop_running(home)
