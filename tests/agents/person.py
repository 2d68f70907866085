"""Who answers the agents: a person with the command line, who sees each question as soon as it is asked."""

import os
import subprocess
import sys
from typing import Protocol, Self

from tests.agents.dialect import Json
from upcall.cli.client import Client, inquiry_path
from upcall.home.files import Home
from upcall.home.instance import stop_running
from upcall.home.launch import ensure_running


class Asker(Protocol):
    """The processes that may still ask something."""

    @property
    def ended(self) -> bool:
        """Whether it never will again."""
        ...

    def report(self) -> str:
        """What it said."""
        ...


class Person:
    """The owner of a home, in which a daemon runs as long as the person is there."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.client = Client(home=home)
        self._after = 0

    def __enter__(self) -> Self:
        ensure_running(self.home)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.hang_up()
        stop_running(self.home)

    def next_question(self, *working: Asker) -> Json:
        """The question that is asked next; fails if all those who could ask it have ended."""
        return self.show(self._next("asked", *working))

    def ask_back(self, name: str, words: str) -> None:
        """Ask the asker something, and leave its question open."""
        assert self.client.post(inquiry_path(name, "ask-back"), {"text": words})["accepted"]

    def next_reply(self, name: str, *working: Asker) -> list[Json]:
        """What was asked back about a question, once its asker has said something to it."""
        self._next("replied", *working)
        asked_back: list[Json] = self.show(name)["asked_back"]
        return asked_back

    def _next(self, kind: str, *working: Asker) -> str:
        """The inquiry of the next event of this kind."""
        while True:
            over = all(work.ended for work in working)
            news = self.client.get("/v1/events", patience=30, after=self._after, wait=0 if over else 1)
            for event in news["items"]:
                self._after = event["seq"]
                if event["type"] == kind:
                    return str(event["inquiry"])
            assert not over, "\n".join(work.report() for work in working)

    def show(self, name: str) -> Json:
        """An inquiry as it is now."""
        inquiry: Json = self.client.get(inquiry_path(name))
        return inquiry

    def ended(self, name: str) -> Json:
        """How an inquiry ended, as soon as it has."""
        inquiry: Json = self.client.get(inquiry_path(name, "wait"), patience=60, timeout=60)
        assert inquiry["state"] != "open"
        return inquiry

    def collected(self, name: str) -> Json:
        """An inquiry, as soon as there is evidence that its agent has the answer."""
        after = 0
        while (inquiry := self.show(name))["answer"]["collected_at"] is None:
            news = self.client.get("/v1/events", patience=60, after=after, wait=30)
            assert news["items"], f"nothing shows that the answer to {name} has arrived"
            after = news["next_after"]
        return inquiry

    def answer(self, name: str, *values: str) -> None:
        """Answer on the command line."""
        done = subprocess.run(
            [sys.executable, "-m", "upcall", "answer", name, *values],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "UPCALL_HOME": str(self.home.path)},
            timeout=60,
        )
        assert done.returncode == 0, done.stderr

    def answer_at_once(self, name: str, words: str) -> None:
        """Answer without the time that the start of a command takes."""
        assert self.client.post(inquiry_path(name, "answer"), {"text": words})["accepted"]

    def let_pass(self, seconds: int) -> None:
        """Wait for so long for something that does not happen."""
        news = self.client.get("/v1/events", patience=30, after=self._after, wait=seconds)
        assert not [event for event in news["items"] if event["type"] == "asked"]

    def leave(self) -> None:
        """Close the connection to the daemon."""
        self.client.hang_up()
