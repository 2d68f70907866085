"""The answer to a secret question: masked while it is written, kept nowhere but in the field."""

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Desk, card
from upcall.cli.client import inquiry_path

PASSWORD: dict[str, Any] = {"question": "Password?", "secret": True}
KEY = "-----BEGIN KEY-----\nhunter2\n-----END KEY-----"


def masked(field: Locator) -> bool:
    """Whether the browser draws dots instead of letters."""
    security: str = field.evaluate("(it) => getComputedStyle(it).webkitTextSecurity")
    return security == "disc"


@pytest.mark.promise("trust/11")
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_the_answer_to_a_secret_question_is_masked_until_its_writer_wants_to_see_it(
    desk: Desk, *, scripts: bool
) -> None:
    inquiry, plain = desk.ask(**PASSWORD, options=["None"]), desk.ask(question="Why?")
    page = desk.context(java_script_enabled=scripts).new_page()
    page.goto(desk.owner.post("/v1/sign-in-links", {})["url"])
    if not scripts:
        page.get_by_role("button", name="Continue as").click()
    page.goto(f"{desk.running_url()}/i/{plain['id']}")
    assert not masked(card(page, plain).locator("textarea").first)
    page.goto(desk.running_url())
    field = card(page, inquiry).get_by_label("Something else").last
    field.fill(KEY)
    assert masked(field)
    card(page, inquiry).get_by_label("Show what I write").check()
    assert not masked(field)
    card(page, inquiry).get_by_label("Show what I write").uncheck()
    assert masked(field)
    card(page, inquiry).get_by_role("radio").last.check()
    card(page, inquiry).get_by_role("button", name="Send answer").click()
    expect(page.locator("[data-flash]")).to_contain_text("No call waits for it now; the answer is kept")
    expect(page.get_by_text("hunter2")).to_have_count(0)
    taken = desk.agent.post(inquiry_path(inquiry["id"], "collect"), {})["inquiry"]
    assert taken["answer"]["answers"] == [[KEY]]


@pytest.mark.promise("trust/11")
def test_a_draft_of_a_secret_is_kept_nowhere(desk: Desk) -> None:
    inquiry = desk.ask(**PASSWORD)
    page = desk.page()
    card(page, inquiry).locator("textarea").first.fill("hunter2")
    assert page.evaluate("Object.values({...sessionStorage, ...localStorage})") == []
    desk.colleague("ben").post(inquiry_path(inquiry["id"], "answer"), {"text": "hunter3"})
    expect(card(page, inquiry)).to_contain_text("Answered — by ben")
    expect(card(page, inquiry).get_by_role("textbox")).to_have_count(0)
    expect(card(page, inquiry)).to_be_focused()


@pytest.mark.promise("trust/11")
def test_a_secret_question_of_a_thread_is_answered_on_its_card_and_not_in_the_conversation(
    desk: Desk,
) -> None:
    desk.agent.post("/v1/threads", {"id": "shop", "title": "The shop"})
    inquiry = desk.ask(**PASSWORD, thread="shop")
    page = desk.page(path="/threads/shop")
    expect(page.locator("[data-composing=gate]")).to_be_visible()
    page.get_by_label("Your message").fill("hunter2")
    page.keyboard.press("Control+Enter")
    expect(page.locator("form.composer [data-note]")).to_contain_text("answer or decline it first")
    assert desk.show(inquiry)["state"] == "open"
    assert masked(card(page, inquiry).locator("textarea").first)
