"""Asking back over HTTP and on the page: the card shows the words, what the agent says to them, and stays open."""

import pytest

from tests.web.house import CHOICE, House, code
from tests.web.visitor import Visitor, words

pytestmark = pytest.mark.promise("desk/23")


async def test_the_card_of_an_open_question_shows_what_was_asked_back_and_the_reply(
    live: House, ana: Visitor
) -> None:
    asked = await live.asked(**CHOICE)
    sent = await ana.sends(await ana.form(f"/i/{asked['id']}", "/ask-back"), ("text", "For how many users?"))
    page = await ana.looks(sent.headers["location"])
    assert "Your words go to the agent" in words(page)
    assert "ana asks For how many users? The agent is told when it waits for this question." in words(page)
    assert "/answer" in page

    inquiry = await live.store.get(asked["id"])
    await live.broker.back.hear(inquiry)
    assert "The agent was told." in words(await ana.looks(f"/i/{asked['id']}"))
    await live.broker.back.reply(inquiry, "About 40.")
    assert "builder replies About 40." in words(await ana.looks(f"/i/{asked['id']}"))

    seen = (await live.as_("builder").get(f"/v1/inquiries/{asked['id']}")).json()
    (back,) = seen["asked_back"]
    assert (seen["state"], back["by"], back["text"], back["told"], back["reply"]) == (
        "open",
        "ana",
        "For how many users?",
        True,
        "About 40.",
    )


async def test_a_prompt_that_takes_a_yes_or_a_no_offers_no_question_back(live: House, ana: Visitor) -> None:
    action = {"tool": "Bash", "input": {"command": "make deploy"}, "cwd": "/srv/shop"}
    prompt = await live.asked(action=action, purpose="permission")
    assert "/ask-back" not in await ana.looks(f"/i/{prompt['id']}")
    assert code(await live.post("ana", f"{prompt['ref']}/ask-back", text="Why?")) == (409, "cannot_tell")


async def test_the_api_refuses_what_is_empty_and_what_agents_ask(house: House) -> None:
    asked = await house.asked(**CHOICE)
    assert code(await house.post("ana", f"{asked['ref']}/ask-back", text=" ")) == (422, "empty_answer")
    assert code(await house.post("ana", f"{asked['ref']}/ask-back")) == (400, "invalid_request")
    assert (await house.post("builder", f"{asked['ref']}/ask-back", text="Why?")).status_code == 403
    taken = (await house.post("ana", f"{asked['ref']}/ask-back", text="Why?")).json()
    assert (taken["accepted"], taken["inquiry"]["state"]) == (True, "open")
    await house.answered(asked["ref"])
    late = (await house.post("ana", f"{asked['ref']}/ask-back", text="Why?")).json()
    assert (late["accepted"], late["inquiry"]["asked_back"]) == (False, [])


async def test_a_form_without_words_says_so_and_the_question_stays(live: House, ana: Visitor) -> None:
    asked = await live.asked(**CHOICE)
    refused = await ana.sends(await ana.form(f"/i/{asked['id']}", "/ask-back"), ("text", ""))
    assert (refused.status_code, "An empty answer is not an answer" in words(refused.text)) == (422, True)
    assert "/ask-back" in refused.text
