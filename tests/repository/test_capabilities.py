"""The table of agents and capabilities is what the tests with the real programs prove."""

import subprocess
import sys
from pathlib import Path

import pytest

from docs import capabilities
from tests.agents.programs import COPILOT, PROGRAMS

ROOT = Path(__file__).parents[2]


@pytest.mark.promise("raised/46")
def test_the_page_has_the_table_of_the_tests() -> None:
    assert capabilities.shown() == capabilities.picture()
    assert list(capabilities.AGENTS) == [program.name for program in (*PROGRAMS, COPILOT)]


@pytest.mark.promise("raised/46")
def test_each_cell_is_a_test_that_there_is_or_a_reason() -> None:
    for each in capabilities.capabilities():
        for agent in capabilities.AGENTS:
            reason = each[agent].removeprefix(capabilities.NO)
            assert "::" in each[agent] or len(reason.split()) >= 2, each
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-p", "no:cacheprovider"]
    found = subprocess.run(
        [*command, *capabilities.tests()], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-2000:]
