"""What other packages use keeps its names, or changes them on purpose."""

import importlib
import json

import pytest

from tests.repository.public_names import SNAPSHOT, public_names

KEPT: dict[str, list[str]] = json.loads(SNAPSHOT.read_text("utf-8"))


@pytest.mark.promise("house/3")
def test_the_public_names_are_those_of_the_snapshot() -> None:
    assert public_names() == KEPT, "if that is meant, run: python -m tests.repository.public_names"


@pytest.mark.parametrize("module", KEPT)
def test_every_public_name_can_be_imported(module: str) -> None:
    found = importlib.import_module(module)
    assert [name for name in KEPT[module] if not hasattr(found, name.partition(".")[0])] == []
