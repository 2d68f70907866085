"""Every command of the pages is run as it is printed, by a reader with an empty home; or the page says why not."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.model_server import Model
from tests.agents.script import Call, Conversation, Turn, say_back
from tests.agents.stories import ASK
from tests.docs.fences import KEYS, LANGUAGES, SHELL, Fence, fences
from tests.docs.pages import PAGES, ROOT, commands
from tests.docs.walking import Walk
from tests.postgres_server import PostgresServer

EVERY = list(fences())
PROGRAMS = frozenset(
    {"docker", "make", "npm", "pip", "pipx", "psql", "ssh", "systemctl", "uv", "uvx"}
    | {command[0] for fence in EVERY if fence.language == "sh" for command in commands(fence.content)}
)


def ask_once(heard: Conversation) -> Turn:
    """A model that asks its person, or what the doctor wants to hear, and goes on with the answer."""
    if heard.results:
        return say_back(heard)
    wanted = re.search(r'"(Upcall test .*?)"', "".join(heard.prompts))
    return Call("ask_human", {"question": wanted[1]}) if wanted else ASK


@pytest.fixture
def walk(request: pytest.FixtureRequest) -> Iterator[Walk]:
    def postgres() -> PostgresServer:
        server: PostgresServer = request.getfixturevalue("running_postgres")
        return server

    # The path of a socket has to be short.
    with tempfile.TemporaryDirectory() as folder, Model() as model:
        model.follow(ask_once)
        with Walk(Path(folder), model.url, postgres) as shell:
            yield shell


def walked(page: Path) -> list[Fence]:
    return [
        fence
        for fence in EVERY
        if fence.page == page and not fence.excused and (fence.language in SHELL or fence.said("file"))
    ]


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.promise("doorway/24", "doorway/36")
@pytest.mark.parametrize("page", [page for page in PAGES if walked(page)], ids=lambda page: page.name)
def test_every_command_of_a_page_does_what_is_printed(page: Path, walk: Walk) -> None:
    for fence in walked(page):
        walk.down(fence)


@pytest.mark.promise("doorway/24")
@pytest.mark.parametrize("fence", [fence for fence in EVERY if fence.excused], ids=lambda fence: fence.place)
def test_what_is_not_run_says_why(fence: Fence) -> None:
    for reason in fence.said("not run"):
        assert len(reason.split()) >= 4, reason
    for test in fence.said("run by"):
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text("utf-8"), test


def test_a_single_command_that_is_not_run_stands_in_its_block() -> None:
    for fence in EVERY:
        for command, reason in fence.left_out.items():
            assert command in fence.content
            assert reason


@pytest.mark.promise("doorway/24")
def test_a_block_of_text_has_no_command() -> None:
    hidden = [
        f"{fence.place}: {line}"
        for fence in EVERY
        if fence.language not in {*SHELL, "json", "toml", "python", "yaml"}
        for line in fence.content.splitlines()
        if line.startswith("$ ") or re.split(r"\s", line.strip(), maxsplit=1)[0] in PROGRAMS
    ]
    assert hidden == []


def test_every_block_has_a_language_and_remarks_that_the_tests_know() -> None:
    assert [fence.place for fence in EVERY if fence.language not in LANGUAGES] == []
    unknown = [
        f"{fence.place}: {key or value}"
        for fence in EVERY
        for key, value in fence.remarks
        if key not in KEYS and (not key or key not in fence.content)
    ]
    assert unknown == []
