"""Agents at work, watched in a browser: every change comes by itself."""

import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk
from tests.browser.test_pages import complaints, overflow

AGENT = """
import os, subprocess, sys
print("session: s-1", flush=True)
print("<img src=x onerror='window.obeyed = 1'> begins", flush=True)
asked = [sys.executable, "-m", "upcall", "ask", "Which cache?", "-o", "Redis", "-o", "Memcached"]
answer = subprocess.run(asked, stdout=subprocess.PIPE, text=True).stdout.strip()
print("I use " + answer, flush=True)
"""


@pytest.fixture
def agents(desk: Desk, tmp_path: Path) -> Desk:
    """A desk whose agent `scripted` asks once and says what it was told."""
    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    (desk.program.home / "upcall.toml").write_text(
        "[agents.scripted]\nadapter = 'command'\nsession_pattern = 'session: (\\S+)'\n"
        f"start = [{sys.executable!r}, {str(script)!r}, '{{task}}']\n"
    )
    desk.restart()
    return desk


def test_a_run_is_watched_answered_and_seen_to_its_end(agents: Desk, tmp_path: Path) -> None:
    page = agents.page(path="/runs")
    expect(page.get_by_text("No run yet")).to_be_visible()
    order = {"agent": "scripted", "task": "Add a cache", "cwd": str(tmp_path)}
    agents.owner.post("/v1/runs", order)
    row = page.locator("#run-1")
    expect(row).to_contain_text("waits for you")
    assert complaints(page) == []
    row.get_by_role("link").click()
    expect(page.locator("body[data-connected=true]")).to_be_attached()
    expect(page.locator(".log")).to_contain_text("begins")
    assert complaints(page) == []
    assert overflow(page) <= 0
    # Half a sentence for the agent stays while everything else moves on.
    page.locator("#say").fill("and a test")
    page.get_by_text("Redis").click()
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator(".log")).to_contain_text("I use Redis")
    expect(page.locator("[data-run-head]")).to_contain_text("completed")
    expect(page.locator("article .outcome")).to_contain_text("Answered: Redis")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.locator("#say")).to_have_value("and a test")
    assert page.evaluate("window.obeyed") is None
