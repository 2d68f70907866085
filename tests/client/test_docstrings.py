"""The examples in the client's docstrings do what they say, against a daemon and a person who answers."""

import doctest
import importlib
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

import upcall
from tests.cli.office import an_office
from upcall.testing.human import ScriptedHuman, by_pattern

MODULES = ("asking", "client", "outcome", "request", "sync")


@pytest.mark.promise("programs/11", "spec/70")
def test_the_examples_in_docstrings_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = {"Which cache": "1", "rm -rf": "yes", "where": "1) staging\n2) 2"}
    with an_office(tmp_path) as office:
        house = office.house
        url, token = house.url, house.secrets["builder"]
        monkeypatch.setenv("UPCALL_URL", url)
        monkeypatch.setenv("UPCALL_TOKEN", token)
        with ScriptedHuman(lambda: (url, house.secrets["ana"]), by_pattern(replies)):
            answer = upcall.sync.ask("Which cache?", options=["Redis"])
            names: dict[str, Any] = {"anyio": anyio, "partial": partial, "timedelta": timedelta}
            names |= {"dataclass": dataclass, "Literal": Literal}
            names |= {"url": url, "token": token, "an_answer": answer}
            names |= {name: getattr(upcall, name) for name in dir(upcall) if name[0].isupper()}
            ran = {name: examples_run(name, names) for name in MODULES}
    assert {name: failed for name, (failed, _) in ran.items()} == dict.fromkeys(MODULES, 0)
    assert all(count for _, count in ran.values()), ran


def examples_run(name: str, names: dict[str, Any]) -> tuple[int, int]:
    """How many examples of a module failed, and how many there are."""
    module = importlib.import_module(f"upcall.client.{name}")
    runner = doctest.DocTestRunner()
    for found in doctest.DocTestFinder().find(module, extraglobs=None):
        found.globs = names | found.globs
        runner.run(found)
    return runner.failures, runner.tries
