"""Correcting an answer: the agent is told as a message that quotes the old one, or the person is told that it cannot be."""

from typing import Any

import pytest

from tests.web.house import CHOICE, House, code
from tests.web.visitor import Visitor, words
from upcall.access.tokens import digest
from upcall.domain.roles import Caller, Role
from upcall.domain.run.run import Order

pytestmark = pytest.mark.promise("desk/3")

MEMCACHED = "Memcached, after all"


async def asked_by_run(house: House, **question: Any) -> dict[str, Any]:
    """A question that a run has asked, answered with Redis."""
    order = Order(agent="scripted", task="Add a cache", cwd="/srv/shop")
    run = (await house.runs.begin(order, Caller(name="ana", role=Role.PERSON))).run
    house.access.lend(digest("of-run"), Caller(name="scripted", role=Role.AGENT, run=run.number))
    house.secrets["of-run"] = "of-run"
    asked = await house.asked(by="of-run", **(question or CHOICE))
    return await house.answered(asked["ref"], "yes" if "action" in question else "Redis")


async def corrections(house: House) -> list[dict[str, Any]]:
    log = (await house.as_("ana").get("/v1/events")).json()["items"]
    return [each["data"] for each in log if each["type"] == "corrected"]


async def test_a_run_is_told_the_correction_with_the_old_answer(house: House) -> None:
    answered = await asked_by_run(house)
    reply = (await house.post("ana", f"{answered['ref']}/correct", text=MEMCACHED)).json()
    assert (reply["to"], reply["run"], reply["inquiry"]["answer"]) == ("live", 1, answered["answer"])
    (told,) = house.runs.said
    assert (
        "You asked: Which cache?\nThe old answer was:\n> Redis\nThe correction: Memcached, after all" in told
    )
    assert await corrections(house) == [
        {"ref": answered["ref"], "by": "ana", "via": "api", "to": "live", "text": MEMCACHED}
    ]


async def test_a_correction_of_a_denial_says_that_it_approves_nothing(house: House) -> None:
    action = {"tool": "Bash", "input": {"command": "make deploy"}, "cwd": "/srv/shop"}
    answered = await asked_by_run(house, action=action)
    await house.post("ana", f"{answered['ref']}/correct", text="go ahead")
    assert "A correction approves nothing" in house.runs.said[0]


async def test_the_answer_to_a_secret_question_is_quoted_nowhere(house: House) -> None:
    answered = await asked_by_run(house, question="The password?", secret=True)
    await house.post("ana", f"{answered['ref']}/correct", text="hunter3")
    assert "Redis" not in house.runs.said[0]
    assert [("text" in each, each["secret"]) for each in await corrections(house)] == [(False, True)]


async def test_in_a_thread_the_correction_waits_for_the_next_turn_and_answers_no_other_question(
    house: House,
) -> None:
    asked = await house.asked(**CHOICE, thread="shop")
    await house.answered(asked["ref"])
    await house.post("builder", f"{asked['ref']}/collect")
    reply = (await house.post("ana", f"{asked['ref']}/correct", text=MEMCACHED)).json()
    assert reply["to"] == "thread"
    turn = (await house.as_("builder").post("/v1/threads/shop/turn", json={})).json()["items"]
    assert ["> Redis" in part["text"] for item in turn for part in item["content"]] == [True]

    other = await house.asked(question="Which port?", thread="shop")
    await house.post("ana", f"{asked['ref']}/correct", text="neither")
    assert (await house.as_("ana").get(f"/v1/inquiries/{other['id']}")).json()["state"] == "open"


@pytest.mark.parametrize(
    ("text", "refused"), [(" ", (422, "empty_answer")), ("x" * 9000, (400, "invalid_request"))]
)
async def test_a_correction_that_is_none_is_refused(
    house: House, text: str, refused: tuple[int, str]
) -> None:
    answered = await asked_by_run(house)
    assert code(await house.post("ana", f"{answered['ref']}/correct", text=text)) == refused
    assert house.runs.said == []


async def test_where_the_agent_cannot_be_told_the_api_and_the_page_say_so(live: House, ana: Visitor) -> None:
    asked = await live.asked(**CHOICE)
    assert code(await live.post("ana", f"{asked['ref']}/correct", text=MEMCACHED)) == (409, "not_answered")
    await live.answered(asked["ref"])
    assert code(await live.post("ana", f"{asked['ref']}/correct", text=MEMCACHED)) == (409, "cannot_tell")
    page = await ana.looks(f"/i/{asked['id']}")
    assert "This answer cannot be corrected here" in words(page)
    assert "/correct" not in page
    assert code(await live.post("builder", f"{asked['ref']}/correct", text=MEMCACHED)) == (403, "not_allowed")
    assert await corrections(live) == []


async def test_without_scripts_the_page_has_a_form_that_corrects(live: House, ana: Visitor) -> None:
    answered = await asked_by_run(live)
    form = await ana.form(f"/i/{answered['id']}", "/correct")
    empty = await ana.sends(form, ("text", " "))
    assert (empty.status_code, "An empty answer is not an answer" in words(empty.text)) == (422, True)
    sent = await ana.sends(form, ("text", MEMCACHED))
    assert "was told to the agent" in words(await ana.looks(sent.headers["location"]))
    assert len(live.runs.said) == 1
