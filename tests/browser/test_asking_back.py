"""Asking back in a real browser, with an agent that waits behind a pipe."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import CACHE, Desk
from tests.doors.agent import agent


@pytest.mark.promise("desk/23")
def test_words_reach_the_waiting_agent_and_its_reply_appears_on_the_open_card(desk: Desk) -> None:
    page = desk.page()
    with agent(desk.home) as asker:
        asker.initialize()
        asker.call(1, "ask_human", CACHE)
        card = page.locator("article.card:not([hidden])")
        expect(card).to_contain_text("Which cache?")
        card.get_by_text("Ask back", exact=True).click()
        card.locator("[data-ask-back] textarea").fill("For how many users?")
        card.get_by_role("button", name="Ask the agent").click()
        told = asker.reply(1)["result"]
        assert "The person asks: For how many users?" in told["content"][0]["text"]
        expect(card.locator(".pairs")).to_contain_text("For how many users?")
        expect(card.locator("[data-answer]")).to_be_visible()

        name = told["structuredContent"]["id"]
        asker.call(2, "wait_for_answer", {"id": name, "reply": "About 40."})
        expect(card.locator(".pairs")).to_contain_text("About 40.")
        card.get_by_text("Redis").click()
        card.get_by_role("button", name="Send answer").click()
        assert asker.reply(2)["result"]["structuredContent"]["answers"] == [["Redis"]]
