"""The scripted person: as a command, and as a fixture for the tests of others."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Program, ended

TESTS_OF_OTHERS = """
import time
from dataclasses import dataclass
from typing import Literal

import upcall
from upcall import sync


def deploy():
    answer = sync.ask("Deploy where?", options=["staging", "production"], timeout=60)
    return answer.text if isinstance(answer, upcall.Answered) else type(answer).__name__


def test_it_goes_where_the_person_says(human):
    human.answers("Deploy where", "production", "staging")
    assert (deploy(), deploy()) == ("production", "staging")
    assert [each["answer"]["via"] for each in human.answered] == ["script", "script"]


def test_it_stays_where_the_person_declines(human):
    human.rejects("Deploy", "not on a Friday", after=0.01)
    assert deploy() == "Rejected"


def test_it_stays_where_the_person_has_disappeared(human):
    human.ignores("Deploy")
    assert type(sync.ask("Deploy where?", timeout=0.2)).__name__ == "Parked"


@dataclass
class Deploy:
    where: Literal["staging", "production"]
    copies: int = 2
    dry: bool = False


def test_a_form_is_filled_in_line_by_line(human):
    human.answers("Where to", "1) production\\n2) 3")
    assert sync.ask("Where to?", response=Deploy, timeout=60).value == Deploy("production", 3)


def test_a_reply_that_is_not_taken_is_on_record(human):
    human.answers("Deploy", "to the moon")
    sync.ask("Deploy where?", options=["staging", "production"], custom=False, timeout=0)
    while not human.refused:
        time.sleep(0.01)
    assert "staging" in human.refused[0]
"""


@pytest.mark.promise("programs/14")
def test_the_fixture_human_answers_what_the_program_under_test_asks(tmp_path: Path) -> None:
    file = tmp_path / "test_deploy.py"
    file.write_text(TESTS_OF_OTHERS)
    # Found by its entry point, as where others install Upcall beside pytest.
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=100,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "5 passed" in run.stdout


@pytest.mark.promise("programs/15")
def test_upcall_human_replies_by_its_script_until_it_has_said_enough(upcall: Program, tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(
        '[[rule]]\nquestion = "Drop"\nrejects = "never"\n\n'
        '[[rule]]\nquestion = "cache"\nanswer = "mars"\n\n'
        '[[rule]]\nquestion = "Where"\nanswer = "staging"\nafter = "0.1s"\n'
    )
    refused = upcall.parked("Which cache?", "-o", "Redis", "--no-custom")
    dropped, where = upcall.parked("Drop it?"), upcall.parked("Where to?")

    person = ended(upcall.start("human", str(script), "--all", "--replies", "2"))

    assert person.returncode == 0, person.stderr
    assert person.stdout.splitlines() == [f"{dropped} 'Drop it?': rejected", f"{where} 'Where to?': staging"]
    assert upcall.json("show", refused)["state"] == "open", "the daemon did not take the reply"
    assert upcall.json("show", dropped)["resolution"]["reason"] == "never"


def test_a_script_with_a_mistake_is_refused_with_the_next_step(upcall: Program, tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text('[[rule]]\nquestion = "Drop"\n')

    done = upcall("human", str(script))

    assert done.returncode == 1
    assert "does not say what happens" in done.stderr
    assert "Next: give exactly one of" in done.stderr
    assert json.dumps(done.stdout) == '""'
