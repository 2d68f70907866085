"""Keys count for what a person saw when they pressed them: nothing is decided by letters meant for something else."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import CACHE, Desk, card, chosen, row
from upcall.cli.client import inquiry_path

JOBS: dict[str, Any] = {"question": "Which jobs do I restart?"}
APPLY: dict[str, Any] = {"kind": "approval", "question": "terraform apply"}
LONG: dict[str, Any] = {"kind": "approval", "question": "\n".join(f"echo {line}" for line in range(200))}
# A clock that a test can stop: with it, a key is pressed as soon after a change as the test says, however slow all else is.
CLOCK = """
const real = performance.now.bind(performance);
performance.now = () => window.stopped ?? real();
const stamp = Object.getOwnPropertyDescriptor(Event.prototype, "timeStamp").get;
Object.defineProperty(Event.prototype, "timeStamp", { get() { return window.stopped ?? stamp.call(this); } });
"""


def clocked(desk: Desk, height: int = 720) -> BrowserContext:
    context = desk.context(viewport={"width": 1280, "height": height})
    context.add_init_script(CLOCK)
    return context


def stop(page: Page) -> None:
    """No time passes in the page from now on."""
    page.evaluate("window.stopped = performance.now()")


def pass_time(page: Page, milliseconds: int) -> None:
    # A change counts from the frame in which it is on the screen, and the browser may take long to draw one.
    expect(page.locator("[data-news]")).to_have_count(0)
    page.evaluate(f"window.stopped += {milliseconds}")


def nothing_was_sent(desk: Desk, page: Page, *inquiries: dict[str, Any]) -> None:
    """What is sent later comes later: had a key sent anything, it would be there before this answer."""
    last = desk.ask(question="The last?")
    field = chosen(page, last).locator("textarea").first
    field.fill("yes")
    card(page, last).get_by_role("button", name="Send answer").click()
    expect(card(page, last)).to_contain_text("Answered: yes")
    assert [desk.show(inquiry)["state"] for inquiry in inquiries] == ["open"] * len(inquiries)


def settled(desk: Desk, page: Page, inquiry: dict[str, Any], how: str) -> None:
    if how == "a colleague":
        desk.colleague("ben").post(inquiry_path(inquiry["id"], "answer"), {"text": "all of them"})
    expect(card(page, inquiry).locator(".outcome")).to_be_visible()


def at_hand(page: Page, inquiry: dict[str, Any]) -> Locator:
    """The card of an inquiry, which was there already when its row was clicked: no key has to wait for it."""
    expect(card(page, inquiry)).to_be_attached()
    return chosen(page, inquiry)


@pytest.mark.promise("trust/1")
@pytest.mark.promise("trust/2")
@pytest.mark.parametrize("how", ["a colleague", "its end"])
def test_letters_typed_into_a_card_that_closes_stay_there_and_decide_nothing(desk: Desk, how: str) -> None:
    # Before its time begins: to open a page may take longer than that.
    page = desk.page()
    inquiry = desk.ask(**JOBS) if how == "a colleague" else desk.ask(**JOBS, ttl="12s")
    approval = desk.ask(**APPLY)
    closing = chosen(page, inquiry)
    closing.locator("textarea").first.click()
    page.keyboard.type("only the ")
    settled(desk, page, inquiry, how)
    page.keyboard.type("job 1\n")
    draft = closing.get_by_role("textbox")
    expect(draft).to_be_focused()
    expect(draft).to_have_value("only the")
    expect(draft).not_to_be_editable()
    said = "Answered: all of them — by ben" if how == "a colleague" else "Expired: no answer came in time"
    expect(closing).to_contain_text(said)
    expect(draft).to_have_accessible_name(f"{said}. Your draft was not sent:")
    expect(closing.get_by_role("button", name="Copy draft")).to_be_visible()
    # Its trail goes on, and nothing of this is lost.
    if how == "a colleague":
        desk.agent.post(inquiry_path(inquiry["id"], "collect"), {})
        expect(closing).to_contain_text("Agent has it")
        expect(draft).to_be_focused()
        page.keyboard.type("job 1\n")
    nothing_was_sent(desk, page, approval)
    chosen(page, inquiry)
    expect(draft).to_have_value("only the")


@pytest.mark.promise("trust/2")
def test_after_escape_the_keys_work_again(desk: Desk) -> None:
    inquiry, approval = desk.ask(**JOBS), desk.ask(**APPLY)
    page = desk.page(clocked(desk))
    chosen(page, inquiry).locator("textarea").first.click()
    page.keyboard.type("only")
    stop(page)
    settled(desk, page, inquiry, "a colleague")
    pass_time(page, 60_000)
    page.keyboard.press("Tab")
    page.keyboard.press("j")
    expect(card(page, inquiry).locator("[data-note]")).to_contain_text("Press Esc to go on.")
    page.keyboard.press("Escape")
    expect(card(page, inquiry)).to_be_focused()
    page.keyboard.press("j")
    expect(card(page, approval)).to_be_focused()
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(card(page, approval)).to_contain_text("Denied — by")


@pytest.mark.promise("trust/2")
@pytest.mark.parametrize("on", ["the card", "an option", "the verdict"])
def test_a_card_that_closes_before_a_word_was_written_takes_no_shortcut_either(desk: Desk, on: str) -> None:
    inquiry = desk.ask(**APPLY) if on == "the verdict" else desk.ask()
    approval = desk.ask(**APPLY | {"question": "terraform destroy"})
    page = desk.page(clocked(desk))
    at_hand(page, inquiry)
    if on != "the card":
        page.keyboard.press("2")
    stop(page)
    desk.colleague("ben").post(inquiry_path(inquiry["id"], "answer"), {"text": "1"})
    expect(card(page, inquiry).locator(".outcome")).to_be_visible()
    expect(card(page, inquiry)).to_be_focused()
    pass_time(page, 60_000)
    page.keyboard.type("job 1\n")
    expect(card(page, inquiry)).to_be_focused()
    nothing_was_sent(desk, page, approval)


@pytest.mark.promise("trust/1")
def test_the_draft_of_a_closed_card_can_be_copied_without_the_mouse(desk: Desk) -> None:
    inquiry = desk.ask(**JOBS)
    context = desk.context()
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=desk.running_url())
    page = desk.page(context)
    card(page, inquiry).locator("textarea").first.click()
    page.keyboard.type("only the first")
    settled(desk, page, inquiry, "a colleague")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(card(page, inquiry).get_by_role("button", name="Copied")).to_be_focused()
    assert page.evaluate("navigator.clipboard.readText()") == "only the first"


@pytest.mark.promise("trust/3")
def test_without_a_card_in_focus_no_key_chooses_one(desk: Desk) -> None:
    approval, inquiry = desk.ask(**APPLY), desk.ask()
    page = desk.page()
    for key in ("1", "Enter", "r", "Enter", "e", "Enter"):
        page.keyboard.press(key)
    expect(card(page, approval).get_by_role("button", name="Approve")).not_to_be_focused()
    expect(page.locator("article details[open]")).to_have_count(0)
    nothing_was_sent(desk, page, approval, inquiry)


@pytest.mark.promise("trust/3")
def test_letters_go_on_in_their_field_when_more_time_was_given_meanwhile(desk: Desk) -> None:
    inquiry, approval = desk.ask(**JOBS), desk.ask(**APPLY)
    page = desk.page()
    field = chosen(page, inquiry).locator("textarea").first

    def slow(route: Any) -> None:
        # The reply comes while the next letters are typed.
        field.click()
        page.keyboard.type("only the ")
        route.continue_()

    page.route("**/extend", slow)
    card(page, inquiry).get_by_text("More time").click()
    card(page, inquiry).get_by_role("button", name="at least 1 day").click()
    expect(page.locator("[data-flash]")).to_contain_text("more time")
    page.keyboard.type("job 1")
    expect(field).to_have_value("only the job 1")
    nothing_was_sent(desk, page, inquiry, approval)


@pytest.mark.promise("trust/3")
def test_a_page_that_missed_too_much_waits_until_the_writer_has_left_the_field(desk: Desk) -> None:
    inquiry = desk.ask(**JOBS)
    context = desk.context()
    context.add_init_script(
        "window.EventSource = class extends EventSource { constructor(url) { super(url); window.stream = this; } };"
    )
    page = desk.page(context)
    field = card(page, inquiry).locator("textarea").first
    field.click()
    page.keyboard.type("only the ")
    page.evaluate(
        "window.before = true; window.stream.dispatchEvent(new MessageEvent('reset', {lastEventId: '0'}))"
    )
    page.keyboard.type("job 1")
    expect(field).to_have_value("only the job 1")
    assert page.evaluate("window.before") is True
    with page.expect_navigation():
        field.blur()
    expect(field).to_have_value("only the job 1")


@pytest.mark.promise("trust/4")
@pytest.mark.parametrize("change", ["asked", "answered"])
def test_within_800_ms_of_a_change_by_another_person_no_key_decides(desk: Desk, change: str) -> None:
    inquiry, other, approval = desk.ask(), desk.ask(question="Why?"), desk.ask(**APPLY)
    page = desk.page(clocked(desk, height=2000))
    opened, verdict = at_hand(page, inquiry), card(page, approval).get_by_role("button", name="Approve")
    page.keyboard.press("1")
    stop(page)
    if change == "asked":
        expect(row(page, desk.ask(question="And?"))).to_have_attribute("data-onscreen", "")
    else:
        desk.owner.post(inquiry_path(other["id"], "answer"), {"text": "so"})
        expect(row(page, other)).to_contain_text("Answered: so")
    for key in ("Enter", "r", "e", "2"):
        page.keyboard.press(key)
        expect(opened.locator("[data-note]")).to_contain_text("The page changed just now")
    pass_time(page, 799)
    page.keyboard.press("Enter")
    chosen(page, approval)
    verdict.focus()
    for key in ("Enter", "Space"):
        page.keyboard.press(key)
    expect(card(page, approval).locator("[data-note]")).to_contain_text("The page changed just now")
    nothing_was_sent(desk, page, inquiry, approval)
    expect(chosen(page, inquiry).get_by_label("Redis")).to_be_checked()
    opened.get_by_label("Redis").focus()
    pass_time(page, 800)
    page.keyboard.press("Enter")
    expect(opened).to_contain_text("Answered: Redis")


@pytest.mark.promise("trust/4")
def test_what_a_person_does_themselves_and_what_follows_from_it_delays_no_key(desk: Desk) -> None:
    asked = [desk.ask(**CACHE | {"question": f"Number {number}?"}) for number in range(3)]
    page = desk.page(clocked(desk))
    # Long after the page was drawn, and from here on no time passes at all.
    stop(page)
    pass_time(page, 60_000)
    for inquiry in asked:
        expect(card(page, inquiry)).to_be_visible()
        # The next one is there before it is wanted.
        if inquiry != asked[-1]:
            expect(page.locator("article.open[hidden]")).to_have_count(1)
        for key in ("j", "2", "Enter"):
            page.keyboard.press(key)
        expect(card(page, inquiry)).to_contain_text("Answered: Memcached")
        desk.agent.post(inquiry_path(inquiry["id"], "collect"), {})
        expect(card(page, inquiry)).to_contain_text("Agent has it")


@pytest.mark.promise("trust/4")
def test_a_change_that_is_not_on_the_screen_delays_no_key(desk: Desk) -> None:
    asked = [desk.ask(**CACHE | {"question": f"Number {number}?"}) for number in range(40)]
    page = desk.page(clocked(desk))
    page.keyboard.press("j")
    page.keyboard.press("1")
    stop(page)
    desk.owner.post(inquiry_path(asked[-1]["id"], "answer"), {"text": "1"})
    expect(row(page, asked[-1])).to_contain_text("Answered: Redis")
    expect(row(page, desk.ask(question="And?"))).to_be_attached()
    page.keyboard.press("Enter")
    expect(card(page, asked[0])).to_contain_text("Answered: Redis")


@pytest.mark.promise("trust/5")
def test_an_approval_takes_no_verdict_by_key_before_its_end_was_on_the_screen(desk: Desk) -> None:
    approval = desk.ask(**LONG)
    page = desk.page()
    page.keyboard.press("j")
    page.keyboard.press("1")
    expect(card(page, approval).locator("[data-note]")).to_contain_text("Scroll to the end")
    page.keyboard.press("Enter")
    nothing_was_sent(desk, page, approval)
    card(page, approval).locator(".end").scroll_into_view_if_needed()
    page.keyboard.press("Escape")
    card(page, approval).focus()

    def approve() -> bool:
        page.keyboard.press("1")
        return bool(
            card(page, approval)
            .get_by_role("button", name="Approve")
            .evaluate("(it) => it === document.activeElement")
        )

    # The browser says in its own time that the end is on the screen.
    while not approve():
        page.evaluate("new Promise(requestAnimationFrame)")
    page.keyboard.press("Enter")
    expect(card(page, approval)).to_contain_text("Approved — by")


@pytest.mark.promise("trust/5")
@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_key_that_is_held_down_since_before_decides_nothing(desk: Desk, key: str) -> None:
    approval = desk.ask(**APPLY)
    page = desk.page()
    page.locator("h1").click()
    page.keyboard.down(key)
    card(page, approval).get_by_role("button", name="Approve").focus()
    page.keyboard.down(key)
    page.keyboard.down(key)
    page.keyboard.up(key)
    nothing_was_sent(desk, page, approval)


@pytest.mark.promise("trust/5")
def test_a_key_pressed_before_the_approval_was_drawn_is_not_for_it(desk: Desk) -> None:
    approval = desk.ask(**APPLY)
    page = desk.page(clocked(desk))
    button = card(page, approval).get_by_role("button", name="Approve")
    page.evaluate("window.stopped = 1")
    button.focus()
    page.keyboard.press("Enter")
    expect(card(page, approval).locator("[data-note]")).to_be_visible()
    nothing_was_sent(desk, page, approval)


def test_the_second_press_of_a_double_click_decides_no_other_card(desk: Desk) -> None:
    first, second = desk.ask(**APPLY), desk.ask(**APPLY | {"question": "terraform destroy"})
    page = desk.page()
    card(page, first).get_by_role("button", name="Approve").click()
    expect(card(page, first)).to_contain_text("Approved — by")
    button = card(page, second).get_by_role("button", name="Approve")
    button.hover()
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    nothing_was_sent(desk, page, second)
    button.click()
    expect(card(page, second)).to_contain_text("Approved — by")


def middle(button: Locator) -> float:
    box = button.bounding_box()
    assert box is not None
    return box["y"] + box["height"] / 2


def rest_on(button: Locator) -> float:
    """Move the pointer onto a button; how far down that is."""
    button.hover()
    return middle(button)


def move_below(pointer: float, button: Locator) -> None:
    """Move the page so that a button comes below the pointer, which rests."""
    button.evaluate("(_, top) => scrollBy({ top, behavior: 'instant' })", middle(button) - pointer)


@pytest.mark.promise("trust/4")
def test_a_click_on_a_button_that_a_change_moved_below_the_pointer_decides_nothing(desk: Desk) -> None:
    meant, moved = desk.ask(**APPLY), desk.ask(**APPLY | {"question": "terraform destroy"})
    page = desk.page(clocked(desk, height=800))
    expect(card(page, moved)).to_be_attached()
    button = card(page, meant).get_by_role("button", name="Approve")
    pointer = rest_on(button)
    stop(page)
    page.mouse.down()
    page.mouse.up()
    # The next one has opened by itself, with its own button below the pointer, which has not moved.
    button = card(page, moved).get_by_role("button", name="Approve")
    expect(button).to_be_visible()
    assert abs(middle(button) - pointer) < 10
    pass_time(page, 799)
    page.mouse.down()
    page.mouse.up()
    expect(card(page, moved).locator("[data-note]")).to_contain_text("The page changed just now")
    assert desk.show(moved)["state"] == "open"
    button.click()
    expect(card(page, moved)).to_contain_text("Approved — by")


def test_a_late_answer_that_is_being_written_stays_until_another_is_given(desk: Desk) -> None:
    inquiry = desk.ask(**JOBS, ttl="1s")
    page = desk.page(path=f"/i/{inquiry['id']}")
    expect(card(page, inquiry).locator(".outcome.expired")).to_be_visible()
    card(page, inquiry).get_by_role("textbox").click()
    page.keyboard.type("only the")
    answer = {"text": "all of them", "force": True}
    desk.colleague("ben").post(inquiry_path(inquiry["id"], "answer"), answer)
    expect(card(page, inquiry)).to_contain_text("Answered: all of them — by ben")
    expect(card(page, inquiry).get_by_role("textbox")).to_have_value("only the")
    expect(card(page, inquiry).get_by_role("textbox")).to_be_focused()


@pytest.mark.promise("desk/16")
@pytest.mark.promise("trust/4")
@pytest.mark.promise("trust/5")
def test_after_sending_the_next_row_opens_and_takes_no_key_before_it_could_be_seen(desk: Desk) -> None:
    first, second = desk.ask(**APPLY), desk.ask(**APPLY | {"question": "terraform destroy"})
    page = desk.page(clocked(desk))
    expect(card(page, second)).to_be_attached()
    page.keyboard.press("j")
    page.keyboard.press("1")
    stop(page)
    page.keyboard.press("Enter")
    expect(card(page, second)).to_be_focused()
    expect(card(page, first)).to_be_hidden()
    expect(row(page, second).get_by_role("link")).to_have_attribute("aria-current", "true")
    pass_time(page, 799)
    for key in ("1", "Enter", "2", "Enter", "r", "y"):
        page.keyboard.press(key)
    expect(card(page, second).locator("[data-note]")).to_contain_text("The page changed just now")
    expect(card(page, second)).to_be_focused()
    assert desk.show(second)["state"] == "open"
    pass_time(page, 1)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(card(page, second)).to_contain_text("Denied — by")
    # Nothing is left: how it ended stays in view.
    expect(card(page, second)).to_be_visible()
