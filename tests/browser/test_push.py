"""Web Push up to the person: sealed by the daemon, shown by a real Chromium on a desktop, pressed there.

Two things are stood in for, since they are the vendor's cloud: what `PushManager.subscribe` returns, and the way from the
push service to the browser. Between them, the browser's service is played by a server that opens what was sealed, as the
browser would, and by the browser's own means of handing a message to a service worker.
"""

import json
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import chromium
from tests.browser.conftest import CACHE, Desk, card
from tests.channels.mail_server import certify
from tests.channels.push_device import Device
from tests.channels.screen import SECONDS, Notice, Screen, a_screen
from upcall.cli.client import inquiry_path

SUBSCRIBED = """
const held = {
    toJSON: () => (%s),
    unsubscribe: async () => { localStorage.removeItem("held"); return true; },
};
PushManager.prototype.getSubscription = async () => localStorage.getItem("held") ? held : null;
PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    window.wanted = { userVisibleOnly, key: [...applicationServerKey] };
    localStorage.setItem("held", "1");
    return held;
};
"""
HELD = "navigator.serviceWorker.ready.then(({pushManager}) => pushManager.getSubscription())"


class Cloud:
    """The vendor's push service for one browser."""

    def __init__(self, folder: Path) -> None:
        self._device = Device("/device")
        self._received: Queue[bytes] = Queue()
        self._certificate = folder / "cert.pem"
        certify(folder)
        app = web.Application()
        app.router.add_post("/device", self._take)
        self._server = TestServer(app, scheme="https")

    async def open(self) -> None:
        """Listen."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate, self._certificate.with_name("key.pem"))
        await self._server.start_server(ssl=context)

    async def close(self) -> None:
        """Listen no more."""
        await self._server.close()

    def subscription(self) -> dict[str, Any]:
        """What a browser's `PushSubscription` says of itself."""
        body = self._device.subscription(str(self._server.make_url("")).rstrip("/")).body()
        return {"endpoint": body["endpoint"], "keys": {"p256dh": body["p256dh"], "auth": body["auth"]}}

    def next(self) -> dict[str, Any]:
        """What comes next, opened with the keys of the browser."""
        return self._device.read(self._received.get(timeout=SECONDS))

    async def _take(self, request: web.Request) -> web.Response:
        self._received.put(await request.read())
        return web.Response(status=201)


class Laptop:
    """A person's desktop, and the browser on it."""

    def __init__(self, portal: BlockingPortal, screen: Screen, context: BrowserContext, cloud: Cloud) -> None:
        self._portal = portal
        self._screen = screen
        self._registrations: list[dict[str, Any]] = []
        self.context = context
        self._cloud = cloud
        self._devtools = context.new_cdp_session(context.pages[0])
        self._devtools.on(
            "ServiceWorker.workerRegistrationUpdated",
            lambda news: self._registrations.extend(news["registrations"]),
        )
        self._devtools.send("ServiceWorker.enable")

    def hand_over(self) -> None:
        """Hand the next message of the vendor to the service worker."""
        worker = self._registrations[-1]
        message = {"registrationId": worker["registrationId"], "data": json.dumps(self._cloud.next())}
        self._devtools.send("ServiceWorker.deliverPushMessage", {"origin": worker["scopeURL"], **message})

    def deliver(self) -> tuple[int, Notice]:
        """Hand it over, and see what is on the screen then, under which number."""
        self.hand_over()
        return self.shown()

    def shown(self) -> tuple[int, Notice]:
        """What is on the screen next, under which number."""
        return self._portal.call(self._screen.next)

    def closed(self) -> int:
        """The number of what goes from the screen next."""
        return self._portal.call(self._screen.next_closed)

    def press(self, number: int, label: str = "Activate") -> None:
        """Press a notification, or a button of it."""
        self._portal.call(self._screen.press, number, label)


@pytest.fixture
def laptop(desk: Desk, browser: Browser, tmp_path: Path) -> Iterator[Laptop]:
    """A laptop with a push subscription of its owner."""
    name = desk.owner.get("/v1/me")["name"]
    (desk.home.path / "upcall.toml").write_text(
        f'[channels.push]\nsubject = "mailto:ana@example.org"\n\n[[routes]]\nto = ["push:{name}"]\n'
    )
    with ExitStack() as leaving:
        portal = leaving.enter_context(start_blocking_portal())
        cloud = Cloud(tmp_path)
        portal.call(cloud.open)
        leaving.callback(portal.call, cloud.close)
        # The daemon trusts the vendor's certificate.
        desk.program.environment["SSL_CERT_FILE"] = str(tmp_path / "cert.pem")
        desk.restart()
        address, screen = leaving.enter_context(portal.wrap_async_context_manager(a_screen()))
        context = leaving.enter_context(
            chromium.at_home(browser, tmp_path / "profile", DBUS_SESSION_BUS_ADDRESS=address)
        )
        context.set_default_timeout(20_000)
        context.on("request", lambda request: desk.look(request.url))
        context.grant_permissions(["notifications"], origin=desk.running_url())
        context.add_init_script(SUBSCRIBED % json.dumps(cloud.subscription()))
        yield Laptop(portal, screen, context, cloud)


def obstacles(page: Page) -> list[Any]:
    """What keeps Chromium from installing the page as an app."""
    devtools = page.context.new_cdp_session(page)
    errors: list[Any] = devtools.send("Page.getInstallabilityErrors")["installabilityErrors"]
    return errors


def choose(page: Page, *, told: bool) -> None:
    """Switch notifications on or off in the menu."""
    page.locator(".menu summary").click()
    with page.expect_response("**/push/*") as answered:
        page.get_by_label("Notify me").set_checked(told)
    assert answered.value.status == 204
    page.locator(".menu summary").click()


def test_a_push_is_shown_on_the_desktop_and_pressing_it_opens_the_question(
    desk: Desk, laptop: Laptop
) -> None:
    page = desk.page(laptop.context)
    choose(page, told=True)
    wanted = page.evaluate("window.wanted")
    assert wanted["userVisibleOnly"]
    assert (len(wanted["key"]), wanted["key"][0]) == (65, 4)
    # With its manifest and its worker, the page can be installed.
    assert obstacles(page) == []
    page.close()

    inquiry = desk.ask(**CACHE)
    number, notice = laptop.deliver()
    assert inquiry["ref"] in notice.title
    assert "Which cache?" in notice.body
    # How it ended takes the place of what was asked.
    desk.owner.post(inquiry_path(inquiry["id"], "answer"), {"text": "Redis"})
    changed, notice = laptop.deliver()
    assert changed == number
    assert "Redis" in notice.body

    other = desk.ask(question="Which port?")
    number, _ = laptop.deliver()
    with laptop.context.expect_page() as opened:
        laptop.press(number)
    page = opened.value
    expect(page).to_have_url(f"{desk.running_url()}/i/{other['id']}")
    expect(card(page, other)).to_contain_text("Which port?")


def said(notice: Notice) -> str:
    """What a notification says below the address, which Chromium puts on top."""
    return notice.body.rpartition("\n\n")[2]


@pytest.mark.promise("desk/31")
def test_an_action_that_is_shown_whole_is_decided_on_the_desktop_and_a_late_press_is_told_so(
    desk: Desk, laptop: Laptop
) -> None:
    page = desk.page(laptop.context)
    choose(page, told=True)
    page.close()
    action = desk.ask(kind="approval", question="terraform apply")
    number, notice = laptop.deliver()
    assert said(notice) == "│ terraform apply"
    assert {"Approve", "Deny"} <= set(notice.actions)
    laptop.press(number, "Approve")
    _, told = laptop.shown()
    assert said(told).startswith(f"Answered {action['ref']}.")
    decided = desk.show(action)
    assert (decided["state"], decided["answer"]["text"], decided["answer"]["via"]) == (
        "answered",
        "Approve",
        "push",
    )
    # How it ended follows, as for every question.
    laptop.hand_over()
    laptop.shown()

    # Another person was faster than a press on a notification that still stands there.
    late = desk.ask(kind="approval", question="rm -rf build")
    number, _ = laptop.deliver()
    desk.colleague().post(inquiry_path(late["id"], "answer"), {"text": "Deny"})
    laptop.press(number, "Approve")
    _, told = laptop.shown()
    assert said(told) == f"Too late: {late['ref']} was settled before, so nothing was changed."
    assert "Approve" not in told.actions
    assert desk.show(late)["answer"]["text"] == "Deny"

    # What a notification would cut can only be opened.
    desk.ask(kind="approval", question="echo " + "x" * 200)
    laptop.hand_over()
    laptop.shown()
    _, notice = laptop.deliver()
    assert not {"Approve", "Deny"} & set(notice.actions)


def test_pressing_it_leads_to_the_inbox_that_is_open_already(desk: Desk, laptop: Laptop) -> None:
    page = desk.page(laptop.context)
    choose(page, told=True)
    first = desk.ask(question="Which port?")
    pressed, _ = laptop.deliver()
    second = desk.ask(question="Which host?")
    left, _ = laptop.deliver()
    laptop.press(pressed)
    expect(card(page, first)).to_be_focused()
    assert laptop.closed() == pressed
    # A visible inbox shows how it ended: the notification that was there goes, and no other comes.
    desk.owner.post(inquiry_path(second["id"], "answer"), {"text": "localhost"})
    laptop.hand_over()
    assert laptop.closed() == left
    assert len(laptop.context.pages) == 2, "the empty page that it began with, and the inbox"

    choose(page, told=False)
    assert page.evaluate(HELD) is None


def test_a_person_who_signs_in_anew_in_the_same_browser_is_still_told(desk: Desk, laptop: Laptop) -> None:
    page = desk.page(laptop.context)
    choose(page, told=True)
    page.close()
    with laptop.context.expect_event(
        "response", lambda response: response.url.endswith("/push/subscribe")
    ) as answered:
        page = desk.page(laptop.context)
    assert answered.value.status == 204
    page.close()
    desk.ask(question="Which port?")
    _, notice = laptop.deliver()
    assert "Which port?" in notice.body
