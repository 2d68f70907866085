"""A question with a schema, in a real browser: its own inputs, what they refuse, and the content that is sent."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk, card, row

SCHEMA = {
    "type": "object",
    "properties": {
        "env": {"title": "Environment", "enum": ["staging", "production"]},
        "replicas": {"type": "integer", "title": "Replicas", "minimum": 1, "maximum": 9, "default": 2},
        "notify": {"type": "boolean", "title": "Tell the team"},
        "mail": {"type": "string", "title": "Mail", "format": "email"},
        "day": {"type": "string", "title": "Day", "format": "date"},
    },
    "required": ["env", "notify"],
}


def test_defaults_are_no_draft_and_what_a_person_makes_of_them_survives_a_reload(desk: Desk) -> None:
    properties = {
        "why": {"type": "string", "title": "Why", "default": "because"},
        "days": {
            "type": "array",
            "title": "Days",
            "items": {"enum": ["Mon", "Tue"]},
            "default": ["Mon", "Tue"],
        },
    }
    inquiry = desk.ask(question="How?", response_schema={"type": "object", "properties": properties})
    other = desk.ask()
    page = desk.page()
    row(page, inquiry).click()
    form = card(page, inquiry)
    expect(form.get_by_label("Tue")).to_be_checked()
    row(page, other).click()
    expect(card(page, other)).to_be_visible()
    expect(row(page, inquiry)).not_to_have_attribute("data-drafted", "")
    row(page, inquiry).click()
    form.get_by_label("Tue").uncheck()
    form.locator("textarea[name=t0]").fill("")
    row(page, other).click()
    expect(row(page, inquiry)).to_have_attribute("data-drafted", "")
    page.reload()
    row(page, inquiry).click()
    expect(form.get_by_label("Mon")).to_be_checked()
    expect(form.get_by_label("Tue")).not_to_be_checked()
    expect(form.locator("textarea[name=t0]")).to_have_value("")


@pytest.mark.promise("raised/28")
def test_a_typed_form_is_filled_in_by_keys_and_fields_and_sent_as_content(desk: Desk) -> None:
    inquiry = desk.ask(question="How do we deploy?", response_schema=SCHEMA)
    page = desk.page()
    form = card(page, inquiry)
    form.focus()
    page.keyboard.press("2")
    expect(form.get_by_label("production")).to_be_checked()
    yes, no = form.locator("fieldset", has_text="Tell the team").get_by_role("radio").all()
    yes.focus()
    # A digit chooses in the question that has the focus.
    page.keyboard.press("2")
    expect(no).to_be_checked()
    expect(form.get_by_label("production")).to_be_checked()
    replicas = form.get_by_label("Replicas")
    expect(replicas).to_have_value("2")
    replicas.fill("12")
    form.get_by_label("Day").fill("2026-12-01")
    form.get_by_role("button", name="Send answer").click()
    # The browser itself says what does not fit, and nothing is sent.
    expect(replicas).to_be_focused()
    assert desk.show(inquiry)["state"] == "open"
    replicas.fill("3")
    form.get_by_role("button", name="Send answer").click()
    # What was left out leaves no gap in the line.
    expect(row(page, inquiry)).to_contain_text("Answered: production; 3; No; 2026-12-01")
    content = {"env": "production", "replicas": 3, "notify": False, "day": "2026-12-01"}
    assert desk.show(inquiry)["answer"]["content"] == content
