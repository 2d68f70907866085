"""The question with what led to it, in a real Chromium."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk, card
from tests.browser.sessions import asking, prompt, said, use, words

LONG = "\n\n".join(f"Paragraph {number} of what the agent has *found out* so far." for number in range(1, 9))
RECORD = [
    prompt("Speed up the catalogue page"),
    said("m1", words("I look around."), use("Bash", command="git status")),
    said("m2", use("Read", file_path="/srv/shop/catalogue.py")),
    said("m3", use("Grep", pattern="lru_cache", path="src")),
    said("m4", words(LONG), use("Bash", command="pytest -q tests/catalogue")),
]
QUESTION = {
    "question": "Which **cache** for `GET /items`?\n\n- Redis is [hosted](https://redis.example/)\n- Memcached is not",
    "options": ["Redis", "Memcached"],
    "context": "\n\n".join(f"Line {number} of the context." for number in range(40)),
}


@pytest.mark.promise("desk/5", "desk/6", "desk/10", "desk/11")
def test_a_card_shows_what_led_to_its_question(desk: Desk, tmp_path: Path) -> None:
    with asking(desk, tmp_path, RECORD, **QUESTION) as inquiry:
        page = desk.page()
        asked = card(page, inquiry)

        # The second line: the task, the branch and the turn.
        expect(asked.locator(".head + .activity .work bdi")).to_have_text(
            ["Speed up the catalogue page", "feature/cache", "turn 5"]
        )
        led = asked.locator(".led")
        expect(led.locator(".calls li")).to_have_text(
            ["Read /srv/shop/catalogue.py", "Grep lru_cache", "Bash pytest -q tests/catalogue"]
        )
        expect(led.locator("em").first).to_have_text("found out")
        assert (
            led.evaluate("each => each.clientHeight / parseFloat(getComputedStyle(each).lineHeight)") <= 6.1
        )
        asked.locator(".activity").get_by_text("Show more").click()
        assert led.locator(".first").evaluate("each => each.scrollHeight - each.clientHeight") == 0

        # The question itself is Markdown; a link says where it leads.
        heading = asked.get_by_role("heading", name="Which cache for GET /items?")
        expect(heading.locator("strong")).to_have_text("cache")
        expect(heading.locator("code")).to_have_text("GET /items")
        expect(asked.locator(".asked li")).to_have_text(
            ["Redis is hosted https://redis.example/", "Memcached is not"]
        )

        # A long context shows its first lines, and the others on demand.
        context = asked.locator(".context")
        expect(context.get_by_text("Line 0 of the context.")).to_be_in_viewport()
        cut = "each => each.scrollHeight > each.clientHeight + 1"
        assert context.evaluate(cut)
        asked.locator(".context + details summary").click()
        assert not context.evaluate(cut)


@pytest.mark.promise("desk/9")
def test_the_api_and_the_command_line_have_the_same(desk: Desk, tmp_path: Path) -> None:
    with asking(desk, tmp_path, RECORD, question="Why?") as inquiry:
        calls = [
            {"tool": "Read", "input": "/srv/shop/catalogue.py"},
            {"tool": "Grep", "input": "lru_cache"},
            {"tool": "Bash", "input": "pytest -q tests/catalogue"},
        ]
        task = {"task": "Speed up the catalogue page", "branch": "feature/cache", "turn": 5}
        assert inquiry["activity"] == {**task, "message": LONG, "calls": calls, "plan": ""}
        shown = desk.program("show", inquiry["ref"]).stdout
    for line in ("Task: Speed up the catalogue page", "Branch: feature/cache", "Turn: 5"):
        assert f"\n{line}\n" in shown
    assert (
        "  │ Paragraph 8 of what the agent has *found out* so far.\n  │ → Read /srv/shop/catalogue.py\n"
        in shown
    )
    assert "Why?" in shown.partition("  │ → Bash pytest -q tests/catalogue\n")[2]


@pytest.mark.promise("desk/6")
def test_what_led_to_a_question_comes_to_a_page_that_is_open_and_keeps_what_is_being_written(
    desk: Desk, tmp_path: Path
) -> None:
    page = desk.page()
    with asking(desk, tmp_path, RECORD, question="Why?") as inquiry:
        asked = card(page, inquiry)
        expect(asked.locator(".work .turn")).to_have_text("turn 5")
        asked.get_by_role("textbox").fill("because")
        desk.owner.post(f"/v1/inquiries/{inquiry['id']}/extend", {"for": "48h"})
        expect(asked.locator(".left")).to_have_text("47 h left")
        expect(asked.get_by_role("textbox")).to_have_value("because")
        expect(asked.locator(".work .turn")).to_have_text("turn 5")
