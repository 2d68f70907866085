"""Runs from their beginning to their end."""

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from select import select

import pytest

from tests.runs.house import ANA, House, a_house, until_logged
from upcall.broker.broker import Reply
from upcall.domain.errors import InvalidRequest, NotAllowed, RunConflict, UnknownRun
from upcall.domain.inquiry.inquiry import Answered
from upcall.domain.roles import Caller, Role
from upcall.domain.run.program import Action
from upcall.domain.run.run import RunState
from upcall.ports.runs import LogLine
from upcall.ports.store import Query
from upcall.runs.process.folder import ERRORS, RunFolder

pytestmark = pytest.mark.anyio
OVER = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)
WAITS = "tell(turn=True); hang()"
FULL = """
import resource
tell(turn=True)
Path("go").read_text()
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (0, most))
tell(result="done")
"""


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_house(tmp_path) as made:
        yield made


async def test_a_task_is_worked_on_and_its_result_is_the_agents_own_word(house: House) -> None:
    run = await house.begin("tell(turn=True); tell(said='Hm.'); tell(turn=True); tell(result='done')")
    assert (run.number, run.by) == (1, "ana")
    over = await house.until_state(run, *OVER)
    assert (over.state, over.result, over.turns, over.exit_code) == (RunState.COMPLETED, "done", 2, 0)
    assert over.session
    page = await house.runs.log(1, 0)
    assert [line.text for line in page.lines] == [over.session, "Hm.", "done"]
    rest = await house.runs.log(1, page.next_after)
    assert (rest.lines, rest.over) == ((), True)


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ("os._exit(3)", "exit_code 3"),
        ("os.kill(os.getpid(), 9)", "signal SIGKILL"),
        ("tell(result='I could not', bad='max_turns')", "max_turns"),
    ],
)
async def test_why_a_run_failed_is_read_from_its_end(house: House, task: str, reason: str) -> None:
    over = await house.until_state(await house.begin(task), *OVER)
    assert (over.state, over.reason) == (RunState.FAILED, reason)


async def test_the_log_of_a_run_that_failed_ends_with_its_complaints(house: House) -> None:
    task = "tell(said='I try'); sys.stderr.write('no credit left\\n'); sys.exit(3)"
    run = await house.until_state(await house.begin(task), *OVER)
    lines, after, over = list[LogLine](), 0, False
    while not over:
        page = await house.runs.log(run.number, after)
        lines, after, over = [*lines, *page.lines], page.next_after, page.over
    assert [(line.kind, line.text) for line in lines][-2:] == [
        ("said", "I try"),
        ("stderr", "no credit left"),
    ]
    assert all(line.kind == "raw" for line in (await house.runs.log(run.number, 0, raw=True)).lines)


async def test_what_an_agent_writes_by_mistake_does_no_harm(house: House) -> None:
    run = await house.begin("print('not json'); print('{', end='', flush=True); tell(result='ok')")
    over = await house.until_state(run, *OVER)
    assert over.state is RunState.COMPLETED
    assert (await house.runs.log(1, 0)).lines[1].text == "not json"


async def test_a_last_line_that_was_cut_off_is_no_result(house: House) -> None:
    """It is shown as it is; how the run ended is read from its exit code."""
    cut = 'sys.stdout.write(\'{"result": "ok\'); sys.stdout.flush(); os._exit(3)'
    run = await house.begin(cut)
    over = await house.until_state(run, *OVER)
    assert (over.state, over.reason, over.result) == (RunState.FAILED, "exit_code 3", "")
    assert '{"result": "ok' in [line.text for line in (await house.runs.log(run.number, 0)).lines]


@pytest.mark.promise("spec/105")
async def test_cancelling_ends_everything_that_the_agent_has_started(house: House) -> None:
    """Also what ignores being asked to, and what has left its group."""
    stubborn = "import signal, os; os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
    run = await house.begin(
        f"child({stubborn!r}); child('import signal; signal.pause()'); tell(turn=True); hang()"
    )
    await house.until(run, lambda current: current.turns == 1)
    assert len(house.processes()) >= 3
    asked = await house.ask(run)
    await house.runs.cancel(run.number, ANA)
    over = await house.until_state(run, *OVER)
    assert (over.state, over.reason) == (RunState.CANCELLED, "cancelled by ana")
    assert house.processes() == []
    assert (await house.broker.wait(asked, 5)).state_name == "cancelled"
    with pytest.raises(RunConflict):
        await house.runs.cancel(run.number, ANA)


async def test_no_more_runs_than_allowed_work_at_once(tmp_path: Path) -> None:
    """A run that waits for a person does not count towards the limit."""
    async with a_house(tmp_path, limit=1) as house:
        first, second = await house.begin(WAITS), await house.begin("tell(result='second')")
        await house.until_session(first)
        assert (await house.runs.get(second.number)).state is RunState.QUEUED
        await house.ask(first)
        await house.until_state(second, RunState.COMPLETED)
        assert (await house.runs.get(first.number)).state is RunState.WAITING


@pytest.mark.promise("spec/106")
async def test_a_run_waits_while_its_question_is_open(house: House) -> None:
    run = await house.until_session(await house.begin(WAITS))
    asked = await house.ask(run)
    await house.until_state(run, RunState.WAITING)
    await house.answer(asked)
    assert (await house.until_state(run, RunState.RUNNING)).alive


async def test_runs_that_begin_together_are_each_started_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the supervisor checks whether a keeper is lost."""
    monkeypatch.setattr("upcall.runs.process.supervise.CHECK_EVERY", 0.01)
    async with a_house(tmp_path, limit=5) as house:
        runs = await asyncio.gather(*[house.begin("tell(turn=True); tell(result='ok')") for _ in range(5)])
        for run in runs:
            over = await house.until_state(run, *OVER)
            assert (over.state, over.starts) == (RunState.COMPLETED, 1)


async def test_the_next_daemon_goes_on_with_a_live_agent(tmp_path: Path) -> None:
    """It is never ended, started again or read twice."""
    task = "tell(turn=True)\nwhile not Path('go').exists(): time.sleep(0.02)\ntell(turn=True); tell(result='done')"
    async with a_house(tmp_path, end=False) as house:
        run = await house.begin(task)
        await house.until(run, lambda current: current.turns == 1)
    async with a_house(tmp_path) as house:
        assert (await house.runs.get(run.number)).alive
        (house.work / "go").touch()
        over = await house.until_state(run, *OVER)
        assert (over.state, over.turns, over.starts) == (RunState.COMPLETED, 2, 1)


async def test_an_agent_that_ended_without_a_daemon_is_settled_by_the_next_one(tmp_path: Path) -> None:
    task = "while not Path('go').exists(): time.sleep(0.02)\ntell(turn=True); tell(result='done alone')"
    async with a_house(tmp_path, end=False) as house:
        run = await house.until_session(await house.begin(task))
    (house.work / "go").touch()
    await house.until_let_go(run)
    async with a_house(tmp_path) as house:
        over = await house.until_state(run, *OVER)
        assert (over.state, over.result, over.turns) == (RunState.COMPLETED, "done alone", 1)


async def test_a_run_is_settled_although_a_daemon_was_killed_in_the_middle_of_that(tmp_path: Path) -> None:
    task = "while not Path('go').exists(): time.sleep(0.02)\ntell(turn=True); tell(result='done alone')"
    async with a_house(tmp_path, end=False) as house:
        run = await house.until_session(await house.begin(task))
    (house.work / "go").touch()
    await house.until_let_go(run)
    # What the process was given is removed first, and then the book says that it has ended.
    house.folder(run).forget_start()
    async with a_house(tmp_path) as house:
        over = await house.until_state(run, *OVER)
        assert (over.state, over.result, over.exit_code) == (RunState.COMPLETED, "done alone", 0)


async def test_a_run_is_settled_once_the_store_can_be_written_again(house: House) -> None:
    task = "tell(turn=True)\nwhile not Path('go').exists(): time.sleep(0.02)\ntell(result='done')"
    run = await house.until(await house.begin(task), lambda current: current.turns == 1)
    house.sql(
        "CREATE TRIGGER no_runs BEFORE INSERT ON record WHEN new.kind = 'run' "
        "BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )
    async with until_logged("follow run 1 failed"):
        (house.work / "go").touch()
    house.sql("DROP TRIGGER no_runs")
    over = await house.until_state(run, *OVER)
    assert (over.state, over.result, over.turns) == (RunState.COMPLETED, "done", 1)


async def test_without_a_daemon_for_too_long_the_agent_is_ended(tmp_path: Path) -> None:
    async with a_house(tmp_path, end=False, orphan_grace=0.2) as house:
        run = await house.until_session(await house.begin(WAITS))
    await house.until_let_go(run)
    assert house.processes() == []


async def test_without_a_daemon_for_too_long_the_agent_is_ended_on_a_full_disk_too(tmp_path: Path) -> None:
    async with a_house(tmp_path, end=False, orphan_grace=0.2) as house:
        folder = RunFolder(house.home.path / "runs" / "1")
        folder.create()
        folder.segment(0, ERRORS).symlink_to("/dev/full")
        run = await house.until_session(await house.begin(WAITS))
    await house.until_let_go(run)
    assert house.processes() == []


async def test_what_an_agent_says_at_its_end_on_a_full_disk_is_kept_when_there_is_room(house: House) -> None:
    os.mkfifo(house.work / "go")
    run = await house.begin(FULL)
    await house.until(run, lambda current: current.turns == 1)
    (agent,) = house.processes()
    keeper, ended = _parent(agent), os.pidfd_open(agent)
    await asyncio.to_thread((house.work / "go").write_text, "")
    await asyncio.to_thread(select, [ended], [], [])
    os.close(ended)
    assert house.folder(run).read_exit() is None
    resource.prlimit(keeper, resource.RLIMIT_FSIZE, resource.getrlimit(resource.RLIMIT_FSIZE))
    over = await house.until_state(run, *OVER)
    assert (over.state, over.result) == (RunState.COMPLETED, "done")


async def test_a_keeper_that_is_killed_takes_its_agent_with_it(house: House) -> None:
    run = await house.until_session(await house.begin(WAITS))
    (agent,) = house.processes()
    os.kill(_parent(agent), signal.SIGKILL)
    over = await house.until_state(run, *OVER)
    assert (over.state, over.reason) == (RunState.FAILED, "signal SIGKILL")
    assert house.processes() == []


@pytest.mark.promise("spec/108")
async def test_a_session_is_not_free_while_something_of_it_survives_its_keeper(house: House) -> None:
    """The agent dies with its keeper, and what it has started does not: it may be the program's other half."""
    task = f"child('import signal; signal.pause()'); {WAITS}"
    run = await house.until_session(await house.begin(task))
    await house.until(run, lambda current: current.turns == 1)
    agent, child = sorted(house.processes())
    os.kill(_parent(agent), signal.SIGKILL)
    async with asyncio.timeout(30):
        while agent in house.processes():
            await house.store.events(await house.store.last_seq(), wait=0.02)
    assert house.folder(run).is_locked()
    assert (await house.runs.get(run.number)).alive
    os.kill(child, signal.SIGKILL)
    over = await house.until_state(run, *OVER)
    assert over.reason == "signal SIGKILL"


async def test_what_is_said_to_a_live_agent_is_heard_at_the_end_of_its_turn(house: House) -> None:
    task = "while not Path('go').exists(): time.sleep(0.02)\ntell(result='first')"
    run = await house.until_session(await house.begin(task))
    assert await house.runs.say(run.number, "Use tabs.", ANA) == "queued"
    (house.work / "go").touch()
    await house.until(run, lambda current: current.starts == 2)
    assert (await house.until_state(run, *OVER)).result == "resumed"
    assert {"heard": "Use tabs."} in house.output(run)
    assert await house.runs.say(run.number, "And more.", ANA) == "resumed"
    await house.until(run, lambda current: current.starts == 3)
    await house.until_state(run, *OVER)


async def test_a_run_that_was_cancelled_ends_whatever_is_said_to_it(house: House) -> None:
    """Its program may take its time to go; once it has, a word brings the run back."""
    stubborn = "import signal; signal.signal(signal.SIGTERM, lambda *_: None); tell(turn=True); hang()"
    run = await house.begin(stubborn)
    await house.until(run, lambda current: current.turns == 1)
    await house.runs.cancel(run.number, ANA)
    with pytest.raises(RunConflict, match="cancelled by ana and is about to end") as refused:
        await house.runs.say(run.number, "Hello?", ANA)
    assert refused.value.hint == "say it again when it has ended: that brings the run back"
    over = await house.until_state(run, *OVER)
    assert (over.state, over.starts, over.messages) == (RunState.CANCELLED, 1, ())
    assert await house.runs.say(run.number, "Go on.", ANA) == "resumed"
    assert (await house.until_state(run, RunState.COMPLETED)).result == "resumed"


async def test_a_failed_run_is_tried_again_as_a_new_one(house: House) -> None:
    run = await house.until_state(await house.begin("os._exit(1)", arguments=("--fast",)), RunState.FAILED)
    again = await house.runs.retry(run.number, ANA)
    assert (again.number, again.retry_of, again.task) == (2, 1, run.task)
    assert run.arguments == again.arguments == ("--quiet", "--fast")
    await house.until_state(again, RunState.FAILED)


@pytest.mark.promise("trust/93")
async def test_a_run_is_tried_again_and_told_once_for_each_key(house: House) -> None:
    run = await house.until_state(await house.begin("tell(session='s-9'); os._exit(1)"), RunState.FAILED)
    again = await house.runs.retry(run.number, ANA, "k1")
    assert (await house.runs.retry(run.number, ANA, "k1")).number == again.number
    assert (await house.runs.retry(run.number, ANA, "k2")).number == again.number + 1
    assert await house.runs.say(run.number, "Go on.", ANA, "k1") == "resumed"
    assert await house.runs.say(run.number, "Go on.", ANA, "k1") == "repeated"
    await house.until_state(run, RunState.COMPLETED)
    assert house.output(run).count({"heard": "Go on."}) == 1


@pytest.mark.promise("spec/132")
async def test_a_run_never_has_a_persons_credentials(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPCALL_TOKEN", "upcall_admin_secret")
    run = await house.begin("tell(result=os.environ['UPCALL_TOKEN'][:11] + os.environ['UPCALL_RUN'])")
    assert (await house.until_state(run, *OVER)).result == "upcall_run_1"


async def test_the_token_of_a_run_lets_it_ask_while_it_lives(house: House) -> None:
    run = await house.until_session(await house.begin(WAITS))
    secret = house.folder(run).token()
    caller = house.access.identify(secret)
    assert (caller.role, caller.run, caller.name) == (Role.AGENT, 1, "plain")


async def test_bad_orders_are_refused(house: House) -> None:
    for wrong in ({"cwd": "/does/not/exist"}, {"cwd": "relative"}):
        with pytest.raises(InvalidRequest):
            await house.begin("tell()", **wrong)
    with pytest.raises(InvalidRequest):
        await house.begin("  ")
    with pytest.raises(NotAllowed):
        await house.runs.retry(1, Caller(name="bot", role=Role.AGENT))
    for act in (house.runs.cancel, house.runs.retry):
        with pytest.raises(UnknownRun):
            await act(99, ANA)
    with pytest.raises(InvalidRequest):
        await house.runs.find(state="bored")


async def test_a_session_is_left_alone_for_as_long_as_its_program_wants(tmp_path: Path) -> None:
    """Whether an answer brings it back or a person has something to say."""
    async with a_house(tmp_path, rest=1.5) as house:
        run = await house.until_session(await house.begin(WAITS))
        asked = await house.ask(run)
        os.kill(house.processes()[0], signal.SIGKILL)
        await house.until(run, lambda current: not current.alive)
        await house.answer(asked)
        await house.store.hasten("resume", "run:1", house.broker.now())
        told = await house.until_state(await house.begin("tell(result='done')"), RunState.COMPLETED)
        assert await house.runs.say(told.number, "Go on", ANA) == "resumed"
        for each in (run, told):
            await house.until(each, lambda current: current.starts == 2)
        events = [event for event in await house.store.events(0) if event.type == "run_resumed"]
        resumed_at = {event.data["run"]: event.at for event in events}
        for each in (run, told):
            assert resumed_at[each.number] >= (each.started_at or 0) + 1.5


async def test_what_people_say_is_heard_however_the_next_process_comes_about(tmp_path: Path) -> None:
    """To a run that is queued, it is said after its task; to one that dies, together with the answer."""
    async with a_house(tmp_path, limit=1) as house:
        run = await house.until_session(await house.begin(WAITS))
        queued = await house.begin("tell(result='task')")
        for each in (run, queued):
            await house.runs.say(each.number, "Use the new API.", ANA)
        asked = await house.ask(run)
        os.kill(house.processes()[0], signal.SIGKILL)
        await house.until(run, lambda current: not current.alive)
        await house.answer(asked)
        for each in (run, queued):
            over = await house.until_state(each, RunState.COMPLETED)
            assert (over.starts, over.messages) == (2, ())
        (heard,) = [str(line["heard"]) for line in house.output(run) if "heard" in line]
        assert "The user answered: Red" in heard
        assert "Use the new API." in heard
        assert [line.get("heard") for line in house.output(queued)][-3] == "Use the new API."


async def test_a_denial_stands_until_a_person_speaks_to_the_run(house: House) -> None:
    run = await house.until_session(await house.begin(WAITS))
    desk, push = house.desk(run), Action(tool="Bash", input={"command": "git push"})
    await desk.approve(push, "1", wait=0)
    (asked,) = (await house.store.find(Query(state="open"))).items
    await house.broker.receive(asked.id, Reply(text="deny"), ANA)
    assert not (await desk.approve(push, "2", wait=0)).open
    await house.runs.say(run.number, "Push it after all.", ANA)
    os.kill(house.processes()[0], signal.SIGKILL)
    await house.until_state(run, RunState.COMPLETED)
    assert (await desk.approve(push, "3", wait=0)).open


async def test_an_approval_that_a_cancelled_run_wanted_is_denied(house: House) -> None:
    run = await house.until_session(await house.begin(WAITS))
    asking = asyncio.create_task(
        house.desk(run).approve(Action(tool="Bash", input={"command": "git push"}), "1")
    )
    await house.until_state(run, RunState.WAITING)
    await house.runs.cancel(run.number, ANA)
    verdict = await asking
    assert (verdict.allowed, verdict.open) == (False, False)
    settled = await house.store.get(verdict.inquiry)
    assert isinstance(settled.state, Answered)
    assert settled.state.closing.reason == "run_cancelled"


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
