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

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import Desk
from upcall.home.files import Home


@pytest.fixture
def model() -> Iterator[Model]:
    """A model; the test says what it plays, and fails if the program wanted something else."""
    with Model() as scripted:
        yield scripted
    scripted.check()


@pytest.fixture
def desk(tmp_path: Path, model: Model) -> Iterator[Desk]:
    """Where a program works."""
    with Desk(tmp_path / "desk", model.url) as taken:
        yield taken


@pytest.fixture
def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    """A person who counts as away after a second without a key."""
    for name in ("UPCALL_URL", "UPCALL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    home = Home(tmp_path / "upcall")
    home.create()
    home.config_file.write_text('away_after = "1s"\n')
    with Person(home) as sitting:
        yield sitting


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    """A person who answers, in a home with a daemon that is up."""
    for name in ("UPCALL_URL", "UPCALL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with Person(Home(tmp_path / "upcall")) as owner:
        yield owner
