"""A decision made with a key can be taken back in the browser; one that is left alone reaches the agent."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import CACHE, Desk, card, chosen, row
from tests.browser.test_hands import CLOCK, clocked, pass_time, stop
from tests.browser.test_looks import PHONE


@pytest.mark.promise("desk/1", "desk/2")
def test_a_key_decides_and_u_takes_it_back(unhurried: Desk) -> None:
    asked = unhurried.ask(**CACHE)
    page, other = unhurried.page(), unhurried.page()
    card(page, asked).focus()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(card(page, asked).locator("[data-undo]")).to_contain_text("Redis →")
    expect(card(other, asked).locator("[data-undo]")).to_contain_text("Redis →")
    assert unhurried.show(asked)["held"]["via"] == "web"

    page.keyboard.press("u")
    expect(card(page, asked).locator("[data-answer]")).to_be_visible()
    expect(card(other, asked).locator("[data-answer]")).to_be_visible()
    assert (unhurried.show(asked)["state"], unhurried.show(asked)["held"]) == ("open", None)


@pytest.mark.promise("desk/1")
def test_what_a_key_decided_and_is_left_alone_is_told(desk: Desk) -> None:
    asked = desk.ask(**CACHE)
    page = desk.page()
    card(page, asked).focus()
    page.keyboard.press("2")
    page.keyboard.press("Enter")
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


@pytest.mark.promise("desk/1")
def test_what_was_decided_stays_in_view_beside_the_next_question_and_u_takes_it_back(unhurried: Desk) -> None:
    first, second = numbered(unhurried, 2)
    page = unhurried.page(clocked(unhurried))
    stop(page)
    lines = page.locator("[data-held] form")
    decide(page, first, "1")
    expect(card(page, second)).to_be_visible()
    expect(lines).to_have_text(["Redis → local Undo u"])
    expect(lines).to_be_in_viewport()
    expect(page.locator("[data-flash]")).to_be_hidden()

    page.keyboard.press("u")
    expect(card(page, first).locator("[data-answer]")).to_be_visible()
    expect(lines).to_have_count(0)
    assert (unhurried.show(first)["state"], unhurried.show(first)["held"]) == ("open", None)


@pytest.mark.promise("desk/1")
def test_the_line_of_a_decision_goes_once_its_time_is_over(desk: Desk) -> None:
    first, second, third = numbered(desk, 3)
    page = desk.page(clocked(desk))
    stop(page)
    decide(page, first, "1")
    decide(page, second, "2")
    expect(card(page, third)).to_be_visible()
    expect(page.locator(".row .outcome")).to_have_count(2)
    expect(page.locator("[data-held] form")).to_have_count(0)
    answers = [desk.show(inquiry)["answer"]["answers"] for inquiry in (first, second)]
    assert answers == [[["Redis"]], [["Memcached"]]]


def test_the_line_of_a_decision_undoes_that_one_by_a_click_and_follows_to_the_list_of_a_phone(
    unhurried: Desk,
) -> None:
    first, second, third = numbered(unhurried, 3)
    context = unhurried.context(**PHONE)
    context.add_init_script(CLOCK)
    page = unhurried.page(context)
    stop(page)
    chosen(page, first)
    decide(page, first, "1")
    expect(card(page, second)).to_be_visible()
    decide(page, second, "2")
    expect(card(page, third)).to_be_visible()
    page.go_back()
    lines = page.locator("[data-held] form")
    expect(lines).to_have_count(2)
    expect(row(page, third)).to_be_visible()
    lines.filter(has_text="Redis").get_by_role("button", name="Undo").click()
    expect(card(page, first).locator("[data-answer]")).to_be_visible()
    expect(lines).to_have_text(["Memcached → local Undo u"])
    assert (unhurried.show(first)["held"], unhurried.show(second)["held"]["via"]) == (None, "web")


def numbered(desk: Desk, count: int) -> list[dict[str, Any]]:
    return [desk.ask(**CACHE | {"question": f"Number {number}?"}) for number in range(count)]


def decide(page: Page, inquiry: dict[str, Any], number: str) -> None:
    """Answer with keys, once the card has been there for long enough."""
    expect(card(page, inquiry)).to_be_visible()
    card(page, inquiry).focus()
    pass_time(page, 800)
    page.keyboard.press(number)
    page.keyboard.press("Enter")
