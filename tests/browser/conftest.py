"""A person in a real Chromium, agents in processes of their own, and a real daemon between them."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser import chromium
from tests.cli.conftest import Program
from tests.conftest import require
from upcall.cli.client import ASKER, Client, inquiry_path
from upcall.home.files import Home
from upcall.home.instance import stop_running

PATIENCE = 45_000
"""Milliseconds after which nothing more is expected; a busy machine takes long to begin."""

expect.set_options(timeout=PATIENCE)

CACHE: dict[str, Any] = {"question": "Which cache?", "options": ["Redis", "Memcached"]}


class Desk:
    """One home, its daemon, and the browsers that look at it."""

    def __init__(self, program: Program, browser: Browser) -> None:
        self.program = program
        self.home = Home(program.home)
        self.agent = Client(ASKER, self.home)
        self.owner = Client(home=self.home)
        self._browser = browser
        self._open = ExitStack()
        self.complaints: list[str] = []
        self.foreign: list[str] = []
        self._address = ""

    def ask(self, **question: Any) -> dict[str, Any]:
        """Put a question without waiting for its answer."""
        asked: dict[str, Any] = self.agent.post("/v1/inquiries", question or CACHE)
        return asked

    def show(self, inquiry: dict[str, Any]) -> dict[str, Any]:
        """An inquiry as it is now."""
        shown: dict[str, Any] = self.owner.get(inquiry_path(inquiry["id"]))
        return shown

    def colleague(self, name: str = "ben") -> Client:
        """Another person, with a command line."""
        token = self.owner.post("/v1/tokens", {"name": name, "role": "person"})["token"]
        client = Client(home=self.home)
        # The way a person elsewhere would set it up.
        client.remote = self.running_url()
        os.environ["UPCALL_TOKEN"] = token
        self._open.callback(os.environ.pop, "UPCALL_TOKEN", None)
        self._open.callback(client.hang_up)
        return client

    def running_url(self) -> str:
        """Where the daemon is."""
        running = self.home.running()
        assert running is not None
        return running.url

    def context(self, **options: Any) -> BrowserContext:
        """A browser profile of its own."""
        options.setdefault("locale", "en-GB")
        context = self._browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        context.on("request", lambda request: self.look(request.url))
        self._open.callback(context.close)
        return context

    def page(self, context: BrowserContext | None = None, path: str = "", **options: Any) -> Page:
        """The inbox, signed in and live."""
        page = (context or self.context(**options)).new_page()
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.owner.post("/v1/sign-in-links", {})["url"])
        expect(page).to_have_url(f"{self.running_url()}/")
        if path:
            page.goto(f"{self.running_url()}{path}")
        expect(page.locator("body[data-connected=true]")).to_be_attached()
        return page

    def restart(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """End the daemon, let something happen, and have another one on the same port."""
        running = self.home.running()
        assert running is not None
        os.kill(running.pid, signal.SIGTERM)
        stop_running(self.home)
        self.agent.hang_up()
        self.owner.hang_up()
        meanwhile()
        self.program("status")

    def close(self) -> None:
        """Close every browser and connection."""
        self._open.close()
        self.agent.hang_up()
        self.owner.hang_up()

    def _listen(self, message: Any) -> None:
        # A daemon that is gone for a moment is no mistake of the page.
        if message.type == "error" and "net::ERR_" not in message.text and "status of" not in message.text:
            self.complaints.append(message.text)

    def look(self, url: str) -> None:
        """Note a request that leaves the house; a page goes on asking while the daemon is restarted, on the same port."""
        running = self.home.running()
        if running is not None:
            self._address = running.url
        if not url.startswith((f"{self._address}/", "data:")):
            self.foreign.append(url)


def card(page: Page, inquiry: dict[str, Any]) -> Locator:
    """The card of an inquiry."""
    return page.locator(f"#i-{inquiry['id']}")


def row(page: Page, inquiry: dict[str, Any]) -> Locator:
    """An inquiry in the list of the inbox."""
    return page.locator(f"#row-{inquiry['id']}")


def chosen(page: Page, inquiry: dict[str, Any]) -> Locator:
    """The card of an inquiry, opened from the list by a click."""
    row(page, inquiry).get_by_role("link").click()
    expect(card(page, inquiry)).to_be_visible()
    return card(page, inquiry)


shared = chromium.Shared()


@pytest.fixture(scope="module")
def browser() -> Browser:
    """One Chromium; each person gets a profile of their own."""
    require(chromium.path(), "Chromium")
    return shared.browser()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End Chromium once the fixtures of the last test of this folder are gone."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        shared.close()


@contextmanager
def opened(folder: Path, browser: Browser, settings: str = "") -> Iterator[Desk]:
    """A daemon in a home of its own. No page may complain, or talk to another host."""
    program = Program(folder / "home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("UPCALL_URL", "UPCALL_TOKEN"):
            patch.delenv(name, raising=False)
        patch.setenv("UPCALL_HOME", str(program.home))
        made = Desk(program, browser)
        if settings:
            made.home.create()
            made.home.config_file.write_text(settings)
        made.owner.get("/v1/me")
        try:
            yield made
        finally:
            made.close()
            stop_running(made.home)
    assert made.complaints == []
    assert made.foreign == []


@pytest.fixture
def desk(tmp_path: Path, browser: Browser) -> Iterator[Desk]:
    """A desk of a test's own."""
    with opened(tmp_path, browser) as made:
        yield made


@pytest.fixture
def unhurried(tmp_path: Path, browser: Browser) -> Iterator[Desk]:
    """A desk at which a decision can be undone for a minute: for tests that undo, on a slow machine too."""
    with opened(tmp_path, browser, 'undo = "60s"\n') as made:
        yield made
