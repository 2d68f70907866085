"""Plans and changed actions in a real Chromium: comments on lines and passages, the difference before it is sent, keys, and no scripts."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Desk, card
from tests.browser.test_approvals import without_scripts

PLAN = (
    "# Cache\n\n1. Install **Redis**\n   - the client\n   - the service\n2. Write `cache.py`\n\n"
    + "\n\n".join(f"Paragraph {number}." for number in range(30))
)
ASKED: dict[str, Any] = {"kind": "plan", "question": "Shall this plan be carried out?"}
CLEAN = {"command": "rm -rf build dist", "timeout": 5}
ACTION: dict[str, Any] = {
    "action": {"tool": "Bash", "input": CLEAN, "cwd": "/srv/shop", "editable": True},
}
SELECT = """([card, text]) => {
  const part = [...document.querySelectorAll(`#i-${card} [data-plan] p`)].find((each) => each.textContent === text);
  getSelection().selectAllChildren(part);
}"""


def press_to(page: Page, inquiry: dict[str, Any], key: str, control: Locator) -> None:
    """Press a key that leads to a control, once all of the card was on the screen: the browser says in its own time that it was."""
    see_all(page, inquiry)
    while not control.evaluate("it => it === document.activeElement"):
        card(page, inquiry).focus()
        page.keyboard.press(key)
        page.evaluate("new Promise(requestAnimationFrame)")
        # A card that was drawn anew meanwhile has another beginning and another end.
        see_all(page, inquiry)


def see_all(page: Page, inquiry: dict[str, Any]) -> None:
    """Scroll from the beginning of a card to its end, each in a frame: a browser tells what was on the screen with the next one."""
    for part in (card(page, inquiry).locator(".question").first, card(page, inquiry).locator(".end")):
        part.scroll_into_view_if_needed()
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.mark.promise("raised/13", "raised/14", "raised/15")
def test_a_plan_is_commented_on_by_line_and_passage_and_the_next_one_is_decided_with_keys(desk: Desk) -> None:
    first = desk.ask(**ASKED, context=PLAN)
    page = desk.page(path=f"/i/{first['id']}", viewport={"width": 1000, "height": 700})
    plan = card(page, first)
    field = plan.get_by_label("What should change")
    # The decision is in view from the first line on, so a comment does not lead away from what it is about.
    expect(plan.get_by_role("button", name="Approve", exact=True)).to_be_in_viewport(ratio=1)
    plan.get_by_role("link", name="Comment on line 5", exact=True).click()
    expect(field).to_be_focused()
    expect(plan.get_by_text("Cache", exact=True)).to_be_in_viewport()
    page.keyboard.type("it runs already")
    quote = plan.get_by_role("button", name="Comment on the selection")
    expect(quote).to_be_hidden()
    page.evaluate(SELECT, [first["id"], "Paragraph 2."])
    quote.click()
    page.keyboard.type("why?")
    expect(field).to_have_value("L5: it runs already\n\n> Paragraph 2.\nwhy?")
    page.reload()
    expect(field).to_have_value("L5: it runs already\n\n> Paragraph 2.\nwhy?")
    # Comments are no yes.
    plan.get_by_role("button", name="Approve", exact=True).click()
    expect(plan.locator("[data-note]")).to_contain_text("Revise")
    press_to(page, first, "c", field)
    page.keyboard.press("Control+Enter")
    expect(plan).to_contain_text("Answered: Revise")
    answer = desk.show(first)["answer"]
    assert [(each["line"], each["text"]) for each in answer["comments"]] == [
        (5, "it runs already"),
        (12, "why?"),
    ]

    second = desk.ask(**ASKED, context=PLAN.replace("   - the service\n", ""))
    page.goto(f"{desk.running_url()}/i/{second['id']}")
    again = card(page, second)
    expect(again.locator(".revised .del")).to_have_text("-   - the service")
    again.focus()
    page.keyboard.press("3")
    expect(again.locator("[data-note]")).to_contain_text("Scroll to the end")
    press_to(page, second, "3", again.get_by_role("button", name="Approve and accept edits"))
    page.keyboard.press("Enter")
    expect(again).to_contain_text("Answered: Approve and accept edits")
    assert desk.show(second)["answer"]["decision"] == "accept_edits"


@pytest.mark.promise("raised/18", "raised/20")
def test_a_command_is_changed_its_difference_is_seen_and_that_is_approved(desk: Desk) -> None:
    asked = desk.ask(**ACTION)
    page = desk.page(path=f"/i/{asked['id']}", viewport={"width": 360, "height": 740})
    shown = card(page, asked)
    command, changed = shown.get_by_label("command"), shown.locator("[data-differs]").first
    press_to(page, asked, "c", command)
    # What is changed can be compared with what was asked for, on a small screen too.
    shown.get_by_text("rm -rf build dist", exact=True).first.scroll_into_view_if_needed()
    covered = """each => {
      const { left, top } = each.getBoundingClientRect();
      return !each.contains(document.elementFromPoint(left + 20, top + 20)); }"""
    assert not shown.locator(".exact").first.evaluate(covered)
    expect(changed).to_be_hidden()
    command.press("End")
    for _ in " dist":
        command.press("Backspace")
    expect(changed).to_have_text("rm -rf build dist")
    expect(changed.locator("del")).to_have_text(" dist")
    command.press_sequentially(" --verbose")
    expect(changed.locator("ins")).to_have_text("--verbose")
    page.reload()
    expect(command).to_have_value("rm -rf build --verbose")
    expect(changed.locator("ins")).to_have_text("--verbose")
    # The button for what was asked approves nothing else.
    shown.get_by_role("button", name="Approve", exact=True).click()
    expect(shown.locator("[data-note]")).to_contain_text("You have changed the action")
    command.fill("rm -rf build")
    press_to(page, asked, "c", command)
    page.keyboard.press("Control+Enter")
    expect(shown.locator(".outcome")).to_contain_text("Approved with changes")
    expect(shown.locator(".edited .del")).to_contain_text("-rm -rf build dist")
    answer = desk.show(asked)["answer"]
    assert answer["edit"]["input"] == {**CLEAN, "command": "rm -rf build"}
    expect(shown).to_contain_text(answer["edit"]["sha256"])


@pytest.mark.promise("raised/13", "raised/18")
def test_without_scripts_a_plan_is_sent_back_and_a_changed_action_approved(desk: Desk) -> None:
    plan, asked = desk.ask(**ASKED, context=PLAN), desk.ask(**ACTION)
    page = without_scripts(desk)
    page.goto(f"{desk.running_url()}/i/{plan['id']}")
    card(page, plan).get_by_role("link", name="Comment on line 5", exact=True).click()
    card(page, plan).get_by_label("What should change").fill("L5: it runs already")
    card(page, plan).get_by_role("button", name="Revise").click()
    expect(page.locator("body")).to_contain_text("Revise")
    assert desk.show(plan)["answer"]["comments"][0]["passage"] == "   - the service"
    page.goto(f"{desk.running_url()}/i/{asked['id']}")
    card(page, asked).get_by_text("Approve with changes").click()
    card(page, asked).get_by_label("command").fill("rm -rf build")
    card(page, asked).get_by_role("button", name="Approve as changed").click()
    expect(page.locator("body")).to_contain_text("Approved with changes")
    assert desk.show(asked)["answer"]["edit"]["input"]["command"] == "rm -rf build"
