"""Runs over HTTP: people start and steer them, an agent sees the one it belongs to and nothing else."""

from typing import Any

import anyio
import httpx2
import pytest

from tests.web.house import CHOICE, House, code, message, until
from upcall.access.tokens import digest
from upcall.domain.roles import Caller, Role
from upcall.domain.run.program import Permission
from upcall.domain.run.run import Order, RunState
from upcall.ports.store import Page, Query

ORDER: dict[str, Any] = {"agent": "scripted", "task": "Fix the flaky test", "cwd": "/srv/shop"}
STEERING = ["cancel", "retry", "say", "attach"]


async def begun(house: House, by: str = "ana", **more: Any) -> dict[str, Any]:
    response = await house.as_(by).post("/v1/runs", json=ORDER | more)
    assert response.status_code == 201, response.text
    document: dict[str, Any] = response.json()
    return document


def lent(house: House, run: int, name: str = "scripted") -> str:
    """A caller with the token of a run."""
    secret = f"of-run-{run}"
    house.access.lend(digest(secret), Caller(name=name, role=Role.AGENT, run=run))
    house.secrets[secret] = secret
    return secret


async def asked_by(house: House, agent: str) -> dict[str, Any]:
    return await house.asked(agent, **CHOICE)


async def test_a_person_starts_a_run(house: House) -> None:
    run = await begun(house)
    assert run == {
        "number": 1,
        "agent": "scripted",
        "task": "Fix the flaky test",
        "cwd": "/srv/shop",
        "state": "running",
        "reason": "",
        "result": "",
        "session": "",
        "permission": "approval",
        "arguments": [],
        "by": "ana",
        "runner": "here",
        "turns": 0,
        "tool": "",
        "cost": None,
        "tokens": {"input": None, "output": None},
        "created_at": "2027-01-15T08:00:00.000Z",
        "started_at": "2027-01-15T08:00:01.000Z",
        "ended_at": None,
        "exit_code": None,
        "inquiries": [],
        "retry_of": None,
        "next_try": None,
    }
    assert (await house.as_("ben").get("/v1/runs/1")).json() == run


async def test_everything_that_can_be_ordered_arrives(house: House) -> None:
    variables = {"PATH": "/usr/bin", "EMPTY": ""}
    await begun(house, "root", permission="autonomous", arguments=["--model", "opus"], environment=variables)
    assert house.runs.orders == [
        Order(
            agent="scripted",
            task="Fix the flaky test",
            cwd="/srv/shop",
            permission=Permission.AUTONOMOUS,
            arguments=("--model", "opus"),
            environment=variables,
        )
    ]


async def test_an_environment_is_never_told_again(house: House) -> None:
    response = await house.as_("root").post("/v1/runs", json=ORDER | {"environment": {"KEY": "hush-hush"}})
    listed = await house.as_("ana").get("/v1/runs")
    assert "hush-hush" not in response.text + listed.text


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"agent": ""}, "agent: missing"),
        ({"task": None}, "task: missing"),
        ({"task": " \n"}, "task: nothing but white space"),
        ({"task": "x" * 30_001}, "task: at most 30000"),
        ({"task": "a\0b"}, "task: has a character"),
        ({"cwd": "shop"}, "cwd: an absolute path"),
        ({"cwd": 7}, "cwd: text"),
        ({"permission": "root"}, "permission: one of approval, autonomous"),
        ({"arguments": "--model"}, "arguments: a list"),
        ({"arguments": ["a\0b"]}, "arguments[0]: has a character"),
        ({"arguments": ["x"] * 201}, "arguments: at most 200"),
        ({"environment": ["PATH"]}, "environment: an object"),
        ({"environment": {"PATH": 1}}, "environment.PATH: text"),
        ({"environment": {"A=B": "c"}}, "environment: 'A=B'"),
        ({"environment": {"A": "\0"}}, "environment.A: has a character"),
    ],
)
async def test_an_order_that_makes_no_sense_names_the_field(
    house: House, body: dict[str, Any], named: str
) -> None:
    response = await house.as_("ana").post("/v1/runs", json=ORDER | body)
    assert code(response) == (400, "invalid_request")
    assert message(response).startswith(named)
    assert house.runs.orders == []


async def test_runs_are_listed_in_pages_the_newest_first(house: House) -> None:
    for _ in range(3):
        await begun(house)
    await house.runs.become(2, state=RunState.COMPLETED)
    first = (await house.as_("ana").get("/v1/runs?limit=2")).json()
    rest = (await house.as_("ana").get(f"/v1/runs?limit=2&cursor={first['next']}")).json()
    assert [run["number"] for run in first["items"] + rest["items"]] == [3, 2, 1]
    assert rest["next"] is None
    running = (await house.as_("ana").get("/v1/runs?state=running")).json()
    assert [run["number"] for run in running["items"]] == [3, 1]


@pytest.mark.parametrize("query", ["state=open", "limit=0", "limit=201", "stat=running"])
async def test_a_list_that_makes_no_sense_is_refused(house: House, query: str) -> None:
    assert code(await house.as_("ana").get(f"/v1/runs?{query}")) == (400, "invalid_request")


@pytest.mark.parametrize("number", ["7", "a7", "-1", "1.5", "9" * 40, "%00"])
@pytest.mark.parametrize("action", ["", "/log", "/cancel", "/attach"])
async def test_what_is_no_run_is_unknown(house: House, number: str, action: str) -> None:
    method = "POST" if action in {"/cancel", "/attach"} else "GET"
    response = await house.as_("ana").request(method, f"/v1/runs/{number}{action}")
    assert code(response) == (404, "unknown_run")


async def test_a_run_names_its_open_questions(house: House) -> None:
    run = await begun(house)
    await begun(house)
    agent = lent(house, run["number"])
    refs = [(await asked_by(house, agent))["ref"] for _ in range(3)]
    await house.answered(refs[1])
    await asked_by(house, "builder")
    shown = (await house.as_("ana").get(f"/v1/runs/{run['number']}")).json()
    assert shown["inquiries"] == [refs[0], refs[2]]
    listed = (await house.as_("ana").get("/v1/runs")).json()["items"]
    assert [each["inquiries"] for each in listed] == [[], [refs[0], refs[2]]]


@pytest.mark.promise("house/6")
async def test_one_run_is_read_without_the_open_questions_of_others(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await begun(house)
    agent = lent(house, run["number"])
    ref = (await asked_by(house, agent))["ref"]
    for _ in range(5):
        await asked_by(house, "builder")
    read: list[int] = []
    find = house.store.find

    async def counted(query: Query) -> Page:
        page = await find(query)
        read.append(len(page.items))
        return page

    monkeypatch.setattr(house.store, "find", counted)
    for reader, path in (("ana", f"/v1/runs/{run['number']}"), (agent, "/v1/runs")):
        read.clear()
        shown = (await house.as_(reader).get(path)).json()
        assert shown.get("items", [shown])[0]["inquiries"] == [ref]
        assert read == [1]


@pytest.mark.promise("spec/100")
async def test_a_question_names_its_run_and_how_its_answer_gets_there(house: House) -> None:
    run = await begun(house)
    asked = await asked_by(house, lent(house, run["number"]))
    assert (asked["run"], asked["resume"]) == (run["number"], None)
    answered = await house.answered(asked["id"])
    assert answered["resume"] is None
    resume = {"state": "started", "run": run["number"], "attempts": 1, "error": None}
    house.runs.resumes[asked["id"]] = resume
    assert (await house.as_("ana").get(f"/v1/inquiries/{asked['ref']}")).json()["resume"] == resume
    listed = (await house.as_("ana").get("/v1/inquiries?state=closed")).json()
    assert [each["resume"] for each in listed["items"]] == [resume]


@pytest.mark.parametrize("action", STEERING)
async def test_an_agent_never_starts_or_steers_a_run(house: House, action: str) -> None:
    run = await begun(house)
    before = dict(house.runs.runs)
    for agent in ("builder", lent(house, run["number"])):
        started = await house.as_(agent).post("/v1/runs", json=ORDER)
        steered = await house.as_(agent).post(f"/v1/runs/{run['number']}/{action}", json={"text": "go on"})
        read = await house.as_(agent).get(f"/v1/runs/{run['number']}/log")
        assert {code(started), code(steered), code(read)} == {(403, "not_allowed")}
    assert (house.runs.runs, house.runs.said) == (before, [])


async def test_an_agent_sees_the_run_it_belongs_to_and_no_other(house: House) -> None:
    for _ in range(2):
        await begun(house)
    agent = lent(house, 1)
    assert (await house.as_(agent).get("/v1/runs/1")).json()["number"] == 1
    assert [run["number"] for run in (await house.as_(agent).get("/v1/runs")).json()["items"]] == [1]
    assert (await house.as_(agent).get("/v1/runs?state=failed")).json()["items"] == []
    assert code(await house.as_(agent).get("/v1/runs/2")) == (404, "unknown_run")
    for number in (1, 2):
        assert code(await house.as_("builder").get(f"/v1/runs/{number}")) == (404, "unknown_run")
    assert (await house.as_("builder").get("/v1/runs")).json() == {"items": [], "next": None}


async def test_a_run_is_cancelled_once(house: House) -> None:
    await begun(house)
    cancelled = (await house.as_("ana").post("/v1/runs/1/cancel")).json()
    assert (cancelled["state"], cancelled["ended_at"]) == ("cancelled", "2027-01-15T08:01:00.000Z")
    assert code(await house.as_("ana").post("/v1/runs/1/cancel")) == (409, "run_conflict")


async def test_a_retry_is_the_run_that_now_works(house: House) -> None:
    await begun(house)
    assert code(await house.as_("ana").post("/v1/runs/1/retry")) == (409, "run_conflict")
    await house.runs.become(1, state=RunState.FAILED, reason="exit_code")
    again = (await house.as_("ana").post("/v1/runs/1/retry")).json()
    assert (again["number"], again["retry_of"], again["state"]) == (2, 1, "running")


async def test_what_a_person_says_reaches_the_agent(house: House) -> None:
    await begun(house)
    told = await house.as_("ana").post("/v1/runs/1/say", json={"text": "use the new API"})
    assert told.json() == {"run": 1, "delivery": "live"}
    assert house.runs.said == ["use the new API"]


@pytest.mark.parametrize("text", [None, "", "  ", 7, "a\0b", "x" * 30_001])
async def test_nothing_is_nothing_to_say(house: House, text: object) -> None:
    await begun(house)
    response = await house.as_("ana").post("/v1/runs/1/say", json={"text": text})
    assert code(response) == (400, "invalid_request")
    assert house.runs.said == []


@pytest.mark.promise("spec/104")
async def test_the_log_goes_on_where_it_was_left(house: House) -> None:
    await begun(house)
    await house.runs.write(1, "one", "two", "three")
    first = (await house.as_("ana").get("/v1/runs/1/log")).json()
    assert [line["text"] for line in first["lines"]] == ["one", "two"]
    rest = (await house.as_("ana").get(f"/v1/runs/1/log?after={first['next_after']}&raw=1")).json()
    assert rest == {"lines": [{"at": 2, "kind": "raw", "text": "three"}], "next_after": 3, "over": False}


async def test_a_waiting_reader_of_the_log_hears_the_next_line(live: House) -> None:
    await begun(live)
    heard: list[httpx2.Response] = []

    async def listen() -> None:
        heard.append(await live.as_("ana").get("/v1/runs/1/log?wait=30"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await until(lambda: live.runs.waiting > 0)
        await live.runs.write(1, "here it is")
    assert [line["text"] for line in heard[0].json()["lines"]] == ["here it is"]


async def test_a_reader_of_the_log_is_let_go_when_the_daemon_stops(live: House) -> None:
    await begun(live)
    heard: list[httpx2.Response] = []

    async def listen() -> None:
        heard.append(await live.as_("ana").get("/v1/runs/1/log?wait=300&after=0"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await until(lambda: live.runs.waiting > 0)
        await live.broker.close()
    assert heard[0].json() == {"lines": [], "next_after": 0, "over": False}


async def test_a_session_is_taken_over_only_when_no_process_works_in_it(house: House) -> None:
    await begun(house)
    assert code(await house.as_("ana").post("/v1/runs/1/attach")) == (409, "run_conflict")
    await house.runs.become(1, state=RunState.COMPLETED)
    command = (await house.as_("ana").post("/v1/runs/1/attach")).json()
    assert command == {
        "argv": ["scripted", "--resume", "s-1"],
        "cwd": "/srv/shop",
        "environment": {"DOOR": "open"},
    }


@pytest.mark.promise("trust/25")
async def test_two_runs_of_one_agent_know_nothing_of_each_others_questions(house: House) -> None:
    mine, other = lent(house, 1), lent(house, 2)
    asked = await house.asked(mine, **CHOICE, session="s", request_key="k")
    name = asked["id"]
    for path in ("", "/wait?timeout=0", "/attachments/0"):
        assert code(await house.as_(other).get(f"/v1/inquiries/{name}{path}")) == (404, "unknown_inquiry")
    for action in ("cancel", "collect"):
        assert code(await house.post(other, f"{name}/{action}")) == (404, "unknown_inquiry")
    assert (await house.as_(other).get("/v1/inquiries")).json()["items"] == []
    assert code(await house.as_(other).get("/v1/inquiries?run=1")) == (404, "unknown_run")
    assert (await house.as_(other).get("/v1/events")).json()["items"] == []
    again = CHOICE | {"session": "s", "request_key": "k"}
    assert code(await house.as_(other).post("/v1/inquiries", json=again)) == (409, "key_conflict")
    unnamed = await house.asked(other, **CHOICE, session="s")
    assert unnamed["id"] != name
    await house.answered(name)
    assert code(await house.post(other, f"{name}/collect")) == (404, "unknown_inquiry")
    # The run itself has all of it.
    assert (await house.as_(mine).get(f"/v1/inquiries/{name}")).json()["state"] == "answered"
    assert [each["id"] for each in (await house.as_(mine).get("/v1/inquiries")).json()["items"]] == [name]
    told = (await house.as_(mine).get("/v1/events")).json()["items"]
    assert {event["inquiry"] for event in told} == {name}
    assert (await house.post(mine, f"{name}/collect")).json()["accepted"] is True


@pytest.mark.promise("trust/27")
@pytest.mark.parametrize(
    "choice",
    [
        {"environment": {"PATH": "/home/ana/bin"}},
        {"environment": {}},
        {"arguments": ["--dangerously-skip-permissions"]},
        {"permission": "autonomous"},
    ],
)
async def test_only_an_admin_chooses_what_a_run_executes_and_how_freely(
    house: House, choice: dict[str, Any]
) -> None:
    refused = await house.as_("ana").post("/v1/runs", json=ORDER | choice)
    assert code(refused) == (403, "not_allowed")
    assert "admin" in refused.json()["error"]["hint"]
    assert house.runs.orders == []
    assert (await house.as_("root").post("/v1/runs", json=ORDER | choice)).status_code == 201
    assert (
        await house.as_("ana").post("/v1/runs", json=ORDER | {"permission": "approval"})
    ).status_code == 201
