"""What a person meets first: `upcall` alone, the link as a code, and output that a terminal shows as it is."""

import json

import pytest

from tests.cli.conftest import Program
from upcall.cli.render.runs import run_line
from upcall.cli.render.terminal import Paint


def state(upcall: Program) -> list[str]:
    done = upcall()
    assert done.returncode == 0, done.stderr
    first, *said, empty, heading = done.stdout.splitlines()[:5]
    assert (first, empty) == ("Upcall lets your agents ask you, and go on with your answer.", "")
    assert heading.endswith(":")
    return said


@pytest.mark.promise("desk/28")
def test_upcall_alone_says_in_three_lines_what_waits_and_what_to_do_next(upcall: Program) -> None:
    assert state(upcall) == [
        "Nothing was asked yet.",
        "Next: upcall demo, or connect your agent: upcall setup claude",
    ]
    assert not upcall.home.exists()
    ref = upcall.parked("Which cache?")
    assert state(upcall) == [f"1 question waits. #{ref} local: Which cache?", f"Next: upcall answer {ref}"]
    upcall.parked("Which port?")
    assert state(upcall)[0].startswith("2 questions wait. #")
    upcall("down")
    assert state(upcall) == [
        "It is not running; what was asked is kept.",
        "Next: upcall status, which starts it",
    ]
    assert "Next:" not in upcall("--help").stdout


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("channels", "No channel is set up"),
        ("people", "No person can answer"),
        ("rules", "There are no rules"),
        ("tokens", "local  agent"),
        ("config", "There is no"),
    ],
)
def test_the_name_of_a_group_alone_shows_what_there_is(upcall: Program, name: str, shown: str) -> None:
    done = upcall(name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(shown)


@pytest.mark.promise("desk/30")
def test_the_link_to_the_inbox_is_drawn_as_a_code(upcall: Program) -> None:
    done = upcall("inbox", "--qr")
    link, *drawn = done.stdout.splitlines()
    assert link.startswith("http://127.0.0.1:")
    # A quiet margin all around, and lines of the same length.
    assert drawn[0] == "█" * len(drawn[0])
    assert {len(line) for line in drawn} == {len(drawn[0])}
    assert len(drawn) > 20
    assert "A phone cannot reach" in done.stderr


@pytest.mark.promise("arriving/2")
def test_json_has_no_character_that_acts_on_a_terminal_or_hides(upcall: Program) -> None:
    odd = "a\u202eb\x9bc\x7fd\u2066e\U000e0041f"
    ref = upcall.parked(f"Really? {odd}", "--context", odd)
    shown = upcall("show", ref, "--json").stdout
    assert json.loads(shown)["context"] == odd
    assert not {*odd} & {*shown} - {*"abcdef"}
    assert "\\u202e" in shown


@pytest.mark.promise("arriving/3")
def test_the_default_of_a_question_with_options_is_one_of_them(upcall: Program) -> None:
    done = upcall("ask", "Which?", "-o", "red", "-o", "blue", "--default", "green", "--timeout", "0s")
    assert done.returncode == 2
    assert "one of red, blue" in done.stderr


@pytest.mark.promise("arriving/4")
@pytest.mark.parametrize(("refs", "said"), [(["a7"], "asks #a7"), ([], "has an answer coming")])
def test_a_run_names_what_it_asks_until_an_answer_comes(refs: list[str], said: str) -> None:
    run = {
        "number": 3,
        "agent": "claude",
        "task": "Fix it",
        "state": "waiting_input",
        "turns": 2,
        "cost": None,
    }
    run |= {"tool": None, "inquiries": refs, "reason": None, "started_at": None}
    line = run_line(run | {"created_at": "2030-03-17T17:00:00.000Z"}, 1_900_000_000.0, Paint(on=False), 120)
    assert said in line
    assert ("coming" in line) is (not refs)
