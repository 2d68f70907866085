"""The pytest plugin: the fixture `human`, a scripted person beside a daemon of the tests' own.

pytest loads it wherever Upcall is installed, so it imports the rest only when a test asks for the fixture.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from upcall.home.files import Home
    from upcall.testing.human import ScriptedHuman
    from upcall.testing.script import Script

__all__ = ["Human", "human", "upcall_home"]


class Human:
    """A person who answers as the test says. Rules that are given later come before earlier ones.

    Each `question` is a regular expression that is looked for in what is asked. `after` is in seconds.
    """

    def __init__(self, script: "Script", person: "ScriptedHuman") -> None:
        self._script = script
        self._person = person

    def answers(self, question: str, *answers: str, after: float = 0.0) -> None:
        """Answer such questions: with several answers in turn, and with the last one from then on."""
        self._add(question=question, answers=answers, after=after)

    def rejects(self, question: str, reason: str = "", *, after: float = 0.0) -> None:
        """Decline to answer such questions."""
        self._add(question=question, rejects=reason, after=after)

    def ignores(self, question: str) -> None:
        """Leave such questions open."""
        self._add(question=question, ignores=True)

    @property
    def answered(self) -> list[dict[str, Any]]:
        """What this person has settled, as the API shows it."""
        return list(self._person.answered)

    @property
    def refused(self) -> list[str]:
        """What the daemon said to replies that it did not take: their questions are still open."""
        return list(self._person.refused)

    def _add(self, **rule: Any) -> None:
        from upcall.testing.script import Rule  # noqa: PLC0415 - see above

        self._script.add(Rule(**rule))


@pytest.fixture(scope="session")
def upcall_home(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Home]":
    """A home for the tests of this run, and a daemon in it that ends with them."""
    from upcall.home.files import Home  # noqa: PLC0415 - see above
    from upcall.home.instance import stop_running  # noqa: PLC0415 - see above
    from upcall.home.launch import ensure_running  # noqa: PLC0415 - see above

    home = Home(tmp_path_factory.mktemp("upcall") / "home")
    ensure_running(home)
    yield home
    stop_running(home)


@pytest.fixture
def human(upcall_home: "Home", monkeypatch: pytest.MonkeyPatch) -> Iterator[Human]:
    """A scripted person who answers what the program under test asks; `UPCALL_HOME` leads it to their daemon."""
    from upcall.home.launch import ensure_running  # noqa: PLC0415 - see above
    from upcall.testing.human import ScriptedHuman  # noqa: PLC0415 - see above
    from upcall.testing.script import Script  # noqa: PLC0415 - see above

    monkeypatch.setenv("UPCALL_HOME", str(upcall_home.path))
    for name in ("UPCALL_URL", "UPCALL_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def find() -> tuple[str, str]:
        return ensure_running(upcall_home).url, upcall_home.read_secret(upcall_home.owner_token_file)

    script = Script()
    person = ScriptedHuman(find, script.respond)
    person.skip()
    with person:
        yield Human(script, person)
