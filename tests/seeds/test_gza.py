"""The design "Async Human-in-the-Loop for Gza Tasks", sentence by sentence, under `preset = "gza"`.

A task is a run, and its program speaks like Claude Code.
"""

import io
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from typing_extensions import override

from tests.cli.conftest import Program
from tests.files.news import until
from upcall.broker.broker import Policy
from upcall.channels.notifications.channel import Notice, bell
from upcall.cli.client import Client
from upcall.config.settings import Config, load
from upcall.home.files import Home
from upcall.ports.branches import branch_of


class Stream(io.StringIO):
    def __init__(self, *, tty: bool) -> None:
        super().__init__()
        self._tty = tty

    @override
    def isatty(self) -> bool:
        return self._tty


CLAUDE = Path(__file__).with_name("claude.py")
QUESTION = "Should I use Redis or Memcached for the caching layer?"
PROMPT = """\
## Asking Questions

If you need clarification or user input to proceed correctly, you can ask a question
by outputting this exact format:

<<GZA_QUESTION>>
{"question": "Your question here", "options": ["Option A", "Option B"]}
<</GZA_QUESTION>>

After outputting this marker, stop and wait. The user will provide an answer and
your session will be resumed with their response.

Only use this for genuine blockers where guessing would likely lead to wrong results.
For minor uncertainties, make a reasonable choice and document your assumption."""


class Gza(Program):
    """A home under the preset, with the program beside this file as its agent."""

    def __init__(self, folder: Path, hook: str) -> None:
        super().__init__(folder / "home")
        self.work = folder / "work"
        self.work.mkdir()
        self.notified = folder / "notified"
        self.notified.mkdir()
        tools = folder / "bin"
        tools.mkdir()
        self._install(tools / "claude", f'exec {sys.executable} {CLAUDE} "$@"')
        self._install(tools / "osascript", f'printf "%s\\n" "$@" > {self.notified}/$$')
        self.environment["PATH"] = f"{tools}:{self.environment['PATH']}"
        self.home.mkdir(mode=0o700)
        (self.home / "upcall.toml").write_text(
            f'preset = "gza"\n[notifications]\nwebhook_url = "{hook}"\n[agents.claude]\nprogram = "{tools}/claude"\n'
        )

    def task(self, words: str) -> str:
        """The number of a task that is under way."""
        done = self("run", "claude", words, "--cwd", str(self.work))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def until(self, number: str, status: str, *, starts: int = 1) -> dict[str, Any]:
        """What the file of a task says, as soon as it is in a state after so many starts of its program."""

        def found() -> dict[str, Any] | None:
            file = self.home / "runs" / number / "state.json"
            state: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
            fence = self.home / "runs" / number / "fence"
            begun = int(fence.read_text()) if fence.exists() else 0
            return state if state.get("status") == status and begun >= starts else None

        return until(self.home / "runs" / number, found)

    def waiting(self, words: str = "add-caching") -> str:
        """The number of a task that waits for input."""
        number = self.task(words)
        self.until(number, "waiting_input")
        return number

    def events(self, number: str) -> list[dict[str, Any]]:
        """What the log says of a task."""
        person = Client(home=Home(self.home))
        items: list[dict[str, Any]] = person.get("/v1/events", after=0, limit=1000)["items"]
        person.hang_up()
        return [event for event in items if event["data"].get("run") == int(number)]

    def calls(self) -> list[dict[str, Any]]:
        """What the program was started with, each time."""
        return [json.loads(line) for line in (self.work / "calls.jsonl").read_text().splitlines()]

    def _install(self, path: Path, script: str) -> None:
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


class Hook:
    """An address on the web that remembers what was posted to it."""

    def __init__(self) -> None:
        self.posted: Queue[dict[str, Any]] = Queue()
        posted = self.posted

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                posted.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            @override
            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module")
def gza(tmp_path_factory: pytest.TempPathFactory, hook: Hook) -> Iterator[Gza]:
    program = Gza(tmp_path_factory.mktemp("gza"), hook.url)
    yield program
    program("down")


@pytest.fixture(scope="module")
def preset(tmp_path_factory: pytest.TempPathFactory) -> Config:
    return load(Home(tmp_path_factory.mktemp("nothing")), {"UPCALL_PRESET": "gza"})


@pytest.mark.promise("gza/2", "gza/10", "gza/12", "gza/40")
def test_a_marker_pauses_the_task_and_its_state_has_the_question(gza: Gza) -> None:
    """When a question is detected and Claude's turn ends, mark the task as `waiting_input` instead of `running`."""
    number = gza.task("add-caching")
    state = gza.until(number, "waiting_input")
    run = gza.json("show", number)
    asked = state["pending_question"]
    assert (run["state"], run["exit_code"], state["session_id"]) == ("waiting_input", 0, run["session"])
    assert asked["question"] == QUESTION
    assert asked["context"] == "Both are available in the project dependencies."
    assert asked["options"] == ["Redis (recommended)", "Memcached", "Other"]
    (ref,) = run["inquiries"]
    inquiry = gza.json("show", ref)
    assert asked["asked_at"][:19] == inquiry["asked_at"][:19]
    assert asked["asked_at"].endswith("Z")
    assert asked["id"] == inquiry["id"]


@pytest.mark.promise("gza/5", "gza/23", "gza/25", "gza/26", "gza/27", "gza/36")
def test_the_answer_resumes_the_session_with_exactly_these_words(gza: Gza) -> None:
    """User answered your question.\\n\\nQuestion: …\\nAnswer: …\\n\\nPlease continue with the task."""
    number = gza.waiting()
    session = gza.json("show", number)["session"]
    done = gza("answer", number, "Use Redis, we'll need pub/sub later")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"Resuming task #{number} with your answer...\n"
    over = gza.until(number, "completed", starts=2)
    call = gza.calls()[-1]
    assert call["stdin"] == (
        f"User answered your question.\n\nQuestion: {QUESTION}\n"
        "Answer: Use Redis, we'll need pub/sub later\n\nPlease continue with the task."
    )
    assert call["argv"][call["argv"].index("--resume") + 1] == session
    assert call["cwd"] == str(gza.work)
    assert over["pending_question"] is None
    types = [event["type"] for event in gza.events(number)]
    assert types.index("run_waiting") < types.index("run_resumed") < types.index("run_completed")
    log = gza("log", number).stdout
    assert log.index("I have looked around.") < log.index("Now I know: Answer: Use Redis")


@pytest.mark.promise("gza/13", "gza/14", "gza/15")
def test_the_prompt_says_how_to_ask(gza: Gza, preset: Config) -> None:
    """Add instructions to the task prompt template so Claude knows how to ask questions."""
    assert preset.advice.strip() == PROMPT
    gza.waiting()
    call = gza.calls()[-1]
    assert call["argv"][call["argv"].index("--append-system-prompt") + 1] == PROMPT


@pytest.mark.promise("gza/7", "gza/8", "gza/41")
def test_options_are_suggestions_and_one_question_waits_at_a_time(gza: Gza) -> None:
    """`options` (optional): Suggested answers (user can always provide freeform)."""
    number = gza.waiting()
    (ref,) = gza.json("show", number)["inquiries"]
    assert gza.json("show", ref)["questions"][0]["custom"] is True
    assert gza("answer", number, "neither of them").returncode == 0
    gza.until(number, "completed", starts=2)
    assert gza.json("show", ref)["answer"]["answers"] == [["neither of them"]]


@pytest.mark.promise("gza/3", "gza/16", "gza/18")
def test_status_shows_what_waits_then_what_is_done(gza: Gza) -> None:
    """Show waiting tasks prominently."""
    finished = gza.task("update-deps")
    gza.until(finished, "completed")
    number = gza.waiting()
    lines = gza("status").stdout.splitlines()
    assert lines[0] == "WAITING FOR INPUT:"
    at = next(at for at, line in enumerate(lines) if line.startswith(f"  #{number} "))
    assert re.fullmatch(rf"  #{number} add-caching \(waiting \d+s\)", lines[at])
    assert lines[at + 1] == f"      Q: {QUESTION}"
    assert lines[at + 2] == f'      Run: upcall answer {number} "Redis (recommended)"'
    assert f"  #{finished} update-deps ✓" in lines[lines.index("COMPLETED TODAY:") :]


@pytest.mark.promise("gza/19", "gza/20", "gza/21", "gza/22")
def test_show_has_everything_that_is_drawn(gza: Gza) -> None:
    """Display full question context."""
    subprocess.run(["git", "init", "-q", "-b", "feature/add-caching", str(gza.work)], check=True)
    number = gza.waiting()
    shown = gza("show", number).stdout
    lines = shown.splitlines()
    assert lines[:3] == [
        f"Task #{number}: add-caching",
        "Status: waiting_input",
        "Branch: feature/add-caching",
    ]
    assert re.fullmatch(r"Started: \d+s ago", lines[3])
    assert lines[4:7] == ["Turns: 3", "Cost: $0.45", ""]
    assert re.fullmatch(r"PENDING QUESTION \(asked \d+s ago\):", lines[7])
    asked = shown[shown.index("PENDING QUESTION (asked ") :]
    parts = [QUESTION, "  Context:", "  Suggested options:", "    1. Redis (recommended)", "    3. Other"]
    assert all(part in asked for part in parts)
    assert lines[-1] == f'  Answer with: upcall answer {number} "your response"'


def test_a_branch_is_read_where_there_is_one(tmp_path: Path) -> None:
    repository, tree = tmp_path / "repository", tmp_path / "tree"
    for command in (
        ["init", "-q", "-b", "main", str(repository)],
        [
            "-C",
            str(repository),
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.example",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ],
        ["-C", str(repository), "worktree", "add", "-q", "-b", "other", str(tree)],
    ):
        subprocess.run(["git", *command], check=True, capture_output=True)
    (tree / "inside").mkdir()
    assert [branch_of(str(each)) for each in (repository, tree / "inside", tmp_path)] == ["main", "other", ""]


@pytest.mark.promise("gza/24", "gza/38", "gza/39")
def test_what_is_no_answer_or_comes_too_late_is_an_error(gza: Gza) -> None:
    """Task already completed/failed: `gza answer` should error clearly. Empty string: reject with error message."""
    number = gza.waiting()
    empty = gza("answer", number, "  ")
    assert empty.returncode == 1
    assert "empty" in empty.stderr
    assert gza.until(number, "waiting_input")["pending_question"]
    assert gza("answer", number, "Redis").returncode == 0
    gza.until(number, "completed", starts=2)
    late = gza("answer", number, "Memcached")
    assert late.returncode == 1
    assert f"run {number} has no open question; it completed" in late.stderr


@pytest.mark.promise("gza/28")
async def test_a_bell_rings_in_a_terminal_and_nowhere_else() -> None:
    """Terminal bell: `print("\\a")` when question detected."""
    for tty, heard in ((True, "\a"), (False, "")):
        stream = Stream(tty=tty)
        notice = Notice(title="gza", text="", question="", ref="a7", agent="claude", run=42)
        await bell(stream)(notice)
        assert stream.getvalue() == heard


@pytest.mark.promise("gza/29", "gza/30", "gza/31")
def test_a_notification_and_a_post_say_which_task_needs_input(gza: Gza, hook: Hook) -> None:
    """`osascript -e 'display notification "Task #42 needs input" with title "gza"'`; POST to a configured URL."""
    number = gza.waiting()
    posted = hook.posted.get(timeout=30)
    while posted["run"] != int(number):
        posted = hook.posted.get(timeout=30)
    assert posted["text"] == posted["content"] == f"Task #{number} needs input: {QUESTION}"
    wanted = [
        "display notification (item 1 of argv) with title (item 2 of argv)",
        f"Task #{number} needs input",
        "gza",
    ]
    until(
        gza.notified,
        lambda: next(
            (True for file in gza.notified.iterdir() if set(wanted) <= set(file.read_text().splitlines())),
            None,
        ),
    )


@pytest.mark.promise("gza/32")
def test_a_task_waits_for_a_day_unless_told_otherwise(preset: Config, tmp_path: Path) -> None:
    """Default timeout: 24 hours (configurable)."""
    assert preset.ttl == Policy().ttl == 24 * 3600
    assert load(Home(tmp_path), {"UPCALL_PRESET": "gza", "UPCALL_TTL": "1h"}).ttl == 3600


@pytest.mark.promise("gza/33", "gza/34")
def test_without_an_answer_the_task_fails_and_can_be_answered_by_force(gza: Gza) -> None:
    """After timeout, mark task as `failed` with reason `input_timeout`. `gza answer --force 42 "response"`."""
    number = gza.task("short")
    state = gza.until(number, "failed")
    assert (state["reason"], state["pending_question"]) == ("input_timeout", None)
    refused = gza("answer", number, "Redis")
    assert refused.returncode == 1
    assert "--force" in refused.stderr
    forced = gza("answer", "--force", number, "Redis")
    assert forced.returncode == 0, forced.stderr
    gza.until(number, "completed", starts=2)
    assert f"Question: {QUESTION}\nAnswer: Redis" in gza.calls()[-1]["stdin"]


@pytest.mark.promise("gza/37")
def test_a_bad_marker_is_a_warning_and_asks_nothing(gza: Gza) -> None:
    """Invalid JSON in marker: Log a warning, treat as no question asked."""
    bad = gza.task("bad-marker")
    gza.until(bad, "completed")
    assert "GZA_QUESTION: not JSON" in gza("log", bad).stdout


@pytest.mark.promise("gza/35", "gza/43")
def test_a_program_that_does_not_stop_has_asked_all_the_same(gza: Gza) -> None:
    """What if Claude doesn't stop after asking? […] the question is stored, user can still answer and resume."""
    number = gza.waiting("goes-on")
    assert gza.until(number, "waiting_input")["pending_question"]["question"] == "First?"
    assert gza("answer", number, "yes").returncode == 0
    gza.until(number, "completed", starts=2)
    assert "Question: First?\nAnswer: yes" in gza.calls()[-1]["stdin"]


@pytest.mark.promise("gza/42")
def test_with_wait_the_answer_follows_the_task_to_its_end(gza: Gza) -> None:
    """Probably should match original `gza run` behavior (background by default, `--wait` to block)."""
    number = gza.waiting()
    done = gza("answer", number, "Redis", "--wait")
    assert (done.returncode, done.stdout) == (0, f"Resuming task #{number} with your answer...\ndone\n")
    assert "Now I know: Answer: Redis" in done.stderr
    assert gza.json("show", number)["state"] == "completed"
