"""Typed answers over HTTP and on the page: asked with a schema, filled in as a form, held against it."""

from typing import Any

import pytest

from tests.web.house import House, code
from tests.web.visitor import Visitor, words

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "port": {"type": "integer", "minimum": 1, "maximum": 65535, "default": 8080},
        "mail": {"type": "string", "format": "email"},
        "from": {"type": "string", "format": "date-time"},
        "debug": {"type": "boolean"},
        "region": {"enum": ["eu", "us"]},
    },
    "required": ["mail", "debug"],
}


@pytest.mark.promise("raised/26", "raised/31")
async def test_a_typed_question_is_asked_and_answered_with_content(house: House) -> None:
    asked = await house.asked(question="How shall it run?", response_schema=SCHEMA)
    assert asked["kind"] == "ask_user_question"
    assert [question["field"]["name"] for question in asked["questions"]] == [*SCHEMA["properties"]]
    assert asked["questions"][0]["field"]["schema"]["minimum"] == 1
    sent = {"mail": "ana@shop.example", "debug": False, "region": "eu"}
    done = (await house.post("ana", f"{asked['ref']}/answer", content=sent)).json()
    assert done["accepted"]
    assert done["inquiry"]["answer"]["content"] == {"port": 8080, **sent}


@pytest.mark.promise("raised/27")
async def test_a_bad_schema_is_refused_and_nothing_is_asked(house: House) -> None:
    bad = {"properties": {"a": {"type": "string", "pattern": "x"}}}
    sent = {"question": "?", "response_schema": bad}
    refused = await house.as_("builder").post("/v1/inquiries", json=sent)
    assert code(refused) == (422, "invalid_inquiry")
    assert refused.json()["error"]["message"].startswith("response_schema.properties.a.pattern")
    assert (await house.as_("ana").get("/v1/inquiries")).json()["items"] == []


@pytest.mark.promise("raised/30")
async def test_an_answer_that_does_not_fit_is_refused_with_a_sentence_for_each_field(house: House) -> None:
    asked = await house.asked(question="How?", response_schema=SCHEMA)
    refused = await house.post("ana", f"{asked['ref']}/answer", content={"port": 0, "mail": "ana"})
    assert code(refused) == (422, "unfit_answer")
    said = refused.json()["error"]["message"]
    assert "port: at least 1, got 0" in said
    assert "mail: an e-mail address, got 'ana'" in said
    assert "debug: an answer is needed" in said
    plain = await house.asked(question="Other?", request_key="other")
    assert code(await house.post("ana", f"{plain['ref']}/answer", content={})) == (400, "invalid_request")


@pytest.mark.promise("raised/28", "raised/30")
async def test_the_page_draws_native_inputs_and_a_form_that_does_not_fit_comes_back_as_it_was(
    house: House,
) -> None:
    asked = await house.asked(question="How shall it **run**?", response_schema=SCHEMA)
    ana = Visitor(house)
    await ana.signs_in()
    assert 'dir="auto">How shall it run?</span>' in await ana.looks()
    page = await ana.looks(f"/i/{asked['id']}")
    for drawn in (
        '<input class="typed" type="number" name="t0" value="8080" aria-label="port" min="1" max="65535" step="1">',
        '<input class="typed" type="email" name="t1" value="" aria-label="mail" required>',
        '<input class="typed" type="datetime-local" name="t2"',
        'name="q3" value="0" data-choice="1" required>',
        'name="q4" value="" checked>',
    ):
        assert drawn in page
    assert "How shall it run ?" in words(page)
    assert "data-tabs" not in page
    form = await ana.form(f"/i/{asked['id']}", "/answer")
    kept = [field for field in form.fields if not field[0].startswith("t") or field[0] == "token"]
    form.fields = kept
    refused = await ana.sends(form, ("t0", "70000"), ("t1", "ana"), ("q3", "0"))
    assert refused.status_code == 422
    assert "port: at most 65535, got 70000. mail: an e-mail address, got &#39;ana&#39;." in refused.text
    assert 'name="t0" value="70000"' in refused.text
    assert 'name="q3" value="0" data-choice="1" checked' in refused.text

    taken = await ana.sends(
        form, ("t0", ""), ("t1", "ana@shop.example"), ("t2", "2026-11-17T09:00"), ("q3", "1"), ("q4", "")
    )
    assert taken.status_code == 303
    answer = (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert answer["content"] == {
        "port": 8080,
        "mail": "ana@shop.example",
        "from": "2026-11-17T09:00Z",
        "debug": False,
    }
