"""The inbox while it is open: what others do shows by itself, and nothing that a person is at is disturbed."""

import asyncio
import base64
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Route, expect
from typing_extensions import override

from tests.browser.conftest import CACHE, Desk, card, chosen, row
from tests.browser.test_hands import clocked, pass_time, stop
from tests.cli.conftest import ended
from upcall.cli.client import inquiry_path
from upcall.domain.records import Happening
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import an_inquiry


def test_a_question_of_another_process_appears_without_a_reload(desk: Desk) -> None:
    page = desk.page()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    ref, asking = desk.program.asking("Which cache?", "-o", "Redis", "-o", "Memcached")
    expect(page.get_by_role("heading", name="Which cache?")).to_be_visible()
    expect(page.get_by_text("Nothing waits for you")).to_be_hidden()
    expect(page).to_have_title("(1) Inbox · Upcall")
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("^data:image/png"))
    desk.program.until_awaited()
    page.get_by_label("Memcached").check()
    page.get_by_role("button", name="Send answer").click()
    done = ended(asking)
    assert (done.returncode, done.stdout) == (0, "Memcached\n")
    expect(page.locator("article .outcome")).to_contain_text("Answered: Memcached — by ")
    expect(page.get_by_role("status")).to_contain_text([f"Answered {ref}. The agent is being told."])
    # Only now is there evidence of it.
    expect(page.get_by_text("Agent has it")).to_be_visible()
    expect(page).to_have_title("Inbox · Upcall")


def test_what_is_asked_between_the_page_and_its_stream_is_not_missed(desk: Desk) -> None:
    page = desk.page()
    between: list[dict[str, Any]] = []

    def held(route: Route) -> None:
        # The page is drawn, and does not listen yet.
        if not between:
            between.append(desk.ask(question="In between?"))
        route.continue_()

    page.context.route("**/inbox/stream*", held)
    page.goto(desk.running_url())
    expect(page.get_by_role("heading", name="In between?")).to_be_visible()
    assert len(between) == 1


def test_agent_has_it_waits_for_the_agent(desk: Desk) -> None:
    inquiry = desk.ask()
    page = desk.page()
    card(page, inquiry).get_by_text("Redis").click()
    card(page, inquiry).get_by_role("button", name="Send answer").click()
    expect(card(page, inquiry)).to_contain_text("Agent does not have it yet")
    desk.agent.post(inquiry_path(inquiry["id"], "collect"), {})
    expect(card(page, inquiry)).to_contain_text("Agent has it")


def test_an_approval_is_given_by_one_click(desk: Desk) -> None:
    inquiry = desk.ask(kind="approval", question="rm -rf build")
    page = desk.page()
    expect(card(page, inquiry).locator("pre")).to_have_text("rm -rf build")
    card(page, inquiry).get_by_role("button", name="Deny").click()
    expect(card(page, inquiry)).to_contain_text("Denied — by")
    assert desk.show(inquiry)["answer"]["answers"] == [["Deny"]]


def test_a_page_that_slept_past_the_end_of_the_log_is_asked_for_anew(desk: Desk) -> None:
    desk.ask(question="Why?")
    page = desk.page()

    async def time_passes() -> None:
        store = await SqliteStore.open(desk.home.database_file)
        await store.add(an_inquiry(asked_at=store.now(), expires_at=store.now() + 3600))
        await store.record(Happening(type="tick", at=store.now(), data={}))
        # Of the question that was asked meanwhile, the log says nothing any more.
        await store.prune(store.now() + 3600, 100)
        await store.close()

    # The browser's driver has a loop of its own in this thread.
    with ThreadPoolExecutor(1) as thread:
        desk.restart(lambda: thread.submit(asyncio.run, time_passes()).result())
    expect(page.locator("article")).to_have_count(2)


@pytest.mark.promise("desk/32")
def test_drafts_survive_a_new_sign_in_in_another_tab_until_a_sign_out(desk: Desk) -> None:
    inquiry = desk.ask(question="Why?")
    context = desk.context()
    page = desk.page(context)
    asked = card(page, inquiry)
    asked.locator("textarea[name=t0]").fill("because it")
    asked.get_by_text("Decline", exact=True).click()
    asked.locator("textarea[name=reason]").fill("not now")
    context.clear_cookies()
    page.close()

    again = desk.page(context)
    expect(card(again, inquiry).locator("textarea[name=t0]")).to_have_value("because it")
    expect(card(again, inquiry).locator("textarea[name=reason]")).to_have_value("not now")
    expect(card(again, inquiry).locator("textarea[name=reason]")).to_be_visible()
    again.get_by_label("Account and language").click()
    again.get_by_role("button", name="Sign out").click()
    expect(again).to_have_url(re.compile("/sign-in"))
    assert again.evaluate("Object.keys(localStorage).filter((name) => name.startsWith('draft:'))") == []


def test_a_draft_survives_updates_a_reconnect_and_a_reload(desk: Desk) -> None:
    inquiry = desk.ask(question="Why?")
    page = desk.page()
    draft = card(page, inquiry).locator("textarea").first
    draft.fill("because it")
    desk.owner.post(inquiry_path(inquiry["id"], "extend"), {"for": "40h"})
    expect(card(page, inquiry)).to_contain_text("Changed: more time, given by")
    expect(card(page, inquiry).locator(".left")).to_have_text(re.compile("^(39|40) h left$"))
    other = desk.ask(question="And this?")
    expect(row(page, other)).to_be_visible()
    expect(draft).to_have_value("because it")
    expect(draft).to_be_focused()
    desk.restart()
    third = desk.ask(question="After the restart?")
    expect(row(page, third)).to_be_visible()
    expect(draft).to_have_value("because it")
    expect(draft).to_be_focused()
    page.reload()
    expect(draft).to_have_value("because it")
    draft.press("End")
    draft.type(" works")
    card(page, inquiry).get_by_role("button", name="Send answer").click()
    expect(card(page, inquiry)).to_contain_text("Answered: because it works")
    page.reload()
    expect(row(page, inquiry)).to_contain_text("Answered: because it works")


@pytest.mark.promise("spec/6")
def test_a_colleagues_answer_closes_the_card_with_who_and_what(desk: Desk) -> None:
    inquiry = desk.ask()
    page = desk.page()
    card(page, inquiry).get_by_label("Something else").last.fill("I would rather")
    desk.colleague("ben").post(inquiry_path(inquiry["id"], "answer"), {"text": "Redis"})
    expect(card(page, inquiry)).to_contain_text("Answered: Redis — by ben")
    expect(card(page, inquiry)).to_contain_text("Your draft was not sent: I would rather")
    expect(card(page, inquiry).locator("form")).to_have_count(0)
    expect(card(page, inquiry).get_by_role("textbox")).to_be_focused()


@pytest.mark.promise("spec/5")
def test_of_two_browsers_one_wins_and_the_other_is_told(desk: Desk) -> None:
    inquiry = desk.ask()
    first, second = desk.page(), desk.page()
    card(second, inquiry).get_by_label("Something else").last.fill("but why not both")

    def late(route: Route) -> None:
        # Sent before, heard after the other one.
        card(first, inquiry).get_by_text("Redis").click()
        card(first, inquiry).get_by_role("button", name="Send answer").click()
        expect(card(first, inquiry)).to_contain_text("Answered: Redis")
        route.continue_()

    second.route("**/answer", late)
    card(second, inquiry).get_by_role("button", name="Send answer").click()
    expect(second.locator("[data-flash]")).to_contain_text("was already settled, so nothing was changed")
    expect(card(second, inquiry)).to_contain_text("Answered: Redis — by")
    expect(card(second, inquiry)).to_contain_text("Your draft was not sent: but why not both")
    assert desk.show(inquiry)["answer"]["answers"] == [["Redis"]]


def test_a_question_that_expires_under_the_pen_closes_and_shows_what_was_not_sent(desk: Desk) -> None:
    page = desk.page()
    inquiry = desk.ask(question="Quick?", ttl="12s")
    card(page, inquiry).locator("textarea").first.fill("half an ans")
    expect(card(page, inquiry)).to_contain_text("Your draft was not sent: half an ans")
    expect(card(page, inquiry).locator(".outcome.expired")).to_be_visible()
    assert desk.show(inquiry)["state"] == "expired"


@pytest.mark.promise("desk/33")
def test_an_expired_question_can_be_answered_anyway_with_what_was_being_written(desk: Desk) -> None:
    page = desk.page()
    inquiry = desk.ask(question="Quick?", ttl="12s")
    card(page, inquiry).locator("textarea").first.fill("half an ans")
    card(page, inquiry).get_by_role("link", name="Answer anyway").click()
    expect(card(page, inquiry).get_by_role("textbox")).to_have_value("half an ans")
    card(page, inquiry).get_by_role("textbox").press("End")
    page.keyboard.type("wer")
    page.get_by_role("button", name="Send answer").click()
    expect(card(page, inquiry)).to_contain_text("Answered: half an answer — by")
    assert desk.show(inquiry)["state"] == "answered"


@pytest.mark.promise("desk/33")
def test_a_question_that_expires_on_its_own_page_keeps_the_draft_in_the_form_for_a_late_answer(
    desk: Desk,
) -> None:
    inquiry = desk.ask(question="Quick?", ttl="12s")
    page = desk.page(path=f"/i/{inquiry['id']}")
    card(page, inquiry).get_by_role("textbox").fill("half an ans")
    expect(card(page, inquiry).locator(".outcome.expired")).to_be_visible()
    expect(card(page, inquiry).get_by_role("textbox")).to_have_value("half an ans")
    expect(card(page, inquiry).get_by_role("textbox")).to_be_focused()
    expect(card(page, inquiry).get_by_role("textbox")).to_be_editable()


def test_a_double_click_is_one_answer(desk: Desk) -> None:
    inquiry = desk.ask(kind="approval", question="make install")
    page = desk.page()
    card(page, inquiry).get_by_role("button", name="Approve").dblclick()
    expect(card(page, inquiry)).to_contain_text("Approved — by")
    expect(page.locator("[data-flash]")).to_contain_text("No call waits for it now; the answer is kept")


def test_a_restart_under_an_open_page_is_told_and_loses_nothing(desk: Desk) -> None:
    first = desk.ask(question="Before?")
    page = desk.page()

    def meanwhile() -> None:
        expect(page.get_by_text("Not connected.")).to_be_visible()

    desk.restart(meanwhile)
    expect(page.get_by_text("Not connected.")).to_be_hidden()
    second = desk.ask(question="After?")
    expect(row(page, second)).to_be_visible()
    card(page, first).locator("textarea").first.fill("yes")
    card(page, first).get_by_role("button", name="Send answer").click()
    expect(card(page, first)).to_contain_text("Answered: yes")


def test_what_is_sent_without_a_connection_is_kept_and_sent_again(desk: Desk) -> None:
    inquiry = desk.ask(question="Which port?")
    page = desk.page()
    card(page, inquiry).locator("textarea").first.fill("8080")
    page.context.set_offline(True)
    card(page, inquiry).get_by_role("button", name="Send answer").click()
    expect(card(page, inquiry)).to_contain_text("Not sent: no connection.")
    page.context.set_offline(False)
    card(page, inquiry).get_by_role("button", name="Send answer").click()
    expect(card(page, inquiry)).to_contain_text("Answered: 8080")


def test_a_session_that_is_ended_elsewhere_leads_to_the_door(desk: Desk) -> None:
    page = desk.page()
    name = next(each["name"] for each in desk.owner.get("/v1/tokens")["items"] if "session-" in each["name"])
    desk.owner.delete(f"/v1/tokens/{name}")
    desk.ask()
    expect(page.get_by_text("Sign in to your inbox")).to_be_visible()


@pytest.mark.promise("spec/38", "desk/53")
def test_snoozing_declining_and_more_time_need_no_reload(desk: Desk) -> None:
    inquiry = desk.ask()
    page = desk.page()
    card(page, inquiry).get_by_text("More time").click()
    card(page, inquiry).get_by_role("button", name="at least 1 day").click()
    expect(page.locator("[data-flash]")).to_contain_text("more time")
    expect(page.locator("[data-count]")).to_have_text("1")
    card(page, inquiry).get_by_text("Snooze", exact=True).click()
    card(page, inquiry).get_by_role("button", name="1 hour", exact=True).click()
    expect(page.locator('[data-rows="snoozed"]')).to_contain_text("Which cache?")
    expect(page.locator("[data-count]")).to_be_hidden()
    card(page, inquiry).get_by_text("Decline", exact=True).click()
    card(page, inquiry).get_by_label("Reason").fill("not today")
    card(page, inquiry).get_by_role("button", name="Decline to answer").click()
    expect(card(page, inquiry)).to_contain_text("Declined — by")
    assert desk.show(inquiry)["resolution"]["reason"] == "not today"


def test_everything_can_be_done_from_the_keyboard(desk: Desk) -> None:
    first, second, third = (desk.ask(**CACHE | {"question": f"{name}?"}) for name in ("One", "Two", "Three"))
    page = desk.page()
    page.keyboard.press("j")
    expect(card(page, first)).to_be_focused()
    for inquiry, key in ((second, "j"), (third, "j"), (second, "k")):
        expect(card(page, inquiry)).to_be_attached()
        page.keyboard.press(key)
        expect(card(page, inquiry)).to_be_focused()
    page.keyboard.press("2")
    expect(card(page, second).get_by_label("Memcached")).to_be_checked()
    page.keyboard.press("Enter")
    expect(card(page, second)).to_contain_text("Answered: Memcached")
    # The next one has opened by itself; j takes it up, and no key is lost.
    expect(card(page, third)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.keyboard.type("no 1 j")
    expect(card(page, third).get_by_label("Reason")).to_have_value("no 1 j")
    page.keyboard.press("Control+Enter")
    expect(card(page, third)).to_contain_text("Declined — by")
    expect(card(page, first)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(card(page, first).get_by_role("button", name="at least 15 min")).to_be_focused()
    for key in ("Tab", "Tab", "Tab", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("[data-flash]")).to_contain_text("more time")
    assert desk.show(first)["expires_at"] > first["expires_at"]
    page.keyboard.press("s")
    page.keyboard.press("Enter")
    expect(page.locator('[data-rows="snoozed"]')).to_contain_text("One?")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("nothing like it")
    expect(page.get_by_text("Nothing that waits matches this.")).to_be_visible()
    expect(row(page, first)).to_be_hidden()


def test_enter_alone_approves_nothing(desk: Desk) -> None:
    inquiry = desk.ask(kind="approval", question="rm -rf /")
    page = desk.page()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    expect(card(page, inquiry).get_by_role("button", name="Deny")).to_be_focused()
    page.keyboard.press("Enter")
    expect(card(page, inquiry)).to_contain_text("Denied — by")


@pytest.mark.parametrize("answered_by", ["me", "a colleague"])
def test_keys_pressed_on_a_question_that_is_settled_by_now_answer_no_other(
    desk: Desk, answered_by: str
) -> None:
    drafted = desk.ask(question="Drop the staging database?", options=["Yes, drop it", "No"])
    second = desk.ask()
    page = desk.page(clocked(desk))
    card(page, drafted).get_by_label("Yes, drop it").check()
    chosen(page, second).get_by_label("Redis").check()
    stop(page)
    pass_time(page, 60_000)
    if answered_by == "me":
        page.keyboard.press("Enter")
    else:
        desk.owner.post(f"/v1/inquiries/{second['id']}/answer", {"text": "2"})
    expect(card(page, second)).to_have_class(re.compile("settled"))
    for key in ("Enter", "2", "Enter"):
        page.keyboard.press(key)
    expect(card(page, drafted).get_by_label("Yes, drop it")).to_be_checked()
    # What is sent later comes later: had the keys sent anything, it would be there before this.
    third = desk.ask(question="Still there?")
    expect(row(page, third)).to_be_visible()
    assert desk.show(drafted)["state"] == "open"


def test_a_new_question_takes_nothing_away_from_the_one_at_hand(desk: Desk) -> None:
    inquiry = desk.ask()
    page = desk.page()
    card(page, inquiry).get_by_label("Redis").focus()
    above = card(page, inquiry).bounding_box()
    other = desk.ask(question="Me first!")
    expect(row(page, other)).to_be_visible()
    expect(card(page, inquiry).get_by_label("Redis")).to_be_focused()
    assert card(page, inquiry).bounding_box() == above


def test_a_channel_that_stops_working_is_told_and_its_recovery_too_without_a_reload(desk: Desk) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    listener.close()
    secret = "whsec_" + base64.b64encode(b"x" * 32).decode()
    desk.home.config_file.write_text(
        f"[channels.hook]\nkind = 'webhook'\nurl = 'http://127.0.0.1:{port}/'\nsecret = '{secret}'\n"
        "[[routes]]\nto = ['hook:ops']\n"
    )
    desk.restart()
    page = desk.page()
    expect(page.locator("[data-faults]")).to_be_hidden()
    page.evaluate("window.before = true")
    for _ in range(2):
        desk.ask()
    expect(page.locator("[data-faults] li")).to_contain_text("hook")
    with HTTPServer(("127.0.0.1", port), Hook) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            expect(page.locator("[data-faults]")).to_be_hidden(timeout=60_000)
        finally:
            server.shutdown()
    assert page.evaluate("window.before") is True


class Hook(BaseHTTPRequestHandler):
    """A program that accepts every request of a channel."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

    @override
    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_ten_tabs_share_one_connection_and_hand_it_on(desk: Desk) -> None:
    context = desk.context()
    tabs = [desk.page(context) for _ in range(10)]
    first = desk.ask(question="All of you?")
    for tab in tabs:
        expect(card(tab, first)).to_be_attached()
        expect(tab).to_have_title("(1) Inbox · Upcall")
    tabs[0].close()
    second = desk.ask(question="Still?")
    for tab in tabs[1:]:
        expect(row(tab, second)).to_be_attached()
    chosen(tabs[-1], second).locator("textarea").first.fill("yes")
    card(tabs[-1], second).get_by_role("button", name="Send answer").click()
    for tab in tabs[1:]:
        expect(row(tab, second)).to_contain_text("Answered: yes")


def test_a_page_of_its_own_keeps_its_context_when_it_is_answered(desk: Desk) -> None:
    inquiry = desk.ask(**CACHE | {"context": "It is **slow**."})
    page = desk.page(path=f"/i/{inquiry['ref']}")
    desk.ask(question="Not here?")
    desk.owner.post(inquiry_path(inquiry["id"], "answer"), {"text": "Redis"})
    expect(card(page, inquiry)).to_contain_text("Answered: Redis")
    expect(card(page, inquiry)).to_contain_text("It is slow.")
    expect(page.locator("article")).to_have_count(1)
