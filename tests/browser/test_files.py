"""Pictures and files in an answer, in a real Chromium: chosen, pasted and dropped."""

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import Desk, card
from tests.browser.test_diffs import DOT

PASTED = """([kind, bytes, name, type]) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(bytes)], name, { type }));
  const carried = kind === "paste" ? { clipboardData: files } : { dataTransfer: files };
  const made = new (kind === "paste" ? ClipboardEvent : DragEvent)(kind, { bubbles: true, cancelable: true, ...carried });
  document.querySelector("article.card:not([hidden]) .question").dispatchEvent(made);
}"""


def brings(page: Page, kind: str, name: str, content: bytes, media_type: str = "image/png") -> None:
    """Paste or drop a file on the card."""
    page.evaluate(PASTED, [kind, list(content), name, media_type])


@pytest.mark.promise("desk/24")
def test_pictures_are_chosen_pasted_and_dropped_and_go_with_the_answer(desk: Desk) -> None:
    inquiry = desk.ask()
    page = desk.page()
    asked = card(page, inquiry)
    drawing: FilePayload = {"name": "drawing.svg", "mimeType": "image/png", "buffer": b"<svg/>"}
    asked.locator("[data-files]").set_input_files(drawing)
    expect(asked.locator("[data-brought]")).to_have_text("drawing.svg")
    asked.get_by_role("radio").first.check()
    asked.get_by_role("button", name="Send").click()
    expect(asked.locator("[data-note]")).to_contain_text("A file cannot be taken")

    asked.get_by_role("button", name="Remove").click()
    expect(asked.locator("[data-brought]")).to_contain_text("up to 4")
    brings(page, "paste", "pasted.png", DOT)
    brings(page, "drop", "dropped.txt", b"as on paper", "text/plain")
    expect(asked.locator("[data-brought]")).to_have_text("pasted.png, dropped.txt")
    asked.get_by_role("button", name="Send").click()
    expect(asked.locator(".outcome")).to_contain_text("Redis")
    files = desk.show(inquiry)["answer"]["files"]
    assert [(file["name"], file["media_type"]) for file in files] == [
        ("pasted.png", "image/png"),
        ("dropped.txt", "text/plain"),
    ]
    expect(asked.locator(".picture img")).to_have_js_property("naturalWidth", 1)
