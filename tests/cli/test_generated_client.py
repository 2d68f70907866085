"""A client that a common generator makes from the OpenAPI document works against a real daemon."""

import compileall
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.cli.conftest import TIMEOUT, Program

PACKAGE = "generated_upcall_client"


@pytest.fixture
def url(upcall: Program) -> str:
    assert upcall("status").returncode == 0
    url: str = json.loads((upcall.home / "run.json").read_text())["url"]
    return url


@pytest.fixture
def generated(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package, made from what the daemon says about itself, and importable."""
    document, settings = tmp_path / "openapi.json", tmp_path / "generator.yaml"
    with urlopen(f"{url}/v1/openapi.json", timeout=TIMEOUT) as reply:
        document.write_bytes(reply.read())
    # It would put its code into shape with a ruff of its own.
    settings.write_text("post_hooks: []\n")
    package = tmp_path / "clients" / PACKAGE
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("openapi-python-client")),
            *("generate", "--meta", "none", "--fail-on-warning"),
            *("--path", str(document), "--config", str(settings), "--output-path", str(package)),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(package.parent)
    yield package
    for module in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[module]


def part(name: str) -> Any:
    """A module of the package, which has no types for ours to be checked against."""
    return importlib.import_module(f"{PACKAGE}.{name}")


@pytest.mark.promise("doorway/28")
def test_a_generated_client_compiles_asks_and_gets_its_answer(
    upcall: Program, url: str, generated: Path
) -> None:
    assert compileall.compile_dir(generated, quiet=1)
    client = part("client").AuthenticatedClient
    models = part("models")

    def holding(kind: str) -> Any:
        return client(base_url=url, token=(upcall.home / f"{kind}.token").read_text().strip())

    form = models.Ask(question="Which cache?", options=["Redis", "Memcached"], request_key="call_17")
    with holding("agent") as agent, holding("owner") as owner:
        asked = part("api.asking.ask").sync(client=agent, body=form)
        assert (asked.kind.value, asked.state.value) == ("ask_user_question", "open")
        (waiting,) = (
            part("api.answering.list_inquiries")
            .sync(client=owner, state=models.ListInquiriesState.OPEN)
            .items
        )
        assert waiting.id == asked.id
        given = models.AnswerForm(answers=[["Redis"]])
        settled = part("api.answering.answer_inquiry").sync(asked.id, client=owner, body=given)
        assert settled.accepted
        answered = part("api.asking.wait_for_inquiry").sync(asked.id, client=agent, timeout=30)
        assert answered.answer.answers == [["Redis"]]
        refused = part("api.answering.answer_inquiry").sync(asked.id, client=agent, body=given)
        assert refused.error.code.value == "not_allowed"
