"""`upcall demo`: an agent asks through the real MCP door, a person answers, the agent goes on."""

import select
import shutil
import socket
import sys
import tempfile
import termios
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from upcall.cli.client import Client, inquiry_path
from upcall.cli.command import Command
from upcall.cli.failures import DaemonRefused
from upcall.cli.render.inquiries import given
from upcall.cli.render.terminal import Paint, is_terminal, paint
from upcall.cli.replies import VERDICTS, is_unclear, neither
from upcall.domain.inquiry.inquiry import APPROVE
from upcall.domain.text.display import one_line
from upcall.domain.text.times import moment
from upcall.home.files import Home
from upcall.home.instance import stop_running
from upcall.home.launch import ensure_running
from upcall.home.program import keeping, passing_runner, program
from upcall.setup.clients import CLIENTS
from upcall.testing.agent import StdioAgent, text_of
from upcall.testing.human import ScriptedHuman

LONGEST_LOOK = 30.0
SETTLED_WITHIN = 5.0


class DemoStep(NamedTuple):
    """One question of the agent, and the reply of the scripted human."""

    says: str
    tool: str
    arguments: dict[str, Any]
    reply: str
    restart: bool = False
    refused: str = ""
    """What the agent says instead of `says` after an approval that was denied."""


STEPS = (
    DemoStep(
        "I am adding a cache to the API. Two libraries would do.",
        "ask_human",
        {
            "header": "Cache",
            "question": "Which cache should I use?",
            "options": [
                {"label": "Redis", "description": "pub/sub and persistence", "recommended": True},
                {"label": "Memcached", "description": "simpler, plain key and value"},
            ],
        },
        "1",
    ),
    DemoStep(
        "It works. Before I push, I can run some checks.",
        "ask_human",
        {"question": "Which checks shall I run?", "options": ["lint", "types", "tests"], "multiSelect": True},
        "1, 3",
    ),
    DemoStep(
        "The table needs a new column: that is a migration, so I ask first.",
        "confirm_action",
        {"action": "alembic upgrade head", "reason": "adds users.cache_key to the staging database"},
        "yes",
        restart=True,
    ),
    DemoStep(
        "Done. Only the commit message is missing.",
        "ask_human",
        {"question": "What should the commit message say?"},
        "Cache user look-ups in Redis",
        refused="Then I leave the migration alone. Only the commit message is missing.",
    ),
)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--scripted", action="store_true", help="let a scripted human answer")


def _demo(args: Namespace) -> int:
    scripted = args.scripted or not (is_terminal(sys.stdin) and is_terminal(sys.stdout))
    with tempfile.TemporaryDirectory(prefix="upcall-demo-") as folder:
        home = Home(Path(folder))
        try:
            return Demo(home, paint(), scripted=scripted).run()
        finally:
            stop_running(home)


class Demo:
    """One demonstration in a home of its own."""

    def __init__(self, home: Home, paint: Paint, *, scripted: bool) -> None:
        self._home = home
        self._paint = paint
        self._scripted = scripted
        self._client = Client(home=home)
        self._shown = threading.Event()
        self._after = 0
        self._refused = False

    def run(self) -> int:
        """Show every step, then the results."""
        started = time.monotonic()
        ensure_running(self._home)
        print(self._paint.bold("An agent asks, a person answers, the agent goes on."))
        print("Answer here, or in your browser: the story is the same, and the first answer wins.")
        print(f"  {self._paint.name(self._client.post('/v1/sign-in-links', {})['url'])}")
        print(f"Or in another terminal: UPCALL_HOME={self._home.path} {program()} answer\n")
        with (
            self._human(),
            ThreadPoolExecutor(1) as threads,
            StdioAgent(environment=self._environment()) as agent,
        ):
            ids = [self._show(step, agent, threads) for step in STEPS]
            # A later message of the agent is evidence that it has the answer.
            agent.tools()
            return self._sum_up(ids, time.monotonic() - started)

    def _environment(self) -> dict[str, str]:
        return {"UPCALL_HOME": str(self._home.path), "UPCALL_URL": "", "UPCALL_TOKEN": ""}

    def _show(self, step: DemoStep, agent: StdioAgent, threads: ThreadPoolExecutor) -> str:
        says = (self._refused and step.refused) or step.says
        self._says("agent", says)
        # On the page the words of the agent stand beside its question.
        told = {"details" if step.tool == "confirm_action" else "context": says}
        call: Future[dict[str, Any]] = threads.submit(agent.call, step.tool, told | step.arguments)
        inquiry = self._asked()
        self._notes(f"calls {step.tool} over MCP and blocks")
        print("\n".join(_card(inquiry, self._paint)))
        if step.restart:
            stop_running(self._home)
            ensure_running(self._home)
            self._notes("the daemon was just restarted, and the agent did not notice")
        self._shown.set()
        if not self._scripted:
            _at_the_terminal(self._client, inquiry, call)
        result = call.result()
        woken = time.time()
        self._shown.clear()
        answer = self._client.get(inquiry_path(inquiry["id"]))["answer"]
        self._refused = inquiry["kind"] == "approval" and (answer or {}).get("answers") != [[APPROVE]]
        if answer is not None:
            if self._scripted:
                self._says("human", answer["text"])
            self._notes(f"{(woken - moment(answer['at'])) * 1000:.0f} ms later the agent reads:")
        self._says(
            "agent", f"\N{LEFT DOUBLE QUOTATION MARK}{text_of(result)}\N{RIGHT DOUBLE QUOTATION MARK}\n"
        )
        return str(inquiry["id"])

    def _says(self, who: str, words: str) -> None:
        name = self._paint.name(who) if who == "agent" else self._paint.good(who)
        print(f"{name}  {words}")

    def _notes(self, words: str) -> None:
        print(f"       {self._paint.dim(words)}")

    def _asked(self) -> dict[str, Any]:
        """Wait for the next question."""
        while True:
            news = self._client.get("/v1/events", patience=LONGEST_LOOK, after=self._after, wait=LONGEST_LOOK)
            for event in news["items"]:
                self._after = event["seq"]
                if event["type"] == "asked":
                    inquiry: dict[str, Any] = self._client.get(inquiry_path(event["inquiry"]))
                    return inquiry

    @contextmanager
    def _human(self) -> Iterator[None]:
        if not self._scripted:
            yield
            return
        with ScriptedHuman(self._whereabouts, self._reply):
            yield

    def _reply(self, inquiry: dict[str, Any]) -> str | None:
        self._shown.wait()
        asked = inquiry["questions"][0]["question"]
        return next(step.reply for step in STEPS if asked in step.arguments.values())

    def _whereabouts(self) -> tuple[str, str]:
        running = self._home.running()
        if running is None:
            raise LookupError("the daemon is not up")
        return running.url, self._home.read_secret(self._home.owner_token_file)

    def _sum_up(self, ids: list[str], seconds: float) -> int:
        asked, collected = self._log_of(set(ids))
        print(self._paint.bold("What happened"))
        for name in ids:
            inquiry = self._client.get(inquiry_path(name))
            question = one_line(inquiry["questions"][0]["question"], 36)
            has_it = self._paint.good("the agent has it") if name in collected else "not collected yet"
            print(f"  #{inquiry['ref']:<4} {question:<36}  {one_line(given(inquiry), 30):<30}  {has_it}")
        once = asked == len(ids)
        print(
            f"  Each asked {'once' if once else 'MORE THAN ONCE'}, although the daemon was restarted in the middle;"
        )
        print(f"  {seconds:.1f} s in all.\n")
        for line in next_steps():
            print(line)
        return 0 if once and collected == set(ids) else 1

    def _log_of(self, ids: set[str]) -> tuple[int, set[str]]:
        """How often the agent asked, and which answers it collected: read until all are, or until a timeout."""
        asked, collected, after = 0, set[str](), 0
        while news := self._client.get(
            "/v1/events", patience=SETTLED_WITHIN, after=after, wait=SETTLED_WITHIN
        )["items"]:
            asked += sum(event["type"] == "asked" for event in news)
            collected |= {event["inquiry"] for event in news if event["type"] == "collected"}
            after = news[-1]["seq"]
            if collected >= ids:
                break
        return asked, collected


def next_steps(runner: str = passing_runner()) -> list[str]:
    """What to do after the demo, in commands that work as they are printed."""
    installed = [name for name in CLIENTS if shutil.which(name)]
    first = "connect your own agent" if installed else "see what waits for you"
    deed = f"setup {installed[0]}" if installed else "status"
    if runner:
        # Files of an agent must not name a program in a cache.
        return [f"Next: keep it, and {first}", f"  {keeping(runner)}", f"  upcall {deed}"]
    return [f"Next: {first}", f"  {program()} {deed}"]


def _card(inquiry: dict[str, Any], paint: Paint) -> list[str]:
    question = inquiry["questions"][0]
    lines = [f"  {paint.name('#' + inquiry['ref'])}  {paint.bold(question['question'])}"]
    for number, option in enumerate(question["options"], 1):
        about = f" {paint.dim('— ' + option['description'])}" if option["description"] else ""
        lines.append(f"       {number}. {option['label']}{about}")
    if question["multiSelect"]:
        lines.append(f"       {paint.dim('(any number of them)')}")
    return lines


def _at_the_terminal(client: Client, inquiry: dict[str, Any], call: Future[dict[str, Any]]) -> None:
    """Prompt for an answer until one is accepted, or until the agent's call has returned with another one."""
    woken, wake = socket.socketpair()

    def returned(_: object) -> None:
        # The demo may have ended meanwhile.
        with suppress(OSError):
            wake.send(b".")

    with woken, wake:
        call.add_done_callback(returned)
        # Keys that were typed before the question was on the screen are no answer to it.
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        while not call.done():
            print(f"{paint().good('you')}    ", end="", flush=True)
            ready, _, _ = select.select([sys.stdin, woken], [], [])
            if woken in ready:
                print("(answered elsewhere)")
                return
            line = sys.stdin.readline()
            if not line:
                raise KeyboardInterrupt
            if is_unclear(inquiry, line):
                print(f"       {neither(line)}: say one of {VERDICTS}")
                continue
            try:
                client.post(inquiry_path(inquiry["id"], "answer"), {"text": line, "via": "terminal"})
            except DaemonRefused as refused:
                print(f"       {refused.message}: {refused.hint}")
                continue
            # The agent's call returns now, with this answer or another one.
            woken.recv(1)


COMMAND = Command(
    _demo,
    _arguments,
    "  upcall demo              answer yourself\n  upcall demo --scripted   watch",
)
