"""JSON that could not be written again is refused by every route that reads some, and stored nowhere."""

import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from tests.web.house import CHOICE, House, code, message, serving
from tests.web.test_live import streaming
from upcall.ports.json_reading import DEEPEST, ENCODER_DEEPEST, read_json
from upcall.stores import damage


@pytest.fixture(autouse=True)
def _nothing_told_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each row is named once in a process, and every test is in this one.
    monkeypatch.setattr(damage, "_told", set[str]())


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


UNFIT = {
    "half a character": r'"\ud800"',
    "half a character as a name": r'{"\udfff": 1}',
    "no number": "NaN",
    "infinity": "-Infinity",
    "too large a number": "1e999",
    "too deep for the encoder": nested(600),
    "too deep for any reader": nested(100_000),
    "deeper than is taken": nested(DEEPEST + 1),
}
POSTS = [
    ("builder", "/v1/inquiries"),
    ("builder", "/v1/threads"),
    ("builder", "/v1/threads/t1/items"),
    ("ana", "/v1/threads/t1/items"),
    ("ana", "/v1/threads/t1/resolve"),
    ("ana", "/v1/inquiries/a1/answer"),
    ("ana", "/v1/inquiries/a1/reject"),
    ("ana", "/v1/runs"),
    ("root", "/v1/tokens"),
]


async def log_of(house: House) -> list[dict[str, Any]]:
    response = await house.as_("root").get("/v1/events?limit=200")
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["items"]
    return found


@pytest.mark.promise("trust/21", "trust/34")
@pytest.mark.parametrize("value", UNFIT.values(), ids=UNFIT.keys())
async def test_unfit_json_is_refused_at_every_route_and_nothing_is_stored(house: House, value: str) -> None:
    assert (await house.as_("builder").post("/v1/threads", json={"id": "t1"})).status_code == 201
    before = await log_of(house)
    for by, path in POSTS:
        body = f'{{"question": "Fine?", "text": "hello", "id": "t2", "metadata": {{"n": {value}}}}}'
        response = await house.as_(by).post(path, content=body)
        assert code(response) == (400, "invalid_request"), path
    assert await log_of(house) == before


@pytest.mark.promise("trust/21")
async def test_the_item_that_ended_the_event_log_is_refused(house: House) -> None:
    assert (await house.as_("builder").post("/v1/threads", json={"id": "t1"})).status_code == 201
    body = json.dumps({"text": "hi", "metadata": {"n": 10**26, "s": "\ud800"}})
    refused = await house.as_("builder").post("/v1/threads/t1/items", content=body)
    assert code(refused) == (400, "invalid_request")
    assert "half of a character" in message(refused)
    large = json.dumps({"text": "hi", "metadata": {"n": 10**26}})
    assert (await house.as_("builder").post("/v1/threads/t1/items", content=large)).status_code == 201
    found = (await house.as_("ana").get("/v1/threads/t1/items")).json()["items"]
    assert [item["metadata"]["n"] for item in found] == [1e26]
    assert [event["type"] for event in await log_of(house)][-1:] == ["thread_item"]


def test_what_is_taken_fits_what_is_written() -> None:
    deepest = read_json(nested(DEEPEST))
    for _ in range(ENCODER_DEEPEST - DEEPEST):
        deepest = [deepest]
    assert orjson.dumps(deepest)
    with pytest.raises(TypeError):
        orjson.dumps([deepest])


POISON = {
    "no JSON": "{",
    "a list": "[1]",
    "nothing that an item has": "{}",
    "what was taken in before": json.dumps(
        {
            "id": "itm_x",
            "thread": "t1",
            "agent": "builder",
            "role": "agent",
            "by": "builder",
            "content": [],
            "metadata": {"type": "text", "n": 10**26, "s": "\ud800", "x": float("nan")},
        }
    ),
}


@pytest.mark.promise("trust/22")
@pytest.mark.parametrize("kind", POISON.keys())
async def test_a_poisoned_row_ends_neither_log_nor_thread_nor_stream(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    async with House.open(tmp_path) as house:
        assert (await house.as_("builder").post("/v1/threads", json={"id": "t1"})).status_code == 201
        for text in ("first", "poisoned", "last"):
            posted = await house.as_("builder").post("/v1/threads/t1/items", json={"text": text})
            assert posted.status_code == 201
    with closing(sqlite3.connect(tmp_path / "upcall.db")) as db:
        (seq,) = db.execute("SELECT seq FROM event WHERE data LIKE '%poisoned%'").fetchone()
        db.execute("UPDATE event SET data = ? WHERE seq = ?", (POISON[kind], seq))
        db.commit()
    caplog.set_level(logging.ERROR, "upcall")
    async with House.open(tmp_path) as house, serving(house):
        for by in ("ana", "builder"):
            items = (await house.as_(by).get("/v1/threads/t1/items")).json()["items"]
            texts = [part["text"] for item in items for part in item["content"]]
            assert (texts[0], texts[-1]) == ("first", "last")
            seen = [event["seq"] for event in (await house.as_(by).get("/v1/events")).json()["items"]]
            assert {seq - 1, seq + 1} <= set(seen)
        assert (await house.as_("ana").get("/v1/threads")).json()["items"]
        async with streaming(house, "ana", "?after=0") as stream:
            with anyio.fail_after(30):
                told: list[int | None] = []
                while seq + 1 not in told:
                    told.append((await stream.next()).id)
        assert seq - 1 in told
    if kind != "what was taken in before":
        assert any(f"the event {seq} " in record.getMessage() for record in caplog.records)


@pytest.mark.promise("trust/22")
async def test_a_poisoned_inquiry_is_left_out_of_lists_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with House.open(tmp_path) as house:
        asked = [await house.asked(**CHOICE) for _ in range(3)]
    with closing(sqlite3.connect(tmp_path / "upcall.db")) as db:
        db.execute("UPDATE inquiry SET body = '{}' WHERE id = ?", (asked[1]["id"],))
        db.commit()
    caplog.set_level(logging.ERROR, "upcall")
    async with House.open(tmp_path) as house:
        wanted = {asked[0]["id"], asked[2]["id"]}
        for query in ("", "?state=open", "?q=cache"):
            listed = (await house.as_("ana").get(f"/v1/inquiries{query}")).json()["items"]
            assert {each["id"] for each in listed} == wanted, query
        one = await house.as_("ana").get(f"/v1/inquiries/{asked[1]['id']}")
        assert code(one) == (503, "storage_error")
        assert asked[1]["id"] in message(one)
        await house.answered(asked[2]["id"])
    assert any(asked[1]["id"] in record.getMessage() for record in caplog.records)
