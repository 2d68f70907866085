"""What holds for every bridge, whichever its library."""

import ast
from pathlib import Path

import pytest

import upcall
from tests.client.program import Crew
from upcall.client.bridges import claude_calls, putting

BRIDGES = Path(__file__).parents[2] / "src/upcall/client/bridges"
ONE_FUNCTION = {
    "crewai": "approvals",
    "google_adk": "before_tool",
    "smolagents": "user_input",
    "strands": "before_tool",
}


@pytest.mark.promise("programs/23")
def test_a_bridge_has_fewer_than_200_lines() -> None:
    long = [each.name for each in BRIDGES.glob("*.py") if len(each.read_text("utf-8").splitlines()) >= 200]
    assert long == []


@pytest.mark.promise("programs/22")
@pytest.mark.parametrize(("bridge", "name"), ONE_FUNCTION.items())
def test_the_bridge_of_a_callable_is_one_function_of_fewer_than_40_lines(bridge: str, name: str) -> None:
    module = ast.parse((BRIDGES / f"{bridge}.py").read_text("utf-8"))
    functions = {each.name: each for each in module.body if isinstance(each, ast.FunctionDef)}
    assert [each for each in functions if not each.startswith("_")] == [name]
    assert (functions[name].end_lineno or 0) - functions[name].lineno < 40


async def test_an_error_of_the_daemon_reaches_the_program_as_itself(crew: Crew) -> None:
    calls = {f"call-{number}": ("bash", {"command": f"make {number}"}) for number in range(2)}
    async with upcall.Client(crew.house.url, "revoked") as broker:
        with pytest.raises(upcall.errors.Unauthenticated):
            await putting.decide_all(broker, calls, {})


async def test_calls_without_an_id_are_questions_of_their_own(crew: Crew) -> None:
    """The key of none would be that of all, and a yes to one an answer to the next."""
    for _ in range(2):
        decided = await claude_calls.put_call(crew.asker, "Bash", {"command": "make"}, "", {"timeout": 0})
        assert putting.is_open(decided)
    assert len([each async for each in crew.ana.find(state="open")]) == 2
