"""Runs from beginning to end: a real daemon, real processes, and an agent that does as it is told."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.office import line_with, rest_of

AGENT = """
import subprocess, sys, time

task = sys.argv[1]
print("session: s-1", flush=True)
print("told:", task, flush=True)
if "ask" in task:
    asked = subprocess.run(
        [sys.executable, "-m", "upcall", "ask", "Which cache?", "-o", "Redis", "-o", "Memcached"],
        stdout=subprocess.PIPE, text=True, check=True,
    )
    print("I use", asked.stdout.strip(), flush=True)
if "hang" in task:
    time.sleep(600)
sys.exit(3 if "fail" in task else 0)
"""


@pytest.fixture
def upcall(tmp_path: Path) -> Iterator[Program]:
    """A home with an agent `scripted`, the program above."""
    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    program = Program(tmp_path / "home")
    program.home.mkdir(mode=0o700)
    (program.home / "upcall.toml").write_text(
        f"""
[agents.scripted]
adapter = "command"
start = [{sys.executable!r}, {str(script)!r}, "{{task}}"]
resume = [{sys.executable!r}, {str(script)!r}, "{{message}}"]
session_pattern = "session: (\\\\S+)"
"""
    )
    yield program
    program("down")


def waiting_for(program: Program, *words: str) -> "subprocess.Popen[str]":
    running = program.start("run", "scripted", *words, "--wait")
    line_with(running, "has begun")
    return running


@pytest.mark.promise("gza/4")
def test_a_run_asks_is_answered_by_its_number_and_completes(upcall: Program) -> None:
    running = waiting_for(upcall, "please ask")
    assert line_with(running, "Answer with") == '  Answer with: upcall answer 1 "Redis"'
    (waiting,) = upcall.json("status")["waiting"]
    assert waiting["run"] == 1
    assert upcall.json("show", "1")["state"] == "waiting_input"
    assert upcall("answer", "1", "2").returncode == 0
    done = rest_of(running)
    assert done.returncode == 0, done.stderr
    assert "I use Memcached" in upcall("log", "1", "-f", "--raw").stdout
    assert [run["number"] for run in upcall.json("runs", "--state", "completed")["items"]] == [1]


@pytest.mark.promise("spec/149")
def test_a_run_that_hangs_is_cancelled(upcall: Program) -> None:
    running = waiting_for(upcall, "hang")
    line_with(running, "[session] s-1")
    assert upcall("cancel", "1").returncode == 0
    assert rest_of(running).returncode == 13


@pytest.mark.promise("spec/149")
def test_a_run_that_fails_says_why_and_is_tried_again_as_another(upcall: Program) -> None:
    running = waiting_for(upcall, "fail")
    done = rest_of(running)
    assert done.returncode == 1
    assert "run 1 failed: exit_code 3" in done.stderr
    assert upcall.json("retry", "1")["retry_of"] == 1
    assert "told: fail" in upcall("log", "2", "-f", "--raw").stdout


@pytest.mark.promise("spec/108")
def test_a_run_that_is_over_goes_on_with_what_it_is_told(upcall: Program) -> None:
    assert rest_of(waiting_for(upcall, "be quick")).returncode == 0
    assert upcall.json("say", "1", "now add a test") == {"delivery": "resumed", "run": 1}
    assert "told: now add a test" in upcall("log", "1", "-f", "--raw").stdout


INTERACTIVE = """\
#!{python}
import json, os, signal, sys

words = sys.argv
if "--version" in words:
    print("2.1.325 (Claude Code)")
elif "-p" in words:
    session = words[words.index("--session-id") + 1]
    print(json.dumps({{"type": "system", "subtype": "init", "session_id": session}}))
    print(json.dumps({{"type": "result", "subtype": "success", "result": "done", "session_id": session}}))
else:
    print("taken over by", os.getpid(), file=sys.stderr, flush=True)
    signal.pause()
"""


@pytest.mark.promise("spec/110")
def test_a_session_stays_taken_while_its_program_lives_even_if_attach_is_killed(
    upcall: Program, tmp_path: Path
) -> None:
    program = tmp_path / "interactive"
    program.write_text(INTERACTIVE.format(python=sys.executable))
    program.chmod(0o755)
    with (upcall.home / "upcall.toml").open("a") as settings:
        settings.write(f'\n[agents.someone]\nadapter = "claude"\nprogram = "{program}"\n')
    assert upcall("run", "someone", "be quick", "--wait").returncode == 0
    attached = upcall.start("attach", "1")
    child = int(line_with(attached, "taken over by").split()[-1])
    attached.kill()
    attached.wait()
    refused = upcall("attach", "1")
    assert refused.returncode == 1
    assert "another process works in the session" in refused.stderr
    os.kill(child, signal.SIGTERM)
    # Its output ends with it.
    rest_of(attached)
    again = upcall.start("attach", "1")
    os.kill(int(line_with(again, "taken over by").split()[-1]), signal.SIGTERM)
    assert rest_of(again).returncode == 128 + signal.SIGTERM
