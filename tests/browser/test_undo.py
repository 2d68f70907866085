"""A decision made with a key can be taken back in the browser; one that is left alone reaches the agent."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import CACHE, Desk, card


@pytest.mark.promise("desk/1", "desk/2")
def test_a_key_decides_u_takes_it_back_and_what_is_left_alone_is_told(desk: Desk) -> None:
    asked = desk.ask(**CACHE)
    page, other = desk.page(), desk.page()
    line = card(page, asked).locator("[data-undo]")
    card(page, asked).focus()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(line).to_contain_text("Redis →")
    expect(card(other, asked).locator("[data-undo]")).to_contain_text("Redis →")
    assert desk.show(asked)["held"]["via"] == "web"

    page.keyboard.press("u")
    expect(card(page, asked).locator("[data-answer]")).to_be_visible()
    expect(card(other, asked).locator("[data-answer]")).to_be_visible()
    assert (desk.show(asked)["state"], desk.show(asked)["held"]) == ("open", None)

    card(page, asked).focus()
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(line).to_contain_text("Memcached →")
    expect(card(page, asked).locator(".outcome")).to_contain_text("Answered: Memcached")
    assert desk.show(asked)["answer"]["answers"] == [["Memcached"]]


@pytest.mark.promise("desk/1")
def test_a_click_is_told_at_once(desk: Desk) -> None:
    asked = desk.ask(**CACHE)
    page = desk.page()
    card(page, asked).get_by_text("Redis").click()
    card(page, asked).get_by_role("button", name="Send answer").click()
    expect(card(page, asked).locator(".outcome")).to_contain_text("Answered: Redis")
    assert desk.show(asked)["state"] == "answered"


@pytest.mark.promise("desk/4")
def test_a_denial_takes_its_reason_from_the_same_row(desk: Desk) -> None:
    asked = desk.ask(kind="approval", question="terraform apply")
    page = desk.page(path=f"/i/{asked['id']}")
    mine = card(page, asked)
    expect(mine.locator("[data-reject]")).to_have_count(0)
    mine.locator("textarea[name=note]").fill("use staging")
    mine.get_by_role("button", name="Deny").click()
    expect(mine).to_contain_text("use staging")
    assert desk.show(asked)["answer"]["note"] == "use staging"
