"""The programs of docs/mcp-clients.md, each with the real library and `upcall mcp`: a person is asked, and the program has the answer."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import Desk
from tests.agents.script import Call, say_back
from tests.agents.work import Work
from tests.conftest import require
from tests.docs.fences import fences
from tests.frameworks.story import PYTHON as FRAMEWORKS, ROOT
from upcall.home.files import Home

PAGE = ROOT / "docs/mcp-clients.md"
CLIENTS = ROOT / ".venv/mcp-clients/bin/python"
LIBRARIES = {
    "from mcp import": Path(sys.executable),
    "from fastmcp import": CLIENTS,
    "from pydantic_ai.mcp import": CLIENTS,
    "from langchain_mcp_adapters": CLIENTS,
    "from agents.mcp import": CLIENTS,
}

IMPATIENT = """
import asyncio
from agents.mcp import MCPServerStdio

async def main():
    async with MCPServerStdio(params={"command": "upcall", "args": ["mcp"]}) as upcall:
        told = await upcall.call_tool("ask_human", {"question": "Which cache?", "options": ["Redis", "Memcached"]})
        while (said := told.structuredContent)["status"] == "parked":
            print('{"status": "parked"}', flush=True)
            told = await upcall.call_tool("wait_for_answer", {"id": said["id"]})
        print(told.content[0].text)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """One person for all of them."""
    # Their clients hand on few variables: the home is found below HOME.
    with Person(Home(tmp_path_factory.mktemp("person") / ".local/share/upcall")) as known:
        yield known


def program(with_line: str) -> str:
    (found,) = [each.content for each in fences([PAGE]) if with_line in each.content]
    return found


@contextmanager
def started(python: Path, program: str, person: Person, folder: Path, **environment: str) -> Iterator[Work]:
    """A program at work, with `upcall` on its path."""
    require(
        python.exists(),
        f"the environment of {python.parents[1].name} (`make .venv/{python.parents[1].name}/.installed`)",
    )
    (folder / "program.py").write_text(program, "utf-8")
    path = f"{environment.pop('PATH', '')}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    home = {"UPCALL_HOME": str(person.home.path), "HOME": str(person.home.path.parents[2])}
    told = {**os.environ, **home, **environment, "PATH": path}
    process = subprocess.Popen(
        [python, "program.py"],
        cwd=folder,
        env=told,
        text=True,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with closing(Work(process)) as work:
        yield work


def answered(work: Work, person: Person, *, once: Callable[[Work], object] = lambda _: None) -> str:
    """What a program has printed after a person has answered its question."""
    question = person.next_question(work)
    once(work)
    person.answer(question["ref"], "Redis")
    assert work.end() == 0, work.report()
    return "\n".join(work.lines)


@pytest.mark.promise("raised/44")
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda each: each.split()[1].partition(".")[0])
def test_a_library_asks_a_person_and_has_the_answer(library: str, person: Person, tmp_path: Path) -> None:
    with started(LIBRARIES[library], program(library), person, tmp_path) as work:
        assert "The user answered: Redis" in answered(work, person)


@pytest.mark.promise("raised/44")
def test_the_openai_agents_sdk_has_slices_that_it_can_wait_for(person: Person, tmp_path: Path) -> None:
    """With the 5 seconds that it has by itself, each call comes back before it is given up."""
    with started(CLIENTS, IMPATIENT, person, tmp_path) as work:
        said = answered(
            work, person, once=lambda working: working.wait_for(lambda event: event["status"] == "parked")
        )
    assert "The user answered: Redis" in said


@pytest.mark.promise("raised/44")
def test_the_claude_agent_sdk_asks_a_person_through_its_own_client(person: Person, tmp_path: Path) -> None:
    with Model() as model:
        desk = Desk(tmp_path / "desk", model.url)
        model.play(Call("mcp__upcall__ask_human", {"question": "Which cache?"}), say_back)
        asking = program("from claude_agent_sdk")
        with started(FRAMEWORKS, asking, person, desk.work, **desk.environment) as work:
            assert "The user answered: Redis" in answered(work, person)
        model.check()
