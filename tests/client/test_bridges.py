"""What holds for every bridge, whichever its library."""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

import upcall
from tests.client.program import Crew
from tests.web.house import until
from upcall.client.bridges import claude_calls, putting
from upcall.client.outcome import Verdict

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
    calls = [putting.Call(f"call-{number}", "bash", {"command": f"make {number}"}) for number in range(2)]
    async with upcall.Client(crew.house.url, "revoked") as broker:
        with pytest.raises(upcall.errors.Unauthenticated):
            await putting.decide_all(broker, calls, {})


async def test_calls_without_an_id_are_questions_of_their_own(crew: Crew) -> None:
    """The key of none would be that of all, and a yes to one an answer to the next."""
    for _ in range(2):
        decided = await claude_calls.put_call(crew.asker, "Bash", {"command": "make"}, "", {"timeout": 0})
        assert putting.is_open(decided)
    assert len([each async for each in crew.ana.find(state="open")]) == 2


@pytest.mark.promise("programs/36")
@pytest.mark.parametrize("ids", [("", ""), ("1", "2")], ids=["without ids", "with ids"])
async def test_of_calls_that_are_put_together_each_has_its_own_verdict(
    crew: Crew, ids: tuple[str, str]
) -> None:
    folders = ("build", "src")
    calls = [
        putting.Call(putting.call_key("strands", call), "remove", {"folder": folder})
        for call, folder in zip(ids, folders, strict=True)
    ]
    decided: list[Verdict] = []

    async def put() -> None:
        decided.extend(await putting.decide_all(crew.asker, calls, {}))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(put)
            await until(lambda: crew.house.broker.waiting == 2)
            asked = await crew.asked_about()
            assert sorted(asked) == ["build", "src"]
            await crew.said(asked["src"], "Deny", note="it is needed")
            await crew.said(asked["build"], "Approve", input={"folder": "dist"})

    allowed, denied = decided
    assert isinstance(allowed, upcall.Allowed)
    assert allowed.input == {"folder": "dist"}
    assert isinstance(denied, upcall.Denied)
    assert denied.reason == "it is needed"


def a_turn_of_strands(*folders: str, session: str) -> list[SimpleNamespace]:
    """The events of calls that a model without ids has made in one turn."""
    used = [{"toolUseId": "", "name": "remove", "input": {"folder": folder}} for folder in folders]
    said = {"role": "assistant", "content": [{"toolUse": each} for each in used]}
    agent = SimpleNamespace(messages=[said], session_id=session, agent_id="default")
    return [SimpleNamespace(agent=agent, tool_use=each, cancel_tool=False) for each in used]


@pytest.mark.promise("programs/36")
async def test_of_two_calls_of_strands_without_an_id_each_has_its_own_decision(crew: Crew) -> None:
    allowed, denied = a_turn_of_strands("build", "src", session="nightly")
    hook = upcall.strands.before_tool(client=crew.asker)

    async def run(event: SimpleNamespace) -> None:
        await hook(event)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, allowed)
            tasks.start_soon(run, denied)
            await until(lambda: crew.house.broker.waiting == 2)
            asked = await crew.asked_about()
            await crew.said(asked["src"], "Deny")
            await crew.said(asked["build"], "Approve", input={"folder": "dist"})

    assert (allowed.tool_use["input"], allowed.cancel_tool) == ({"folder": "dist"}, False)
    assert (denied.tool_use["input"], denied.cancel_tool) == (
        {"folder": "src"},
        "Denied by ana: a person denied it",
    )


@pytest.mark.promise("programs/36")
async def test_of_two_calls_of_google_adk_without_an_id_each_has_its_own_decision(crew: Crew) -> None:
    tool = SimpleNamespace(name="remove")
    calls = [SimpleNamespace(id=None, name="remove", args={"folder": folder}) for folder in ("build", "src")]
    session = SimpleNamespace(id="nightly", events=[SimpleNamespace(get_function_calls=lambda: calls)])
    context = SimpleNamespace(session=session, function_call_id=None)
    callback = upcall.google_adk.before_tool(client=crew.asker)
    results: dict[str, Any] = {}

    async def run(call: SimpleNamespace) -> None:
        folder = call.args["folder"]
        results[folder] = await callback(tool, call.args, context)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for call in calls:
                tasks.start_soon(run, call)
            await until(lambda: crew.house.broker.waiting == 2)
            asked = await crew.asked_about()
            await crew.said(asked["src"], "Deny")
            await crew.said(asked["build"], "Approve", input={"folder": "dist"})

    assert results == {"build": None, "src": {"error": "Denied by ana: a person denied it"}}
    assert [call.args for call in calls] == [{"folder": "dist"}, {"folder": "src"}]


@pytest.mark.promise("programs/7")
async def test_a_call_with_the_same_id_in_another_session_of_strands_is_another_question(crew: Crew) -> None:
    """Some models number the calls of each conversation anew: yesterday's yes is no answer to today's."""
    hook = upcall.strands.before_tool(client=crew.asker, timeout=0)
    for session in ("monday", "tuesday", "tuesday"):
        (event,) = a_turn_of_strands("build", session=session)
        event.tool_use["toolUseId"] = "functions.remove:0"
        await hook(event)
        assert event.cancel_tool == "Not allowed: no person has decided yet"

    keys = sorted([each["request_key"] async for each in crew.ana.find(state="open")])
    assert keys == [f"strands-{day}-default-functions.remove:0" for day in ("monday", "tuesday")]
