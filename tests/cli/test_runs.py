"""What people see of runs and do with them in a terminal."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import heeding_ctrl_c
from tests.cli.office import Office, an_office, line_with, rest_of
from upcall.cli.client import PAGE
from upcall.domain.run.program import Permission
from upcall.domain.run.run import RunState

COMPLETED = {"state": RunState.COMPLETED, "ended_at": 1_800_000_060.0}
FAILED = {"state": RunState.FAILED, "reason": "exit_code 3", "ended_at": 1_800_000_060.0}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with an_office(tmp_path) as opened:
        yield opened


@pytest.mark.promise("spec/103")
def test_a_run_prints_its_number_alone_and_says_how_to_follow_and_to_answer_it(office: Office) -> None:
    done = office.upcall("run", "scripted", "Fix it", "--cwd", "/srv/shop")
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "upcall log 1 -f" in done.stderr
    assert 'upcall answer 1 "…"' in done.stderr


def test_a_run_is_ordered_as_it_was_typed(office: Office) -> None:
    words = ("--permission", "autonomous", "--json", "--", "--model", "opus", "--json")
    admin = {"UPCALL_TOKEN": office.house.secrets["root"]}
    task = "Fix it,\nplease\n"
    done = office.upcall("run", "scripted", "-", "--cwd", "/srv/shop", *words, stdin=task, **admin)
    assert json.loads(done.stdout)["task"] == "Fix it,\nplease"
    (order,) = office.runs.orders
    assert order.arguments == ("--model", "opus", "--json")
    assert (order.permission, order.cwd) == (Permission.AUTONOMOUS, "/srv/shop")


def test_a_daemon_elsewhere_gets_neither_this_shells_environment_nor_its_folder(office: Office) -> None:
    refused = office.upcall("run", "scripted", "Fix it", CREDENTIAL="hush-hush")
    assert refused.returncode == 2
    assert "--cwd" in refused.stderr
    office.upcall("run", "scripted", "Fix it", "--cwd", "/srv/shop", CREDENTIAL="hush-hush")
    assert [order.environment for order in office.runs.orders] == [None]


def test_an_unknown_agent_is_one_line_with_the_nearest_name(office: Office) -> None:
    done = office.upcall("run", "scripd", "Fix it", "--cwd", "/srv")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "upcall: there is no agent 'scripd'. Next: did you mean scripted?\n"


@pytest.mark.promise("gza/17", "spec/109")
def test_status_shows_what_waits_then_what_works_then_what_is_done(office: Office) -> None:
    waiting, running, done, failed = (office.begin(f"task {number}") for number in range(1, 5))
    office.ask(waiting)
    office.move(waiting, state=RunState.WAITING)
    office.move(running, turns=5, cost=0.12, tool="Bash")
    office.move(done, **COMPLETED)
    office.move(failed, **FAILED)
    lines = [line.partition(" (waiting")[0] for line in office.upcall("status").stdout.splitlines()]
    assert lines[:6] == [
        "WAITING FOR INPUT:",
        "  #1 scripted: task 1",
        "      Q: Which cache?",
        '      Run: upcall answer 1 "Redis"',
        "",
        "RUNNING:",
    ]
    assert lines[6].startswith("  #2 scripted: task 2 (5 turns, $0.12, Bash, ")
    assert lines[7:9] == ["", "DONE TODAY:"]
    assert any(line.startswith("  #3 scripted ✓ task 3 (") for line in lines[9:])
    assert any(line.startswith("  #4 scripted ✗ task 4 → failed: exit_code 3 (") for line in lines[9:])
    status = office.upcall.json("status")
    assert [inquiry["run"] for inquiry in status["waiting"]] == [1]
    assert [run["number"] for run in status["running"]] == [2]
    assert sorted(run["number"] for run in status["done"]) == [3, 4]


@pytest.mark.promise("gza/9", "spec/110")
def test_show_tells_everything_about_a_run_and_what_it_asks(office: Office) -> None:
    number = office.begin()
    office.ask(number, question="Which cache?", options=["Redis", "Memcached"], context="Both are there.")
    office.move(number, state=RunState.WAITING, turns=12, cost=0.45, session="s-1")
    shown = office.upcall("show", f"#{number}").stdout
    for part in (
        "Run #1: Fix the flaky test\n",
        "Status: waiting for input\n",
        "Agent: scripted (approval)\n",
        "Folder: /srv/shop\n",
        "Turns: 12\n",
        "Cost: $0.45\n",
        "PENDING QUESTION",
        "Both are there.",
        "1. Redis",
        'Answer with: upcall answer 1 "Redis"',
    ):
        assert part in shown
    assert office.upcall.json("show", number)["session"] == "s-1"


@pytest.mark.promise("spec/14")
def test_a_question_is_answered_by_the_number_of_its_run(office: Office) -> None:
    number = office.begin()
    asked = office.ask(number)
    done = office.upcall("answer", number, "redis")
    assert (done.returncode, done.stdout) == (
        0,
        f"Answered {asked['ref']}: Redis. The agent is being told.\n",
    )


@pytest.mark.promise("spec/53")
def test_a_run_with_several_questions_is_asked_back_which_one(office: Office) -> None:
    number = office.begin()
    refs = [office.ask(number)["ref"] for _ in range(2)]
    done = office.upcall("answer", number, "Redis")
    assert done.returncode == 1
    assert done.stderr.startswith("upcall: run 1 has 2 open questions. Next: answer one of them: ")
    assert all(f'upcall answer {ref} "Redis"' in done.stderr for ref in refs)
    assert {inquiry["state"] for inquiry in office.upcall.json("status")["waiting"]} == {"open"}


def test_a_finished_run_takes_no_answer_and_says_what_to_do_instead(office: Office) -> None:
    number = office.begin()
    assert "run 1 has no open question" in office.upcall("answer", number, "Redis").stderr
    office.move(number, **FAILED)
    done = office.upcall("answer", number, "Redis")
    assert done.returncode == 1
    assert "run 1 has no open question; it failed: exit_code 3" in done.stderr
    assert "upcall say 1" in done.stderr


def test_what_a_run_asked_in_vain_is_found_behind_all_that_others_asked_later(office: Office) -> None:
    number, other = office.begin(), office.begin()
    asked = office.ask(number, question="Which?", ttl="60s")
    for later in range(PAGE + 1):
        office.house.clock.now += 1
        office.ask(other, question=f"Which colour has number {later}?", ttl="60s")
    office.house.clock.now += 61
    office.move(number, **FAILED | {"reason": "input_timeout"})
    assert office.upcall("answer", "--force", number, "this").returncode == 0
    assert office.upcall.json("show", asked["ref"])["answer"]["text"] == "this"


def test_what_a_run_asked_in_vain_is_answered_by_force(office: Office) -> None:
    number = office.begin()
    asked = office.ask(number, question="Which?", ttl="60s")
    office.house.clock.now += 61
    assert office.upcall("answer", asked["ref"], "late").returncode == 15
    office.move(number, **FAILED | {"reason": "input_timeout"})
    refused = office.upcall("answer", number, "this")
    assert refused.returncode == 1
    assert "--force" in refused.stderr
    assert office.upcall("answer", "--force", number, "this").returncode == 0
    assert office.upcall.json("show", asked["ref"])["answer"]["text"] == "this"


@pytest.mark.parametrize(("words", "state"), [(["reject"], "rejected"), (["snooze", "1h"], "open")])
def test_a_question_can_be_declined_and_put_off_by_its_run_too(
    office: Office, words: list[str], state: str
) -> None:
    number = office.begin()
    asked = office.ask(number)
    assert office.upcall(words[0], number, *words[1:]).returncode == 0
    assert office.upcall.json("show", asked["ref"])["state"] == state


@pytest.mark.parametrize(
    "words", [["show"], ["log"], ["cancel"], ["retry"], ["answer"], ["attach", "--json"]]
)
def test_an_unknown_run_is_one_line_and_exits_1(office: Office, words: list[str]) -> None:
    rest = ["yes"] if words[0] == "answer" else []
    done = office.upcall(*words, "99", *rest)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "upcall: there is no run 99. Next: `upcall runs` lists them\n"


@pytest.mark.parametrize("word", ["a7", "-", "1.5", "9" * 30])
def test_what_is_no_number_is_wrong_use(office: Office, word: str) -> None:
    assert office.upcall("log", word).returncode == 2


@pytest.mark.promise("spec/110")
def test_a_run_is_cancelled_and_tried_again(office: Office) -> None:
    number = office.begin()
    assert office.upcall("cancel", number).stdout == "Cancelled run 1.\n"
    again = office.upcall("cancel", number)
    assert again.returncode == 1
    assert "over" in again.stderr
    assert office.upcall("retry", number).stdout.startswith("Run 2 repeats run 1.")
    assert office.upcall.json("show", "2")["retry_of"] == 1


def test_what_is_said_to_a_run_is_told_how_it_was_heard(office: Office) -> None:
    number = office.begin()
    assert office.upcall("say", number, "use the new API").stdout == "Run 1 has your message.\n"
    office.move(number, **COMPLETED)
    assert (
        office.upcall("say", number, "-", stdin="now a test\n").stdout
        == "Run 1 continues with your message.\n"
    )
    assert office.runs.said == ["use the new API", "now a test"]


def test_the_log_shows_nothing_that_acts_on_the_terminal_unless_it_is_wanted_raw(office: Office) -> None:
    number = office.begin()
    office.write(number, "one", "\x1b[31mtwo")
    assert office.upcall("log", number).stdout == "one\ntwo\n"
    assert office.upcall("log", number, "--raw").stdout == "one\n\x1b[31mtwo\n"
    lines = [json.loads(line) for line in office.upcall("log", number, "--json").stdout.splitlines()]
    assert [line["text"] for line in lines] == ["one", "\x1b[31mtwo"]


@pytest.mark.promise("spec/110")
def test_the_log_is_followed_until_the_run_is_over(office: Office) -> None:
    number = office.begin()
    following = office.upcall.start("log", number, "-f")
    assert following.stdout is not None
    for word in ("one", "two"):
        office.write(number, word)
        assert following.stdout.readline() == f"{word}\n"
    office.move(number, **COMPLETED)
    assert rest_of(following).returncode == 0


@pytest.mark.promise("spec/103")
def test_waiting_for_a_run_shows_its_work_its_questions_and_its_result(office: Office) -> None:
    running = office.upcall.start("run", "scripted", "Fix it", "--cwd", "/srv/shop", "--wait")
    assert line_with(running, "begun") == "Run 1 has begun."
    office.write("1", "looking around")
    assert line_with(running, "looking") == "looking around"
    office.ask("1")
    assert line_with(running, "Which cache?") == "  Which cache?"
    assert line_with(running, "Answer with") == '  Answer with: upcall answer 1 "Redis"'
    office.upcall("answer", "1", "Redis")
    office.write("1", "last words")
    office.move("1", **COMPLETED, result="It is fixed.")
    done = rest_of(running)
    assert (done.returncode, done.stdout) == (0, "It is fixed.\n")
    assert "last words\n" in done.stderr


@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [
        (FAILED, 1, "upcall: run 1 failed: exit_code 3. Next: `upcall log 1`"),
        ({"state": RunState.CANCELLED, "reason": "cancelled by ben"}, 13, "upcall: run 1 was cancelled"),
    ],
)
def test_waiting_tells_by_its_exit_code_how_a_run_ended(
    office: Office, ending: dict[str, object], code: int, said: str
) -> None:
    running = office.upcall.start("run", "scripted", "Fix it", "--cwd", "/srv", "--wait", "--json")
    line_with(running, "begun")
    office.move("1", **ending)
    done = rest_of(running)
    assert done.returncode == code
    assert json.loads(done.stdout)["state"] == str(ending["state"])
    assert said in done.stderr


def test_whoever_stops_waiting_leaves_the_run_at_work(office: Office) -> None:
    with heeding_ctrl_c():
        running = office.upcall.start("run", "scripted", "Fix it", "--cwd", "/srv", "--wait")
    line_with(running, "begun")
    office.write("1", "working")
    line_with(running, "working")
    running.send_signal(signal.SIGINT)
    done = rest_of(running)
    assert done.returncode == 130
    assert "Detached: run 1 goes on. Next: upcall log 1 -f" in done.stderr
    assert office.upcall.json("show", "1")["state"] == "running"


@pytest.mark.promise("spec/110")
def test_a_session_elsewhere_is_not_taken_over_here(office: Office) -> None:
    number = office.begin()
    office.move(number, **COMPLETED)
    done = office.upcall("attach", number)
    assert done.returncode == 1
    assert "machine" in done.stderr
    assert office.upcall.json("attach", number)["argv"] == ["scripted", "--resume", "s-1"]


def test_runs_are_listed_the_newest_first(office: Office) -> None:
    assert office.upcall("runs").stdout.startswith("No runs.")
    for task in ("one", "two"):
        office.begin(task)
    office.move("1", **COMPLETED)
    lines = office.upcall("runs").stdout.splitlines()
    assert lines[0].startswith("  #2 scripted: two (0 turns")
    assert lines[1].startswith("  #1 scripted ✓ one (")
    assert [run["number"] for run in office.upcall.json("runs", "--state", "completed")["items"]] == [1]
    assert office.upcall("numbers").stdout == "2\n1\n"
