"""The test question: the real program asks one question through its own settings, and a script answers it."""

import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from upcall.cli.client import Client, inquiry_path
from upcall.cli.doctor.checks import FAILED, OK, Check
from upcall.domain.text.display import one_line

PLAINLY: dict[str, tuple[str, ...]] = {
    "claude": ("-p",),
    "codex": ("exec", "--skip-git-repo-check", "-"),
    "opencode": ("run",),
    "gemini": (),
}
"""How each program works on one task without a screen, without anything about Upcall."""

TASK = """\
This is a test of your connection to Upcall; there is nothing else to do. Call the tool ask_human of the MCP server \
upcall exactly once, with this question and without options: "{question}" Then reply with the answer and end."""


class Proof:
    """One test question."""

    def __init__(self, name: str, program: str, client: Client, within: float) -> None:
        self._name = name
        self._program = program
        self._client = client
        self._within = within
        self._sign = secrets.token_hex(4)
        self._word = f"teal-{secrets.token_hex(4)}"

    def find(self) -> Check:
        """Let the program ask, answer it, and check that the answer arrived."""
        after = self._client.latest_event()
        began = time.monotonic()
        with self._working() as (process, output):
            asked = self._asked(process, after, began + self._within)
            if asked is None:
                return self._failed(process, output, "never asked")
            self._client.post(inquiry_path(asked, "answer"), {"text": self._word, "via": "script"})
            over = self._ended(process, began + self._within)
            heard = self._word in _said(output) or self._has_it(asked)
            if not (over and heard):
                return self._failed(process, output, "asked, but did not read the answer")
        took = time.monotonic() - began
        return Check("test question", OK, f"asked, answered, and the answer was read, in {took:.1f} s")

    @contextmanager
    def _working(self) -> Iterator[tuple["subprocess.Popen[bytes]", IO[bytes]]]:
        question = f"Upcall test {self._sign}: which word shall I repeat?"
        with tempfile.TemporaryFile() as task, tempfile.TemporaryFile() as output:
            task.write(TASK.format(question=question).encode())
            task.seek(0)
            process = subprocess.Popen(
                [self._program, *PLAINLY[self._name]],
                stdin=task,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                yield process, output
            finally:
                _end(process)

    def _asked(self, process: "subprocess.Popen[bytes]", after: int, deadline: float) -> str | None:
        """Wait for the test question and return its id; None if the program ended without asking."""
        while True:
            over = process.poll() is not None or time.monotonic() >= deadline
            news = self._client.get("/v1/events", patience=1, after=after, wait=0 if over else 1)
            after = news["next_after"]
            for event in news["items"]:
                if event["type"] == "asked" and self._is_ours(
                    self._client.get(inquiry_path(event["inquiry"]))
                ):
                    return str(event["inquiry"])
            if over:
                return None

    def _is_ours(self, inquiry: dict[str, Any]) -> bool:
        return any(self._sign in question["question"] for question in inquiry["questions"])

    def _has_it(self, name: str) -> bool:
        answer = self._client.get(inquiry_path(name))["answer"]
        return answer is not None and answer["collected_at"] is not None

    def _ended(self, process: "subprocess.Popen[bytes]", deadline: float) -> bool:
        try:
            process.wait(max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            return False
        return True

    def _failed(self, process: "subprocess.Popen[bytes]", output: IO[bytes], what: str) -> Check:
        code = process.poll()
        end = f"it did not end within {self._within:.0f} s" if code is None else f"it ended with {code}"
        last = [line for line in _said(output).splitlines() if line.strip()][-3:]
        said = f", and said last: {one_line(' / '.join(last), 300)}" if last else ", without a word"
        by_hand = " ".join((self._name, *PLAINLY[self._name]))
        return Check(
            "test question",
            FAILED,
            f"{self._name} {what}: {end}{said}",
            f"see whether `{by_hand}` works at all (is it signed in?), then `upcall setup {self._name}`",
        )


def _said(output: IO[bytes]) -> str:
    output.seek(0)
    return output.read().decode("utf-8", "replace")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the program's process group, unless it has ended: its number may then belong to another process."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
