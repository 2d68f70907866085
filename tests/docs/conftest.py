"""A scratch home for the examples that are really run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Program


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    running = Program(tmp_path / "home")
    yield running
    running("down")
