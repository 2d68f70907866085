"""Real processes in a scratch home: a daemon, agents behind pipes, and a person with the command line's client."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from upcall.cli.client import Client, inquiry_path
from upcall.home.files import Home, Running
from upcall.home.instance import stop_running
from upcall.home.launch import ensure_running
from upcall.testing.agent import StdioAgent

Json = dict[str, Any]
CACHE: Json = {"question": "Which cache?", "options": ["Redis", "Memcached"]}


class Scene:
    """The home, the agents and the person of one story."""

    def __init__(self, home: Home, threads: ThreadPoolExecutor) -> None:
        self.home = home
        self.person = Client(home=home)
        self._threads = threads
        self._agents: list[StdioAgent] = []
        self._after = 0

    def daemon(self) -> Running:
        """The daemon, started if need be."""
        return ensure_running(self.home)

    def kill_daemon(self) -> None:
        """End the daemon the hard way and wait until it is gone."""
        running = self.home.running()
        assert running is not None
        os.kill(running.pid, signal.SIGKILL)
        stop_running(self.home)

    def agent(self) -> StdioAgent:
        """An agent behind a pipe of its own."""
        agent = StdioAgent(environment={"UPCALL_HOME": str(self.home.path)})
        self._agents.append(agent)
        return agent

    def asks(self, agent: StdioAgent, arguments: Json | None = None) -> tuple[Future[Json], Json]:
        """Let the agent ask; returns its blocked call and the question once it is there."""
        call = self._threads.submit(agent.call, "ask_human", arguments or CACHE)
        return call, self.next_question()

    def next_question(self) -> Json:
        """The question that is asked next, whenever that is."""
        while True:
            for event in self.person.get("/v1/events", patience=30, after=self._after, wait=30)["items"]:
                self._after = event["seq"]
                if event["type"] == "asked":
                    return self.show(event["inquiry"])

    def show(self, name: str) -> Json:
        """An inquiry as it is now."""
        inquiry: Json = self.person.get(inquiry_path(name))
        return inquiry

    def answer(self, name: str, text: str) -> Json:
        """Answer as the owner of the home."""
        settled: Json = self.person.post(inquiry_path(name, "answer"), {"text": text})
        return settled

    def times_asked(self) -> int:
        """How many questions were ever asked here."""
        asked, after = 0, 0
        while events := self.person.get("/v1/events", after=after, limit=1000)["items"]:
            asked += sum(event["type"] == "asked" for event in events)
            after = events[-1]["seq"]
        return asked

    def end(self) -> None:
        """End the agents, and close the connection of the person."""
        self.person.hang_up()
        for agent in self._agents:
            agent.close()


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A home with a daemon that is up."""
    for name in ("UPCALL_URL", "UPCALL_TOKEN", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)
    home = Home(tmp_path / "home")
    monkeypatch.setenv("UPCALL_HOME", str(home.path))
    with ThreadPoolExecutor(8) as threads:
        played = Scene(home, threads)
        played.daemon()
        try:
            yield played
        finally:
            played.end()
            stop_running(home)
