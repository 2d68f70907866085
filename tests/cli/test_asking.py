"""What `upcall ask` prints and how it ends."""

import json
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import Program, ended, heeding_ctrl_c


@pytest.mark.promise("spec/68")
def test_only_the_answer_goes_to_standard_output(shared: Program) -> None:
    ref, asking = shared.asking("Deploy where?", "-o", "staging", "-o", "production=live users")
    assert shared("answer", ref, "2").returncode == 0
    done = ended(asking)
    assert (done.returncode, done.stdout) == (0, "production\n")


def test_several_values_come_one_to_a_line(shared: Program) -> None:
    ref, asking = shared.asking("Which checks?", "-o", "lint", "-o", "tests", "-o", "types", "--multi")
    shared("answer", ref, "types", "lint")
    assert ended(asking).stdout == "lint\ntypes\n"


def test_the_agent_is_known_to_have_an_answer_that_was_printed(shared: Program) -> None:
    ref, asking = shared.asking("Name?")
    waiting = shared.start("answer", ref, "Ada", "--wait")
    assert ended(asking).returncode == 0
    assert "The agent has it." in ended(waiting).stdout
    assert shared.json("show", ref)["answer"]["collected_at"]


@pytest.mark.promise("spec/170")
@pytest.mark.parametrize(
    ("word", "code", "said"), [("yes", 0, "Approve\n"), ("no", 10, "Deny\n"), ("no, hm", 10, "Deny\n")]
)
def test_an_approval_succeeds_only_with_a_yes(shared: Program, word: str, code: int, said: str) -> None:
    ref, asking = shared.asking("Drop the table?", "--approval")
    shared("answer", ref, word)
    done = ended(asking)
    assert (done.returncode, done.stdout) == (code, said)


@pytest.mark.promise("spec/68", "spec/171")
def test_a_rejection_exits_10_and_its_reason_goes_to_standard_error(shared: Program) -> None:
    ref, asking = shared.asking("May I?")
    assert shared("reject", ref, "--reason", "after the release").returncode == 0
    done = ended(asking)
    assert (done.returncode, done.stdout) == (10, "")
    assert "after the release" in done.stderr


@pytest.mark.promise("spec/68")
def test_the_end_of_the_ttl_exits_11(shared: Program) -> None:
    _, asking = shared.asking("Ready?", "--ttl", "1s")
    done = ended(asking)
    assert (done.returncode, done.stdout) == (11, "")
    assert "expired" in done.stderr


@pytest.mark.promise("spec/147")
def test_the_default_is_the_answer_at_the_end_of_the_ttl_and_is_named_so(shared: Program) -> None:
    _, asking = shared.asking("Which?", "-o", "Redis", "-o", "SQLite", "--default", "sqlite", "--ttl", "1s")
    done = ended(asking)
    assert (done.returncode, done.stdout) == (0, "SQLite\n")
    assert "default" in done.stderr


@pytest.mark.promise("spec/68")
def test_the_end_of_the_timeout_parks_and_wait_takes_it_up_again(shared: Program) -> None:
    done = shared("ask", "Still there?", "--timeout", "1s", "--json")
    assert done.returncode == 12
    parked = json.loads(done.stdout)
    assert (parked["status"], parked["answers"]) == ("parked", None)
    assert f"upcall wait {parked['ref']}" in done.stderr
    shared("answer", parked["ref"], "yes")
    assert shared("wait", parked["ref"]).stdout == "yes\n"
    # That a second has passed before an answer came says nothing yet; how long the person took, an agent can read.
    assert parked["waited_seconds"] is None
    assert shared.json("wait", parked["ref"])["waited_seconds"] > 1


@pytest.mark.promise("spec/157")
def test_a_withdrawn_question_exits_13(shared: Program) -> None:
    ref, asking = shared.asking("Never mind?")
    assert shared("cancel", ref).returncode == 0
    assert ended(asking).returncode == 13


def test_the_same_key_asks_once(shared: Program) -> None:
    first = shared.parked("Once?", "--key", "k-1")
    assert shared.parked("Once?", "--key", "k-1") == first


def test_the_same_key_with_another_question_is_refused(shared: Program) -> None:
    shared.parked("This?", "--key", "k-2")
    done = shared("ask", "That?", "--key", "k-2")
    assert done.returncode == 1
    assert "k-2" in done.stderr


def test_ctrl_c_detaches_and_leaves_the_question_open(shared: Program) -> None:
    with heeding_ctrl_c():
        ref, asking = shared.asking("Detach?")
    asking.send_signal(signal.SIGINT)
    done = ended(asking)
    assert done.returncode == 130
    assert f"upcall wait {ref}" in done.stderr
    assert shared.json("show", ref)["state"] == "open"


@pytest.mark.promise("spec/147")
def test_the_question_can_come_from_standard_input_with_context_and_files(
    shared: Program, tmp_path: Path
) -> None:
    (tmp_path / "why.md").write_text("Because *so*.")
    (tmp_path / "change.diff").write_text("--- a\n+++ b\n")
    words = (
        "--context",
        f"@{tmp_path / 'why.md'}",
        "--attach",
        str(tmp_path / "change.diff"),
        "--header",
        "Merge",
    )
    done = shared("ask", "-", *words, "--timeout", "0", "--json", stdin="Merge it?\n")
    asked = json.loads(done.stdout)
    assert asked["questions"][0]["question"] == "Merge it?"
    assert asked["context"] == "Because *so*."
    assert [file["name"] for file in asked["attachments"]] == ["change.diff"]
    shown = shared("show", asked["ref"]).stdout
    assert "change.diff (12 bytes)" in shown
    assert "Because *so*." in shown


@pytest.mark.promise("spec/139")
def test_a_secret_answer_reaches_the_asker_and_no_list(shared: Program) -> None:
    ref, asking = shared.asking("API key?", "--secret")
    told = shared("answer", ref, "correct horse")
    assert ended(asking).stdout == "correct horse\n"
    everything = told.stdout + shared("status").stdout + shared("show", ref).stdout
    everything += json.dumps([shared.json("status"), shared.json("show", ref)])
    assert "correct horse" not in everything
    assert "(hidden)" in shared("show", ref).stdout


@pytest.mark.promise("spec/138")
def test_the_asker_is_told_that_a_secret_in_the_question_was_masked(shared: Program) -> None:
    done = shared("ask", "Is AKIAIOSFODNN7EXAMPLE still good?", "--timeout", "0", "--json")
    assert "AKIAIOSFODNN7EXAMPLE" not in done.stdout
    assert "1 secret(s) in the question were masked" in done.stderr


@pytest.mark.promise("spec/157")
@pytest.mark.parametrize(
    "words",
    [
        ["ask"],
        ["ask", ""],
        ["ask", "x", "--multi"],
        ["ask", "x", "--no-custom"],
        ["ask", "x", "--approval", "-o", "maybe"],
        ["ask", "x", "--approval", "--default", "Approve"],
        ["ask", "x", "--ttl", "soon"],
        ["ask", "x", "--context", "@nowhere"],
        ["ask", "x", "--attach", "nowhere"],
        ["ask", "x", *[f"-o{number}" for number in range(11)]],
    ],
    ids=" ".join,
)
def test_wrong_use_is_one_line_with_the_next_step_and_exits_2(shared: Program, words: list[str]) -> None:
    done = shared(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("upcall: ")
    assert " Next: " in done.stderr
    assert done.stderr.count("\n") == 1
