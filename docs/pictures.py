"""Takes the pictures of the inbox that the pages show: `python -m docs.pictures`, or `make pictures`.

A daemon in a scratch home is asked a few things, and a real browser looks at it.
"""
# ruff: noqa: INP001 - a script beside the pages, not a package

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tests.browser.chromium import launched
from upcall.cli.client import ASKER, Client, inquiry_path
from upcall.home.files import Home
from upcall.home.instance import stop_running
from upcall.home.launch import ensure_running

FOLDER = Path(__file__).parent
WIDE, TALL = 900, 860
DESK = {"width": 1280, "height": 760}
MARGIN = 40
PHONE = {"width": 390, "height": 844}

CACHE = {
    "header": "Cache",
    "question": "Which cache should the API use for user look-ups?",
    "options": [
        {
            "label": "Redis",
            "description": "Pub/sub and persistence; one more service to run.",
            "recommended": True,
        },
        {"label": "Memcached", "description": "Simpler, plain key and value."},
        {"label": "In process", "description": "Nothing to run, lost with every restart."},
    ],
    "context": "`users.find()` is **62 %** of the request time. Both clients are in `pyproject.toml` already.",
    "agent": "claude",
    "workspace": "/home/ana/shop-api",
}
APPROVAL = {
    "kind": "approval",
    "question": "alembic upgrade head && systemctl --user restart shop-api",
    "context": "adds users.cache_key to the staging database",
    "agent": "build-bot",
    "workspace": "/home/ana/shop-api",
}
FORM = {
    "questions": [
        {
            "header": "Checks",
            "question": "Which checks shall I run before I push?",
            "options": ["lint", "types", "tests"],
            "multiSelect": True,
        },
        {
            "header": "Layout",
            "question": "How shall the settings page be laid out?",
            "custom": False,
            "options": [
                {
                    "label": "Tabs",
                    "preview": "[General] [Team] [Billing]\n---------------------------\nName   [        ]",
                },
                {"label": "One page", "preview": "General\n  Name   [        ]\nTeam\n  Invite [        ]"},
            ],
        },
        {"question": "What should the commit message say?"},
    ],
    "context": "```diff\n@@ -12,3 +12,4 @@ def settings(request):\n-    return render('old.html')\n+    page = layout(request)\n+    return render(page)\n```",
    "agent": "codex",
    "workspace": "/home/ana/shop-web",
}


OTHERS: tuple[dict[str, Any], ...] = (
    {"question": "Which name shall the new table have?", "agent": "codex", "workspace": "/home/ana/billing"},
    {
        "kind": "approval",
        "question": "terraform apply -target=module.cache",
        "agent": "build-bot",
        "workspace": "/home/ana/infra",
        "ttl": "14m",
    },
    {
        "question": "Shall the old endpoint stay until the next release?",
        "options": ["Yes", "No"],
        "agent": "claude",
        "workspace": "/home/ana/shop-web",
    },
)


# Plays Claude Code, so that a run has something to show.
AGENT = """#!{python}
import json, os, subprocess, sys
if "--version" in sys.argv:
    print("2.1.300 (Claude Code)")
    sys.exit()
def tell(**event):
    print(json.dumps({{"session_id": "b7c1", **event}}), flush=True)
def turn(number, **content):
    usage = {{"input_tokens": 4100, "output_tokens": 380}}
    tell(type="assistant", message={{"id": f"m{{number}}", "content": [content], "usage": usage}})
def result(text):
    tell(type="user", message={{"content": [{{"type": "tool_result", "tool_use_id": "t", "content": text}}]}})
turn(1, type="text", text="I look for where users are looked up.")
turn(2, type="tool_use", id="t", name="Grep", input={{"pattern": "users.find"}})
result("api/users.py:42: return users.find(key)")
turn(3, type="text", text="One place, and both clients are there already. Which one is your decision.")
if os.getcwd().endswith("-api"):
    ask = [sys.executable, "-m", "upcall", "ask", "Which cache should the API use for user look-ups?"]
    turn(4, type="tool_use", id="t", name="Bash", input={{"command": "upcall ask ..."}})
    subprocess.run([*ask, "-o", "Redis", "-o", "Memcached"])
tell(type="result", subtype="success", is_error=False, result="Both tests pass now.", total_cost_usd=0.31)
"""


# Pictures are taken within seconds, and nothing that waits is that young. All times of a question move alike.
WAITED = """() => {
    const places = new Map();
    for (const time of document.querySelectorAll("upcall-time")) {
        const about = time.closest("[data-id]")?.dataset.id ?? time;
        if (!places.has(about)) places.set(about, places.size);
        const place = places.get(about);
        if (time.dataset.as === "moment") continue;
        time.dataset.at -= time.dataset.as === "ago" ? 60 + 200 * place : Math.max(600 - 120 * place, 120);
        time.show();
    }
}"""


class Scene:
    """A home with questions in it, and a browser that has signed in."""

    def __init__(self, client: Client, browser: Browser) -> None:
        self._client = client
        self._browser = browser

    def ask(self, question: dict[str, Any]) -> str:
        """Put a question as the agent that it names."""
        name: str = self._client.post("/v1/inquiries", question)["id"]
        return name

    def talk(self, thread: str, title: str) -> None:
        """Have a conversation up to a question."""
        agent = Client(ASKER, self._client.home)
        agent.post("/v1/threads", {"id": thread, "title": title})
        items = f"/v1/threads/{thread}/items"
        self._client.post(items, {"text": "Make the product page faster, please."})
        turn = f"/v1/threads/{thread}/turn?wait=0&after="
        agent.post(f"{turn}{agent.post(f'{turn}0', {})['next_after']}", {})
        agent.post(items, {"text": "Most of its time goes into looking up users. A cache would help."})
        agent.post("/v1/inquiries", {**CACHE, "agent": "local", "thread": thread})
        agent.hang_up()

    def run(self, task: str, folder: str, state: str) -> int:
        """Have the agent work on something until it has come so far; in a folder of an API, it asks."""
        work = self._client.home.path.parent / folder
        work.mkdir()
        order = {"agent": "claude", "task": task, "cwd": str(work)}
        number: int = self._client.post("/v1/runs", order)["number"]
        self._until(lambda event: event["data"].get("run") == number and event["data"].get("state") == state)
        return number

    def end(self, number: int) -> None:
        """Leave no process behind."""
        self._client.post(f"/v1/runs/{number}/cancel", {})
        self._until(
            lambda event: event["data"].get("run") == number and event["data"].get("state") == "cancelled"
        )

    def _until(self, fact: Callable[[dict[str, Any]], bool]) -> None:
        """Read the log until it says so."""
        after = 0
        while True:
            news = self._client.get(f"/v1/events?after={after}&wait=10")
            if any(fact(event) for event in news["items"]):
                return
            after = news["next_after"]

    def answer(self, question: dict[str, Any], text: str) -> None:
        """Put a question and answer it."""
        name = self.ask(question)
        self._client.post(inquiry_path(name, "answer"), {"text": text, "via": "terminal"})

    def collected(self, question: dict[str, Any], text: str) -> None:
        """Put a question as an agent of this machine, answer it, and let the agent say that it has the answer."""
        asker = Client(ASKER, self._client.home)
        asked = asker.post("/v1/inquiries", question)["id"]
        name = inquiry_path(asked)
        with self.page() as page:
            page.goto(f"{page.url}i/{asked}")
            self._until(lambda event: event["type"] == "shown" and event["inquiry"] == asked)
        self._client.post(f"{name}/answer", {"text": text, "via": "web"})
        asker.post(f"{name}/collect", {})
        asker.hang_up()

    @contextmanager
    def page(
        self, *, dark: bool = False, phone: bool = False, desk: bool = False, tall: int = TALL
    ) -> Iterator[Page]:
        """The inbox, signed in."""
        size = PHONE if phone else DESK if desk else {"width": WIDE, "height": tall}
        context = self._browser.new_context(
            viewport={"width": size["width"], "height": size["height"]},
            color_scheme="dark" if dark else "light",
            device_scale_factor=1.5 if phone else 1,
            locale="en-GB",
            timezone_id="UTC",
            has_touch=phone,
            is_mobile=phone,
        )
        page = context.new_page()
        page.goto(self._client.post("/v1/sign-in-links", {})["url"])
        page.wait_for_selector("body[data-connected=true]")
        try:
            yield page
        finally:
            context.close()


# Where the last thing on the page ends.
END = """() => Math.ceil(Math.max(...[...document.querySelectorAll("main > *")].map((each) => each.getBoundingClientRect().bottom)))"""


def shoot(page: Page, path: Path, *, whole: bool = False) -> None:
    """Take one picture, without the emptiness below what is on it."""
    page.evaluate(WAITED)
    size = page.viewport_size
    assert size is not None
    if whole:
        page.screenshot(path=path, full_page=True)
        return
    height = min(size["height"], page.evaluate(END) + MARGIN)
    page.screenshot(path=path, clip={"x": 0, "y": 0, "width": size["width"], "height": height})


def draw(scene: Scene, folder: Path) -> None:
    """Take every picture."""
    cache = scene.ask(CACHE)
    approval = scene.ask(APPROVAL)
    for question in OTHERS:
        scene.ask(question)
    with scene.page(desk=True) as page:
        page.locator(f"#row-{cache} a").click()
        page.locator(f"#i-{cache}").get_by_text("Redis").click()
        shoot(page, folder / "inbox-light.png")
    with scene.page(desk=True, dark=True) as page:
        shoot(page, folder / "inbox-dark.png")
    with scene.page(phone=True) as page:
        shoot(page, folder / "inbox-phone.png")
    form = scene.ask(FORM)
    with scene.page() as page:
        page.goto(f"{page.url}i/{approval}")
        shoot(page, folder / "inbox-approval.png")
    with scene.page() as page:
        page.goto(f"{page.url}i/{form}")
        page.get_by_label("lint").check()
        shoot(page, folder / "inbox-form.png", whole=True)
    scene.answer(CACHE | {"question": "Which database for the tests?"}, "1")
    scene.answer(APPROVAL | {"question": "rm -rf build/"}, "no")
    scene.collected({"question": "Commit message?"}, "Cache user look-ups in Redis")
    with scene.page() as page:
        page.goto(f"{page.url}history")
        shoot(page, folder / "inbox-history.png")
    scene.talk("shop-42", "The shop")
    with scene.page(tall=1060) as page:
        page.goto(f"{page.url}threads/shop-42")
        shoot(page, folder / "inbox-thread.png")
    scene.run("Fix the flaky test in tests/test_cart.py", "shop-web", "completed")
    number = scene.run("Add a cache for user look-ups to the API", "shop-api", "waiting_input")
    with scene.page() as page:
        page.goto(f"{page.url}runs")
        shoot(page, folder / "inbox-runs.png")
    with scene.page() as page:
        page.goto(f"{page.url}runs/{number}")
        shoot(page, folder / "inbox-run.png", whole=True)
    scene.end(number)


def main(folder: Path = FOLDER) -> None:
    """Take the pictures in a home that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="upcall-pictures-") as scratch:
        home = Home(Path(scratch) / "home")
        home.create()
        agent = Path(scratch) / "claude"
        agent.write_text(AGENT.format(python=sys.executable))
        agent.chmod(0o700)
        home.config_file.write_text(f'[agents.claude]\nprogram = "{agent}"\n')
        try:
            ensure_running(home)
            with launched() as browser:
                draw(Scene(Client(home=home), browser), folder)
        finally:
            stop_running(home)
    sys.stdout.write(f"wrote {folder}/inbox-*.png at {time.strftime('%H:%M')}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
