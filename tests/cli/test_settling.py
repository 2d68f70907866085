"""What people are told when they answer, reject, snooze and look."""

import json
import re

import pytest

from tests.cli.conftest import Program, ended
from upcall.cli.replies import VERDICTS
from upcall.domain.answer.verdicts import is_clear_yes


@pytest.mark.promise("trust/71")
def test_an_answer_says_what_was_recorded_and_what_happens_to_it(shared: Program) -> None:
    ref = shared.parked("Which cache?", "-o", "Redis", "-o", "Memcached")
    assert (
        shared("answer", f"#{ref.upper()}", "redis").stdout
        == f"Answered {ref}: Redis. No call waits for it now; the answer is kept until the agent asks again.\n"
    )


@pytest.mark.promise("spec/174")
def test_the_second_answer_is_told_the_winner_and_exits_15(shared: Program) -> None:
    ref = shared.parked("Which cache?", "-o", "Redis", "-o", "Memcached")
    shared("answer", ref, "Redis")
    lost = shared("answer", ref, "Memcached")
    assert lost.returncode == 15
    assert "Redis" in lost.stdout
    assert shared.json("show", ref)["answer"]["answers"] == [["Redis"]]


def test_a_losing_answer_has_the_winner_in_its_json(shared: Program) -> None:
    ref = shared.parked("Which?")
    shared("answer", ref, "this")
    lost = shared("answer", ref, "that", "--json")
    reply = json.loads(lost.stdout)
    assert (lost.returncode, reply["accepted"]) == (15, False)
    assert reply["inquiry"]["answer"]["text"] == "this"


@pytest.mark.promise("spec/148")
def test_an_expired_question_takes_an_answer_only_by_force(shared: Program) -> None:
    ref, asking = shared.asking("Ready?", "--ttl", "1s")
    assert ended(asking).returncode == 11
    refused = shared("answer", ref, "late")
    assert refused.returncode == 15
    assert "expired" in refused.stderr
    assert "--force" in refused.stderr
    assert shared("answer", ref, "--force", "late").returncode == 0
    assert shared("wait", ref).stdout == "late\n"


@pytest.mark.parametrize(
    "words", [["show"], ["answer"], ["reject"], ["wait"], ["cancel"], ["snooze"], ["extend"]]
)
def test_an_unknown_ref_is_one_line_and_exits_1(shared: Program, words: list[str]) -> None:
    rest = {"answer": ["yes"], "snooze": ["1h"], "extend": ["1h"]}.get(words[0], [])
    done = shared(*words, "zz9", *rest)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "upcall: there is no inquiry 'zz9'. Next: `upcall status` lists the open ones\n"


@pytest.mark.parametrize("ref", ["../tokens", "a b", "", "%2e%2e", "42"])
def test_what_cannot_be_a_ref_is_unknown_too(shared: Program, ref: str) -> None:
    done = shared("show", ref)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


def test_an_empty_answer_is_refused_and_the_question_stays_open(shared: Program) -> None:
    ref = shared.parked("Name?")
    done = shared("answer", ref, " \t ")
    assert done.returncode == 1
    assert "empty" in done.stderr
    assert shared.json("show", ref)["state"] == "open"


def test_an_answer_that_is_none_of_the_choices_names_them(shared: Program) -> None:
    ref = shared.parked("Which?", "-o", "Redis", "-o", "SQLite", "--no-custom")
    done = shared("answer", ref, "Oracle")
    assert done.returncode == 1
    assert "1. Redis, 2. SQLite" in done.stderr


@pytest.mark.promise("trust/9")
@pytest.mark.parametrize(
    "words", [["sure"], ["go ahead"], ["no problem, go on"], ["yes, but not today"], ["-"]], ids=str
)
def test_without_a_terminal_a_word_that_is_no_clear_yes_or_no_decides_nothing(
    shared: Program, words: list[str]
) -> None:
    ref = shared.parked("rm -rf build", "--approval")
    done = shared("answer", ref, *words, stdin="sure\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "is neither a yes nor a no. Next: say one of: yes, y, ok, approve, allow or 1; no, n," in done.stderr
    )
    assert shared.json("show", ref)["state"] == "open"
    assert shared("answer", ref, "no, push to staging instead").returncode == 0
    settled = shared.json("show", ref)["answer"]
    assert (settled["answers"], settled["text"]) == ([["Deny"]], "no, push to staging instead")


@pytest.mark.promise("trust/9")
def test_every_word_that_people_are_told_is_a_clear_yes_or_no() -> None:
    yes, no = (re.split(r", | or ", part) for part in VERDICTS.split("; "))
    assert {is_clear_yes(word) for word in yes} == {True}
    assert {is_clear_yes(word) for word in no} == {False}


@pytest.mark.promise("trust/10")
@pytest.mark.parametrize("options", [[], ["-o", "hunter2", "-o", "swordfish"]], ids=["text", "options"])
def test_no_suggested_command_has_a_secret_in_it(shared: Program, options: list[str]) -> None:
    ref = shared.parked("Which key?", "--secret", *options)
    for words in (["status"], ["show", ref]):
        printed = shared(*words).stdout
        commands = [line for line in printed.splitlines() if f"upcall answer {ref}" in line]
        assert commands
        assert all(line.endswith(f"upcall answer {ref}") for line in commands)


def test_an_answer_can_come_from_standard_input(shared: Program) -> None:
    ref = shared.parked("Your thoughts?")
    shared("answer", ref, "-", stdin="two\nlines\n")
    assert shared.json("show", ref)["answer"]["answers"] == [["two\nlines"]]


def test_without_a_terminal_answer_needs_a_ref_and_a_value(shared: Program) -> None:
    done = shared("answer")
    assert done.returncode == 2
    assert "upcall status" in done.stderr


@pytest.mark.promise("spec/148")
def test_snoozing_keeps_a_question_open_and_extending_gives_it_time(shared: Program) -> None:
    ref = shared.parked("Later?", "--ttl", "30m")
    assert shared("snooze", ref, "1h").stdout == f"Snoozed {ref} for 1h. It stays open.\n"
    before = shared.json("show", ref)
    assert before["snoozed_until"]
    assert shared("extend", ref, "3d").stdout == f"Extended {ref}: it expires in 3d.\n"
    assert shared.json("show", ref)["expires_at"] > before["expires_at"]


def test_rejecting_what_is_settled_changes_nothing_and_exits_15(shared: Program) -> None:
    ref = shared.parked("Which?")
    shared("answer", ref, "this")
    lost = shared("reject", ref)
    assert lost.returncode == 15
    assert "this" in lost.stdout


def test_status_shows_what_waits_first_with_a_command_that_answers_it(upcall: Program) -> None:
    done = upcall.parked("Done already?")
    upcall("answer", done, "yes")
    ref = upcall.parked("Should I use Redis or Memcached?", "-o", "Redis", "-o", "Memcached")
    lines = upcall("status").stdout.splitlines()
    assert lines[0] == "WAITING FOR INPUT:"
    assert lines[1].startswith(f"  #{ref} local (waiting ")
    assert lines[2:4] == [
        "      Q: Should I use Redis or Memcached?",
        f'      Run: upcall answer {ref} "Redis"',
    ]
    assert "DONE TODAY:" in lines
    assert lines[-1].startswith(f"  #{done} local ✓ Done already? → yes (")


@pytest.mark.promise("spec/111")
def test_status_as_json_has_three_lists(upcall: Program) -> None:
    assert upcall.json("status") == {"waiting": [], "running": [], "done": [], "channels": []}
    ref = upcall.parked("One?")
    other = upcall.parked("Two?")
    upcall("reject", other)
    status = upcall.json("status")
    assert [inquiry["ref"] for inquiry in status["waiting"]] == [ref]
    assert [(inquiry["ref"], inquiry["state"]) for inquiry in status["done"]] == [(other, "rejected")]


def test_status_is_friendly_when_nothing_waits(upcall: Program) -> None:
    assert upcall("status").stdout.startswith("Nothing is waiting.")


def test_show_has_everything_that_belongs_to_a_question(shared: Program) -> None:
    words = (
        "-o",
        "Redis=has pub/sub",
        "-o",
        "Memcached",
        "--header",
        "Cache",
        "--context",
        "Both are there.",
    )
    ref = shared.parked("Which cache?", *words)
    shown = shared("show", ref).stdout
    for part in (
        f"Inquiry #{ref}: Cache",
        "PENDING QUESTION",
        "Which cache?",
        "Context:",
        "1. Redis",
        "has pub/sub",
    ):
        assert part in shown
    assert f'Answer with: upcall answer {ref} "Redis"' in shown


def test_nothing_an_agent_writes_acts_on_the_terminal(shared: Program) -> None:
    ref = shared.parked("Red\x1b[31m?\u202egnp", "-o", "$(rm -rf ~)", "-o", "no")
    shown = shared("status").stdout + shared("show", ref).stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert f"Run: upcall answer {ref} 1\n" in shown


def test_an_approval_is_shown_with_its_odd_characters_as_escapes(shared: Program) -> None:
    ref = shared.parked("Run: rm \u202e-rf", "--approval")
    assert "rm \\u202e-rf" in shared("show", ref).stdout


@pytest.mark.promise("spec/131", "spec/165")
def test_tokens_are_made_listed_and_revoked(shared: Program) -> None:
    made = shared("tokens", "create", "--role", "agent", "--name", "bot")
    assert made.stdout.startswith("upcall_agent_")
    assert made.stdout.count("\n") == 1
    names = [token["name"] for token in shared.json("tokens", "list")["items"]]
    assert "bot" in names
    assert made.stdout.strip() not in shared("tokens", "list").stdout
    url = json.loads((shared.home / "run.json").read_text())["url"]
    remote = {"UPCALL_URL": url, "UPCALL_TOKEN": made.stdout.strip()}
    ref = json.loads(shared("ask", "Hi?", "--timeout", "0", "--json", **remote).stdout)["ref"]
    assert shared.json("show", ref)["agent"] == "bot"
    denied = shared("answer", ref, "yes", **remote)
    assert denied.returncode == 1
    assert "agent token cannot answer" in denied.stderr
    assert shared("tokens", "revoke", "bot").returncode == 0
    assert shared("status", **remote).returncode == 1
    assert shared("tokens", "revoke", "bot").returncode == 1


@pytest.mark.promise("spec/155")
def test_a_remote_daemon_needs_a_token(shared: Program) -> None:
    done = shared("status", UPCALL_URL="http://127.0.0.1:9")
    assert (done.returncode, done.stderr) == (
        1,
        "upcall: UPCALL_URL is set and UPCALL_TOKEN is not. Next: set both\n",
    )


def test_an_unreachable_daemon_elsewhere_is_one_line(shared: Program) -> None:
    done = shared("status", UPCALL_URL="http://127.0.0.1:9", UPCALL_TOKEN="t")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "upcall: cannot reach Upcall at http://127.0.0.1:9: connection refused. Next: "
    )


@pytest.mark.promise("desk/3")
def test_a_correction_that_the_agent_cannot_be_told_says_what_to_do(shared: Program) -> None:
    ref = shared.parked("Which cache?", "-o", "Redis", "-o", "Memcached")
    early = shared("correct", ref, "Memcached, after all")
    assert (early.returncode != 0, f"{ref} has no answer that could be corrected" in early.stderr) == (
        True,
        True,
    )
    shared("answer", ref, "Redis")
    refused = shared("correct", ref, "Memcached,", "after", "all")
    assert refused.returncode != 0
    assert "cannot be told" in refused.stderr
    assert "tell it where it works" in refused.stderr
