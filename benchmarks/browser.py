"""The inbox in a real Chromium: how soon a question is seen, an answer felt, and a long list drawn."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import perf_counter, time
from typing import Any

from playwright.sync_api import Browser, Page
from typing_extensions import override

from benchmarks.bench import Bench, median
from benchmarks.client import tool_call
from benchmarks.daemon import Daemon
from benchmarks.history import fill
from benchmarks.report import Figure, Target
from tests.browser.chromium import launched
from upcall.web.pages.assets import assets

WARM_UP = 3
FEW, MANY, MOST = 10, 500, 2_000
ROW = '[data-rows="questions"] > .row'
KILOBYTE = 1000
# Both are seen when the frame after the change is drawn.
SEEN = """(selector) => { window.seen = new Promise((tell) => {
    new MutationObserver((_, looking) => {
        if (!document.querySelector(selector)) return;
        looking.disconnect();
        requestAnimationFrame(() => tell(true));
    }).observe(document.body, {childList: true, subtree: true});
}); }"""
# A page that has just drawn a frame draws the next one only when the screen is due again: both begin at rest.
REST = """() => new Promise((tell) => { requestIdleCallback(() => setTimeout(tell, 50)); })"""
BARE_PAGE = b"""<!doctype html><title>bare</title><body><script>
new EventSource("/events").onmessage = ({data}) => {
    document.body.innerHTML = data;
};
</script>"""
# The clock starts with the click itself, not when the browser was told to.
CLICK = """(card) => {
    const began = performance.timeOrigin + performance.now();
    card.querySelector('.actions .primary').click();
    return began;
}"""
PRESS = """() => {
    const began = performance.now();
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "j", bubbles: true, cancelable: true}));
    document.activeElement.getBoundingClientRect();
    return performance.now() - began;
}"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? performance.now()"


class _Bare(BaseHTTPRequestHandler):
    """A page with a stream, and a person who answers on it."""

    protocol_version = "HTTP/1.1"
    streams: list[Any]

    def do_GET(self) -> None:
        """The page, or its stream."""
        stream = self.path == "/events"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if stream else "text/html")
        self.send_header(
            "Connection" if stream else "Content-Length", "close" if stream else str(len(BARE_PAGE))
        )
        self.end_headers()
        if not stream:
            self.wfile.write(BARE_PAGE)
            return
        self.wfile.write(b": hello\n\n")
        over = threading.Event()
        self.streams.append((self.wfile, over))
        over.wait()

    def do_POST(self) -> None:
        """Say something."""
        said = self.rfile.read(int(self.headers["Content-Length"]))
        for stream, _ in self.streams:
            stream.write(b"data: " + said + b"\n\n")
            stream.flush()
        self.send_response(204)
        self.end_headers()

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@contextmanager
def _bare() -> Iterator[int]:
    _Bare.streams = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Bare)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        for _, over in _Bare.streams:
            over.set()
        server.shutdown()
        server.server_close()


class _Person:
    """A person at a command line."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._connection = HTTPConnection(daemon.host, daemon.port)

    def post(self, path: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
        headers = {
            "Authorization": f"Bearer {token or self._daemon.person}",
            "Content-Type": "application/json",
        }
        self._connection.request("POST", path, json.dumps(body), headers)
        reply: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return reply

    def ask(self) -> dict[str, Any]:
        return self.post("/v1/inquiries", {"question": "Go on?", "options": ["Yes"]}, self._daemon.agent)

    def opens(self, browser: Browser) -> Page:
        """The inbox, signed in and live."""
        page = browser.new_context().new_page()
        page.goto(self.post("/v1/sign-in-links", {})["url"])
        page.wait_for_selector("body[data-connected=true]")
        return page


def run(bench: Bench) -> Iterator[Figure]:
    """Each beside what the same browser could do at all."""
    count = bench.size(60, 3)
    with launched() as browser, Daemon(bench.folder("browser") / "home") as daemon:
        yield _visible(daemon, browser, count)
        yield _felt(daemon, browser, count)
    yield from _lists(bench)
    served = [asset for asset in assets().values() if asset.media_type in {"text/css", "text/javascript"}]
    size = sum(len(asset.content) for asset in served) / KILOBYTE
    yield Figure(
        name="scripts and styles as served, uncompressed",
        measured=size,
        limit=None,
        unit="kB",
        target=Target(plus=90),
    )


def _visible(daemon: Daemon, browser: Browser, count: int) -> Figure:
    person, shown, bare = _Person(daemon), list[float](), list[float]()
    page = person.opens(browser)
    with _bare() as port:
        plain = browser.new_page()
        plain.goto(f"http://127.0.0.1:{port}/")
        said = HTTPConnection("127.0.0.1", port)
        for number in range(count + WARM_UP):
            plain.evaluate(SEEN, f"#n{number}")
            plain.evaluate(REST)
            began = perf_counter()
            said.request("POST", "/", f"<p id=n{number}>")
            said.getresponse().read()
            plain.evaluate("window.seen")
            bare.append(perf_counter() - began)
            page.evaluate(SEEN, ROW)
            page.evaluate(REST)
            began = perf_counter()
            inquiry = person.ask()
            page.evaluate("window.seen")
            shown.append(perf_counter() - began)
            person.post(f"/v1/inquiries/{inquiry['id']}/answer", {"text": "Yes"})
            page.wait_for_selector(f"#row-{inquiry['id']}[data-group=settled]")
        plain.close()
    return Figure(
        name="question asked → visible in the page, p50",
        measured=median(shown[WARM_UP:]) * 1000,
        limit=median(bare[WARM_UP:]) * 1000,
        limit_name="a bare message to the same browser",
        unit="ms",
        repetitions=count,
        target=Target(factor=3),
    )


class _Agent:
    """A blocked tool call, and when it returned."""

    def __init__(self, daemon: Daemon, text: str) -> None:
        self._socket = socket.create_connection((daemon.host, daemon.port))
        self._socket.sendall(tool_call(daemon, text))
        self.returned = 0.0
        self._waiting = threading.Thread(target=self._wait)
        self._waiting.start()

    def _wait(self) -> None:
        heard = b""
        while b"answered" not in heard and (more := self._socket.recv(65536)):
            heard += more
        self.returned = time()

    def done(self) -> float:
        self._waiting.join()
        self._socket.close()
        return self.returned


def _felt(daemon: Daemon, browser: Browser, count: int) -> Figure:
    person, clicked, sent = _Person(daemon), list[float](), list[float]()
    page = person.opens(browser)
    for number in range(count + WARM_UP):
        agent = _Agent(daemon, f"clicked {number}?")
        name = _opened(page)
        card = page.wait_for_selector(f"#i-{name}")
        assert card is not None
        page.evaluate("(card) => { card.querySelector('[data-choice]').checked = true; }", card)
        began = page.evaluate(CLICK, card) / 1000
        clicked.append(agent.done() - began)
        page.wait_for_selector(ROW, state="detached")
        agent = _Agent(daemon, f"sent {number}?")
        name = _opened(page)
        began = time()
        person.post(f"/v1/inquiries/{name}/answer", {"text": "1"})
        sent.append(agent.done() - began)
        page.wait_for_selector(ROW, state="detached")
    return Figure(
        name="click → the agent's tool call returned, p50",
        measured=median(clicked[WARM_UP:]) * 1000,
        limit=median(sent[WARM_UP:]) * 1000,
        limit_name="the same answer sent over HTTP",
        unit="ms",
        repetitions=count,
        target=Target(factor=3),
    )


def _opened(page: Page) -> str:
    """The id of the only question that waits, once its card is open."""
    row = page.wait_for_selector(ROW)
    assert row is not None
    row.click()
    name = row.get_attribute("data-id")
    assert name is not None
    page.wait_for_selector(f"#i-{name}.open")
    return name


def _lists(bench: Bench) -> Iterator[Figure]:
    paints, presses = dict[int, float](), dict[int, float]()
    for size in (FEW, MANY, MOST):
        home = bench.folder(f"open-{size}")
        daemon = Daemon(home)
        daemon.home.create()
        fill(daemon.home.database_file, still_open=size)
        with launched() as browser, daemon:
            paints[size], presses[size] = _drawn(_Person(daemon).opens(browser), bench.size(20, 2))
    for name, found, size, factor in (
        (f"{MANY} open: first paint, p50", paints, MANY, 1.5),
        (f"{MOST} open: first paint, p50", paints, MOST, 3),
        (f"{MANY} open: key press → focus, p50", presses, MANY, 1.5),
    ):
        yield Figure(
            name=name,
            measured=found[size],
            limit=found[FEW],
            limit_name=f"the same with {FEW}",
            unit="ms",
            repetitions=bench.size(20, 2),
            target=Target(factor=factor),
        )


def _drawn(page: Page, count: int) -> tuple[float, float]:
    paints: list[float] = []
    presses: list[float] = []
    top = page.url.partition("#")[0]
    for _ in range(count):
        # From the top each time: at the end of a short list a key has nothing more to open.
        page.goto("about:blank")
        page.goto(top)
        page.wait_for_selector("body[data-connected=true]")
        paints.append(page.evaluate(PAINT))
        presses += [page.evaluate(PRESS) for _ in range(FEW - 1)]
    return median(paints), median(presses)
