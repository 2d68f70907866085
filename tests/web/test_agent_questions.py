"""Replies to an agent: which question they answer, and that one that is sent again answers nothing else."""

from typing import Any

import httpx2

from tests.web.house import House, code


async def replied(house: House, **body: Any) -> httpx2.Response:
    return await house.as_("ana").post("/v1/answer-agent", json={"agent_id": "builder", **body})


async def state_of(house: House, name: str) -> str:
    return str((await house.as_("ana").get(f"/v1/inquiries/{name}")).json()["state"])


async def test_a_reply_that_is_sent_again_does_not_answer_the_next_question(house: House) -> None:
    first = await house.asked(kind="approval", question="ls")
    second = await house.asked(kind="approval", question="rm -rf build")
    for _ in range(2):
        told = (await replied(house, reply="yes", key="k1")).json()
        assert (told["accepted"], told["inquiry"]["id"]) == (True, first["id"])
    assert await state_of(house, second["id"]) == "open"
    await replied(house, reply="yes", key="k2")
    assert await state_of(house, second["id"]) == "answered"


async def test_a_reply_that_names_its_question_answers_no_other(house: House) -> None:
    first = await house.asked(question="One?")
    second = await house.asked(question="Two?")
    for accepted in (True, False):
        told = (await replied(house, reply="yes", id=second["id"])).json()
        assert (told["accepted"], told["inquiry"]["id"]) == (accepted, second["id"])
    assert await state_of(house, first["id"]) == "open"
    others = await house.as_("ana").post(
        "/v1/answer-agent", json={"agent_id": "painter", "reply": "yes", "id": first["id"]}
    )
    assert code(others) == (404, "unknown_inquiry")
