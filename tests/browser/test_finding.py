"""Finding what was asked: filters and search in the inbox, and the history with how far each answer got."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import CACHE, Desk, card
from upcall.cli.client import inquiry_path

# A clock's time, or a day's before it.
TIME = re.compile(r"\d\d:\d\d")


def search(page: Page, words: str) -> None:
    """Ask the server for all there is."""
    page.keyboard.press("/")
    page.keyboard.type(words)
    page.keyboard.press("Enter")


def test_the_history_tells_how_far_each_answer_got_and_when(desk: Desk) -> None:
    inquiry = desk.ask(**CACHE | {"context": "users.find() takes most of the time"})
    declined = desk.ask(question="And the colour?")
    page = desk.page(path=f"/i/{inquiry['id']}")
    trail = card(page, inquiry).locator(".trail li")
    expect(trail).to_have_text([re.compile("^Asked"), re.compile("^Shown")])
    card(page, inquiry).get_by_text("Redis").click()
    card(page, inquiry).get_by_role("button", name="Send answer").click()
    expect(trail).to_have_count(4)
    desk.agent.post(inquiry_path(inquiry["id"], "collect"), {})
    expect(trail.last).to_contain_text("Agent has it")
    desk.owner.post(inquiry_path(declined["id"], "reject"), {"reason": "ask Ben"})

    page.goto(f"{desk.running_url()}/history")
    steps = card(page, inquiry).locator(".trail li.done")
    expect(steps).to_have_count(4)
    for step, name in zip(steps.all(), ("Asked", "Shown", "Answered", "Agent has it"), strict=True):
        expect(step).to_contain_text(name)
        expect(step.locator("upcall-time")).to_have_text(TIME)
    expect(card(page, declined)).to_contain_text("ask Ben")
    # Words of the context, which the list does not show, and of the answer.
    page.locator("[data-search]").fill("users takes redis")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{desk.running_url()}/history?q=users+takes+redis")
    expect(page.locator("article")).to_have_count(1)
    expect(card(page, inquiry)).to_be_visible()


def test_the_inbox_is_filtered_by_workspace_and_searched_by_what_is_not_on_the_card(desk: Desk) -> None:
    for name in ("shop", "blog"):
        desk.owner.post(
            "/v1/inquiries", {**CACHE, "question": f"For the {name}?", "workspace": f"/srv/{name}"}
        )
    hidden = desk.ask(question="Long?", context="preface\n" * 200 + "the needle")
    page = desk.page()
    page.locator("select[name=workspace]").select_option("/srv/blog")
    expect(page).to_have_url(f"{desk.running_url()}/?workspace=%2Fsrv%2Fblog")
    expect(page.locator("body[data-connected=true]")).to_be_attached()
    expect(page.locator(".row:visible .line")).to_have_text(["For the blog?"])
    desk.owner.post("/v1/inquiries", {**CACHE, "question": "Still the blog?", "workspace": "/srv/blog"})
    expect(page.locator(".row:visible .line")).to_have_text(["For the blog?", "Still the blog?"])
    page.get_by_role("link", name="Clear").click()
    expect(page.locator("body[data-connected=true]")).to_be_attached()
    expect(page.locator(".row:visible")).to_have_count(4)
    search(page, "needle")
    expect(page).to_have_url(f"{desk.running_url()}/?q=needle")
    expect(page.locator(".row:visible")).to_have_count(1)
    expect(card(page, hidden)).to_be_visible()
