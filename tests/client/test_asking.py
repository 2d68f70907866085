"""What a program can say with a question, and what it may expect of asking."""

import gc
import threading
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

import upcall
from tests.client.program import Crew
from tests.web.house import until

MANY = 1000


@pytest.mark.promise("programs/9")
async def test_everything_that_is_said_with_a_question_reaches_the_person(crew: Crew, tmp_path: Path) -> None:
    plan = tmp_path / "plan.txt"
    plan.write_text("drop the index first")

    parked = await crew.asker.ask(
        "Which cache?",
        options=[upcall.Option(label="Redis", description="has pub/sub", recommended=True), "Memcached"],
        header="Cache",
        multi=True,
        custom=False,
        context="Sessions need **one**.",
        attach=[plan, upcall.Attachment(name="shot.png", content=b"\x89PNG")],
        labels=["infra"],
        workspace="/srv/shop",
        session="nightly",
        key="call-17",
        ttl="2h",
        default="Redis",
        timeout=0,
    )

    shown = await crew.ana.get(parked.ref)
    (question,) = shown["questions"]
    assert question == {
        "header": "Cache",
        "question": "Which cache?",
        "options": [
            {"label": "Redis", "description": "has pub/sub", "recommended": True},
            {"label": "Memcached", "description": ""},
        ],
        "multiSelect": True,
        "custom": False,
    }
    assert [(each["name"], each["media_type"], each["size"]) for each in shown["attachments"]] == [
        ("plan.txt", "text/plain", 20),
        ("shot.png", "image/png", 4),
    ]
    said = [shown[name] for name in ("context", "labels", "workspace", "session", "request_key", "default")]
    assert said == ["Sessions need **one**.", ["infra"], "/srv/shop", "nightly", "call-17", "Redis"]


@pytest.mark.promise("programs/9")
async def test_a_question_of_a_thread_stands_in_its_thread(crew: Crew) -> None:
    parked = await crew.asker.ask("Which cache?", thread="sprint-12", timeout=0)

    assert (await crew.ana.get(parked.ref))["thread"] == "sprint-12"


async def test_several_questions_are_asked_together_and_answered_each(crew: Crew) -> None:
    questions = [
        upcall.Question(question="Which cache?", options=["Redis", "Memcached"]),
        upcall.Question(question="Which checks?", options=["lint", "tests"], multi=True),
    ]

    async def fill_in(ref: str) -> None:
        await crew.house.post("ana", f"{ref}/answer", answers=[["Redis"], ["lint", "tests"]])

    answer = await crew.outcome_of(partial(crew.asker.ask, questions), fill_in)

    assert isinstance(answer, upcall.Answered)
    assert answer.values == (("Redis",), ("lint", "tests"))
    assert answer.text == "Redis\nlint, tests"


@pytest.mark.promise("programs/6")
async def test_the_same_key_rejoins_the_question_and_gets_the_stored_answer(crew: Crew) -> None:
    first = await crew.asker.ask("Which cache?", key="call-17", timeout=0)
    await crew.ana.answer(first.ref, "Redis")

    again = await crew.asker.ask("Which cache?", key="call-17")

    assert isinstance(again, upcall.Answered)
    assert (again.id, again.text) == (first.id, "Redis")


@pytest.mark.promise("programs/9")
async def test_the_progress_callback_is_told_that_the_question_is_asked(crew: Crew) -> None:
    told: list[upcall.Progress] = []

    async def note(progress: upcall.Progress) -> None:
        told.append(progress)

    answer = await crew.outcome_of(
        partial(crew.asker.ask, "Which cache?", progress=note), lambda ref: crew.ana.answer(ref, "Redis")
    )

    assert [(each.stage, each.inquiry["ref"]) for each in told] == [("asked", answer.ref)]
    await crew.asker.ask("And then?", timeout=0, progress=told.append)
    assert told[-1].inquiry["questions"][0]["question"] == "And then?"


@pytest.mark.promise("programs/33")
async def test_a_thousand_questions_wait_at_once_without_a_thread_each(crew: Crew) -> None:
    verdicts: dict[int, upcall.Verdict] = {}

    async def put(number: int) -> None:
        verdicts[number] = await crew.asker.approve("bash", {"command": f"make {number}"})

    before = threading.active_count()
    async with anyio.create_task_group() as tasks:
        for number in range(MANY):
            tasks.start_soon(put, number)
        with anyio.fail_after(100):
            while crew.house.broker.waiting < MANY:  # noqa: ASYNC110 - it tells no one when it changes
                await anyio.sleep(0.01)
        assert threading.active_count() - before < 10
        waiting = [each["id"] async for each in crew.ana.find(state="open")]
        for some in range(0, MANY, 200):
            decided = {"inquiries": waiting[some : some + 200], "decision": "approve"}
            await crew.house.as_("ana").post("/v1/decisions", json=decided)

    assert len(verdicts) == MANY
    for number, verdict in verdicts.items():
        assert isinstance(verdict, upcall.Allowed)
        assert verdict.outcome is not None
        assert verdict.outcome.inquiry["questions"][0]["question"] == f"make {number}"


@pytest.mark.promise("programs/4")
async def test_the_client_searches_pages_and_streams(crew: Crew) -> None:
    heard: list[Any] = []

    async def listen() -> None:
        async for event in crew.asker.events():
            heard.append(event)  # noqa: PERF401 - the list is looked at while this goes on

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        for number in range(3):
            await crew.asker.ask(f"Which port for web{number}?", timeout=0)
        await crew.house.asked("painter", question="Which port for me?")
        await until(lambda: len(heard) >= 3)
        tasks.cancel_scope.cancel()

    assert [each["type"] for each in heard] == ["asked"] * 3, "an agent hears of its own"
    found = [each["questions"][0]["question"] async for each in crew.asker.find("port web1")]
    assert found == ["Which port for web1?"]
    from_the_first = crew.ana.events(after=0)
    assert (await anext(from_the_first))["seq"] == 1
    await from_the_first.aclose()


@pytest.mark.promise("programs/4")
async def test_the_blocking_twin_asks_approves_and_reads(crew: Crew) -> None:
    told: list[upcall.Progress] = []

    def program() -> list[Any]:
        with upcall.sync.Client(crew.house.url, crew.house.secrets["builder"]) as broker:
            parked = broker.ask("Which cache?", key="call-17", timeout=0)
            ended = broker.withdraw(parked.ref)
            verdict = broker.approve("bash", {"command": "ls"}, timeout=0)
            refs = [each["ref"] for each in broker.find(state="open")]
            types = [next(events)["type"] for events in [broker.events(after=0)] for _ in range(2)]
            return [
                parked,
                ended,
                verdict,
                refs,
                types,
                broker.get(parked.ref),
                broker.wait(parked.ref, progress=told.append),
            ]

    parked, ended, verdict, refs, types, read, waited = await anyio.to_thread.run_sync(program)

    assert isinstance(parked, upcall.Parked)
    assert isinstance(ended, upcall.Cancelled)
    assert isinstance(verdict, upcall.Denied)
    assert refs == [verdict.outcome.ref]
    assert types == ["asked", "cancelled"]
    assert read["state"] == "cancelled"
    assert waited == ended
    assert [each.stage for each in told] == ["asked"]


async def test_the_blocking_twin_hangs_up_where_its_block_ends_with_an_error(crew: Crew) -> None:
    def program() -> None:
        with (
            suppress(LookupError),
            upcall.sync.Client(crew.house.url, crew.house.secrets["builder"]) as broker,
        ):
            list(broker.find())
            raise LookupError

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        await anyio.to_thread.run_sync(program)
        gc.collect()
    assert [str(each.message) for each in told] == []


def test_the_blocking_twin_says_that_it_has_to_be_opened() -> None:
    with pytest.raises(RuntimeError, match=r"with upcall\.sync\.Client\(\) as broker"):
        upcall.sync.Client("http://127.0.0.1:1", "token").get("a7")


async def test_the_blocking_twin_answers_with_a_persons_token(crew: Crew) -> None:
    first, second = [(await crew.house.asked())["ref"] for _ in range(2)]

    def person() -> list[Any]:
        with upcall.sync.Client(crew.house.url, crew.house.secrets["ana"]) as ana:
            return [ana.answer(first, "Redis"), ana.reject(second, "not now")]

    answered, rejected = await anyio.to_thread.run_sync(person)

    assert (answered.text, rejected.reason) == ("Redis", "not now")
