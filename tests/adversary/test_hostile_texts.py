"""Every hostile text on the surfaces of one installation: its pages, its API, its command line, its picker and its log."""

import json
import logging
import re
import shlex
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.adversary.texts import HOSTILE
from tests.web.house import House
from tests.web.visitor import Visitor
from upcall.cli.commands.log import shown as log_line
from upcall.cli.picker.browsing import FIND, Browsing
from upcall.cli.picker.drawing import Size, screen
from upcall.cli.picker.keys import DOWN, ENTER
from upcall.cli.picker.picker import Picker
from upcall.cli.render.details import detail_lines, run_lines
from upcall.cli.render.drawing import FullDrawing
from upcall.cli.render.inquiries import answer_command
from upcall.cli.render.status import Status, status_lines
from upcall.cli.render.terminal import Paint
from upcall.daemon.log_format import JsonFormatter, SafeFormatter
from upcall.domain.text.display import one_line
from upcall.domain.text.invisible import is_hidden

NOW = 1_800_000_000.0
PLAIN = Paint(on=False)
HALVES = "half characters"
"""The one text that no JSON may hold, and so none of our own documents."""

LOADED = {"href", "src", "action", "formaction", "data", "poster", "background"}
"""Attributes with an address that a browser follows or loads."""

NEVER = {"iframe", "object", "embed", "base", "style", "frame", "applet", "img", "video", "audio"}
"""Elements that no page has with these questions on it."""


KEPT = {"\u200c", "\u200d", *map(chr, range(0xFE00, 0xFE10))}
"""Joiners and selectors, where a script or an emoji needs them; a line may be broken beside one."""


def hidden_in(text: str) -> set[str]:
    """What is in a text that cannot be seen, or moves what can be."""
    return {hex(ord(each)) for each in set(text) - KEPT if is_hidden(each)}


class Structure(HTMLParser):
    """What a browser makes of a page: its words, and whatever does not belong there."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # type: ignore[explicit-override]  # 3.11 has none
        told = {name: value or "" for name, value in attrs}
        if tag in NEVER or (tag == "script" and not told.get("src", "").startswith("/static/")):
            self.found.append(f"<{tag} {told}>")
        for name, value in told.items():
            if name.startswith("on") or name == "style":
                self.found.append(f"{tag} {name}={value!r}")
            address = urlsplit(value) if name in LOADED else None
            # A link of an agent's markdown leads elsewhere, says where, and tells nothing of us.
            leaves = tag == "a" and "noopener" in told.get("rel", "")
            if (
                address is not None
                and not (leaves and address.scheme in {"http", "https", "mailto"})
                and (address.netloc or address.scheme)
            ):
                self.found.append(f"{tag} {name}={value!r}")
        self.words += [
            value for name, value in told.items() if name in {"title", "aria-label", "placeholder", "alt"}
        ]

    def handle_data(self, data: str) -> None:  # type: ignore[explicit-override]  # 3.11 has none
        self.words.append(data)


def problems(html: str) -> list[str]:
    """What a text has done to a page."""
    read = Structure()
    read.feed(html)
    return [*read.found, *sorted(hidden_in("".join(read.words)))]


def everywhere(text: str) -> dict[str, Any]:
    """A question with a text at all its places."""
    return {
        "question": text[:1900],
        "header": text[:30],
        "context": text[:15_000],
        "options": [{"label": text[:70], "description": text[:150], "preview": text[:3000]}, "no"],
        "workspace": f"/srv/{text[:900]}",
        "attachments": [{"name": text[:90], "data": "ZXZpbA=="}],
    }


async def furnished(house: House) -> list[dict[str, Any]]:
    """Each text in a question, an approval, an answer, a reason, a thread, a run and a rule; the questions that were taken."""
    agent, asked = house.as_("builder"), []
    await agent.post("/v1/threads", json={"id": "t", "title": HOSTILE["scripts"]})
    run = (
        await house.as_("root").post("/v1/runs", json={"agent": "scripted", "task": "x", "cwd": "/srv"})
    ).json()
    for number, (name, text) in enumerate(HOSTILE.items()):
        taken = await agent.post("/v1/inquiries", content=json.dumps(everywhere(text)))
        if name == HALVES:
            assert taken.status_code == 400
            continue
        assert taken.status_code == 201, (name, taken.text)
        action = {"tool": text[:90], "input": {"command": text[:1900]}, "cwd": f"/srv/{text[:90]}"}
        approval = await agent.post("/v1/inquiries", content=json.dumps({"action": action}))
        assert approval.status_code in {201, 400, 422}, (name, approval.text)
        asked += [each.json() for each in (taken, approval) if each.is_success]
        if number % 3 == 1:
            await house.post("ana", f"{taken.json()['id']}/answer", text=text[:500])
        elif number % 3 == 2:
            await house.post("ana", f"{taken.json()['id']}/reject", reason=text[:500])
        said = await agent.post("/v1/threads/t/items", content=json.dumps({"text": text[:3000]}))
        assert said.status_code in {201, 400, 422}, said.text
        await house.runs.write(run["number"], text)
        await house.as_("ana").post("/v1/rules", content=json.dumps({"tool": text[:90], "agent": text[:40]}))
    await house.runs.become(run["number"], task=HOSTILE["cursor movement"], reason=HOSTILE["line ends"])
    return asked


@pytest.fixture(name="asked")
async def asked_fixture(house: House) -> list[dict[str, Any]]:
    return await furnished(house)


@pytest.mark.promise("proof/3")
async def test_no_hostile_text_does_anything_to_a_page(house: House, asked: list[dict[str, Any]]) -> None:
    person = Visitor(house)
    await person.signs_in()
    link = (
        (await house.post("root", f"{asked[0]['id']}/links", person="ana"))
        .json()["url"]
        .removeprefix(house.url)
    )
    paths = [
        "/",
        "/history",
        "/threads",
        "/threads/t",
        "/runs",
        "/runs/1",
        "/rules",
        "/sessions",
        "/channels",
        "/help",
        link,
    ]
    paths += [
        f"/{place}?q={words}"
        for place in ("", "history", "find")
        for words in ("evil", "%3Cscript%3E", "%E2%80%AE")
    ]
    paths += [f"/i/{inquiry['id']}" for inquiry in asked]
    found = {path: problems(await person.looks(path)) for path in paths}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}
    await person.client.aclose()


@pytest.mark.promise("proof/3")
async def test_every_reply_of_the_api_is_one_document(house: House, asked: list[dict[str, Any]]) -> None:
    for path in (
        "inquiries?limit=200",
        "events?after=0",
        "threads",
        "threads/t/items",
        "runs",
        "runs/1/log?after=0",
        "rules",
    ):
        reply = await house.as_("root").get(f"/v1/{path}")
        assert reply.status_code == 200, path
        assert reply.content.decode("utf-8").isprintable() or b"\n" not in reply.content
        json.loads(reply.content)
    metrics = (await house.as_("watcher").get("/metrics")).text
    assert all(re.fullmatch(r"#.*|[a-z_]+(\{.*\})? \S+|", line) for line in metrics.split("\n"))


def lines_of(documents: list[dict[str, Any]], runs: list[dict[str, Any]]) -> Iterator[str]:
    """All that the command line and the picker draw of these."""
    drawing = FullDrawing()
    for document in documents:
        yield from detail_lines(document, NOW, PLAIN, 80)
    still = [each for each in documents if each["state"] == "open"]
    done = [each for each in documents if each["state"] != "open"]
    for width in (None, 40, 200):
        yield from status_lines(
            Status(waiting=still, running=runs, done=done, runs={}), NOW, PLAIN, width, drawing
        )
    for run in runs:
        yield from run_lines(run, still[:3], NOW, PLAIN, 80, drawing)
    for document in still:
        picker = Picker([document], clock=lambda: 0.0)
        picker.note = document["questions"][0]["question"]
        yield from screen(picker, NOW, Size(60, 24), PLAIN)
        for key in (ENTER, DOWN, DOWN, "evil"):
            picker.press(key)
            yield from screen(picker, NOW, Size(60, 24), PLAIN)
    picker = Picker(still)
    picker.browsing = Browsing(FIND)
    yield from screen(picker, NOW, Size(60, 24), PLAIN)


@pytest.mark.promise("proof/3")
async def test_no_hostile_text_moves_a_terminal(house: House, asked: list[dict[str, Any]]) -> None:
    page = await house.as_("root").get("/v1/inquiries", params={"limit": "200"})
    inquiries: list[dict[str, Any]] = page.json()["items"]
    assert len(inquiries) > len(HOSTILE)
    runs = (await house.as_("root").get("/v1/runs")).json()["items"]
    for line in lines_of(inquiries, runs):
        assert "\n" not in line
        assert not hidden_in(line), line
    for text in HOSTILE.values():
        for kind in ("said", "tool", "result", "error", text):
            drawn = log_line({"text": text, "kind": kind}, PLAIN)
            assert not hidden_in(drawn)


@pytest.mark.promise("proof/3")
async def test_a_command_that_is_offered_says_one_label_to_the_shell(
    house: House, asked: list[dict[str, Any]]
) -> None:
    for inquiry in asked:
        words = shlex.split(answer_command(inquiry))
        labels = [option["label"] for option in inquiry["questions"][0]["options"]]
        assert words[:3] == ["upcall", "answer", inquiry["ref"]]
        assert len(words) == 4
        assert words[3] in {"1", "TEXT", *map(one_line, labels), *labels}, words


@pytest.mark.promise("proof/3")
@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_text_begins_a_line_of_the_log(name: str) -> None:
    text = HOSTILE[name]
    try:
        raise ValueError(text)
    except ValueError as error:
        record = logging.makeLogRecord(
            {"name": "upcall", "msg": "refused %r: %s", "args": (text, text), "levelname": "INFO"}
        )
        record.exc_info = (type(error), error, error.__traceback__)
    first, *more = SafeFormatter().format(record).split("\n")
    assert re.match(r"\d{4}-\d\d-\d\d \S+ INFO upcall: refused", first)
    assert all(line.startswith("    | ") for line in more)
    assert not re.search(
        r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200b-\u200f]", "".join([first, *more])
    )
    document = JsonFormatter().format(record)
    assert document.isascii()
    assert "\n" not in document
    assert json.loads(document)["message"].endswith(text)
