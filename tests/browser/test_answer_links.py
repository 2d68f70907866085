"""An answer link in a real browser, without a session."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk, card
from tests.browser.scene import FORM


@pytest.mark.parametrize("scripts", [True, False])
def test_a_link_answers_one_question_once_with_and_without_scripts(desk: Desk, scripts: bool) -> None:  # noqa: FBT001 - a parameter of the test
    inquiry = desk.ask(**FORM)
    url = desk.owner.post(f"/v1/inquiries/{inquiry['id']}/links", {})["url"]
    context = desk.context(java_script_enabled=scripts)
    page = context.new_page()
    page.goto(url)
    page.get_by_label("lint").check()
    page.get_by_label("Page", exact=True).check()
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("An empty answer is not an answer")).to_be_visible()
    expect(page.get_by_label("lint")).to_be_checked()
    page.get_by_label("Write your answer").fill("because")
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_role("status").first).to_contain_text("No call waits for it now; the answer is kept")
    assert desk.show(inquiry)["answer"]["answers"] == [["lint"], ["Page"], ["because"]]
    assert context.cookies() == []
    page.goto(url)
    expect(page.get_by_text("This link has been used")).to_be_visible()
    page.goto(desk.running_url())
    expect(page.get_by_text("Sign in to your inbox")).to_be_visible()


def test_an_approval_is_given_by_link(desk: Desk) -> None:
    inquiry = desk.ask(kind="approval", question="rm -rf build", context="it is stale")
    page = desk.context().new_page()
    page.goto(desk.owner.post(f"/v1/inquiries/{inquiry['id']}/links", {})["url"])
    expect(card(page, inquiry).locator("pre").first).to_have_text("rm -rf build")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Approved — by")).to_be_visible()
