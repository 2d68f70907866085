"""Walks down a page as its reader does: every command of its examples, in their order, in one shell.

The reader has an empty home, accounts with the vendors of agents (a scripted model stands for those), and on `PATH`
the system's everyday programs, `upcall`, and what the page says they have.
"""

import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.request import Request, urlopen

from tests.agents.programs import PROGRAMS, Desk, need, node_folder
from tests.conftest import require
from tests.docs.fences import Fence
from tests.postgres_server import PostgresServer
from upcall.cli.client import LATEST
from upcall.home.files import Home
from upcall.home.instance import stop_running

EVERYDAY = (
    *(
        "bash",
        "sh",
        "env",
        "cat",
        "chgrp",
        "chmod",
        "cp",
        "curl",
        "cut",
        "date",
        "dirname",
        "echo",
        "git",
        "grep",
    ),
    *(
        "head",
        "id",
        "jq",
        "ls",
        "mkdir",
        "mktemp",
        "mv",
        "printf",
        "rm",
        "sed",
        "seq",
        "sleep",
        "sort",
        "tail",
    ),
    *("tee", "touch", "true", "uname", "wc"),
)
PATIENCE = 120
SITUATIONS = Path(__file__).with_name("situations.sh")

_TIMES = (
    (re.compile(r"\((waiting|asked) [^)]*\)"), "(TIME)"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|min|h)( ago)?\b"), "TIME"),
)


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


class Walk:
    """One shell with an empty home."""

    def __init__(self, folder: Path, model_url: str, postgres: Callable[[], PostgresServer]) -> None:
        self._postgres = postgres
        self._desk = Desk(folder, model_url)
        self._bin = folder / "path"
        self._bin.mkdir()
        for name in EVERYDAY:
            found = shutil.which(name)
            require(found, name)
            (self._bin / name).symlink_to(str(found))
        (self._bin / "upcall").symlink_to(Path(sys.executable).with_name("upcall"))
        self._steps = 0
        # One for the whole walk: a shell ends with its terminal.
        self._keyboard, self._screen = pty.openpty()
        self._folder = folder
        self.home = self._desk.home
        self._data = self.home / ".local/share/upcall"
        environment = self._desk.environment | {"PATH": str(self._bin), "USER": "ana", "LOGNAME": "ana"}
        self._environment = environment
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self._desk.work,
            env=environment,
            start_new_session=True,
        )
        self.run(f"set -o pipefail; . {SITUATIONS}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        with suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.wait()
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.close()
        self._shell.stdout.close()
        os.close(self._keyboard)
        os.close(self._screen)

    def _stop(self) -> None:
        if self._data.is_dir():
            stop_running(Home(self._data))

    def _script(self, name: str, line: str) -> None:
        file = self._bin / name
        file.write_text(f"#!/bin/sh\n{line}\n")
        file.chmod(0o755)

    def have(self, names: str) -> None:
        """Put agents' programs on the path, or those of a PostgreSQL server that runs."""
        if names == "postgres":
            server = self._postgres()
            for file in sorted((server.installed / "bin").iterdir()):
                self._script(file.name, f'exec {file} "$@"')
            self.run(f"export PGHOST={server.folder} PGUSER=postgres")
            return
        if names == "scripted-agent":
            self._scripted_agent()
            return
        if names.startswith("version of "):
            self._versions(names.removeprefix("version of ").split())
            return
        if names == "python3":
            self._script("python3", f'exec {shlex.quote(sys.executable)} "$@"')
            return
        node = node_folder()
        require(node, "Node.js")
        (self._bin / "node").unlink(missing_ok=True)
        (self._bin / "node").symlink_to(Path(str(node)) / "node")
        for program in PROGRAMS:
            if program.name in names.split():
                need(program)
                (self._bin / program.name).unlink(missing_ok=True)
                (self._bin / program.name).symlink_to(program.file)

    def _versions(self, names: list[str]) -> None:
        """Put programs on the path of which the page wants to know the version, and nothing else: some take seconds to say it."""
        for program in PROGRAMS:
            if program.name in names:
                self._script(program.name, f'[ "$*" = --version ] && echo {program.version}')

    def _scripted_agent(self) -> None:
        """Let runs of `claude` and `codex` start a script that asks: it is as fast as a page with many runs needs it."""
        self._script(
            "bot",
            '[ "$1" = --version ] && exit\necho "session: s1"\n'
            'url=http://127.0.0.1:$(cat "$UPCALL_HOME/port")/v1/inquiries auth="Authorization: Bearer $UPCALL_TOKEN"\n'
            'question=\'{"question": "Which cache?", "options": ["Redis", "Memcached"]}\'\n'
            'asked=$(curl -sf "$url" -H "$auth" -d "$question" | jq -r .id)\n'
            'exec curl -sf "$url/$asked/wait?timeout=300" -H "$auth"',
        )
        settings = "".join(
            f'[agents.{name}]\nadapter = "command"\nstart = ["bot"]\nresume = ["echo", "{{message}}"]\n'
            'session_pattern = "session: (\\\\S+)"\n'
            for name in ("claude", "codex")
        )
        self._data.mkdir(parents=True, exist_ok=True)
        (self._data / "upcall.toml").write_text(settings)
        self._stop()

    def run(self, line: str, typed: str = "") -> Done:
        """Run a line in the shell, where its variables stay; with what a person types at a terminal, or without one."""
        device = os.devnull
        if typed:
            # What the command before has left unread is not for this one.
            termios.tcflush(self._screen, termios.TCIFLUSH)
            os.write(self._keyboard, typed.encode())
            device = os.ttyname(self._screen)
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._steps += 1
        file = self._folder / f"step{self._steps}"
        file.write_text(f"{line}\n")
        out, err = file.with_suffix(".out"), file.with_suffix(".err")
        self._shell.stdin.write(f". {file} < {device} > {out} 2> {err}; echo $?\n")
        self._shell.stdin.flush()
        hanging = threading.Timer(PATIENCE, os.killpg, (self._shell.pid, signal.SIGKILL))
        hanging.start()
        code = self._shell.stdout.readline()
        hanging.cancel()
        assert code, f"does not end: {line}\n{out.read_text()}\n{err.read_text()}"
        return Done(int(code), out.read_text("utf-8", "replace"), err.read_text("utf-8", "replace"))

    def down(self, fence: Fence) -> None:
        """Do what a block says.

        Raises:
            AssertionError: if a command does something else than the page says.
        """
        for key, value in fence.remarks:
            if key == "have":
                self.have(value)
            elif key == "before":
                done = self.run(value)
                assert done.code == 0, self._report(fence, value, done)
        if fence.said("file"):
            (name,) = fence.said("file")
            path = self._desk.work / Path(name.replace("~", str(self.home)))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fence.content, "utf-8")
            return
        with self._person(fence.said("answer")):
            self._commands(fence)

    def _commands(self, fence: Fence) -> None:
        exits = [int(code) for value in fence.said("exits") for code in value.split()] or [0]
        stand_ins = fence.stand_ins
        printed = ""
        steps = [(command, shown) for command, shown in fence.steps if _bare(command) not in fence.left_out]
        for number, (command, shown) in enumerate(steps):
            for word, values in stand_ins.items():
                whole = rf"(?<!\w){re.escape(word)}(?!\w)"
                if re.search(whole, command):
                    value = values.pop(0) if len(values) > 1 else values[0]
                    told = self.run(value)
                    assert (told.code, bool(told.out.strip())) == (0, True), self._report(fence, value, told)
                    command = re.sub(whole, told.out.strip(), command)
            last = number == len(steps) - 1
            if last and fence.said("endless"):
                self._endless(fence, command, fence.said("endless")[0])
                continue
            done = self.run(command, "".join(f"{line}\n" for line in fence.said("types")))
            assert done.code == exits[min(number, len(exits) - 1)], self._report(fence, command, done)
            missing = _missing(shown, done.out + done.err)
            assert not missing, f"not printed: {missing!r}\n{self._report(fence, command, done)}"
            printed += done.out + done.err
        for words in fence.said("shows"):
            assert words in printed, f"{fence.place}: {words!r} is not printed:\n{printed}"

    def _endless(self, fence: Fence, command: str, words: str) -> None:
        process = subprocess.Popen(
            ["bash", "-c", f"{self._variables()}\n{command}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self._desk.work,
            env=self._environment,
            start_new_session=True,
        )
        assert process.stdout is not None
        kill = threading.Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
        kill.start()
        printed = ""
        for line in process.stdout:
            printed += line
            if words in line:
                break
        kill.cancel()
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()
        assert words in printed, f"{fence.place}: {command}\n{words!r} is not printed:\n{printed}"

    def _variables(self) -> str:
        """The variables of the page so far, those that are not exported included."""
        return self.run("declare -p URL AGENT PERSON ADMIN TOKEN 2> /dev/null || true").out

    @contextmanager
    def _person(self, words: list[str]) -> Iterator[None]:
        if not words:
            yield
            return
        gone = threading.Event()
        person = threading.Thread(target=self._answering, args=(words, gone), daemon=True)
        person.start()
        try:
            yield
        finally:
            # It is not waited for: it looks for what is asked, and answers nothing any more.
            gone.set()

    def _answering(self, words: list[str], gone: threading.Event) -> None:
        # What is open from before was asked for something else.
        after = self._events(LATEST)[1]
        while not gone.is_set():
            events, after = self._events(after, wait=20)
            for event in events:
                if event["type"] == "asked" and not gone.is_set():
                    answer = words.pop(0) if len(words) > 1 else words[0]
                    self._request(f"/v1/inquiries/{event['inquiry']}/answer", {"text": answer})
            if not events:
                gone.wait(0.05)

    def _events(self, after: int, wait: int = 0) -> tuple[list[dict[str, Any]], int]:
        """What has happened since, and up to which event that is; with `wait`, once there is something."""
        try:
            found = self._request(f"/v1/events?after={after}&wait={wait}")
        except (OSError, HTTPException):
            # No daemon is up yet, or it is being replaced.
            return [], 0 if after == LATEST else after
        return found["items"], found["next_after"]

    def _request(self, path: str, body: object = None) -> Any:
        folder = self._data
        url = json.loads((folder / "run.json").read_text())["url"]
        headers = {
            "Authorization": f"Bearer {(folder / 'owner.token').read_text().strip()}",
            "Content-Type": "application/json",
        }
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(url + path, data, headers), timeout=PATIENCE) as reply:
            return json.loads(reply.read())

    def _report(self, fence: Fence, command: str, done: Done) -> str:
        return f"{fence.place}: {command}\nexits with {done.code}\n{done.out}\n{done.err}"


def _bare(command: str) -> str:
    """A command without the remark behind it."""
    return re.sub(r"\s+# .*$", "", command)


def _missing(shown: list[str], printed: str) -> str:
    """The first line of a page's output that a command has not printed, in its order."""
    lines = iter([_plain(line) for line in printed.splitlines()])
    for line in shown:
        if not any(re.fullmatch(_pattern(line), real) for real in lines):
            return line
    return ""


def _plain(line: str) -> str:
    for pattern, instead in _TIMES:
        line = pattern.sub(instead, line)
    return re.sub(r"\s+", " ", line.strip())


def _pattern(line: str) -> str:
    """What may differ: refs, times, and what the page leaves out (…)."""
    escaped = re.escape(_plain(line)).replace(re.escape("…"), ".*").replace(r"\ ", " ")
    return re.sub(r"\b(a7|k3|m2|42|43)\b", r"[a-z0-9]+", escaped)
