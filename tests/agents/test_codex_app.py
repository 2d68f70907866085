"""The real Codex app server with a scripted model: what it asks reaches a person, and the word goes back to it."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import unix_connect

from tests.agents.codex_bench import PATIENCE, Bench, answered, door_to
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import Desk
from tests.agents.script import Call, Conversation, Say, say_back
from upcall.agents.prompt import ASKING
from upcall.cli.client import Client
from upcall.domain.answer.outcome import Outcome
from upcall.domain.run.program import Session, Spent, Task, ToolCalled, ToolReturned, TurnTaken, Verdict
from upcall.home.files import Home
from upcall.home.instance import stop_running
from upcall.home.launch import ensure_running

QUESTION = {
    "questions": [
        {
            "id": "db",
            "header": "Database",
            "question": "Which database?",
            "options": [
                {"label": "pg", "description": "a server"},
                {"label": "sqlite", "description": "a file"},
            ],
        },
        {
            "id": "name",
            "header": "Name",
            "question": "What is it called?",
            "options": [{"label": "main", "description": "x"}, {"label": "app", "description": "y"}],
        },
    ]
}

Sit = Callable[..., Bench]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with a daemon for all who have to have our door, and do not use it."""
    home = Home(tmp_path_factory.mktemp("house") / "upcall")
    with pytest.MonkeyPatch.context() as patched:
        for name in ("UPCALL_URL", "UPCALL_TOKEN"):
            patched.delenv(name, raising=False)
        patched.setenv("UPCALL_HOME", str(home.path))
        ensure_running(home)
    yield home
    stop_running(home)


@pytest.fixture
def sit(desk: Desk, house: Home) -> Sit:
    def begin(*arguments: str, session: str = "", message: str | None = None, home: Home = house) -> Bench:
        common: dict[str, Any] = {
            "cwd": str(desk.work),
            "door": door_to(home),
            "arguments": arguments,
        }
        if session:
            return Bench(desk, Session(id=session, **common), message)
        return Bench(desk, Task(prompt="Do it.", session="", **common))

    return begin


def outside(tmp_path: Path) -> tuple[Path, Call]:
    """A file that the sandbox would not let it write, and the call that asks to."""
    file = tmp_path / "outside"
    arguments = {
        "cmd": f"touch '{file}'",
        "sandbox_permissions": "require_escalated",
        "justification": "May I?",
    }
    return file, Call("exec_command", arguments)


async def test_a_native_question_is_answered_by_a_person(model: Model, sit: Sit) -> None:
    model.play(Call("request_user_input", QUESTION), say_back)
    async with sit() as bench:
        asked = await bench.counter.visit(1)
        assert [each["question"] for each in asked.fields["questions"]] == [
            "Which database?",
            "What is it called?",
        ]
        assert asked.fields["questions"][0]["options"][1] == {"label": "sqlite", "description": "a file"}
        assert asked.fields["questions"][0]["custom"] is True
        assert asked.fields["secret"] is False
        asked.said.set_result(answered(("pg",), ("my own",)))

        end = await bench.finish()

    assert end.ok
    assert '"pg"' in end.text
    assert '"my own"' in end.text
    called = [each for each in bench.noticed if isinstance(each, ToolCalled)]
    assert [(each.id, each.name) for each in called] == [(asked.key, "request_user_input")]
    assert ToolReturned(id=asked.key, text="The user answered: pg") in bench.noticed


async def test_a_question_without_an_answer_lets_the_model_go_on(model: Model, sit: Sit) -> None:
    model.play(Call("request_user_input", QUESTION), say_back)
    async with sit() as bench:
        asked = await bench.counter.visit(1)
        asked.said.set_result(
            Outcome(status="parked", id="i1", ref="a1", text="No answer yet, it is parked.")
        )

        end = await bench.finish()

    assert end.ok
    assert "No answer yet, it is parked." in end.text


async def test_an_allowed_command_runs(model: Model, sit: Sit, desk: Desk, tmp_path: Path) -> None:
    file, call = outside(tmp_path)
    model.play(call, say_back)
    async with sit() as bench:
        asked = await bench.counter.visit(1)
        assert asked.action.tool == "exec_command"
        assert asked.action.input["command"] == f"touch '{file}'"
        assert str(asked.action.input["shell"]).endswith("-lc")
        assert asked.action.cwd == str(desk.work)
        assert asked.action.reason == "May I?"
        assert not file.exists()
        asked.said.set_result(Verdict(allowed=True))

        assert (await bench.finish()).ok

    assert file.exists()
    assert any(isinstance(each, ToolReturned) and each.id == asked.key for each in bench.noticed)
    spent = [each for each in bench.noticed if isinstance(each, Spent)]
    assert (sum(each.input_tokens or 0 for each in spent), len(spent)) == (200, 2)
    assert bench.noticed.count(TurnTaken()) == 2


async def test_a_denied_command_does_not_run_and_the_model_goes_on_with_the_reason(
    model: Model, sit: Sit, tmp_path: Path
) -> None:
    file, call = outside(tmp_path)
    model.play(call, Say("Then I leave it."))
    async with sit() as bench:
        asked = await bench.counter.visit(1)
        asked.said.set_result(Verdict(allowed=False, reason="Not on a Friday."))

        end = await bench.finish()

    assert end.ok
    assert end.text == "Then I leave it."
    assert not file.exists()
    told = model.conversations[-1]
    assert "rejected" in told.results[-1]
    assert "Not on a Friday." in told.prompts[-1]
    assert ToolReturned(id=asked.key, text="Not on a Friday.", is_error=True) in bench.noticed


async def test_a_file_change_is_shown_whole_before_it_is_approved(model: Model, sit: Sit, desk: Desk) -> None:
    patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n+world\n*** End Patch\n"
    model.play(Call("apply_patch", {"input": patch}), say_back)
    async with sit("-c", 'sandbox_mode="read-only"') as bench:
        asked = await bench.counter.visit(1)
        file = desk.work / "new.txt"
        assert asked.action.tool == "apply_patch"
        assert asked.action.input == {
            "changes": [{"path": str(file), "kind": {"type": "add"}, "diff": "hello\nworld\n"}]
        }
        assert not file.exists()
        asked.said.set_result(Verdict(allowed=True))

        assert (await bench.finish()).ok

    assert file.read_text() == "hello\nworld\n"


async def test_our_own_tool_asks_through_the_door_without_approval(
    model: Model, sit: Sit, person: Person
) -> None:
    model.play(Call("ask_human", {"question": "Which cache?", "options": ["Redis", "Memcached"]}), say_back)
    async with sit(home=person.home) as bench:
        question = await asyncio.to_thread(next_question, person)
        await asyncio.to_thread(person.answer, question["ref"], "2")

        end = await bench.finish()

    assert end.ok
    assert "Memcached" in end.text
    assert bench.counter.asked == []
    assert ASKING in model.conversations[0].prompts[-1]
    results = [each for each in bench.noticed if isinstance(each, ToolReturned)]
    assert [each.text for each in results] == ["The user answered: Memcached"]


async def test_a_request_survives_its_connection_and_is_not_asked_twice(
    model: Model, sit: Sit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = watch_connections(monkeypatch)
    file, call = outside(tmp_path)
    model.play(call, say_back)
    async with sit() as bench:
        asked = await bench.counter.visit(1)
        connections[0].transport.abort()
        assert await bench.counter.visit(2) is asked
        asked.said.set_result(Verdict(allowed=True))

        assert (await bench.finish()).ok

    assert len(connections) == 2
    assert len(bench.counter.asked) == 1
    assert file.exists()
    assert len(model.conversations) == 2
    assert sum(each.input_tokens or 0 for each in bench.noticed if isinstance(each, Spent)) == 200


async def test_the_next_daemon_takes_over_a_process_that_waits(
    model: Model, sit: Sit, tmp_path: Path
) -> None:
    file, call = outside(tmp_path)
    model.play(call, say_back)
    async with sit() as bench:
        asked = await bench.counter.visit(1)
        await bench.let_go()
        bench.take_over()
        assert await bench.counter.visit(2) is asked
        asked.said.set_result(Verdict(allowed=True))

        assert (await bench.finish()).ok

    assert file.exists()
    assert len(model.conversations) == 2


async def test_a_file_change_that_the_next_daemon_cannot_show_is_proposed_again(
    model: Model, sit: Sit, desk: Desk
) -> None:
    patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n"
    model.play(Call("apply_patch", {"input": patch}), Call("apply_patch", {"input": patch}), Say("Done."))
    async with sit("-c", 'sandbox_mode="read-only"') as bench:
        first = await bench.counter.visit(1)
        await bench.let_go()
        bench.take_over()
        again = await bench.counter.visit(2)
        assert again.key != first.key
        assert again.what == first.what
        assert "propose it once more" in model.conversations[-1].prompts[-1]
        again.said.set_result(Verdict(allowed=True))

        assert (await bench.finish()).text == "Done."

    assert (desk.work / "new.txt").read_text() == "hello\n"


async def test_a_turn_that_ended_while_nobody_listened_is_found(model: Model, sit: Sit) -> None:
    model.play(Call("exec_command", {"cmd": "echo hi"}), Say("All done."))
    async with sit() as bench:
        first = await bench.finish()
        bench.noticed.clear()
        bench.take_over()

        assert await bench.finish() == first

    assert first.text == "All done."
    assert len(model.conversations) == 2


async def test_a_killed_session_is_resumed_with_a_message(model: Model, sit: Sit, tmp_path: Path) -> None:
    file, call = outside(tmp_path)
    model.play(call, Say("Thank you."))
    async with sit() as bench:
        await bench.counter.visit(1)
        await bench.end(signal.SIGKILL)
        await asyncio.wait_for(bench.driving, PATIENCE)
        session = bench.session

    async with sit(session=session, message="The user answered: go on.") as again:
        end = await again.finish()

    assert (end.ok, end.text) == (True, "Thank you.")
    assert not file.exists()
    assert again.session == session
    assert model.conversations[-1].prompts[-1] == "The user answered: go on."
    assert sum(each.input_tokens or 0 for each in again.noticed if isinstance(each, Spent)) == 100


async def test_a_session_that_is_gone_is_a_failure_with_a_reason(model: Model, sit: Sit) -> None:
    async with sit(session="01a1e1d7-5fb8-72c3-8bbf-a13680097dde", message="Go on.") as bench:
        end = await bench.finish()

    assert (end.ok, end.reason) == (False, "session_gone")
    assert "01a1e1d7-5fb8-72c3-8bbf-a13680097dde" in end.text


async def test_a_live_turn_can_be_told_something_and_an_ended_one_cannot(
    model: Model, sit: Sit, tmp_path: Path
) -> None:
    def heard(conversation: Conversation) -> Say:
        return Say(f"You said: {conversation.prompts[-1]}")

    _, call = outside(tmp_path)
    model.play(call, heard)
    async with sit() as bench:
        asked = await bench.counter.visit(1)
        assert await bench.driver.say("Hurry up.")
        asked.said.set_result(Verdict(allowed=True))
        assert (await bench.finish()).text == "You said: Hurry up."
        assert not await bench.driver.say("Too late.")


async def test_two_requests_wait_side_by_side(model: Model, sit: Sit, tmp_path: Path) -> None:
    _, one = outside(tmp_path / "one")
    _, two = outside(tmp_path / "two")
    model.play([one, two], Say("Both are decided."))
    async with sit() as bench:
        first, second = await bench.counter.visit(1), await bench.counter.visit(2)
        second.said.set_result(Verdict(allowed=False, reason="No."))
        first.said.set_result(Verdict(allowed=False, reason="No."))

        assert (await bench.finish()).text == "Both are decided."


def next_question(person: Person) -> Any:
    """The first question that was put to the daemon."""
    client = Client(home=person.home)
    after = 0
    try:
        while True:
            news = client.get("/v1/events", patience=PATIENCE, after=after, wait=10)
            for event in news["items"]:
                after = event["seq"]
                if event["type"] == "asked":
                    return person.show(event["inquiry"])
    finally:
        client.hang_up()


def watch_connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every connection that is made from here on."""
    made: list[Any] = []

    async def remember(*args: Any, **options: Any) -> Any:
        connection = await unix_connect(*args, **options)
        made.append(connection)
        return connection

    monkeypatch.setattr("upcall.agents.codex.link.unix_connect", remember)
    return made
