"""The program on a real terminal: colours, widths and the picker."""

import os
import pty
import select
import signal
import subprocess
import termios
import time
from fcntl import ioctl
from struct import pack
from typing import Self

import pytest

from tests.cli.conftest import TIMEOUT, Program, ended, heeding_ctrl_c
from upcall.cli.client import ASKER, Client
from upcall.home.files import Home


class Terminal:
    """A pseudo-terminal with a program on it."""

    def __init__(self, program: Program, *words: str, columns: int = 80, **variables: str) -> None:
        self.master, self.slave = pty.openpty()
        ioctl(self.slave, termios.TIOCSWINSZ, pack("HHHH", 24, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.seen = ""
        environment = {name: value for name, value in program.environment.items() if name != "NO_COLOR"}
        self.process = subprocess.Popen(
            program.command(words),
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=environment | {"TERM": "xterm"} | variables,
            cwd=program.home.parent,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def until(self, *texts: str) -> None:
        """Read until all texts have appeared after what was read before. What came with the last of them counts as read."""
        found = ""
        deadline = time.monotonic() + TIMEOUT
        while not all(text in found for text in texts):
            ready, _, _ = select.select([self.master], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"{texts!r} did not appear in {found!r}"
            found += os.read(self.master, 65536).decode("utf-8", "replace")
        self.seen += found

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def end(self) -> int:
        code = self.process.wait(TIMEOUT)
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
        return code


@pytest.fixture
def home(upcall: Program) -> Program:
    upcall("status")
    return upcall


@pytest.fixture
def unhurried(upcall: Program) -> Program:
    """A home in which a decision can be undone for a minute: for tests that undo, on a slow machine too."""
    home = Home(upcall.home)
    home.create()
    home.config_file.write_text('undo = "60s"\n')
    return upcall


@pytest.mark.promise("spec/76")
def test_the_picker_answers_a_waiting_agent_and_leaves_the_terminal_as_it_was(home: Program) -> None:
    ref, asking = home.asking("Which cache?", "-o", "Redis", "-o", "Memcached")
    home.until_awaited()
    with Terminal(home, "answer") as terminal:
        terminal.until("Which cache?")
        terminal.type("\r")
        terminal.until("2. Memcached")
        terminal.type("\x1b[B\r")
        terminal.until("Nothing is waiting.")
        terminal.type("q")
        assert terminal.end() == 0
        assert terminal.seen.index("\x1b[?1049h") < terminal.seen.index("\x1b[?1049l")
        assert terminal.seen.rstrip().endswith(f"Answered {ref}: Memcached. The agent is being told.")
        assert termios.tcgetattr(terminal.slave) == terminal.before
    assert ended(asking).stdout == "Memcached\n"


@pytest.mark.promise("trust/88")
@pytest.mark.parametrize("words", ["redis", "2 replicas"])
def test_words_typed_at_a_question_with_options_are_its_answer(home: Program, words: str) -> None:
    ref = home.parked("Which cache?", "-o", "Memcached", "-o", "Valkey")
    with Terminal(home, "answer", ref) as terminal:
        terminal.until("or type your answer")
        terminal.type(f"{words}\r")
        terminal.until("Nothing is waiting.")
        terminal.type("q")
        assert terminal.end() == 0
    assert home.json("show", ref)["answer"]["answers"] == [[words]]


@pytest.mark.promise("trust/88")
def test_tab_opens_the_actions_of_the_question_under_the_cursor(home: Program) -> None:
    ref = home.parked("Which cache?", "-o", "Memcached", "-o", "Valkey")
    with Terminal(home, "answer") as terminal:
        terminal.until("Which cache?")
        terminal.type("redis\r")
        terminal.until("or type your answer")
        assert home.json("show", ref)["state"] == "open"
        terminal.type("\t")
        terminal.until("r reject")
        terminal.type("rask Ana\r")
        terminal.until("Nothing is waiting.")
        terminal.type("q")
        assert terminal.end() == 0
    assert home.json("show", ref)["state"] == "rejected"


@pytest.mark.promise("desk/1")
def test_what_is_taken_as_recommended_can_be_undone_and_then_decided_otherwise(unhurried: Program) -> None:
    agent = Client(ASKER, Home(unhurried.home))
    options = [{"label": "Redis"}, {"label": "Valkey", "recommended": True}]
    ref = agent.post("/v1/inquiries", {"question": "Which cache?", "options": options})["ref"]
    with Terminal(unhurried, "answer", ref) as terminal:
        terminal.until("2. Valkey")
        terminal.type("\ty")
        terminal.until("Tab, then u, takes it back.")
        terminal.type("\tu")
        terminal.until(f"Undone: {ref} waits again.")
        terminal.type("1\r")
        terminal.until(f"Answered {ref}: Redis.")
        terminal.type("q")
        assert terminal.end() == 0
    agent.hang_up()
    assert unhurried.json("show", ref)["answer"]["text"] == "Redis"


@pytest.mark.promise("desk/1")
def test_undoing_takes_no_words_away_that_a_person_has_begun_at_another_question(unhurried: Program) -> None:
    agent = Client(ASKER, Home(unhurried.home))
    options = [{"label": "Redis"}, {"label": "Valkey", "recommended": True}]
    ref = agent.post("/v1/inquiries", {"question": "Which cache?", "options": options})["ref"]
    other = unhurried.parked("Which colour?")
    with Terminal(unhurried, "answer", ref) as terminal:
        terminal.until("2. Valkey")
        terminal.type("\ty")
        terminal.until("Tab, then u, takes it back.")
        terminal.type("j\r")
        terminal.until("type your answer")
        terminal.type("dark")
        terminal.until("dark")
        terminal.type("\tu")
        terminal.until(f"Undone: {ref} waits again.")
        terminal.type(" blue\r")
        terminal.until(f"Answered {other}: dark blue.")
        terminal.type("q")
        assert terminal.end() == 0
    agent.hang_up()
    assert unhurried.json("show", ref)["state"] == "open"


@pytest.mark.promise("desk/46")
def test_a_person_finds_a_form_answers_it_by_numbers_and_reads_it_in_the_history(home: Program) -> None:
    agent = Client(ASKER, Home(home.home))
    cache = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Valkey"}]}
    checks = {
        "question": "Which checks?",
        "options": [{"label": "lint"}, {"label": "tests"}],
        "multiSelect": True,
    }
    ref = agent.post("/v1/inquiries", {"questions": [cache, checks], "context": "for the sessions"})["ref"]
    home.parked("Another one?")
    with Terminal(home, "answer") as terminal:
        terminal.until("WAITING FOR INPUT (2)")
        # The daemon finds what only the context says.
        terminal.type("\x0bsessions")
        terminal.until("Which cache?")
        terminal.type("\r")
        terminal.until("[1] · 2 · review")
        terminal.type("2\r")
        terminal.until("1 ✓ · [2] · review")
        terminal.type("12\r")
        terminal.until("To be sent:")
        terminal.type("\r")
        terminal.until(f"Answered {ref}: Valkey; lint, tests.")
        terminal.type("gh")
        terminal.until(f"#{ref}")
        terminal.type("\r")
        terminal.until("PgUp PgDn scroll")
        terminal.type("\x1b[6~")
        terminal.until("for the sessions")
        terminal.type("\x1b")
        terminal.until("HISTORY")
        terminal.type("gr")
        terminal.until("Nothing is here yet.")
        terminal.type("gi")
        terminal.until("Another one?")
        terminal.type("q")
        assert terminal.end() == 0
    agent.hang_up()
    assert home.json("show", ref)["answer"]["answers"] == [["Valkey"], ["lint", "tests"]]


@pytest.mark.promise("trust/89")
def test_the_picker_has_every_question_that_waits(home: Program) -> None:
    client = Client(ASKER, Home(home.home))
    for number in range(201):
        client.post("/v1/inquiries", {"question": f"Question {number}?", "session": f"s{number}"})
    client.hang_up()
    with Terminal(home, "answer") as terminal:
        terminal.until("WAITING FOR INPUT (201)")
        terminal.type("\x1b[A\r")
        terminal.until("Question 200?")
        terminal.type("\x1b")
        terminal.until("WAITING FOR INPUT (201)")
        terminal.type("q")
        assert terminal.end() == 0


def test_questions_appear_in_an_open_picker_and_answered_ones_go(home: Program) -> None:
    with Terminal(home, "answer") as terminal:
        terminal.until("Nothing is waiting.")
        ref = home.parked("News?")
        terminal.until("News?")
        home("answer", ref, "yes")
        terminal.until("Nothing is waiting.")
        terminal.type("q")
        assert terminal.end() == 0


def test_the_picker_opens_the_question_that_was_named(home: Program) -> None:
    home.parked("Another?")
    ref = home.parked("This one?")
    with Terminal(home, "answer", ref) as terminal:
        terminal.until("This one?")
        terminal.type("my own words\r")
        terminal.until("Answered")
        terminal.type("q")
        terminal.end()
    assert home.json("show", ref)["answer"]["answers"] == [["my own words"]]


def test_the_picker_tells_who_was_faster(home: Program) -> None:
    ref = home.parked("Who is first?", "-o", "me", "-o", "you")
    with Terminal(home, "answer", ref) as terminal:
        terminal.until("Who is first?")
        home("answer", ref, "you")
        terminal.until(f"#{ref} was answered by")
        terminal.type("\x1b")
        terminal.until("Nothing is waiting.")
        terminal.type("q")
        assert terminal.end() == 0
    assert home.json("show", ref)["answer"]["text"] == "you"


@pytest.mark.promise("trust/6")
def test_what_is_typed_into_a_question_that_closes_rejects_no_other(home: Program) -> None:
    first, second = home.parked("Which runner?"), home.parked("And which branch?")
    with Terminal(home, "answer", first) as terminal:
        terminal.until("Which runner?")
        terminal.type("use the ")
        terminal.until("use the")
        home("answer", first, "all of them")
        terminal.until(f"#{first} was answered by")
        terminal.type("first runner\r")
        # The screen is drawn anew after these keys, and still says the same.
        terminal.until("Not sent:", "Esc back to the list")
        terminal.type("\x1b")
        terminal.until("And which branch?")
        terminal.type("q")
        assert terminal.end() == 0
    assert home.json("show", second)["state"] == "open"


@pytest.mark.promise("trust/6")
def test_lines_that_are_typed_ahead_of_an_answer_act_on_no_other_question(home: Program) -> None:
    first, second = home.parked("Which runner?"), home.parked("And which branch?")
    with Terminal(home, "answer", first) as terminal:
        terminal.until("Which runner?")
        terminal.type("the first one\rr\r\r")
        terminal.until(f"Answered {first}")
        terminal.type("q")
        assert terminal.end() == 0
    assert home.json("show", first)["answer"]["answers"] == [["the first one"]]
    assert home.json("show", second)["state"] == "open"


@pytest.mark.promise("trust/8")
def test_enter_enter_approves_nothing_and_a_long_action_is_read_first(home: Program) -> None:
    command = "\n".join(f"step {number}" for number in range(60))
    ref = home.parked(command, "--approval")
    with Terminal(home, "answer") as terminal:
        terminal.until("step 0")
        # Both before anything of the action was drawn.
        terminal.type("\r\r")
        terminal.until("more: PgDn")
        terminal.type("1\r")
        terminal.until("Read it to its end")
        for _ in range(8):
            terminal.type("\x1b[6~")
        terminal.until("(the end; PgUp)")
        assert home.json("show", ref)["state"] == "open"
        terminal.type("\r")
        terminal.until("Nothing is waiting.")
        terminal.type("q")
        assert terminal.end() == 0
    assert home.json("show", ref)["answer"]["answers"] == [["Approve"]]


@pytest.mark.promise("trust/9")
def test_what_was_typed_stays_while_the_daemon_is_down_and_can_be_sent_when_it_is_back(home: Program) -> None:
    ref = home.parked("Which cache?")
    with Terminal(home, "answer", ref) as terminal:
        terminal.until("Which cache?")
        terminal.type("redis")
        terminal.until("redis")
        assert home("down").returncode == 0
        terminal.type("\r")
        terminal.until("Upcall is down")
        terminal.type("\x15")
        terminal.type("valkey")
        terminal.until("valkey")
        assert home("up", "-d").returncode == 0
        terminal.type("\r")
        terminal.until(f"Answered {ref}: valkey.")
        terminal.type("q")
        assert terminal.end() == 0
    assert home.json("show", ref)["answer"]["answers"] == [["valkey"]]


@pytest.mark.promise("raised/12")
def test_keys_that_were_pressed_before_a_plan_was_on_the_screen_do_not_approve_it(home: Program) -> None:
    agent = Client(ASKER, Home(home.home))
    plan = {"kind": "plan", "question": "Shall this plan be carried out?", "context": "1. Install Redis"}
    ref = agent.post("/v1/inquiries", plan)["ref"]
    agent.hang_up()
    with Terminal(home, "answer") as terminal:
        terminal.until("Shall this plan")
        os.kill(terminal.process.pid, signal.SIGSTOP)
        # A terminal hands over 4095 bytes at once: the last of them opens the plan, and those after it were pressed before it was drawn.
        terminal.type("x" * 4094 + "\r" + "1\r")
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.until("Install Redis")
        terminal.type("\x1b")
        terminal.until("WAITING FOR INPUT")
        terminal.type("q")
        assert terminal.end() == 0
    assert home.json("show", ref)["state"] == "open"


def test_at_a_terminal_a_word_that_is_no_clear_yes_or_no_is_asked_again(home: Program) -> None:
    ref = home.parked("alembic upgrade head", "--approval")
    with Terminal(home, "answer", ref, "sure") as terminal:
        terminal.until("Approve or deny?")
        terminal.type("go on\n")
        terminal.until("Approve or deny?")
        assert home.json("show", ref)["state"] == "open"
        terminal.type("yes\n")
        assert terminal.end() == 0
    for said in ("sure", "go on"):
        assert f"'{said}' is neither a yes nor a no" in terminal.seen
    assert home.json("show", ref)["answer"]["answers"] == [["Approve"]]


@pytest.mark.promise("trust/10")
@pytest.mark.parametrize("late", [False, True], ids=["in time", "too late"])
def test_the_command_that_status_suggests_for_a_secret_asks_for_it_unseen(
    home: Program, *, late: bool
) -> None:
    ref = home.parked("What is the API key?", "--secret", *(["--ttl", "1s"] if late else []))
    if late:
        while home.json("show", ref)["state"] == "open":
            pass
        (shown,) = [line for line in home("show", ref).stdout.splitlines() if "Answer late with" in line]
        assert shown.strip() == f"Answer late with: upcall answer {ref} --force"
    else:
        assert f"Run: upcall answer {ref}\n" in home("status").stdout
    with Terminal(home, "answer", ref, *(["--force"] if late else [])) as terminal:
        terminal.until("What is the API key? (not shown)" if late else "Enter send")
        terminal.type("hunter2\n")
        terminal.until("Answered")
        if not late:
            terminal.type("q")
        assert terminal.end() == 0
    assert "hunter2" not in terminal.seen
    assert home.json("show", ref)["state"] == "answered"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_however_the_picker_ends_the_terminal_is_as_it_was(
    home: Program, number: signal.Signals, code: int
) -> None:
    with heeding_ctrl_c():
        terminal = Terminal(home, "answer")
    with terminal:
        terminal.until("Nothing is waiting.")
        terminal.process.send_signal(number)
        assert terminal.end() == code
        assert "\x1b[?1049l" in terminal.seen
        assert termios.tcgetattr(terminal.slave) == terminal.before


@pytest.mark.promise("desk/28")
def test_what_waits_stays_in_view_when_upcall_alone_is_typed_in_a_small_window(home: Program) -> None:
    ref = home.parked("Which cache?")
    with Terminal(home) as terminal:
        assert terminal.end() == 0
    lines = terminal.seen.splitlines()
    assert lines[1] == f"1 question waits. #{ref} local: Which cache?"
    assert "  inbox url status show answer reject snooze correct extend away" in lines
    # One row of the 24 is for the prompt.
    assert len(lines) < 24


def test_status_is_coloured_for_people_and_fits_their_window(home: Program) -> None:
    ref = home.parked("word " * 60)
    with Terminal(home, "status", columns=60) as terminal:
        assert terminal.end() == 0
        assert f"\x1b[36m#{ref}\x1b[0m" in terminal.seen
        asked = next(line for line in terminal.seen.splitlines() if "Q:" in line)
        assert len(asked.rstrip()) <= 60
        assert asked.rstrip().endswith("…")


def test_no_color_is_respected(home: Program) -> None:
    home.parked("Grey?")
    with Terminal(home, "status", NO_COLOR="1") as terminal:
        assert terminal.end() == 0
        assert "Grey?" in terminal.seen
        assert "\x1b" not in terminal.seen
