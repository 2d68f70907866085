"""The same action in several repositories: one row that unfolds, one decision about those in it, one way back."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, card, row
from tests.browser.test_hands import clocked, stop

TIMES = "\u00d7"
UNDO = "[data-held] form"


def applied(desk: Desk, name: str) -> dict[str, Any]:
    """A command that an agent wants to run in one repository, and others in theirs."""
    action = {"tool": "Bash", "input": {"command": "terraform apply"}, "cwd": f"/srv/{name}"}
    asked: dict[str, Any] = desk.owner.post(
        "/v1/inquiries", {"action": action, "agent": "claude", "workspace": f"/srv/{name}"}
    )
    return asked


def unfolded(page: Page) -> None:
    page.locator("[data-batch] > details > summary").click()
    expect(page.get_by_role("button", name="Approve selected")).to_be_visible()


@pytest.mark.promise("desk/1", "desk/18", "desk/19")
def test_one_row_unfolds_decides_exactly_those_that_were_seen_in_it_and_u_takes_that_back(
    unhurried: Desk,
) -> None:
    unhurried.ask(kind="approval", question="rm -rf build")
    first = applied(unhurried, "shop-api")
    page = unhurried.page(clocked(unhurried))
    stop(page)
    expect(page.locator(".list [data-batch]")).to_have_count(0)

    # The second of them makes one row of both, and the first stays where it was.
    second = applied(unhurried, "billing")
    summary = page.locator(".list [data-batch] > details > summary")
    expect(summary).to_have_text(f"2 {TIMES} terraform apply")
    expect(row(page, first)).to_be_hidden()
    unfolded(page)
    expect(row(page, second)).to_contain_text("billing")

    # What comes while it is unfolded is in the row, and not selected.
    late = applied(unhurried, "search")
    expect(summary).to_have_text(f"3 {TIMES} terraform apply")
    expect(row(page, late).get_by_role("checkbox", name="Select search")).not_to_be_checked()
    page.get_by_role("button", name="Approve selected").click()
    expect(page.locator(UNDO)).to_have_text("Approved: 2 Undo u")
    assert [unhurried.show(each)["held"] is not None for each in (first, second, late)] == [True, True, False]

    page.keyboard.press("u")
    expect(page.locator(UNDO)).to_have_count(0)
    expect(page.locator("[data-flash]")).to_contain_text("Open again: 2")
    assert [unhurried.show(each)["held"] for each in (first, second, late)] == [None] * 3


@pytest.mark.promise("desk/1", "desk/18", "desk/19")
def test_a_decision_about_several_is_told_when_it_is_left_alone_and_the_one_that_remains_is_a_row(
    desk: Desk,
) -> None:
    first, second, late = applied(desk, "shop-api"), applied(desk, "billing"), applied(desk, "search")
    page = desk.page()
    unfolded(page)
    row(page, late).get_by_role("checkbox").uncheck()
    page.get_by_role("button", name="Deny selected").click()
    expect(row(page, first).locator(".outcome")).to_contain_text("Denied")
    expect(row(page, second).locator(".outcome")).to_contain_text("Denied")
    expect(page.locator(".list [data-batch]")).to_have_count(0)
    expect(row(page, late)).to_be_visible()
    row(page, late).locator("a").click()
    expect(card(page, late).get_by_role("button", name="Approve")).to_be_visible()
    assert [desk.show(each)["state"] for each in (first, second, late)] == ["answered", "answered", "open"]


@pytest.mark.promise("desk/18")
def test_what_was_left_out_stays_so_when_it_is_unfolded_again_and_enter_on_a_box_decides_nothing(
    unhurried: Desk,
) -> None:
    kept, left_out = applied(unhurried, "shop-api"), applied(unhurried, "billing")
    page = unhurried.page()
    unfolded(page)
    box = row(page, left_out).get_by_role("checkbox")
    box.uncheck()
    page.keyboard.press("Enter")
    expect(page.locator("[data-batch] details[open]")).to_have_count(1)
    page.locator("[data-batch] > details > summary").click()
    unfolded(page)
    expect(box).not_to_be_checked()
    expect(row(page, kept).get_by_role("checkbox")).to_be_checked()
    assert {unhurried.show(each)["held"] is None for each in (kept, left_out)} == {True}
    page.get_by_role("button", name="Approve selected").click()
    expect(page.locator(UNDO)).to_be_visible()
    assert [unhurried.show(each)["held"] is None for each in (kept, left_out)] == [False, True]
