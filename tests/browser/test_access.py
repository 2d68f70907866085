"""Who gets in, in real browsers: a link works once, a session is a browser's own, and no other site acts in its name."""

from playwright.sync_api import Route, expect

from tests.browser.conftest import CACHE, Desk


def test_a_link_lets_one_browser_in_and_its_cookie_is_for_no_other(desk: Desk) -> None:
    link = desk.owner.post("/v1/sign-in-links", {})["url"]
    context = desk.context()
    page = context.new_page()
    page.goto(link)
    expect(page.get_by_role("heading", name="Waiting for you")).to_be_visible()
    (cookie,) = context.cookies()
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
    assert page.evaluate("document.cookie") == ""
    late = desk.context().new_page()
    late.goto(link)
    expect(late.get_by_text("This link is used up or too old")).to_be_visible()
    late.goto(desk.running_url())
    expect(late.get_by_text("Sign in to your inbox")).to_be_visible()


def test_one_browser_sees_the_others_and_sends_one_away(desk: Desk) -> None:
    mine, other = desk.page(), desk.page()
    mine.locator(".menu summary").click()
    mine.get_by_role("link", name="Signed-in browsers").click()
    rows = mine.locator(".rows li")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="this browser")).to_have_count(1)
    mine.get_by_role("button", name="End session").click()
    expect(rows).to_have_count(1)
    # Nothing more is told to it: with the next news, its page leads to the door by itself.
    desk.ask()
    expect(other.get_by_text("Sign in to your inbox")).to_be_visible()
    mine.get_by_role("button", name="Sign out").last.click()
    expect(mine.get_by_text("Sign in to your inbox")).to_be_visible()


def test_a_page_of_another_site_cannot_answer_in_ones_name(desk: Desk) -> None:
    inquiry = desk.ask(**CACHE)
    page = desk.page()
    form = page.locator("form[data-answer]")
    fields = form.evaluate("each => Object.fromEntries(new FormData(each))") | {"q0": "0"}
    address = form.evaluate("each => each.action")
    hidden = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())

    def another_site(route: Route) -> None:
        body = f'<form method="post" action="{address}">{hidden}<button>Win a prize</button></form>'
        route.fulfill(body=body, content_type="text/html")

    # Even one that has come by everything that the form holds.
    page.context.route("http://evil.example/", another_site)
    page.goto("http://evil.example/")
    with page.expect_response(address) as answered:
        page.get_by_role("button").click()
    assert answered.value.status == 403
    assert desk.show(inquiry)["state"] == "open"
    desk.foreign.remove("http://evil.example/")
