"""Late answers: sessions that have ended are brought back, once, and only those."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.runs.house import ANA, House, a_house, until_logged
from upcall.broker.broker import Policy, Reply
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Answered, Change, Inquiry
from upcall.domain.records import Happening, Job
from upcall.domain.roles import Caller, Role
from upcall.domain.run.api_errors import MOST_REFUSALS, awaited, next_try
from upcall.domain.run.run import RunState
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.tools import Tools
from upcall.home.saved_environments import SavedEnvironment, SavedEnvironments
from upcall.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.anyio
OVER = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)
WAITS = "tell(turn=True); hang()"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_house(tmp_path) as made:
        yield made


NO_SESSION = """
CREATE TRIGGER no_session BEFORE INSERT ON record WHEN NEW.kind = 'run' AND NEW.body NOT LIKE '%"session":""%'
BEGIN SELECT RAISE(ABORT, 'no room'); END
"""


@pytest.mark.promise("proof/27")
async def test_a_session_that_the_store_could_not_keep_at_first_is_kept_once_it_can(house: House) -> None:
    """Without its session a run cannot be brought back. Its program tells it once, and says nothing more."""
    house.sql(NO_SESSION)
    async with until_logged("how far it is cannot be written down"):
        run = await house.begin("hang()")
    house.sql("DROP TRIGGER no_session")
    asked = await house.ask(await house.until_session(run))
    os.kill(house.processes()[0], signal.SIGKILL)
    await house.until(run, lambda current: not current.alive)
    await house.answer(asked)
    assert (await house.until_state(run, *OVER)).result == "resumed"


@pytest.mark.promise("spec/3", "spec/101")
async def test_an_answer_brings_a_dead_session_back_once(house: House) -> None:
    """With what was asked, the options and the answer; the agent has it when its model speaks."""
    run = await house.until_session(await house.begin(WAITS))
    asked = await house.ask(run)
    os.kill(house.processes()[0], signal.SIGKILL)
    waiting = await house.until(run, lambda current: not current.alive)
    assert waiting.state is RunState.WAITING
    await house.answer(asked)
    over = await house.until_state(run, *OVER)
    assert (over.state, over.result, over.starts) == (RunState.COMPLETED, "resumed", 2)
    (heard,) = [str(line["heard"]) for line in house.output(run) if "heard" in line]
    for part in ("Which colour?", "Blue; Red", "The user answered: Red", "look at the state of your work"):
        assert part in heard
    settled = await house.store.get(asked.id)
    assert isinstance(settled.state, Answered)
    assert settled.state.collected_at is not None
    told = await house.runs.resume_state(asked.id)
    assert told is not None
    assert (told["state"], told["attempts"]) == ("done", 1)
    types = [event.type for event in await house.store.events(0)]
    assert types.index("forwarded") < types.index("collected")


NO_EVIDENCE = """
CREATE TRIGGER no_evidence BEFORE UPDATE ON inquiry BEGIN SELECT RAISE(ABORT, 'no room'); END
"""
ON = "while not Path('on').exists(): time.sleep(0.02)\n"
BADLY = "while not Path('end').exists(): time.sleep(0.02)\ntell(turn=True); os._exit(3)"
"""The model speaks once more; since the program then fails, its end proves nothing."""


async def is_delivered_once(house: House) -> None:
    house.sql(NO_EVIDENCE)
    async with until_logged("what it did cannot be written down"):
        (house.work / "on").touch()
    house.sql("DROP TRIGGER no_evidence")
    (house.work / "end").touch()
    seen = 0
    async with asyncio.timeout(30):
        while "collected" not in (types := [event.type for event in await house.store.events(seen, wait=30)]):
            seen += len(types)
    assert not await house.store.jobs("resume", "run:1")


async def test_an_answer_in_a_result_is_evidence_although_the_store_failed_at_that_moment(
    house: House,
) -> None:
    task = f"{ON}tell(returned='The user answered: Red'); tell(turn=True)\n{BADLY}"
    run = await house.until_session(await house.begin(task))
    asked = await house.ask(run)
    await house.answer(asked)
    await is_delivered_once(house)
    over = await house.until(run, lambda current: not current.alive)
    assert (over.state, over.starts) == (RunState.FAILED, 1)


async def test_a_resumed_session_is_told_once_although_the_store_failed_when_it_spoke(
    house: House,
) -> None:
    (house.work / "then.py").write_text(f"{ON}tell(turn=True)\n{BADLY}")
    run = await house.until_session(await house.begin(WAITS))
    asked = await house.ask(run)
    os.kill(house.processes()[0], signal.SIGKILL)
    await house.until(run, lambda current: not current.alive)
    await house.answer(asked)
    await house.until(run, lambda current: current.starts == 2)
    await is_delivered_once(house)
    over = await house.until(run, lambda current: not current.alive)
    assert (over.state, over.starts) == (RunState.FAILED, 2)


async def test_a_damaged_question_with_a_handed_environment_holds_up_no_run(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        damaged, over = await house.ask_as({"program": "plain"}), await house.ask_as({"program": "plain"})
        handovers = SavedEnvironments(house.home.path)
        for inquiry in (damaged, over):
            handovers.save(inquiry.id, SavedEnvironment(environment={}, arguments=[], whole=True))
        (house.home.path / "handed" / "notes of mine.json").touch()
        house.sql(f"UPDATE inquiry SET body = '{{}}' WHERE id = '{damaged.id}'")
    async with a_house(tmp_path, limit=1) as house:
        first = await house.until_session(await house.begin(WAITS))
        second = await house.begin("tell(result='done')")
        assert second.state is RunState.QUEUED
        await house.broker.cancel(over.id, Caller(name="ana", role=Role.ADMIN))
        await house.ask(first)
        await house.until_state(second, RunState.COMPLETED)
        assert handovers.inquiries() == [damaged.id]


def test_what_a_killed_pipe_has_begun_to_hand_over_is_removed_later(tmp_path: Path) -> None:
    handovers = SavedEnvironments(tmp_path)
    handovers.save("01a", SavedEnvironment(environment={"A": "b"}, arguments=[], whole=True))
    begun = tmp_path / "handed" / ".01b.json.77"
    begun.write_text("{")
    handovers.forget_unfinished(begun.stat().st_mtime)
    assert begun.exists()
    handovers.forget_unfinished(begun.stat().st_mtime + 1)
    assert [file.name for file in begun.parent.iterdir()] == ["01a.json"]


@pytest.mark.promise("spec/97")
async def test_a_live_agent_is_not_started_a_second_time(house: House) -> None:
    """Its answer waits for it, and is looked at again later."""
    run = await house.until_session(await house.begin("hang()"))
    asked = await house.ask(run, request_key="call-1")
    await house.answer(asked)
    (job,) = await house.store.jobs("resume", "run:1")
    async with asyncio.timeout(30):
        # Once claimed, and once put back.
        while (await house.store.jobs("resume", "run:1"))[0].fence < job.fence + 2:
            await house.store.events(await house.store.last_seq(), wait=0.05)
    (later,) = await house.store.jobs("resume", "run:1")
    assert later.due > job.due
    assert (await house.runs.get(1)).starts == 1


@pytest.mark.promise("spec/95")
async def test_a_tool_result_with_the_answer_is_evidence_and_nothing_is_resumed(house: House) -> None:
    task = "while not Path('go').exists(): time.sleep(0.02)\ntell(returned='The user answered: Red'); tell(result='ok')"
    run = await house.until_session(await house.begin(task))
    asked = await house.ask(run)
    await house.answer(asked)
    (house.work / "go").touch()
    over = await house.until_state(run, *OVER)
    assert (over.state, over.starts) == (RunState.COMPLETED, 1)
    assert await house.store.jobs("resume", "run:1") == []


@pytest.mark.promise("trust/65", "trust/66")
async def test_a_result_that_the_model_never_saw_is_no_evidence_and_the_service_is_tried_again(
    house: House,
) -> None:
    """The answer waits, over a restart as well, and a person can have it tried at once."""
    task = (
        "while not Path('go').exists(): time.sleep(0.02)\n"
        "tell(returned='The user answered: Red'); tell(result='overloaded', bad='api_error_529')"
    )
    run = await house.until_session(await house.begin(task))
    asked = await house.ask(run)
    await house.answer(asked)
    (house.work / "go").touch()
    waiting = await house.until(run, lambda current: current.next_try is not None)
    assert (waiting.state, waiting.refusals) == (RunState.WAITING, 1)
    assert waiting.read == house.folder(run).size()
    settled = await house.store.get(asked.id)
    assert isinstance(settled.state, Answered)
    assert settled.state.collected_at is None
    assert (await house.runs.retry(1, ANA)).number == 1
    over = await house.until_state(run, *OVER)
    assert (over.state, over.starts, over.refusals) == (RunState.COMPLETED, 2, 0)


@pytest.mark.promise("trust/66")
def test_pauses_grow_to_half_an_hour_and_go_on_for_hours() -> None:
    pauses = [next_try(refusals, 0.0) for refusals in range(1, MOST_REFUSALS + 1)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (15.0, 1800.0)
    assert sum(pauses) > 20 * 3600


@pytest.mark.parametrize(
    "reason", ["api_error_401", "api_error_429", "api_error_529", "api_error", "auth_required"]
)
def test_what_passes_is_waited_for(reason: str) -> None:
    assert awaited(reason) is not None


@pytest.mark.parametrize("reason", ["", "api_error_400", "api_error_413", "turn_failed", "exit_code 1"])
def test_what_does_not_pass_is_not_waited_for(reason: str) -> None:
    assert awaited(reason) is None


async def test_a_refusal_that_the_agent_has_heard_starts_nothing(house: House) -> None:
    task = "while not Path('go').exists(): time.sleep(0.02)\ntell(returned='no', call='call-1'); tell(result='ok')"
    run = await house.until_session(await house.begin(task))
    asked = await house.ask(run, request_key="call-1")
    assert (await house.broker.reject(asked.id, ANA)).accepted
    (house.work / "go").touch()
    over = await house.until_state(run, *OVER)
    assert (over.state, over.starts) == (RunState.COMPLETED, 1)


@pytest.mark.promise("spec/99")
async def test_what_was_settled_while_nobody_listened_is_found_by_the_next_daemon(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        run = await house.until_session(await house.begin(WAITS))
        asked = await house.ask(run)
        os.kill(house.processes()[0], signal.SIGKILL)
        await house.until(run, lambda current: not current.alive)
    store = await SqliteStore.open(house.home.database_file)
    await store.update(asked.id, _expire)
    await store.close()
    async with a_house(tmp_path) as house:
        over = await house.until_state(run, *OVER)
        assert (over.state, over.reason) == (RunState.FAILED, "input_timeout")


async def test_a_deferred_call_is_resumed_without_a_word(house: House) -> None:
    task = "while not Path('go').exists(): time.sleep(0.02)\ntell(deferred='call-7')"
    (house.work / "then.py").write_text(
        "tell(returned='Red', call='call-7'); tell(turn=True); tell(result='ok')"
    )
    run = await house.until_session(await house.begin(task))
    asked = await house.ask(run, request_key="call-7")
    (house.work / "go").touch()
    await house.until(run, lambda current: not current.alive)
    await house.answer(asked)
    over = await house.until_state(run, *OVER)
    assert (over.state, over.starts) == (RunState.COMPLETED, 2)
    assert {"heard": "nothing"} in house.output(run)


@pytest.mark.promise("poietai/18")
async def test_a_question_asked_at_the_end_is_answered_later(house: House) -> None:
    """The process is over and done; its answer brings it back all the same."""
    task = "while not Path('go').exists(): time.sleep(0.02)\ntell(result='waiting for an answer')"
    run = await house.until_session(await house.begin(task))
    asked = await house.ask(run)
    (house.work / "go").touch()
    waiting = await house.until(run, lambda current: not current.alive)
    assert (waiting.state, waiting.exit_code) == (RunState.WAITING, 0)
    await house.answer(asked)
    assert (await house.until_state(run, *OVER)).result == "resumed"


@pytest.mark.promise("spec/102")
async def test_a_session_that_cannot_be_resumed_fails_in_plain_sight(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a few attempts; the answer is kept, and trying again delivers it."""
    monkeypatch.setattr("upcall.runs.resume.PAUSES", (0.0,))
    (house.work / "then.py").write_text("os._exit(1)")
    run = await house.until_session(await house.begin(WAITS))
    asked = await house.ask(run)
    os.kill(house.processes()[0], signal.SIGKILL)
    await house.until(run, lambda current: not current.alive)
    await house.answer(asked)
    failed = await house.until_state(run, RunState.FAILED)
    assert failed.reason.startswith("resume_failed")
    assert failed.starts == 4
    told = await house.runs.resume_state(asked.id)
    assert told is not None
    assert (told["state"], told["attempts"]) == ("failed", 3)
    (house.work / "then.py").unlink()
    assert (await house.runs.retry(run.number, ANA)).number == run.number
    assert (await house.until_state(run, RunState.COMPLETED)).result == "resumed"


async def test_nobody_answers_and_the_run_says_so(house: House) -> None:
    """An answer by force brings it back after all."""
    run = await house.until_session(await house.begin(WAITS))
    asked = await house.ask(run)
    os.kill(house.processes()[0], signal.SIGKILL)
    await house.until(run, lambda current: not current.alive)
    expired = await house.store.update(asked.id, _expire)
    assert expired.inquiry.state_name == "expired"
    failed = await house.until_state(run, RunState.FAILED)
    assert failed.reason == "input_timeout"
    await house.answer(asked, force=True)
    assert (await house.until_state(run, RunState.COMPLETED)).result == "resumed"


@pytest.mark.promise("spec/97")
async def test_a_session_of_somebody_else_is_brought_back_once_its_pipe_is_gone(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While there is a pipe it is left alone; then it becomes a run of ours, and later answers find the same one."""
    monkeypatch.setattr("upcall.runs.resume.REUNION", 0.0)
    stranger = {
        "run": None,
        "program": "plain",
        "session": "s-9",
        "workspace": str(house.work),
        "agent": "local",
    }
    house.held.connect("plain:s-9")
    asked = await house.ask_as(stranger)
    await house.answer(asked)
    await house.store.hasten("resume", "session:plain:s-9", 0)
    assert (await house.runs.find()).items == ()
    house.held.disconnect("plain:s-9")
    adopted = await house.until_begun(1)
    over = await house.until_state(adopted, *OVER)
    assert (over.state, over.session, over.starts) == (RunState.COMPLETED, "s-9", 1)
    settled = await house.store.get(asked.id)
    assert isinstance(settled.state, Answered)
    assert settled.state.collected_at is not None
    await house.answer(await house.ask_as(stranger, "Two?"))
    assert (await house.until(over, lambda run: run.starts == 2)).number == 1


async def test_an_answer_that_a_pipe_hands_over_costs_the_resume_worker_no_look_at_the_store(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its job is dropped before it is due. Reading the store for each answer would slow down every wake."""
    monkeypatch.setattr("upcall.runs.resume.GRACE", 3600.0)
    looks: list[object] = []
    claim = house.store.claim

    async def counted(kinds: Sequence[str], **how: Any) -> Sequence[Job]:
        looks.append(kinds)
        return await claim(kinds, **how)

    monkeypatch.setattr(house.store, "claim", counted)
    house.held.connect("plain:s-9")
    stranger = {"run": None, "program": "plain", "session": "s-9", "agent": "local"}
    for number in range(20):
        asked = await house.ask_as(stranger, f"Question {number}?")
        await house.answer(asked)
        await house.broker.collect(asked.id, Caller(name="local", role=Role.AGENT), "acknowledged")
    # The worker looks by itself at most every half minute.
    assert len(looks) < 5


async def test_a_session_whose_run_was_forgotten_is_brought_back_as_a_new_run(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program may have given the session another name since, and then the run is forgotten under that."""
    monkeypatch.setattr("upcall.runs.resume.REUNION", 0.0)
    stranger = {
        "run": None,
        "program": "plain",
        "session": "s-9",
        "workspace": str(house.work),
        "agent": "local",
    }
    (house.work / "then.py").write_text("tell(session='s-10'); tell(turn=True); tell(result='resumed')")
    await house.answer(await house.ask_as(stranger))
    over = await house.until_state(await house.until_begun(1), *OVER)
    assert over.session == "s-10"
    assert await house.runs.prune(house.broker.now() + 1) == 1
    asked = await house.ask_as(stranger, "Two?")
    await house.answer(asked)
    again = await house.until_state(await house.until_begun(2), *OVER)
    assert again.state is RunState.COMPLETED
    assert "Two?" in str([line["heard"] for line in house.output(again) if "heard" in line])


@pytest.mark.promise("trust/67")
async def test_retrying_a_session_of_ones_own_tells_that_session_the_answer_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("upcall.runs.resume.REUNION", 0.0)
    (house.work / "then.py").write_text("tell(turn=True); tell(result='no', bad='error')")
    origin = {
        "run": None,
        "program": "plain",
        "session": "s-9",
        "workspace": str(house.work),
        "agent": "local",
    }
    await house.answer(await house.ask_as(origin))
    failed = await house.until_state(await house.until_begun(1), *OVER)
    assert failed.state is RunState.FAILED
    (house.work / "then.py").unlink()
    again = await house.runs.retry(1, ANA)
    assert again.number == 1
    over = await house.until_state(again, *OVER)
    assert (over.state, over.session, over.starts) == (RunState.COMPLETED, "s-9", 2)
    first, second = [str(line["heard"]) for line in house.output(over) if "heard" in line]
    assert "The user answered: Red" in first
    assert "The user answered: Red" in second
    assert len((await house.runs.find()).items) == 1


@pytest.mark.promise("spec/98")
async def test_an_answer_that_was_never_waited_for_by_a_known_program_starts_nothing(house: House) -> None:
    """A session of which we know neither program nor machine is not ours to start."""
    asked = await house.ask_as({"run": None, "runner": "", "session": "s-9"})
    await house.answer(asked)
    assert await house.store.next_due(["resume"], "here") is None


@pytest.mark.promise("spec/99")
async def test_a_session_is_brought_back_when_there_is_room_and_before_those_who_only_began(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path, limit=1) as house:
        run = await house.until_session(await house.begin(WAITS))
        asked = await house.ask(run)
        os.kill(house.processes()[0], signal.SIGKILL)
        await house.until(run, lambda current: not current.alive)
        busy = await house.until_session(await house.begin("hang()"))
        queued = await house.begin("tell(result='ok')")
        await house.answer(asked)
        (job,) = await house.store.jobs("resume", "run:1")
        async with asyncio.timeout(30):
            while (await house.store.jobs("resume", "run:1"))[0].fence < job.fence + 2:
                await house.store.events(await house.store.last_seq(), wait=0.05)
        assert (await house.runs.get(run.number)).starts == 1
        await house.runs.cancel(busy.number, ANA)
        await house.until_state(queued, *OVER)
        begun = [
            event.data["run"]
            for event in await house.store.events(0)
            if event.type in {"run_started", "run_resumed"}
        ]
        assert begun == [run.number, busy.number, run.number, queued.number]


async def test_two_answers_at_once_start_it_once(house: House) -> None:
    """Both are in what it is told."""
    run = await house.until_session(await house.begin(WAITS))
    first, second = await house.ask(run, "One?"), await house.ask(run, "Two?")
    os.kill(house.processes()[0], signal.SIGKILL)
    await house.until(run, lambda current: not current.alive)
    await asyncio.gather(*(house.broker.receive(each.id, Reply(text="Red"), ANA) for each in (first, second)))
    over = await house.until_state(run, *OVER)
    assert over.starts == 2
    (heard,) = [str(line["heard"]) for line in house.output(run) if "heard" in line]
    assert "One?" in heard
    assert "Two?" in heard


def _expire(inquiry: Inquiry) -> Change | None:
    return lifecycle.expire(inquiry, inquiry.expires_at)


@pytest.mark.promise("spec/34")
async def test_a_run_that_has_blocked_for_as_long_as_it_may_is_ended_and_its_question_stays(
    tmp_path: Path,
) -> None:
    """Under `on_block_end = "end_run"`; the answer brings it back, in the words of the settings."""
    async with a_house(tmp_path, resume_message="Asked {question} got {answer} {question}") as house:
        house.broker.policy = Policy(block_timeout=0.05, on_block_end="end_run")
        run = await house.until_session(await house.begin(WAITS))
        asker = Asker.of(run.caller, door="mcp-pipe", wait=60)
        parked = await Tools(house.broker, runner="here").call(
            "ask_human", {"question": "Red {answer}?"}, asker
        )
        assert parked.structured["status"] == "parked"
        over = await house.until(run, lambda current: not current.alive)
        assert (over.state, house.processes()) == (RunState.WAITING, [])
        asked = await house.store.get(str(parked.structured["id"]))
        assert asked.is_open
        await house.answer(asked, "{question}")
        await house.until_state(run, *OVER)
        (heard,) = [line["heard"] for line in house.output(run) if "heard" in line]
        assert heard == "Asked Red {answer}? got {question} Red {answer}?"


async def test_a_run_that_was_answered_at_the_last_moment_is_not_ended(house: House) -> None:
    run = await house.until_session(await house.begin(WAITS))
    asked = await house.ask(run)
    await house.answer(asked)
    await house.store.record(Happening(type="block_ended", at=0.0, data={}, inquiry=asked.id))
    other = await house.ask(run, "And now?")
    await house.until_state(run, RunState.WAITING)
    assert (await house.runs.get(run.number)).alive
    assert other.is_open
