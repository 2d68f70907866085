"""A thread in a real browser: the question in place, live, by keyboard, and a composer that says what it does."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import CACHE, Desk, card
from tests.browser.test_hands import LONG, clocked, stop
from tests.browser.test_looks import PHONE, overflow
from upcall.cli.client import inquiry_path


def begun(desk: Desk) -> None:
    """A thread in which an agent is at work."""
    desk.agent.post("/v1/threads", {"id": "shop", "title": "The shop"})
    says(desk, "I will add a **cache** to the shop.")


def thread(desk: Desk, **options: Any) -> Page:
    """Its page."""
    begun(desk)
    return desk.page(path="/threads/shop", **options)


def asking(desk: Desk) -> tuple[Page, dict[str, Any]]:
    """Its page, with a question on it."""
    begun(desk)
    asked = desk.ask(**CACHE, thread="shop")
    return desk.page(path="/threads/shop"), asked


def says(desk: Desk, text: str, **metadata: str) -> None:
    desk.agent.post("/v1/threads/shop/items", {"text": text, "metadata": metadata})


def takes_up(desk: Desk) -> None:
    """Let the agent begin its next turn, and say that it has what was left for it."""
    turn = desk.agent.post("/v1/threads/shop/turn?after=0&wait=0", {})
    desk.agent.post(f"/v1/threads/shop/turn?after={turn['next_after']}&wait=0", {})


def items(desk: Desk) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = desk.owner.get("/v1/threads/shop/items")["items"]
    return found


@pytest.mark.promise("deepchat/11", "deepchat/34")
def test_a_question_appears_in_place_is_answered_by_a_click_and_collapses(desk: Desk) -> None:
    """Selecting option inserts message and collapses block."""
    page = thread(desk)
    expect(page.locator(".composing")).to_have_text("Your message waits for the agent's next turn.")
    asked = desk.ask(**CACHE, thread="shop")
    question = page.locator("li.is-pending_prompt").locator(f"#i-{asked['id']}")
    expect(question).to_be_visible()
    expect(page.locator(".composing")).to_have_text("Your message answers the open question.")
    question.get_by_text("Memcached").click()
    question.get_by_role("button", name="Send").click()
    expect(question.locator(".outcome")).to_contain_text("Memcached")
    expect(question.locator("form")).to_have_count(0)
    expect(page.locator("li.by-user .said")).to_have_text("Memcached")
    assert desk.show(asked)["answer"]["answers"] == [["Memcached"]]
    says(desk, "Then Memcached it is.")
    expect(page.locator("li.is-pending_prompt_resolved .said")).to_have_text("✓ Answered: Memcached")
    expect(page.locator("li.by-agent .said").last).to_have_text("Then Memcached it is.")
    expect(page.locator(".composing")).to_have_text("Your message waits for the agent's next turn.")
    assert desk.complaints == []


def test_words_that_were_begun_before_a_question_do_not_answer_it(desk: Desk) -> None:
    page = thread(desk)
    page.keyboard.press("c")
    page.keyboard.type("yes")
    asked = desk.ask(question="Drop the table?", kind="approval", thread="shop")
    expect(card(page, asked)).to_be_visible()
    expect(page.locator(".composing")).to_have_text("Your message waits for the agent's next turn.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("li.by-user .said")).to_have_text("yes")
    expect(page.locator(".composing")).to_have_text("Your message answers the open question.")
    assert desk.show(asked)["state"] == "open"
    assert desk.complaints == []


@pytest.mark.promise("trust/4")
def test_words_begun_right_after_a_question_came_answer_it_only_when_sent_again(desk: Desk) -> None:
    begun(desk)
    page = desk.page(clocked(desk), path="/threads/shop")
    page.keyboard.press("c")
    stop(page)
    asked = desk.ask(question="Drop the table?", kind="approval", thread="shop")
    expect(page.locator(".composing")).to_have_text("Your message answers the open question.")
    expect(card(page, asked)).to_have_attribute("data-onscreen", "")
    page.keyboard.type("yes")
    page.keyboard.press("Control+Enter")
    expect(page.locator("form.composer [data-note]")).to_contain_text("The page changed just now")
    assert desk.show(asked)["state"] == "open"
    page.keyboard.press("Control+Enter")
    expect(card(page, asked)).to_contain_text("Approved — by")


@pytest.mark.promise("trust/5")
def test_words_approve_nothing_that_was_not_drawn_whole(desk: Desk) -> None:
    begun(desk)
    asked = desk.ask(**LONG, thread="shop")
    page = desk.page(path="/threads/shop")
    page.keyboard.press("c")
    page.keyboard.type("yes")
    page.keyboard.press("Control+Enter")
    refused = page.locator("form.composer [data-note]")
    expect(refused).to_contain_text("Scroll to the end")
    assert desk.show(asked)["state"] == "open"
    for part in (".question", ".verdict"):
        card(page, asked).locator(part).scroll_into_view_if_needed()
        # The browser says in its own time what is on the screen.
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    while not card(page, asked).locator(".outcome").count():
        page.keyboard.press("Control+Enter")
        page.evaluate("new Promise(requestAnimationFrame)")
    expect(card(page, asked)).to_contain_text("Approved — by")


@pytest.mark.promise("deepchat/6")
def test_the_composer_answers_by_keyboard_and_then_leaves_messages(desk: Desk) -> None:
    """Ensure auto-resolve when any new user message is sent while a question is pending."""
    page, asked = asking(desk)
    page.keyboard.press("c")
    page.keyboard.type("neither, use the disk")
    page.keyboard.press("Control+Enter")
    expect(card(page, asked).locator(".outcome")).to_contain_text("neither, use the disk")
    expect(page.locator("textarea[name=text]")).to_have_value("")
    expect(page.locator(".composing")).to_have_text("Your message waits for the agent's next turn.")
    page.keyboard.type("and write tests")
    page.keyboard.press("Control+Enter")
    expect(page.locator("li.by-user .said").last).to_have_text("and write tests")
    expect(page.locator("li.by-user").last.locator(".chip")).to_have_text("for the next turn")
    (left,) = [item for item in items(desk) if item["queued"]]
    assert left["content"][0]["text"] == "and write tests"
    # Once the agent has it and goes on, it waits no more.
    takes_up(desk)
    says(desk, "With tests, then.")
    expect(page.locator("li.by-agent .said").last).to_have_text("With tests, then.")
    expect(page.locator("li.by-user .chip")).to_have_count(0)


def test_rejecting_collapses_without_a_message(desk: Desk) -> None:
    """Reject collapses without insertion."""
    page, asked = asking(desk)
    question = card(page, asked)
    question.focus()
    page.keyboard.press("r")
    question.get_by_role("button", name="Decline").click()
    expect(question.locator(".outcome")).to_be_visible()
    expect(page.locator("li.by-user")).to_have_count(0)


def test_what_is_being_written_survives_news_and_a_reload(desk: Desk) -> None:
    page = thread(desk)
    field = page.locator("textarea[name=text]")
    field.fill("half a thought")
    desk.ask(**CACHE, thread="shop")
    expect(page.locator("li.is-pending_prompt")).to_have_count(1)
    expect(field).to_be_focused()
    expect(field).to_have_value("half a thought")
    page.reload()
    expect(page.locator("body[data-connected=true]")).to_be_attached()
    expect(field).to_have_value("half a thought")


def test_nothing_is_lost_or_doubled_when_the_daemon_was_away(desk: Desk) -> None:
    page = thread(desk)
    desk.restart(lambda: None)
    says(desk, "back again")
    expect(page.locator("li.by-agent .said").last).to_have_text("back again")
    expect(page.locator("li.by-agent")).to_have_count(2)


def test_another_persons_answer_closes_the_question_here(desk: Desk) -> None:
    page, asked = asking(desk)
    desk.owner.post("/v1/threads/shop/items", {"text": "1"})
    expect(card(page, asked).locator(".outcome")).to_contain_text("Redis")
    expect(page.locator("li.by-user .said")).to_have_text("1")


def test_a_thread_can_be_used_without_scripts(desk: Desk) -> None:
    asked = desk.ask(**CACHE, thread="shop")
    context = desk.context()
    desk.page(context)
    plain = desk.context(java_script_enabled=False, storage_state=context.storage_state())
    page = plain.new_page()
    page.goto(f"{desk.running_url()}/threads/shop")
    page.locator("textarea[name=text]").fill("2")
    page.locator("form.composer button").click()
    expect(card(page, asked).locator(".outcome")).to_contain_text("Memcached")


def test_it_fits_a_phone(desk: Desk) -> None:
    page = thread(desk, **PHONE)
    says(desk, "x" * 400)
    desk.ask(**CACHE, thread="shop")
    expect(page.locator("li.is-pending_prompt")).to_have_count(1)
    assert overflow(page) == 0
    assert json.loads(
        page.evaluate("JSON.stringify(getComputedStyle(document.querySelector('.composer')).position)")
    ) == ("sticky")


@pytest.mark.promise("desk/3")
def test_an_answer_is_corrected_and_the_agent_reads_it_in_its_next_turn(desk: Desk) -> None:
    asked = desk.ask(**CACHE, thread="shop")
    desk.owner.post(inquiry_path(asked["id"], "answer"), {"text": "Redis"})
    page = desk.page(path=f"/i/{asked['id']}")
    mine = card(page, asked)
    mine.get_by_text("Correct it").click()
    mine.locator("textarea[name=text]").fill("Memcached, after all")
    mine.get_by_role("button", name="Tell the agent").click()
    expect(page.locator("[data-flash]")).to_contain_text("is in the thread, for the agent's next turn")
    desk.agent.post(inquiry_path(asked["id"], "collect"), {})
    (left,) = desk.agent.post("/v1/threads/shop/turn", {})["items"]
    assert "> Redis\nThe correction: Memcached, after all" in left["content"][0]["text"]
