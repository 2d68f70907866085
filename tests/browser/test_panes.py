"""The list beside the question: what stands where at which width, what opens, and what stays when something comes."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import CACHE, Desk, card, chosen, row
from tests.browser.test_looks import PHONE, box
from tests.browser.test_runs import agents, waiting

__all__ = ["agents"]

APPLY: dict[str, Any] = {"kind": "approval", "question": "terraform apply"}


def order(page: Page) -> list[str]:
    """The questions of the list, from top to bottom."""
    lines: list[str] = page.locator(".row:visible .line").all_text_contents()
    return lines


def right_of(place: Locator) -> float:
    found = box(place)
    return found["x"] + found["width"]


@pytest.mark.promise("desk/13")
def test_from_1100_px_the_list_stands_beside_the_card(desk: Desk) -> None:
    asked = [desk.ask(**CACHE | {"question": f"Number {number}?"}) for number in range(3)]
    page = desk.page(viewport={"width": 1100, "height": 800})
    expect(card(page, asked[0])).to_be_visible()
    assert box(card(page, asked[0]))["x"] >= right_of(row(page, asked[0]))
    assert 40 <= box(row(page, asked[0]))["height"] <= 50
    chosen(page, asked[1])
    expect(card(page, asked[0])).to_be_hidden()
    expect(row(page, asked[0])).to_be_visible()


@pytest.mark.promise("desk/13")
def test_on_a_phone_the_list_comes_before_the_card_and_a_swipe_leads_to_the_next(desk: Desk) -> None:
    asked = [desk.ask(**CACHE | {"question": f"Number {number}?"}) for number in range(3)]
    page = desk.page(**PHONE)
    expect(card(page, asked[0])).to_be_hidden()
    chosen(page, asked[0])
    expect(row(page, asked[0])).to_be_hidden()
    page.get_by_role("button", name="Next").click()
    expect(card(page, asked[1])).to_be_visible()
    swipe(page, -200)
    expect(card(page, asked[2])).to_be_visible()
    swipe(page, 200)
    expect(card(page, asked[1])).to_be_visible()
    page.go_back()
    expect(row(page, asked[1])).to_be_visible()
    expect(card(page, asked[1])).to_be_hidden()


def swipe(page: Page, by: int) -> None:
    """Move a finger over the card."""
    devtools = page.context.new_cdp_session(page)
    for kind, points in (
        ("touchStart", [{"x": 180, "y": 250}]),
        ("touchMove", [{"x": 180 + by // 2, "y": 252}]),
        ("touchMove", [{"x": 180 + by, "y": 252}]),
        ("touchEnd", []),
    ):
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


@pytest.mark.promise("desk/15")
def test_a_new_question_is_announced_and_moves_nothing_that_is_read(desk: Desk) -> None:
    asked = [desk.ask(**CACHE | {"question": f"Number {number}?"}) for number in range(4)]
    page = desk.page()
    opened = chosen(page, asked[2])
    before = box(row(page, asked[2])), box(opened)
    approval = desk.ask(**APPLY)
    expect(page.get_by_role("button", name="1 new")).to_be_visible()
    # What a person sees is what a frame shows.
    page.evaluate("new Promise(requestAnimationFrame)")
    assert (box(row(page, asked[2])), box(opened)) == before
    desk.ask(**APPLY | {"question": "terraform destroy"})
    page.get_by_role("button", name="2 new").click()
    expect(row(page, approval).get_by_role("link")).to_be_focused()
    expect(row(page, approval)).to_be_in_viewport()
    expect(page.locator("[data-fresh]")).to_be_hidden()
    assert order(page)[:2] == ["terraform apply", "terraform destroy"]


@pytest.mark.promise("desk/15")
def test_a_new_question_is_in_view_above_a_long_list_of_settled_ones(desk: Desk) -> None:
    page = desk.page(viewport={"width": 1280, "height": 500})
    for number in range(12):
        settled = desk.ask(**CACHE | {"question": f"Number {number}?"})
        expect(row(page, settled)).to_be_in_viewport()
        desk.owner.post(f"/v1/inquiries/{settled['id']}/answer", {"text": "Redis"})
        expect(row(page, settled)).to_have_attribute("data-group", "settled")
    inquiry = desk.ask(**CACHE | {"question": "The thirteenth?"})
    expect(row(page, inquiry)).to_be_in_viewport(ratio=1)
    page.evaluate("new Promise(requestAnimationFrame)")
    expect(row(page, inquiry)).to_be_in_viewport(ratio=1)


@pytest.mark.promise("desk/14")
def test_a_row_goes_to_the_group_of_those_that_expire_when_its_time_has_come(desk: Desk) -> None:
    inquiry, approval = desk.ask(**CACHE, ttl="905s"), desk.ask(**APPLY)
    page = desk.page()
    assert order(page) == ["terraform apply", "Which cache?"]
    expect(page.locator('[data-rows="expiring"]')).to_contain_text("Which cache?")
    assert order(page) == ["Which cache?", "terraform apply"]
    # What is read stays.
    expect(card(page, approval)).to_be_visible()
    desk.owner.post(f"/v1/inquiries/{inquiry['id']}/extend", {"for": "40h"})
    expect(page.locator('[data-rows="questions"]')).to_contain_text("Which cache?")


@pytest.mark.promise("desk/41")
def test_what_is_half_written_in_a_card_survives_switching_rows(desk: Desk) -> None:
    secret = desk.ask(question="Password?", secret=True)
    others = [desk.ask(**CACHE | {"question": f"Number {number}?"}) for number in range(12)]
    page = desk.page()
    chosen(page, secret).get_by_role("textbox", name="Write your answer").fill("hunter2")
    chosen(page, others[0]).get_by_text("Decline", exact=True).click()
    card(page, others[0]).get_by_label("Reason").fill("not today")
    for inquiry in others[1:]:
        chosen(page, inquiry)
    expect(row(page, secret)).to_have_attribute("data-drafted", "")
    expect(chosen(page, secret).get_by_role("textbox", name="Write your answer")).to_have_value("hunter2")
    expect(chosen(page, others[0]).get_by_label("Reason")).to_have_value("not today")


def test_y_takes_what_is_recommended_and_g_leads_from_page_to_page(desk: Desk) -> None:
    options = ["Memcached", {"label": "Redis", "recommended": True}]
    inquiry = desk.ask(question="Which cache?", options=options)
    page = desk.page()
    page.keyboard.press("j")
    page.keyboard.press("y")
    expect(card(page, inquiry)).to_contain_text("Answered: Redis")
    for key, path in (("r", "/runs"), ("i", "/")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page).to_have_url(f"{desk.running_url()}{path}")
        expect(page.locator("body[data-connected=true]")).to_be_attached()
    page.keyboard.press("g")
    page.keyboard.press("h")
    expect(page).to_have_url(f"{desk.running_url()}/history")


def test_a_card_that_changed_while_it_was_loaded_is_loaded_again(desk: Desk) -> None:
    first, second, third = (desk.ask(**CACHE | {"question": f"Number {number}?"}) for number in range(3))
    page = desk.page()
    expect(card(page, second)).to_be_attached()
    answered: list[str] = []

    def late(route: Any) -> None:
        # Read before the answer, and heard after it.
        reply = route.fetch()
        if not answered:
            answered.append("Redis")
            desk.owner.post(f"/v1/inquiries/{third['id']}/answer", {"text": "Redis"})
            expect(row(page, third)).to_contain_text("Answered: Redis")
        route.fulfill(response=reply)

    page.route(f"**/i/{third['id']}", late)
    row(page, third).get_by_role("link").click()
    expect(card(page, third)).to_contain_text("Answered: Redis")
    expect(card(page, first)).to_be_hidden()


@pytest.mark.promise("desk/13")
def test_from_1500_px_what_the_run_writes_stands_beside_its_question(agents: Desk, tmp_path: Path) -> None:
    other = agents.ask(**CACHE | {"question": "Of no run?"})
    waiting(agents, tmp_path)
    page = agents.page(viewport={"width": 1600, "height": 900})
    beside = page.locator("[data-beside]")
    # Before anything was pressed.
    expect(beside.get_by_text("local")).to_be_visible()
    expect(beside.locator(".log")).to_have_count(0)
    page.locator(".row", has_text="Which cache?").get_by_role("link").click()
    expect(beside.locator(".log")).to_contain_text("I have to ask.")
    asked = page.locator("article:visible")
    assert box(beside)["x"] >= right_of(asked)
    asked.get_by_text("Redis").click()
    expect(beside.locator(".log")).to_contain_text("I have to ask.")
    name = asked.get_attribute("data-id")
    agents.owner.post(f"/v1/inquiries/{name}/answer", {"text": "Redis"})
    expect(beside.locator(".log")).to_contain_text("I use Redis")
    page.set_viewport_size({"width": 1400, "height": 900})
    expect(beside).to_be_hidden()
    expect(row(page, other)).to_be_visible()


@pytest.mark.promise("desk/52")
def test_j_after_answering_goes_on_from_there(desk: Desk) -> None:
    asked = [desk.ask(question=f"Number {number}?", options=["Yes", "No"]) for number in range(4)]
    page = desk.page()
    chosen(page, asked[1])
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(card(page, asked[2])).to_be_visible()
    # It has opened by itself: the first j takes it up, the second goes on.
    page.keyboard.press("j")
    expect(card(page, asked[2])).to_be_focused()
    page.keyboard.press("j")
    expect(card(page, asked[3])).to_be_focused()
    expect(row(page, asked[1]).locator(".outcome")).to_contain_text("Yes")
    expect(page.locator(".row .outcome")).to_have_count(1)
