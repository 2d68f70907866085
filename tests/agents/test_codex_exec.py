"""The real `codex exec` with a scripted model, started and resumed as the adapter says."""

import time
from collections.abc import Sequence

from tests.agents.codex_bench import door_to
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CODEX, Desk
from tests.agents.script import Call, Refuse, Say, say_back
from tests.agents.work import Work
from upcall.agents.codex.adapter import Codex
from upcall.domain.run.program import (
    Command,
    Finished,
    Noticed,
    Permission,
    Session,
    SessionSeen,
    Spent,
    Task,
    ToolCalled,
    ToolReturned,
)

CACHE = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Memcached"}]}
ASK = "mcp__upcall__ask_human"


def a_task(desk: Desk, person: Person, *arguments: str) -> Task:
    return Task(
        prompt="Set up the cache.",
        cwd=str(desk.work),
        door=door_to(person.home),
        session="",
        permission=Permission.AUTONOMOUS,
        arguments=arguments,
    )


def start(desk: Desk, command: Command) -> Work:
    assert command.argv[0] == "codex"
    return desk.start(CODEX, *command.argv[1:], stdin=command.stdin, **command.environment)


def noticed_in(work: Work) -> Sequence[Noticed]:
    reader = Codex().reader()
    return [noticed for line in work.lines for noticed in reader.notice(line)]


def session_in(noticed: Sequence[Noticed]) -> str:
    return next(each.id for each in noticed if isinstance(each, SessionSeen))


def test_a_question_is_answered_and_seen_in_the_stream(model: Model, desk: Desk, person: Person) -> None:
    model.play(Call("ask_human", CACHE), say_back)
    work = start(desk, Codex().start(a_task(desk, person)))
    question = person.next_question(work)
    person.answer(question["ref"], "2")
    assert work.finish().code == 0, work.report()

    noticed = noticed_in(work)
    call = next(each for each in noticed if isinstance(each, ToolCalled))
    assert (call.name, call.input["question"]) == (ASK, "Which cache?")
    assert ToolReturned(id=call.id, text="The user answered: Memcached") in noticed
    assert Spent(input_tokens=200, output_tokens=14) in noticed
    end = noticed[-1]
    assert isinstance(end, Finished)
    assert end.ok
    assert "Memcached" in end.text


def test_an_answer_that_comes_too_late_for_a_killed_process_resumes_it(
    model: Model, desk: Desk, person: Person
) -> None:
    model.play(Call("ask_human", CACHE))
    task = a_task(desk, person)
    work = start(desk, Codex().start(task))
    person.next_question(work)
    work.kill()
    work.finish()
    session = session_in(noticed_in(work))

    model.play(Say("Redis it is."))
    back = Session(
        id=session, cwd=task.cwd, door=task.door, permission=task.permission, arguments=task.arguments
    )
    again = start(desk, Codex().resume(back, "The user answered: Redis\nGo on."))
    assert again.finish().code == 0, again.report()

    noticed = noticed_in(again)
    assert session_in(noticed) == session
    assert noticed[-1] == Finished(ok=True, text="Redis it is.")
    assert model.conversations[-1].prompts[-1] == "The user answered: Redis\nGo on."


def test_a_call_outlasts_the_limit_of_the_users_own_settings(
    model: Model, desk: Desk, person: Person
) -> None:
    limit = 1
    with (desk.home / ".codex/config.toml").open("a") as settings:
        settings.write(f"\n[mcp_servers.upcall]\ncommand = 'false'\ntool_timeout_sec = {limit}\n")
    model.play(Call("ask_human", CACHE), say_back)
    work = start(desk, Codex().start(a_task(desk, person)))
    question = person.next_question(work)
    time.sleep(limit + 0.5)  # not to wait for something, but to have waited for longer than that
    person.answer(question["ref"], "1")

    assert work.finish().code == 0, work.report()
    assert "Redis" in model.conversations[-1].results[-1]


def test_a_call_is_given_up_when_its_limit_is_lowered_again(model: Model, desk: Desk, person: Person) -> None:
    # That the limit above is real: without ours, it holds.
    model.play(Call("ask_human", CACHE), say_back)
    lowered = ("-c", "mcp_servers.upcall.tool_timeout_sec=1")
    work = start(desk, Codex().start(a_task(desk, person, *lowered)))

    assert work.finish().code == 0, work.report()
    assert "timed out" in model.conversations[-1].results[-1]


def test_commands_can_write_where_the_work_is_and_nowhere_else(
    model: Model, desk: Desk, person: Person
) -> None:
    model.play(Call("exec_command", {"cmd": f"touch here; touch '{desk.home}/.codex/there'"}), say_back)
    work = start(
        desk, Codex().start(a_task(desk, person, "-c", "sandbox_workspace_write.exclude_slash_tmp=true"))
    )

    assert work.finish().code == 0, work.report()
    assert (desk.work / "here").exists()
    assert not (desk.home / ".codex/there").exists()


def test_a_failure_is_told_in_the_programs_own_words(model: Model, desk: Desk, person: Person) -> None:
    model.play(Refuse(400, "the model is on holiday"))
    work = start(desk, Codex().start(a_task(desk, person)))

    assert work.finish().code == 1
    end = noticed_in(work)[-1]
    assert isinstance(end, Finished)
    assert (end.ok, end.reason) == (False, "turn_failed")
    assert "the model is on holiday" in end.text
