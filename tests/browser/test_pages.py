"""The pages as they are used: hostile text, no scripts, another language, the way out."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk, card, chosen
from tests.browser.scene import FORM
from tests.browser.test_looks import overflow

HOSTILE = (
    "<script>window.obeyed = 1</script><img src=x onerror='window.obeyed = 1'>"
    "![pixel](https://evil.example/p.png) [click](javascript:window.obeyed=1) \u202egnp.exe \u200b"
)


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
    chosen(page, long)
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
    page.get_by_role("radio", name="Page", exact=True).check()
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("An empty answer is not an answer")).to_be_visible()
    expect(page.get_by_label("lint")).to_be_checked()
    page.get_by_label("Write your answer").fill("because")
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator("[data-flash]")).to_contain_text("No call waits for it now; the answer is kept")
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


@pytest.mark.promise("desk/21")
def test_a_person_joins_by_the_code_that_the_page_of_channels_draws(desk: Desk) -> None:
    page = desk.page()
    page.get_by_label("Account and language").click()
    page.get_by_role("link", name="Channels and people").click()
    expect(page.get_by_text("No channel is set up")).to_be_visible()
    page.get_by_label("Name of a person").fill("ben")
    page.get_by_role("button", name="Add a person").click()
    expect(page.get_by_role("img", name="QR code of the join code")).to_have_js_property(
        "complete", value=True
    )
    assert [each["name"] for each in desk.owner.get("/v1/people")["items"]] == ["ben"]
