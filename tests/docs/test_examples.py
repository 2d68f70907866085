"""Examples of the pages, run as they are printed against a daemon in a scratch home."""

import json
import re
import urllib.request
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import Program, ended
from tests.docs.pages import ROOT, blocks, commands, rows, upcalls
from upcall.config.settings import load
from upcall.domain.inquiry.limits import Limits
from upcall.doors.mcp.definitions import definitions
from upcall.home.files import Home

PATIENCE = 60


def example(page: str, beginning: str) -> tuple[str, ...]:
    """The one example on a page that begins like this, as arguments of `upcall`."""
    for block in blocks("sh"):
        if block.page == ROOT / "docs" / page:
            for arguments in upcalls(block.content):
                if " ".join(arguments).startswith(beginning):
                    return tuple(arguments)
    raise LookupError(f"{page} has no example `upcall {beginning}`")


def about(ref: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The example, about a question that there is."""
    return tuple(ref if word == "a7" else word for word in arguments)


def test_a_shell_asks_and_a_person_answers_by_number(program: Program) -> None:
    ref, asking = program.asking(*example("agents.md", "ask Deploy where?")[1:])
    answered = program(*about(ref, example("answering.md", "answer a7 2")))
    assert answered.returncode == 0, answered.stderr
    done = ended(asking)
    assert (done.returncode, done.stdout) == (0, "production\n")


def test_several_options_are_chosen_at_once(program: Program) -> None:
    ref, asking = program.asking(*example("asking.md", "ask Which checks?")[1:])
    program(*about(ref, example("answering.md", "answer a7 1 3")))
    done = ended(asking)
    assert (done.returncode, done.stdout) == (0, "lint\ntypes\n")


def test_what_comes_after_a_yes_does_not_run_after_a_doubt(program: Program) -> None:
    (program.home.parent / "migration.sql").write_text("DROP TABLE users;\n")
    ref, asking = program.asking(*example("asking.md", "ask Drop the table?")[1:])
    assert "DROP TABLE users;" in program("show", ref).stdout
    doubt = program("answer", ref, "sure, but not today")
    assert (doubt.returncode, program.json("show", ref)["state"]) == (2, "open")
    assert program("answer", ref, "no, not today").returncode == 0
    assert ended(asking).returncode == 10


def test_a_question_that_is_not_waited_for_is_parked_and_taken_up_again(program: Program) -> None:
    asked = program(*example("asking.md", "ask Merge it? --timeout 0"))
    assert asked.returncode == 12
    (waiting,) = program.json("status")["waiting"]
    for beginning in ("snooze a7", "extend a7"):
        done = program(*about(waiting["ref"], example("answering.md", beginning)))
        assert done.returncode == 0, done.stderr
    rejected = program(*about(waiting["ref"], example("answering.md", "reject a7")))
    assert rejected.returncode == 0, rejected.stderr
    again = program(*about(waiting["ref"], example("asking.md", "wait a7")))
    assert again.returncode == 10
    assert "ask me after the release" in again.stderr


def test_the_same_key_asks_once(program: Program) -> None:
    arguments = example("asking.md", "ask Deploy build 117?")
    for _ in range(2):
        assert program(*arguments, "--timeout", "0").returncode == 12
    assert len(program.json("status")["waiting"]) == 1


def test_settings_are_checked_and_a_backup_goes_and_comes(program: Program) -> None:
    program.home.mkdir()
    written = [block.content for block in blocks("toml") if block.page.name == "configuration.md"]
    file = program.home / "upcall.toml"
    file.write_text("\n".join(written))
    secrets = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
    assert len(load(Home(program.home), secrets).routes) == 1
    # Any port will do here, since the one on the page may be taken; and no server answers for Slack.
    of_channels = ("[channels.", "[[routes]]")
    here = "\n".join(content for content in written if not content.startswith(of_channels))
    file.write_text(here.replace("port = 7391", ""))
    assert program(*example("configuration.md", "config check")).returncode == 0
    ref = program.parked("Still there?")
    backup = str(program.home.parent / "monday.db")
    for beginning in ("backup", "down", "restore"):
        words = example("configuration.md", beginning)
        done = program(*[backup if word.endswith(".db") else word for word in words])
        assert done.returncode == 0, done.stderr
    assert program.json("show", ref)["state"] == "open"


class Exchange(NamedTuple):
    """A request as curl was told it, and what came back."""

    path: str
    status: int
    reply: str


class Curl:
    """Does what curl would, for the few options that the page uses."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def request(self, words: list[str], ref: str) -> urllib.request.Request:
        words = [self._filled(word).replace("/a7", f"/{ref}") for word in words]
        headers = {"Content-Type": "application/json"}
        url, method, data = "", None, None
        rest = iter(words[1:])
        for word in rest:
            match word:
                case "-s" | "-N":
                    continue
                case "-H":
                    name, _, value = next(rest).partition(": ")
                    headers[name] = value
                case "-d":
                    data = next(rest).encode()
                case "-X":
                    method = next(rest)
                case _:
                    url = word
        return urllib.request.Request(url, data, headers, method=method)

    def run(self, words: list[str], ref: str) -> Exchange:
        request = self.request(words, ref)
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            if response.headers["Content-Type"].startswith("text/event-stream"):
                first = [response.readline().decode() for _ in range(6)]
                return Exchange(request.selector, response.status, "".join(first))
            return Exchange(request.selector, response.status, response.read().decode())

    def _filled(self, word: str) -> str:
        return re.sub(r"\$(\w+)", lambda name: self._variables[name[1]], word)


@pytest.fixture
def variables(program: Program) -> dict[str, str]:
    """What the page sets before its first request, by the commands that it sets them with."""
    first = next(block for block in blocks("sh") if block.page.name == "api.md")
    told = [program(*arguments).stdout.strip() for arguments in upcalls(first.content)]
    port = (program.home / "port").read_text().strip()
    return {"URL": f"http://127.0.0.1:{port}", "AGENT": told[1], "PERSON": told[2]}


def page_requests() -> list[list[str]]:
    scripts = [block.content for block in blocks("sh") if block.page.name == "api.md"]
    return [words for script in scripts for words in commands(script) if words[0] == "curl"]


def test_every_request_of_the_api_page_works_in_the_order_of_the_page(variables: dict[str, str]) -> None:
    curl = Curl(variables)
    ref = ""
    went: list[Exchange] = []
    waiting: list[Future[Exchange]] = []
    with ThreadPoolExecutor(4) as threads:
        for words in page_requests():
            if any("/wait?" in word for word in words):
                # It is answered further down the page.
                waiting.append(threads.submit(curl.run, words, ref))
                continue
            went.append(curl.run(words, ref))
            ref = ref or json.loads(went[0].reply)["ref"]
        waited = [each.result(PATIENCE) for each in waiting]
    made = [each for each in went if each.path.endswith("/links")]
    assert [each.status for each in went if each not in made] == [201] + [200] * (len(went) - len(made) - 1)
    assert {each.status for each in made} == {201}
    assert [json.loads(each.reply)["answer"]["answers"] for each in waited] == [[["Redis"]]]
    replies = {urlsplit(each.path).path.rpartition("/")[2]: each.reply for each in went}
    assert json.loads(replies["answer"])["accepted"] is True
    # By then it was answered, and the page says what comes of that.
    assert json.loads(replies["reject"])["accepted"] is False
    assert "event: asked" in replies["stream"]


def shape(value: Any) -> Any:
    """The names in a document, without what they stand for."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else type(value).__name__


def test_the_inquiry_on_the_api_page_has_the_fields_of_a_real_one(variables: dict[str, str]) -> None:
    (ask, *_) = page_requests()
    real = json.loads(Curl(variables).run(ask, "").reply)
    printed = next(json.loads(block.content) for block in blocks("json") if block.page.name == "api.md")
    assert shape(printed) == shape(real)
    assert {name: printed[name] for name in ("questions", "kind", "agent")} == {
        name: real[name] for name in ("questions", "kind", "agent")
    }


def test_the_tools_on_the_agents_page_are_the_tools_there_are() -> None:

    assert [row[0] for row in rows("agents.md", "tool")] == [tool.name for tool in definitions(Limits())]
