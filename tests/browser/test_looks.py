"""Every page in every look: what axe finds, what runs out of the window, in both directions and in six languages."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect

from tests.browser.conftest import card, chosen
from tests.browser.scene import Scene, staged
from tests.conftest import require
from upcall.web.pages.locales import LANGUAGES

AXE = Path(__file__).resolve().parents[1] / "node/node_modules/axe-core/axe.min.js"
EVERYTHING: dict[str, Any] = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
}
# What can differ where the page is the same and its look is another.
LOOKS: dict[str, Any] = {
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block", "target-size"]}
}
THEMES: tuple[tuple[Literal["dark", "light"], dict[str, Any]], ...] = (("dark", LOOKS), ("light", EVERYTHING))
COMPLAINTS = """async ({ within, ...options }) => (await axe.run(within, options)).violations.flatMap(
    ({ id, impact, nodes }) => nodes.map(({ html }) => `${id} (${impact}): ${html.slice(0, 200)}`))"""
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
WIDEST: dict[str, Any] = {"viewport": {"width": 1600, "height": 900}}
SIZES = {"phone": PHONE, "wide": WIDE, "widest": WIDEST}
SMALL = """[...document.querySelectorAll("main button, main summary, .option, .bar a, .bar summary, main textarea, main select")]
    .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < 44)
    .map((each) => each.outerHTML.slice(0, 120))"""
COLOUR = "each => getComputedStyle(each).color"
# A moment long ago, and how long ago something else was.
TIMES = """() => ["moment", "ago"].map((as) => {
    const time = document.createElement("upcall-time");
    time.dataset.as = as;
    time.dataset.at = as === "moment" ? 1767225600 : document.body.dataset.now - 3 * 86400;
    document.body.append(time);
    return time.textContent;
})"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Scene]:
    """One of everything."""
    with staged(tmp_path_factory.mktemp("scene"), browser) as made:
        yield made


def found_in_both_themes(page: Page, within: str = "html") -> list[str]:
    """What axe finds on a page or a part of it, in the dark and in the light."""
    require(AXE.exists(), "axe-core")
    # The pages' own policy keeps scripts out; a test may bring one.
    page.evaluate(AXE.read_text("utf-8"))
    found: list[str] = []
    for theme, rules in THEMES:
        page.emulate_media(color_scheme=theme)
        found += page.evaluate(COMPLAINTS, {"within": within, "resultTypes": ["violations"], **rules})
    return found


def overflow(page: Page) -> int:
    """By how much a page is wider than the window."""
    wider: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider


def unfold(page: Page) -> None:
    """Open everything that can be opened and covers nothing else, and put a decision that stays in view to its place."""
    for details in page.locator("article details:not([name]), article [data-reject]").all():
        details.evaluate("each => { each.open = true }")
    # What it covers is scrolled to, which axe does not do.
    page.evaluate(
        "document.querySelectorAll('.decide').forEach((each) => { each.style.position = 'static'; })"
    )


@pytest.mark.promise("desk/36")
@pytest.mark.parametrize("size", ["phone", "wide", "widest"])
def test_axe_finds_nothing_on_any_page_and_nothing_runs_out_of_the_window(scene: Scene, size: str) -> None:
    options = SIZES[size]
    page = scene.desk.page(**options)
    url = scene.desk.running_url()
    stranger = scene.desk.context(**options).new_page()
    visits = [
        *((page, f"{url}{path}") for path in scene.paths),
        (stranger, f"{url}/sign-in"),
        (stranger, scene.link()),
    ]
    for visitor, address in visits:
        visitor.goto(address)
        unfold(visitor)
        assert found_in_both_themes(visitor) == [], address
        assert overflow(visitor) <= 0, address
        visitor.evaluate("document.documentElement.dir = 'rtl'")
        assert overflow(visitor) <= 0, f"{address} from right to left"
    page.goto(url)
    # By itself: what lies below it is not to be pressed while it is open.
    page.locator(".menu > summary").click()
    assert found_in_both_themes(page, ".menu") == []
    page.goto(url)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert found_in_both_themes(page) == []


def test_a_phone_has_everything_in_reach_of_a_thumb(scene: Scene) -> None:
    page = scene.desk.page(**PHONE)
    asked = (scene.form, scene.action, scene.plan)
    for path in ("/", *(f"/i/{each['id']}" for each in asked), f"/runs/{scene.run}", "/threads/shop"):
        page.goto(f"{scene.desk.running_url()}{path}")
        assert page.evaluate(SMALL) == [], path


def box(place: Locator) -> FloatRect:
    """Where something is."""
    found = place.bounding_box()
    assert found is not None
    return found


def test_a_preview_stands_beside_its_option_and_on_a_phone_below(scene: Scene) -> None:
    for options, beside in ((WIDE, True), (PHONE, False)):
        page = scene.desk.page(**options)
        asked = chosen(page, scene.form)
        asked.get_by_role("button", name="2", exact=True).click()
        option = asked.locator(".with-preview")
        expect(option).to_contain_text("recommended")
        label, preview = box(option.locator("label")), box(option.locator(".preview"))
        if beside:
            assert preview["x"] >= label["x"] + label["width"]
            assert preview["y"] < label["y"] + label["height"]
        else:
            assert preview["y"] >= label["y"] + label["height"]


def test_a_card_says_who_asks_from_where_for_how_long_and_how_long_is_left(scene: Scene) -> None:
    page = scene.desk.page()
    head = chosen(page, scene.placed).locator(".head")
    expect(head).to_contain_text("painter")
    expect(head).to_contain_text("shop-api")
    expect(head.locator(".age")).to_have_text(re.compile(r"^blocked \d+ (s|min)$"))
    expect(head.locator(".left")).to_be_hidden()
    expect(card(page, scene.placed).get_by_role("heading")).to_have_text("Cache Which cache?")
    page.locator(".row", has_text="May I?").click()
    of_the_run = page.locator("article", has_text="May I?")
    expect(of_the_run.get_by_role("link", name=f"run {scene.run}")).to_be_visible()


def test_code_and_diffs_are_coloured_and_what_is_approved_is_never_behind_a_scroll_bar(scene: Scene) -> None:
    page = scene.desk.page(path=f"/i/{scene.form['id']}")
    for parts in ([".add", ".del"], [".keyword", ".string", ".number", ".comment", ".context code"]):
        assert len({page.locator(part).first.evaluate(COLOUR) for part in parts}) == len(parts)
    page.goto(f"{scene.desk.running_url()}/i/{scene.patch['id']}")
    cut = "[...document.querySelectorAll('article pre')].map((each) => each.scrollHeight - each.clientHeight)"
    assert page.evaluate(cut) == [0, 0]
    expect(page.locator("article .add")).to_have_count(20)


def test_words_from_right_to_left_are_set_so_and_disturb_nothing_around_them(scene: Scene) -> None:
    page = scene.desk.page()
    asked = chosen(page, scene.hebrew)
    assert asked.get_by_role("heading").evaluate("each => getComputedStyle(each).direction") == "rtl"
    assert asked.locator(".head").evaluate("each => getComputedStyle(each).direction") == "ltr"
    assert box(asked.get_by_role("radio").first)["x"] < box(asked.get_by_text("Redis"))["x"]


@pytest.mark.parametrize(
    ("language", "locale", "moment", "age"),
    [
        ("en", "en-US", "Jan 1, 2026, 12:00 AM", "3 d ago"),
        ("en", "en-GB", "1 Jan 2026, 00:00", "3 d ago"),
        ("zh-CN", "zh-CN", "2026年1月1日 00:00", "3 天前"),
        ("es", "es-ES", "1 ene 2026, 0:00", "hace 3 d"),
        ("de", "de-DE", "01.01.2026, 00:00", "vor 3 T."),
        ("fr", "fr-FR", "1 janv. 2026, 00:00", "il y a 3 j"),
        ("ja", "ja-JP", "2026/01/01 0:00", "3 日前"),
    ],
)
def test_dates_and_ages_are_written_as_the_reader_does(
    scene: Scene, language: str, locale: str, moment: str, age: str
) -> None:
    assert language in LANGUAGES
    page = scene.desk.page(locale=locale, timezone_id="UTC")
    expect(page.locator("html")).to_have_attribute("lang", language)
    written = [text.replace("\N{NARROW NO-BREAK SPACE}", " ") for text in page.evaluate(TIMES)]
    assert written == [moment, age]
