"""Manners: what the page does for a person who is busy, away, or one of many tabs."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import chromium
from tests.browser.conftest import Desk, card, opened, row

SEEN = "Object.defineProperty(document, 'hidden', {configurable: true, get: () => %s});"
CHANGED = "document.dispatchEvent(new Event('visibilitychange'));"
# Every connection that a page makes.
RECORDED = """
window.sources = [];
window.EventSource = class extends EventSource { constructor(url) { super(url); window.sources.push(this); } };
"""
TOLD = """navigator.serviceWorker.ready.then((worker) => worker.getNotifications())
    .then((all) => all.map(({ title, body }) => [title, body]))"""
# Counts what was shown. Asking for notifications again and again is no way to wait for one: Chromium then forgets one that is just being shown.
COUNTED = """
const { showNotification } = ServiceWorkerRegistration.prototype;
ServiceWorkerRegistration.prototype.showNotification = async function (...given) {
    await showNotification.apply(this, given);
    document.body.dataset.notified = Number(document.body.dataset.notified ?? 0) + 1;
};
"""


# Cards are held back until they are let go: on a slow machine one takes long to draw.
HELD_BACK = """
window.heldBack = [];
window.EventSource = class extends EventSource {
    addEventListener(kind, hear) {
        super.addEventListener(kind, kind === "card" ? (event) => window.heldBack.push(() => hear(event)) : hear);
    }
};
"""


def hide(page: Page, *, hidden: bool) -> None:
    """Let a page believe that its tab is hidden, or visible."""
    page.evaluate(SEEN % json.dumps(hidden) + CHANGED)


# The tab's icon as the browser draws it.
DRAWN = """async () => {
    const picture = new Image();
    picture.src = document.querySelector("link[rel=icon]").href;
    await picture.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 64 });
    const pen = canvas.getContext("2d");
    pen.drawImage(picture, 0, 0, 64, 64);
    return pen.getImageData(0, 0, 64, 64).data.join();
}"""


def icon(page: Page) -> str:
    """The pixels of the tab's icon."""
    pixels: str = page.evaluate(DRAWN)
    return pixels


def test_title_and_icon_count_what_waits_and_go_back(desk: Desk) -> None:
    page = desk.page()
    address = page.locator("link[rel=icon]")
    plain = re.compile(r"/static/icon\.svg$")
    expect(address).to_have_attribute("href", plain)
    expect(page).to_have_title("Inbox · Upcall")
    pictures = [icon(page)]
    asked = []
    for count in (1, 2):
        asked.append(desk.ask(question=f"Number {count}?"))
        expect(page).to_have_title(f"({count}) Inbox · Upcall")
        expect(address).to_have_attribute("href", re.compile("^data:image/png"))
        page.wait_for_function(f"({DRAWN})().then((pixels) => pixels !== '{pictures[-1]}')")
        pictures.append(icon(page))
    assert len(set(pictures)) == 3
    for inquiry in asked:
        desk.owner.post(f"/v1/inquiries/{inquiry['id']}/answer", {"text": "yes"})
    expect(page).to_have_title("Inbox · Upcall")
    expect(address).to_have_attribute("href", plain)
    assert icon(page) == pictures[0]


@pytest.fixture
def notifying(tmp_path: Path, browser: Browser) -> Iterator[Desk]:
    """A desk with a browser that shows notifications."""
    with chromium.whole(browser) as complete, opened(tmp_path, complete) as desk:
        yield desk


def test_sound_and_notifications_come_only_to_those_who_ask_for_them(notifying: Desk) -> None:
    desk = notifying
    context = desk.context()
    context.grant_permissions(["notifications"], origin=desk.running_url())
    context.add_init_script(COUNTED)
    page = desk.page(context)
    hide(page, hidden=True)
    expect(card(page, desk.ask())).to_be_visible()
    assert page.evaluate("document.body.dataset.chimed ?? ''") == ""
    assert page.evaluate(TOLD) == []
    page.locator(".menu summary").click()
    page.get_by_label("Play a sound").check()
    page.get_by_label("Notify me").check()
    # The choice is this browser's, and survives a reload.
    page.reload()
    expect(page.locator("body[data-connected=true]")).to_be_attached()
    expect(row(page, desk.ask(question="Seen at once?"))).to_be_visible()
    expect(page.locator("body[data-chimed='1']")).to_be_attached()
    assert page.evaluate(TOLD) == []
    hide(page, hidden=True)
    desk.ask(question="Who is there?")
    expect(page.locator("body[data-notified='1']")).to_be_attached()
    assert page.evaluate(TOLD) == [["local asks", "Who is there?"]]


def test_a_question_that_changes_before_its_card_is_drawn_is_announced_once(desk: Desk) -> None:
    context = desk.context()
    context.add_init_script(HELD_BACK)
    page = desk.page(context)
    page.locator(".menu summary").click()
    page.get_by_label("Play a sound").check()
    # The sample that was played does not count.
    page.reload()
    expect(page.locator("body[data-connected=true]")).to_be_attached()
    asked = desk.ask(question="Which name?", ttl="10m")
    expect(row(page, asked)).to_be_visible()
    before = row(page, asked).get_attribute("data-facts") or ""
    desk.owner.post(f"/v1/inquiries/{asked['id']}/extend", {"for": "1h"})
    expect(row(page, asked)).not_to_have_attribute("data-facts", before)
    page.wait_for_function("window.heldBack.length === 2")
    page.evaluate("window.heldBack.forEach((draw) => draw())")
    expect(page.locator("body[data-chimed='1']")).to_be_attached()


def test_a_writer_is_warned_before_the_time_is_over_and_gives_more_in_one_click(desk: Desk) -> None:
    page = desk.page()
    inquiry = desk.ask(question="Quick: which name?", ttl="2m")
    asked = card(page, inquiry)
    expect(asked).to_be_visible()
    warning = asked.locator("[data-expiring]")
    expect(warning).to_be_hidden()
    asked.get_by_role("textbox", name="Write your answer").fill("half an ans")
    expect(warning).to_be_visible()
    warning.get_by_role("button").click()
    expect(warning).to_be_hidden()
    expect(asked.get_by_role("textbox", name="Write your answer")).to_have_value("half an ans")
    assert desk.show(inquiry)["expires_at"] > inquiry["expires_at"]


def test_shown_is_known_when_it_was_on_a_visible_screen(desk: Desk) -> None:
    first = desk.ask()
    page = desk.page(path=f"/i/{first['id']}")
    expect(page.locator(".trail")).to_contain_text("Shown")
    hide(page, hidden=True)
    unseen = desk.ask(question="Unseen?")
    types = [
        event["type"] for event in desk.owner.get("/v1/events")["items"] if event["inquiry"] == unseen["id"]
    ]
    assert types == ["asked"]


@pytest.mark.promise("arriving/7")
def test_without_a_daemon_the_installed_page_says_so(desk: Desk) -> None:
    page = desk.page()
    manifest = page.evaluate("fetch('/static/upcall.webmanifest').then((reply) => reply.json())")
    assert (manifest["start_url"], manifest["display"]) == ("/", "standalone")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    kept = page.evaluate(
        "caches.open('upcall-2').then((cache) => cache.keys()).then((all) => all.map(({url}) => new URL(url).pathname))"
    )
    styles = ["/static/deciding.css", "/static/upcall.css"]
    assert sorted(kept) == ["/offline", styles[0], "/static/icon.svg", styles[1]]
    page.context.set_offline(True)
    page.goto(f"{desk.running_url()}/history")
    expect(page.get_by_role("heading", name="Upcall cannot be reached")).to_be_visible()
    # It looks as the others do.
    assert page.evaluate("getComputedStyle(document.querySelector('.button')).borderRadius") != "0px"
    page.context.set_offline(False)
    page.get_by_role("link", name="Try again now").click()
    expect(page.get_by_role("heading", name="Waiting for you")).to_be_visible()


def test_a_hidden_tab_lets_go_of_its_connection_and_misses_nothing(desk: Desk) -> None:
    inquiry = desk.ask()
    context = desk.context()
    context.add_init_script(RECORDED)
    page = desk.page(context, path=f"/i/{inquiry['id']}")
    hide(page, hidden=True)
    assert page.evaluate("window.sources.map((source) => source.readyState)") == [2]
    desk.owner.post(f"/v1/inquiries/{inquiry['id']}/answer", {"text": "Redis"})
    hide(page, hidden=False)
    expect(card(page, inquiry)).to_contain_text("Answered: Redis")


def test_ten_tabs_that_cannot_agree_on_one_connection_leave_it_to_the_one_that_is_seen(desk: Desk) -> None:
    inquiry = desk.ask()
    context = desk.context()
    # As on an address that is not secure. Over HTTP/1.1, Chromium opens six connections to one host.
    context.add_init_script(f"{RECORDED} Object.defineProperty(navigator, 'locks', {{ value: undefined }});")
    tabs: list[Page] = []
    for _ in range(10):
        tabs.append(desk.page(context))
        hide(tabs[-1], hidden=True)
    assert [tab.evaluate("window.sources.at(-1).readyState") for tab in tabs] == [2] * 10
    hide(tabs[9], hidden=False)
    card(tabs[9], inquiry).get_by_text("Redis").click()
    card(tabs[9], inquiry).get_by_role("button", name="Send answer").click()
    expect(card(tabs[9], inquiry)).to_contain_text("Answered: Redis")
    hide(tabs[0], hidden=False)
    expect(card(tabs[0], inquiry)).to_contain_text("Answered: Redis")


def test_a_stream_that_a_proxy_refuses_is_made_again(desk: Desk) -> None:
    page = desk.page()
    page.context.route("**/inbox/stream*", lambda route: route.fulfill(status=502, body="bad gateway"))
    desk.restart()
    expect(page.locator("[data-offline]")).to_be_visible()
    inquiry = desk.ask()
    page.context.unroute("**/inbox/stream*")
    expect(card(page, inquiry)).to_be_visible()
    expect(page.locator("[data-offline]")).to_be_hidden()


def test_with_five_hundred_open_questions_the_page_draws_few_and_the_keys_work(desk: Desk) -> None:
    asked = [desk.ask(question=f"Number {number:03}?") for number in range(500)]
    page = desk.page()
    expect(page.locator("[data-count]")).to_have_text("500")
    assert page.locator("article.card").count() <= 2
    assert page.locator(".row").count() <= 120
    page.keyboard.press("j")
    expect(card(page, asked[0])).to_be_focused()
    page.keyboard.press("j")
    expect(card(page, asked[1])).to_be_focused()
    # The next ones come in their order, without a press on the link.
    rows = page.locator("[data-rows=questions] > .row")
    while (drawn := rows.count()) < 200:
        page.evaluate("document.querySelector('[data-rows=questions]').lastElementChild.scrollIntoView()")
        expect(rows).not_to_have_count(drawn)
    names = rows.evaluate_all("all => all.map((row) => row.dataset.id)")
    assert names == [inquiry["id"] for inquiry in asked[: len(names)]]
    # Of those that are drawn, the browser lays out what is seen.
    skipped = page.evaluate(
        "[...document.querySelectorAll('.row')].filter((row) => !row.querySelector('.line').checkVisibility({contentVisibilityAuto: true})).length"
    )
    assert skipped > 50


@pytest.mark.parametrize("choice", ["agent", "kind"])
def test_a_filter_stands_in_the_address_and_holds_for_what_comes_later(desk: Desk, choice: str) -> None:
    desk.ask()
    desk.owner.post("/v1/inquiries", {"question": "Mine?", "agent": "painter", "kind": "text"})
    page = desk.page()
    page.locator(f"select[name={choice}]").select_option({"agent": "painter", "kind": "text"}[choice])
    expect(page).to_have_url(f"{desk.running_url()}/?{choice}={'painter' if choice == 'agent' else 'text'}")
    expect(page.locator("body[data-connected=true]")).to_be_attached()
    expect(page.locator(".row:visible")).to_have_count(1)
    desk.ask()
    desk.owner.post("/v1/inquiries", {"question": "Mine too?", "agent": "painter", "kind": "text"})
    expect(page.get_by_text("Mine too?")).to_be_visible()
    expect(page.locator(".row:visible")).to_have_count(2)


@pytest.mark.promise("desk/29")
def test_the_empty_inbox_leads_through_the_first_steps(desk: Desk) -> None:
    page = desk.page(desk.context(permissions=["notifications"]))
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    page.get_by_role("button", name="Notify me").click()
    expect(page.get_by_text("This browser notifies you.")).to_be_visible()
    expect(page.get_by_role("button", name="Notify me")).to_be_hidden()
    page.get_by_role("button", name="Send a test question").click()
    expect(page.get_by_role("heading", name="A test: does this question reach you?")).to_be_visible()
    page.get_by_label("Yes, it does").check()
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_role("article").get_by_text("Answered: Yes, it does")).to_be_visible()
