"""Keys that work on every page, and the list that finds everything."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import CACHE, Desk, card, chosen


@pytest.mark.parametrize("path", ["/history", "/threads", "/runs", "/rules", "/sessions"])
def test_g_and_the_list_of_keys_work_on_pages_without_questions_too(desk: Desk, path: str) -> None:
    page = desk.page()
    page.goto(f"{desk.running_url()}{path}")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_contain_text("Ctrl K")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    for letter, place in (("h", "/history"), ("r", "/runs"), ("i", "/")):
        page.keyboard.press("g")
        page.keyboard.press(letter)
        expect(page).to_have_url(f"{desk.running_url()}{place}")
        page.wait_for_load_state("load")


def test_ctrl_k_finds_a_question_and_opens_it_and_gives_the_focus_back(desk: Desk) -> None:
    first, other = desk.ask(**CACHE), desk.ask(question="Which colour has the bikeshed?")
    page = desk.page()
    chosen(page, first).focus()
    page.keyboard.press("Control+k")
    finder = page.get_by_role("dialog")
    expect(finder.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(finder).to_have_count(0)
    expect(card(page, first)).to_be_focused()

    page.keyboard.press("Control+k")
    page.keyboard.type("bikeshed")
    expect(finder.get_by_role("link")).to_have_text(["Which colour has the bikeshed? local"])
    page.keyboard.press("ArrowDown")
    expect(finder.get_by_role("link")).to_be_focused()
    page.keyboard.press("Enter")
    expect(card(page, other)).to_be_visible()
    expect(finder).to_have_count(0)


def test_a_choice_keeps_the_focus_when_the_same_is_found_once_more(desk: Desk) -> None:
    desk.ask(**CACHE)
    other = desk.ask(question="Which colour has the bikeshed?")
    page = desk.page()
    late: list[Route] = []
    page.route("**/find?q=bikeshed", lambda route: late.append(route))  # noqa: PLW0108 - Playwright takes no built-in method
    page.keyboard.press("Control+k")
    page.keyboard.type("bikeshe")
    found = page.get_by_role("dialog").get_by_role("link")
    expect(found).to_have_text(["Which colour has the bikeshed? local"])
    with page.expect_request("**/find?q=bikeshed"):
        page.keyboard.type("d")
    page.keyboard.press("ArrowDown")
    expect(found).to_be_focused()
    with page.expect_response("**/find?q=bikeshed"):
        late[0].continue_()
    expect(found).to_be_focused()
    page.keyboard.press("Enter")
    expect(card(page, other)).to_be_visible()


def test_ctrl_k_runs_commands_on_the_question_in_view_and_leads_to_other_pages(desk: Desk) -> None:
    asked = desk.ask(**CACHE)
    page = desk.page()
    chosen(page, asked).focus()
    page.keyboard.press("Control+k")
    page.keyboard.type("snooz")
    expect(page.get_by_role("dialog").get_by_role("button", name="snooze")).to_be_visible()
    page.keyboard.press("Enter")
    expect(card(page, asked).get_by_role("button", name="4 hours", exact=True)).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("history")
    expect(page.get_by_role("dialog").get_by_role("link", name="History")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{desk.running_url()}/history")
    # The new page hears no key before its scripts are there.
    page.wait_for_load_state("domcontentloaded")
    page.keyboard.press("Control+k")
    page.keyboard.type("which")
    page.get_by_role("dialog").get_by_role("link", name="Which cache?").click()
    expect(page).to_have_url(f"{desk.running_url()}/i/{asked['id']}")


@pytest.mark.promise("desk/17", "desk/47")
def test_a_form_is_answered_with_digits_one_question_after_the_other_and_reviewed_before_it_is_sent(
    desk: Desk,
) -> None:
    inquiry = desk.ask(
        questions=[
            {"header": "Checks", "question": "Which?", "options": ["lint", "types"], "multiSelect": True},
            {"question": "Layout?", "custom": False, "options": ["Tabs", "Page"]},
            {"header": "Reason", "question": "Why?"},
        ]
    )
    page = desk.page()
    mine = card(page, inquiry)
    page.keyboard.press("j")
    expect(mine.get_by_role("group", name="Which?")).to_be_visible()
    expect(mine.get_by_role("group", name="Layout?")).to_be_hidden()
    page.keyboard.press("1")
    page.keyboard.press("2")
    review = mine.locator("[data-review]")
    expect(review).to_have_text("Checks: lint, types · 2: … · Reason: …")
    page.keyboard.press("Enter")
    expect(mine.get_by_role("group", name="Which?")).to_be_hidden()
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    page.keyboard.type("because")
    expect(review).to_have_text("Checks: lint, types · 2: Page · Reason: because")
    # Any question can be looked at again before all of it is sent.
    mine.get_by_role("button", name="Checks").click()
    expect(mine.get_by_label("types")).to_be_checked()
    assert desk.show(inquiry)["state"] == "open"
    mine.get_by_role("button", name="Send answer").click()
    expect(mine).to_have_class(re.compile("settled"))
    assert desk.show(inquiry)["answer"]["answers"] == [["lint", "types"], ["Page"], ["because"]]


def test_y_takes_what_is_recommended_for_the_question_that_is_shown_and_for_no_other(desk: Desk) -> None:
    inquiry = desk.ask(
        questions=[
            {
                "header": "Cache",
                "question": "Which?",
                "options": [{"label": "Redis", "recommended": True}, "None"],
            },
            {
                "header": "Where",
                "question": "Where?",
                "options": [{"label": "Here", "recommended": True}, "There"],
            },
        ]
    )
    page = desk.page()
    mine = card(page, inquiry)
    page.keyboard.press("j")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(mine.get_by_role("group", name="Where?")).to_be_visible()
    page.keyboard.press("y")
    expect(mine.locator("[data-review]")).to_have_text("Cache: None · Where: Here")


@pytest.mark.promise("desk/48")
def test_esc_and_a_press_elsewhere_close_a_menu_but_never_over_what_was_written(desk: Desk) -> None:
    inquiry = desk.ask()
    page = desk.page()
    menus = page.locator(":is(.menu, details[name])[open]")
    page.locator(".menu summary").click()
    page.keyboard.press("Escape")
    expect(menus).to_have_count(0)
    page.locator(".menu summary").click()
    page.locator(".list h1").click()
    expect(menus).to_have_count(0)
    mine = card(page, inquiry)
    mine.locator("summary", has_text="Snooze").click()
    page.locator(".list h1").click()
    expect(menus).to_have_count(0)
    mine.locator("summary", has_text="Decline").click()
    mine.get_by_label("Reason").fill("not now")
    page.locator(".list h1").click()
    expect(menus).to_have_count(1)
    mine.get_by_label("Reason").press("Escape")
    expect(menus).to_have_count(0)
    expect(mine).to_be_focused()
