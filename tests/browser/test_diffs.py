"""Diffs, tables and pictures that people decide by, in a real Chromium."""

import re
from base64 import b64encode

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk, card

PARTS = 9
DIFF = "\n".join(
    f"diff --git a/part{number}.py b/part{number}.py\n--- a/part{number}.py\n+++ b/part{number}.py\n"
    f"@@ -1 +1,30 @@\n-x = {number}\n" + "\n".join(f"+x = {number}{line}" for line in range(30))
    for number in range(PARTS)
)
DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc0f01f0005000101a5f6"
    "45400000000049454e44ae426082"
)
WIDE = "| " + " | ".join(f"column{number}" for number in range(20)) + " |\n|" + "---|" * 20 + "\n"
CODE = "```python\nif here:\n                    return a_call(with_many, arguments, that_do_not_fit)\n```"


# A part was seen once a frame has shown it; scrolled away from before that, it was not.
SCROLL = """async ({ card, part }) => {
  document.getElementById(`i-${card}`).querySelectorAll("[data-part]")[part].scrollIntoView({ block: "center" });
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
}"""


@pytest.mark.promise("desk/26")
def test_the_decision_stays_in_view_and_says_how_many_parts_were_seen(desk: Desk) -> None:
    inquiry = desk.ask(kind="approval", question="git apply fix.patch", context=DIFF)
    page = desk.page(path=f"/i/{inquiry['id']}", viewport={"width": 1000, "height": 700})
    asked = card(page, inquiry)
    expect(asked.locator(".changed li")).to_have_count(PARTS)
    approve = asked.get_by_role("button", name="Approve")
    expect(approve).to_be_in_viewport(ratio=1)
    expect(asked.locator("[data-parts]")).to_have_text(f"0 of {PARTS} parts seen")

    # A key decides nothing that was not drawn whole.
    asked.focus()
    page.keyboard.press("1")
    expect(asked.locator("[data-note]")).to_contain_text("Scroll to the end")
    assert desk.show(inquiry)["state"] == "open"

    asked.locator("[data-part]").nth(2).scroll_into_view_if_needed()
    page.mouse.wheel(0, 200)
    expect(asked.locator("[data-parts]")).not_to_have_text(f"0 of {PARTS} parts seen")
    expect(approve).to_be_in_viewport(ratio=1)
    for number in range(1, PARTS + 1):
        # In one step: the card may be drawn anew at any moment, and what is not in the page any more cannot be scrolled to.
        page.evaluate(SCROLL, {"card": inquiry["id"], "part": number - 1})
        counted = "|".join(map(str, range(number, PARTS + 1)))
        expect(asked.locator("[data-parts]")).to_have_text(re.compile(f"^(?:{counted}) of"))
    expect(asked.locator("[data-parts]")).to_have_text(f"{PARTS} of {PARTS} parts seen")
    approve.click()
    expect(asked.locator(".outcome")).to_contain_text("Approved")


@pytest.mark.promise("desk/26")
def test_in_a_pane_the_decision_stands_at_the_lower_edge(desk: Desk) -> None:
    inquiry = desk.ask(kind="approval", question="git apply fix.patch", context=DIFF)
    page = desk.page(viewport={"width": 1600, "height": 900})
    verdict = card(page, inquiry).locator(".verdict")
    expect(verdict).to_be_in_viewport(ratio=1)
    box = verdict.bounding_box() or {"y": 0, "height": 0}
    assert box["y"] + box["height"] > 870


@pytest.mark.promise("desk/40")
def test_at_360_pixels_tables_scroll_and_code_keeps_its_indentation(desk: Desk) -> None:
    inquiry = desk.ask(question="Which `cache`?", context=f"{WIDE}\n{CODE}")
    page = desk.page(path=f"/i/{inquiry['id']}", viewport={"width": 360, "height": 800})
    asked = card(page, inquiry)
    scrolls = "each => each.scrollWidth > each.clientWidth"
    assert asked.locator("table").evaluate(scrolls)
    assert asked.locator("pre").evaluate(scrolls)
    # Columns scroll instead of breaking their words.
    heading = asked.locator("th").first.bounding_box() or {"height": 0}
    assert 0 < heading["height"] < 40
    # A name in code does not turn the words around it, in either direction of writing.
    expect(asked.locator(".question code")).to_have_css("unicode-bidi", "isolate")
    assert page.evaluate("document.documentElement.scrollWidth <= 360")


@pytest.mark.promise("desk/40")
def test_pictures_stand_side_by_side_and_open_large(desk: Desk) -> None:
    files = [
        {"name": f"{name}.png", "media_type": "image/png", "data": b64encode(DOT).decode()}
        for name in ("before", "after")
    ]
    inquiry = desk.ask(question="Better?", attachments=files)
    page = desk.page(path=f"/i/{inquiry['id']}", viewport={"width": 1000, "height": 700})
    before, after = card(page, inquiry).locator(".picture").all()
    tops = [each.bounding_box() or {"x": 0, "y": -1, "width": 0} for each in (before, after)]
    assert tops[0]["y"] == tops[1]["y"]
    assert tops[0]["x"] < tops[1]["x"]
    before.locator("summary").click()
    opened = before.bounding_box() or {"width": 0}
    assert opened["width"] > 1.9 * tops[0]["width"]
