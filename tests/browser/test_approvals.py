"""Approving for good in the inbox, with and without scripts."""

from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, card, chosen

ACTION: dict[str, Any] = {"tool": "Bash", "input": {"command": "npm test -- --watch"}, "cwd": "/srv/app"}


def rules(desk: Desk) -> list[dict[str, Any]]:
    """What is remembered."""
    items: list[dict[str, Any]] = desk.owner.get("/v1/rules")["items"]
    return items


def without_scripts(desk: Desk) -> Page:
    page = desk.context(java_script_enabled=False).new_page()
    page.goto(desk.owner.post("/v1/sign-in-links", {})["url"])
    page.get_by_role("button", name="Continue as").click()
    return page


def test_an_approval_is_remembered_where_the_person_chose_so(desk: Desk) -> None:
    once, always, no = (desk.ask(action=ACTION, request_key=key) for key in ("1", "2", "3"))
    page = desk.page()
    page.locator("[data-batch] > details > summary").click()
    chosen(page, once).get_by_role("button", name="Approve").click()
    expect(card(page, once)).to_contain_text("Approved")
    assert rules(desk) == []

    select = chosen(page, no).get_by_label("And from now on")
    select.select_option("exact")
    card(page, no).get_by_role("button", name="Deny").click()
    expect(card(page, no)).to_contain_text("Denied")
    assert rules(desk) == []

    select = chosen(page, always).get_by_label("And from now on")
    expect(select).to_contain_text("allow npm test … in /srv/app")
    select.select_option("prefix")
    card(page, always).get_by_role("button", name="Approve").click()
    expect(card(page, always)).to_contain_text("Approved")
    (rule,) = rules(desk)
    assert (rule["prefix"], rule["directory"], rule["inquiry"]) == ("npm test", "/srv/app", always["id"])


def test_without_scripts_an_approval_is_remembered_too(desk: Desk) -> None:
    desk.ask(action=ACTION)
    page = without_scripts(desk)
    page.get_by_label("And from now on").select_option("directory")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("[data-flash]")).to_contain_text("No call waits for it now; the answer is kept")
    assert [rule["as"] for rule in rules(desk)] == ["directory"]


def test_only_what_could_be_remembered_is_offered(desk: Desk) -> None:
    action = {**ACTION, "input": {"command": "npm test; reboot"}}
    compound, plain = desk.ask(action=action), desk.ask(kind="approval", question="Deploy?")
    page = desk.page()
    offered = chosen(page, compound).locator("select[name=remember] option")
    assert offered.evaluate_all("all => all.map((each) => each.value)") == ["", "exact", "directory", "tool"]
    expect(chosen(page, plain).locator("select")).to_have_count(0)


def test_a_vote_is_counted_and_shown_to_everybody(desk: Desk) -> None:
    (desk.home.path / "upcall.toml").write_text("[approvals]\nquorum = 2\n")
    desk.restart()
    inquiry = desk.ask(action=ACTION)
    page, other = desk.page(), desk.page()
    expect(card(page, inquiry)).to_contain_text("0 of 2 approvals")
    card(page, inquiry).get_by_role("button", name="Approve").click()
    expect(card(page, inquiry)).to_contain_text("1 of 2 approvals")
    expect(card(other, inquiry)).to_contain_text("1 of 2 approvals")
    desk.colleague("ben").post(f"/v1/inquiries/{inquiry['id']}/answer", {"text": "yes"})
    expect(card(other, inquiry)).to_contain_text("Approved — by ben")
