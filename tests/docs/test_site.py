"""The site of the documentation is built without a warning, is complete, holds its links and asks no other host."""

import re
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from typing_extensions import override

from docs import site as building
from tests.browser import chromium
from tests.conftest import require
from tests.docs.pages import ROOT

BUILDER = ROOT / ".venv/docs/bin/python"
PARTS = ["Tutorials", "How-to", "Reference", "Explanation"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require(BUILDER.exists(), "the builder of the site (make docs)")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [BUILDER, ROOT / "docs/site.py", folder], check=False, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    return folder


class Page(HTMLParser):
    """What a page refers to: names in it, links, and what a browser loads for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.names.add(said.get("id", ""))
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        if "src" in said:
            self.loads.append(said["src"])
        if tag == "link" and said.get("rel") not in {"canonical", "prev", "next"}:
            self.loads.append(said["href"])


def pages(site: Path) -> dict[str, Page]:
    return {file.name: Page(file.read_text("utf-8")) for file in sorted(site.glob("*.html"))}


@pytest.mark.promise("doorway/25")
def test_every_page_is_in_one_of_four_parts(site: Path) -> None:
    listed = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    assert re.findall(r"^  - ([\w-]+):$", listed, re.MULTILINE) == PARTS
    every = {page.name for page in (ROOT / "docs").glob("*.md")} | set(building.FROM_THE_ROOT.values())
    assert set(re.findall(r"[\w-]+\.md", listed)) == every
    assert {page.removesuffix(".md") + ".html" for page in every} <= set(pages(site))


@pytest.mark.promise("doorway/25")
def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    found = pages(site)
    broken = []
    for name, page in found.items():
        for link in page.links:
            if urlsplit(link).scheme or name == "404.html":
                continue
            target, _, anchor = unquote(link).partition("#")
            target = target.removeprefix("./") or name
            there = (site / target).exists() and (not anchor or anchor in found[target].names)
            broken += [] if there else [f"{name}: {link}"]
    assert broken == []


@pytest.mark.promise("doorway/25")
def test_the_pages_load_nothing_from_elsewhere(site: Path) -> None:
    foreign = [
        f"{name}: {load}"
        for name, page in pages(site).items()
        for load in page.loads
        if urlsplit(load).netloc
    ]
    assert foreign == []


def test_comments_for_the_tests_stay_behind(site: Path) -> None:
    assert [file.name for file in site.glob("*.html") if "not run:" in file.read_text("utf-8")] == []


def test_the_steps_of_a_page_are_numbered_through(site: Path) -> None:
    lists = re.findall(r"<ol[ >].*?</ol>", (site / "channel-slack.html").read_text("utf-8"), re.DOTALL)
    assert [each.count("<li>") for each in lists] == [5]
    assert "<pre" in lists[0]


def test_what_belongs_to_an_item_is_indented_by_four_columns_and_code_stays_as_it_is() -> None:
    text = "1. One:\n\n   ```sh\n   if x\n     y\n   ```\n\n2. Two\n   more\n\n   - a\n\n     b\n\n```\n- c\n  d\n```\n"
    assert building.indented(text) == (
        "1. One:\n\n    ```sh\n    if x\n      y\n    ```\n\n2. Two\n    more\n\n    - a\n\n        b\n\n```\n- c\n  d\n```\n"
    )


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        @override
        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.promise("doorway/25")
def test_a_reader_searches_and_the_browser_asks_no_other_host(served: str, site: Path) -> None:
    require(chromium.path(), "Chromium")
    asked: list[str] = []
    with chromium.launched() as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{served}/index.html")
        page.keyboard.press("/")
        page.keyboard.type("PostgreSQL")
        page.get_by_role("link", name=re.compile("PostgreSQL")).first.wait_for()
    assert [url for url in asked if not url.startswith((served, "data:", "blob:"))] == []
    assert any(url.endswith("search.json") for url in asked), asked


def test_a_link_between_the_root_and_the_pages_holds_on_the_site() -> None:
    text = "[a](../CONTRIBUTING.md#adding-an-agent) [b](agents.md)\n<!-- not run: x -->\n```sh\n"
    assert building.on_the_site(text, from_the_root=False) == (
        "[a](contributing.md#adding-an-agent) [b](agents.md)\n```sh\n"
    )
    text = "[a](docs/agents.md) [b](CHANGELOG.md)"
    assert building.on_the_site(text, from_the_root=True) == "[a](agents.md) [b](changelog.md)"
