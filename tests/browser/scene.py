"""A house in which something of everything is going on, for tests that only look, and every page in it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from tests.browser.conftest import CACHE, Desk, opened
from upcall.cli.client import inquiry_path

CODE = """```python
def look_up(key: str) -> User:  # the slow one
    return users.find(key, limit=1) or "none"
```"""
FORM: dict[str, Any] = {
    "questions": [
        {"header": "Checks", "question": "Which?", "options": ["lint", "types"], "multiSelect": True},
        {
            "question": "Layout?",
            "custom": False,
            "options": [
                {"label": "Tabs", "description": "short", "recommended": True, "preview": "[a] [b]"},
                "Page",
            ],
        },
        {"question": "Why?"},
    ],
    "context": "**Look:**\n\n```diff\n-old\n+new\n```\n\n| a | b |\n|---|---|\n| 1 | [two](https://example.org/) |\n\n"
    + CODE,
}
LONG_DIFF = "--- a/users.py\n+++ b/users.py\n@@ -1,20 +1,20 @@\n" + "-old line\n+new line\n" * 20
PLAN = f"# Cache\n\n1. Install **Redis**\n   - the client\n   - the service\n2. Write `cache.py`\n\n{CODE}"
HEBREW = "איזה מטמון?"
AGENT = """
import subprocess, sys
print("session: s-1", flush=True)
subprocess.run([sys.executable, "-m", "upcall", "ask", "May I?", "-o", "Yes", "-o", "No"])
"""


class Scene:
    """What is going on: each inquiry by a name, and the paths of the pages that show it."""

    def __init__(self, desk: Desk, folder: Path) -> None:
        self.desk = desk
        self.form = desk.ask(**FORM)
        self.approval = desk.ask(kind="approval", question="rm -rf build", context="it is stale\nand large")
        self.patch = desk.ask(kind="approval", question="git apply fix.patch", context=LONG_DIFF)
        cwd = "/home/ana/with/a/rather/long/path/to/a/project"
        given = {"command": "npm test", "description": "Try it"}
        self.action = desk.ask(action={"tool": "Bash", "input": given, "cwd": cwd, "editable": True})
        self.plan = self._planned(PLAN)
        desk.ask(question="Why?", default="because", secret=True)
        self.hebrew = desk.ask(question=HEBREW, options=["Redis", "אף אחד"])
        self.placed = desk.owner.post(
            "/v1/inquiries", {**CACHE, "header": "Cache", "agent": "painter", "workspace": "/srv/shop-api"}
        )
        desk.owner.post(inquiry_path(desk.ask()["id"], "snooze"), {"for": "1h"})
        for text in ("Redis", "neither"):
            self.settled = desk.ask()
            desk.owner.post(inquiry_path(self.settled["id"], "answer"), {"text": text})
        desk.owner.post(inquiry_path(desk.ask()["id"], "reject"), {"reason": "no"})
        self._talk()
        self.run = self._begin(folder)

    @property
    def paths(self) -> list[str]:
        """Every page behind the sign-in."""
        inquiries = (
            *(self.form, self.approval, self.patch, self.settled, self.hebrew),
            *(self.action, self.edited, self.plan),
        )
        return [
            "/",
            "/?q=nothing+like+it",
            *(f"/i/{inquiry['id']}" for inquiry in inquiries),
            "/i/nowhere",
            "/history",
            "/history?q=nothing+like+it",
            "/runs",
            f"/runs/{self.run}",
            "/threads",
            "/threads/shop",
            "/rules",
            "/channels",
            "/sessions",
            "/offline",
            "/help",
        ]

    def link(self) -> str:
        """An answer link to the form."""
        url: str = self.desk.owner.post(f"/v1/inquiries/{self.form['id']}/links", {})["url"]
        return url

    def end(self) -> None:
        """Leave no process behind."""
        self.desk.owner.post(f"/v1/runs/{self.run}/cancel", {})
        self._until("cancelled")

    def _planned(self, plan: str) -> dict[str, Any]:
        """A plan that was revised once, after an action that was changed."""
        action = {"tool": "Bash", "input": {"command": "rm -rf build dist"}, "cwd": "/srv", "editable": True}
        self.edited = self.desk.ask(action=action)
        changed = {"answers": [["Approve"]], "input": {"command": "rm -rf build"}}
        self.desk.owner.post(inquiry_path(self.edited["id"], "answer"), changed)
        asked = {"kind": "plan", "question": "Shall this plan be carried out?"}
        before = self.desk.ask(**asked, context=plan.replace("service", "server"))
        revised = {"decision": "revise", "comments": [{"line": 5, "text": "it is no server"}]}
        self.desk.owner.post(inquiry_path(before["id"], "answer"), revised)
        return self.desk.ask(**asked, context=plan)

    def _talk(self) -> None:
        self.desk.agent.post("/v1/threads", {"id": "shop", "title": "The shop"})
        items = "/v1/threads/shop/items"
        for text, kind in (
            ("I will add a **cache**.", "text"),
            ("npm test", "tool_call"),
            ("3 passed", "tool_result"),
            ("Looking.", "status"),
            ("", "turn_end"),
        ):
            self.desk.agent.post(items, {"text": text, "metadata": {"type": kind}})
        self.desk.owner.post(items, {"text": "use the new API"})
        self.desk.ask(**CACHE, thread="shop")

    def _begin(self, folder: Path) -> int:
        order = {"agent": "scripted", "task": "Add a cache", "cwd": str(folder)}
        self.run = self.desk.owner.post("/v1/runs", order)["number"]
        self._until("waiting_input")
        return self.run

    def _until(self, state: str) -> None:
        after = 0
        while True:
            news = self.desk.owner.get(f"/v1/events?after={after}&wait=10")
            facts = [(event["data"].get("run"), event["data"].get("state")) for event in news["items"]]
            if (self.run, state) in facts:
                return
            after = news["next_after"]


@contextmanager
def staged(folder: Path, browser: Browser) -> Iterator[Scene]:
    """A scene, with a daemon of its own."""
    script = folder / "agent.py"
    script.write_text(AGENT)
    settings = (
        "[agents.scripted]\nadapter = 'command'\nsession_pattern = 'session: (\\S+)'\n"
        f"start = [{sys.executable!r}, {str(script)!r}, '{{task}}']\n"
    )
    with opened(folder, browser, settings) as desk:
        scene = Scene(desk, folder)
        try:
            yield scene
        finally:
            scene.end()
