"""Agents at work, watched in a browser: every change comes by itself."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk
from tests.browser.test_hands import clocked, move_below, pass_time, rest_on, stop

# Plays Claude Code, with turns and a cost that are counted.
AGENT = """#!{python}
import json, subprocess, sys
if "--version" in sys.argv:
    print("2.1.300 (Claude Code)")
    sys.exit()
def tell(**event):
    print(json.dumps({{"session_id": "s-1", **event}}), flush=True)
def says(number, text):
    usage = {{"input_tokens": 4100, "output_tokens": 380}}
    content = [{{"type": "text", "text": text}}]
    tell(type="assistant", message={{"id": f"m{{number}}", "content": content, "usage": usage}})
says(1, "<img src=x onerror='window.obeyed = 1'> begins")
says(2, "I have to ask.")
asked = [sys.executable, "-m", "upcall", "ask", "Which cache?", "-o", "Redis", "-o", "Memcached"]
answer = subprocess.run(asked, stdout=subprocess.PIPE, text=True).stdout.strip()
says(3, "I use " + answer)
tell(type="result", subtype="success", is_error=False, result="Done.", total_cost_usd=0.31)
"""


@pytest.fixture
def agents(desk: Desk, tmp_path: Path) -> Iterator[Desk]:
    """A desk with an agent that asks once and says what it was told; runs that still wait end with it."""
    script = tmp_path / "claude"
    script.write_text(AGENT.format(python=sys.executable))
    script.chmod(0o700)
    (desk.program.home / "upcall.toml").write_text(f"[agents.claude]\nprogram = {str(script)!r}\n")
    desk.restart()
    yield desk
    desk.program("down")


def test_a_run_is_watched_answered_and_seen_to_its_end(agents: Desk, tmp_path: Path) -> None:
    page = agents.page(path="/runs")
    expect(page.get_by_text("No run yet")).to_be_visible()
    order = {"agent": "claude", "task": "Add a cache", "cwd": str(tmp_path)}
    agents.owner.post("/v1/runs", order)
    row = page.locator("#run-1")
    expect(row).to_contain_text("waits for you")
    row.get_by_role("link").click()
    expect(page.locator("body[data-connected=true]")).to_be_attached()
    expect(page.locator(".log")).to_contain_text("begins")
    facts = page.locator(".facts dd")
    expect(facts.first).to_have_text("2")
    # Half a sentence for the agent stays while everything else moves on.
    page.locator("#say").fill("and a test")
    # A message that is half written survives a reload.
    page.reload()
    expect(page.locator("#say")).to_have_value("and a test")
    later = page.get_by_text("the agent hears this only after its answer")
    expect(later).to_be_visible()
    page.get_by_text("Redis").click()
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator(".log")).to_contain_text("I use Redis")
    expect(later).to_be_hidden()
    expect(page.locator("[data-run-head]")).to_contain_text("completed")
    expect(facts.nth(0)).to_have_text("3")
    expect(facts.nth(1)).to_have_text("$0.31")
    expect(facts.nth(2)).to_have_text("13\N{NARROW NO-BREAK SPACE}440")
    expect(page.locator("article .outcome")).to_contain_text("Answered: Redis")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.locator("#say")).to_have_value("and a test")
    assert page.evaluate("window.obeyed") is None


def waiting(agents: Desk, folder: Path) -> None:
    """A run that asks its question."""
    agents.owner.post("/v1/runs", {"agent": "claude", "task": "Add a cache", "cwd": str(folder)})
    after = 0
    while not agents.owner.get("/v1/inquiries?state=open")["items"]:
        after = agents.owner.get(f"/v1/events?after={after}&wait=10")["next_after"]


def numbers(agents: Desk) -> list[int]:
    return [run["number"] for run in agents.owner.get("/v1/runs")["items"]]


def test_try_again_that_is_pressed_twice_is_sent_once(agents: Desk, tmp_path: Path) -> None:
    waiting(agents, tmp_path)
    agents.owner.post("/v1/runs/1/cancel", {})
    page = agents.page(path="/runs/1")
    # Nothing is sent: what counts is whether the browser would send it.
    page.evaluate(
        "window.sent = [];"
        "addEventListener('submit', (event) => { sent.push(!event.defaultPrevented); event.preventDefault(); })"
    )
    page.get_by_role("button", name="Try again").dblclick()
    assert page.evaluate("window.sent") == [True, False]


@pytest.mark.promise("trust/4")
def test_a_run_that_ends_below_the_pointer_is_not_started_again(agents: Desk, tmp_path: Path) -> None:
    waiting(agents, tmp_path)
    page = agents.page(clocked(agents, height=400), path="/runs/1")
    end, again = page.locator(".controls summary").first, page.get_by_role("button", name="Try again")
    pointer = rest_on(end)
    stop(page)
    agents.owner.post("/v1/runs/1/cancel", {})
    expect(again).to_be_visible()
    move_below(pointer, again)
    page.mouse.down()
    page.mouse.up()
    expect(page.locator("[data-flash]")).to_contain_text("The page changed just now")
    assert numbers(agents) == [1]
    pass_time(page, 800)
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile("/runs/2"))
