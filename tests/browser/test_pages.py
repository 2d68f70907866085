"""The pages as they are shown: hostile text, no scripts, every theme, and what a screen reader would meet."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import CACHE, Desk, card
from tests.conftest import require

AXE = Path(__file__).resolve().parents[1] / "node/node_modules/axe-core/axe.min.js"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
FORM: dict[str, Any] = {
    "questions": [
        {"header": "Checks", "question": "Which?", "options": ["lint", "types"], "multiSelect": True},
        {
            "question": "Layout?",
            "custom": False,
            "options": [
                {"label": "Tabs", "description": "short", "recommended": True, "preview": "[a] [b]"},
                "Page",
            ],
        },
        {"question": "Why?"},
    ],
    "context": "**Look:**\n\n```diff\n-old\n+new\n```\n\n| a | b |\n|---|---|\n| 1 | [two](https://example.org/) |",
}
HOSTILE = (
    "<script>window.obeyed = 1</script><img src=x onerror='window.obeyed = 1'>"
    "![pixel](https://evil.example/p.png) [click](javascript:window.obeyed=1) \u202egnp.exe \u200b"
)


def complaints(page: Page) -> list[str]:
    """What axe finds on a page."""
    require(AXE.exists(), "axe-core")
    # The pages' own policy keeps scripts out; a test may bring one.
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate(f"axe.run(document, {json.dumps(RULES)})")
    return [
        f"{each['id']} ({each['impact']}): {node['html'][:200]}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


def overflow(page: Page) -> int:
    """By how much a page is wider than the window."""
    wider: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider


@pytest.fixture
def busy(desk: Desk) -> Desk:
    """A desk with one of each kind on it."""
    desk.ask(**FORM)
    desk.ask(kind="approval", question="rm -rf build", context="it is stale\nand large")
    cwd = "/home/somebody/with/a/rather/long/path/to/a/project"
    desk.ask(action={"tool": "Bash", "input": {"command": "npm test"}, "cwd": cwd})
    desk.ask(question="Why?", default="because", secret=True)
    desk.owner.post(f"/v1/inquiries/{desk.ask()['id']}/snooze", {"for": "1h"})
    for text in ("Redis", "neither"):
        desk.owner.post(f"/v1/inquiries/{desk.ask()['id']}/answer", {"text": text})
    desk.owner.post(f"/v1/inquiries/{desk.ask()['id']}/reject", {"reason": "no"})
    return desk


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_to_complain_about(busy: Desk, theme: str) -> None:
    context = busy.context(color_scheme=theme)
    page = busy.page(context)
    for details in page.locator("article details, .menu").all():
        details.evaluate("each => { each.open = true }")
    assert complaints(page) == []
    page.keyboard.press("?")
    assert complaints(page) == []
    url = busy.running_url()
    for path in ("/history", "/sessions", "/i/nowhere", f"/i/{busy.ask(**CACHE)['id']}"):
        page.goto(f"{url}{path}")
        assert complaints(page) == [], path
    stranger = busy.context(color_scheme=theme).new_page()
    stranger.goto(f"{url}/sign-in")
    assert complaints(stranger) == []
    busy.complaints.clear()


def test_a_phone_shows_everything_in_reach_of_a_thumb(busy: Desk) -> None:
    page = busy.page(**PHONE)
    assert complaints(page) == []
    assert overflow(page) == 0
    small = page.evaluate(
        """[...document.querySelectorAll("main button, main summary, .option, .bar a, .bar summary, main textarea, main select")]
        .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < 44)
        .map((each) => each.outerHTML.slice(0, 120))"""
    )
    assert small == []


def test_from_right_to_left_nothing_runs_out_of_the_page(busy: Desk) -> None:
    page = busy.page(**PHONE)
    page.evaluate("document.documentElement.dir = 'rtl'")
    assert overflow(page) == 0
    assert complaints(page) == []


@pytest.mark.promise("spec/137")
def test_hostile_text_is_shown_and_not_obeyed(desk: Desk, tmp_path: Path) -> None:
    (desk.program.home / "upcall.toml").write_text("[limits]\ncontext_bytes = 400000\n")
    desk.restart()
    page = desk.page()
    line = "x" * 200_000
    inquiry = desk.ask(
        question=HOSTILE,
        header="<b>bold</b>",
        context=f"{HOSTILE}\n\n# Upcall\n\n[Sign in again](https://evil.example/)",
        options=[{"label": "<i>1</i>", "description": HOSTILE, "preview": HOSTILE}],
    )
    long = desk.ask(question="Long?", context=line)
    expect(card(page, inquiry)).to_contain_text("<script>window.obeyed = 1</script>")
    expect(card(page, inquiry)).to_contain_text("Sign in again https://evil.example/")
    card(page, long).get_by_text("Context").click()
    expect(card(page, long)).to_contain_text("x" * 1000)
    assert overflow(page) == 0
    page.reload()
    expect(card(page, inquiry)).to_contain_text("<script>window.obeyed = 1</script>")
    assert page.evaluate("window.obeyed") is None
    assert page.locator("article img, article script, article h1").count() == 0
    assert "\u202e" not in page.content()


def test_without_scripts_a_question_is_read_and_answered(desk: Desk) -> None:
    inquiry = desk.ask(**FORM)
    context = desk.context(java_script_enabled=False)
    page = context.new_page()
    page.goto(desk.owner.post("/v1/sign-in-links", {})["url"])
    page.get_by_role("button", name="Continue as").click()
    page.get_by_label("lint").check()
    page.get_by_label("Page", exact=True).check()
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("An empty answer is not an answer")).to_be_visible()
    expect(page.get_by_label("lint")).to_be_checked()
    page.get_by_label("Write your answer").fill("because")
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator("[data-flash]")).to_contain_text("The agent is being told.")
    assert desk.show(inquiry)["answer"]["answers"] == [["lint"], ["Page"], ["because"]]
    other = desk.ask()
    page.goto(desk.running_url())
    page.locator("summary", has_text="Decline").click()
    page.get_by_label("Reason").fill("not now")
    page.get_by_role("button", name="Decline to answer").click()
    assert desk.show(other)["state"] == "rejected"


def test_a_signed_in_browser_signs_out(desk: Desk) -> None:
    page = desk.page()
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("Sign in to your inbox")).to_be_visible()
    page.goto(desk.running_url())
    expect(page.get_by_text("upcall inbox")).to_be_visible()


def test_another_language_is_picked_from_the_menu(desk: Desk) -> None:
    page = desk.page()
    page.locator(".menu summary").click()
    page.get_by_role("link", name="Deutsch").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    inquiry = desk.ask()
    expect(card(page, inquiry)).to_contain_text("Antwort senden")
