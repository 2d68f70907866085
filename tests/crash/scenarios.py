"""Scenarios from a seed: a question is asked, shown, answered and collected, and things break in between."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from threading import Thread

from typing_extensions import override

from tests.crash.faults import Fault, begin, chosen, possible
from tests.crash.installation import Installation
from tests.crash.log import PATIENCE, Json, StuckError

CHOICES = ("Red", "Blue", "Green")
PIPE_POINTS = ("ask", "show", "answer", "collect")
RUN_POINTS = ("run", "ask", "show", "answer", "resume")
ENDED = {"completed", "failed", "cancelled"}


class BrokenError(Exception):
    """A promise was broken."""


@dataclass(slots=True, kw_only=True)
class Played:
    """A scenario and what came of it. Its name is the question, and the session of its run."""

    name: str
    by_run: bool
    faults: dict[str, Fault]
    inquiry: str = ""
    acknowledged: str = ""
    """The answer that a person was told counts."""
    running: list[Thread] = field(default_factory=list[Thread])
    """The faults that have begun."""

    @property
    def is_killed(self) -> bool:
        """Whether its agent was killed: it may be told once more."""
        return any(fault.name == "kill agent" for fault in self.faults.values())

    @override
    def __str__(self) -> str:
        faults = ", ".join(f"{fault.name} at {point}" for point, fault in self.faults.items())
        return f"{self.name} ({'run' if self.by_run else 'pipe'}; {faults or 'no fault'})"


def planned(there: Installation, name: str, seed: str, slot: int) -> tuple[Played, Random]:
    """A scenario, and the chances that are left for it."""
    chance = Random(seed)
    by_run = chance.random() < 0.4
    faults = {
        point: chosen(there, chance, slot, name, possible(there))
        for point in (RUN_POINTS if by_run else PIPE_POINTS)
        if chance.random() < 0.4
    }
    return Played(name=name, by_run=by_run, faults=faults), chance


def play(there: Installation, played: Played, slot: int, chance: Random) -> None:
    """Play a scenario.

    Raises:
        BrokenError: if a promise was broken.
        StuckError: if something never happened.
    """
    try:
        if played.by_run:
            _by_run(there, played, chance)
        else:
            with ThreadPoolExecutor(1) as thread:
                try:
                    _by_pipe(there, played, slot, chance, thread)
                except Exception:
                    # Its call may wait for an answer that no person gives any more.
                    there.forget_agent(slot)
                    raise
    finally:
        _rest(played)


def _at(there: Installation, played: Played, point: str) -> None:
    if point in played.faults:
        played.running.append(begin(there, played.faults[point]))


def _rest(played: Played) -> None:
    """Wait until every fault is over."""
    for thread in played.running:
        thread.join()


def _by_pipe(
    there: Installation, played: Played, slot: int, chance: Random, thread: ThreadPoolExecutor
) -> None:
    _at(there, played, "ask")
    call = _ask(there, played.name, slot, thread)
    deadline = time.monotonic() + PATIENCE
    while not _asked(there, played, call.done):
        # Its pipe was killed, or told it that nothing could be asked: it tries again.
        got = _result(call)
        if time.monotonic() > deadline:
            raise StuckError(f"{played} cannot be asked: {got}")
        if got is None:
            there.forget_agent(slot)
        call = _ask(there, played.name, slot, thread)
    _answered(there, played, chance)
    _at(there, played, "collect")
    got = _result(call)
    _rest(played)
    while not _has_answer(there, slot, got):
        if time.monotonic() > deadline + PATIENCE:
            raise StuckError(f"{played} has its answer, and its agent is told {got}")
        got = _result(thread.submit(_wait_again, there, slot, played.inquiry))
    assert got is not None
    values = got["structuredContent"]["answers"]
    if values != [[played.acknowledged]]:
        raise BrokenError(f"the agent of {played} has {values}, and {played.acknowledged} was given")
    there.handed[slot] = played.inquiry


def _ask(there: Installation, name: str, slot: int, thread: ThreadPoolExecutor) -> Future[Json]:
    def call() -> Json:
        return there.agent(slot).call("ask_human", {"question": name, "options": list(CHOICES)})

    return thread.submit(call)


def _wait_again(there: Installation, slot: int, inquiry: str) -> Json:
    return there.agent(slot).call("wait_for_answer", {"id": inquiry})


def _has_answer(there: Installation, slot: int, got: Json | None) -> bool:
    """Whether an agent was told an answer, and lives to go on with it: one that was killed begins anew."""
    try:
        # What comes after a result on the same connection is the evidence for it.
        there.agent(slot).tools()
    except (ConnectionError, BrokenPipeError):
        got = None
    if got is None:
        there.forget_agent(slot)
    return got is not None and "answers" in got.get("structuredContent", {})


def _by_run(there: Installation, played: Played, chance: Random) -> None:
    name = played.name
    order = {"agent": "scripted", "task": name, "cwd": str(there.folder), "request_key": name}
    _at(there, played, "run")
    there.request("POST", "/v1/runs", order, at=chance.choice(there.homes))
    _at(there, played, "ask")
    if not _asked(there, played, _seldom(lambda: bool(_ended(there, name)))):
        (run,) = _ended(there, name)
        # On a full disk a run does not start, and says so.
        if not played.is_killed and run["reason"] != "cannot_start":
            raise BrokenError(f"the run of {played} never asked: {run}")
        return
    _answered(there, played, chance)
    _at(there, played, "resume")
    over = _seldom(lambda: bool(_ended(there, name)))
    there.log.until(lambda: bool(told(there, played)), f"the run of {played} was never told its answer", over)
    said = told(there, played)
    if said and played.acknowledged not in said[0]:
        raise BrokenError(f"the run of {played} was told {said}, and {played.acknowledged} was given")


def told(there: Installation, played: Played) -> list[str]:
    """What the agent of a run was told, each time that it was resumed."""
    path = there.folder / f"{played.name}.told"
    return path.read_text().splitlines() if path.exists() else []


def _answered(there: Installation, played: Played, chance: Random) -> None:
    _at(there, played, "show")
    if chance.random() < 0.5:
        # The other half of the people are faster than the channel.
        there.log.until(
            lambda: there.log.has(played.inquiry, "notified") or played.inquiry in there.receiver.shown,
            f"{played} was never shown",
        )
    _at(there, played, "answer")
    choice = chance.choice(CHOICES)
    settled = there.answer(played.inquiry, choice, played.name)
    if not settled["accepted"]:
        raise BrokenError(f"the only answer to {played} does not count: {settled['inquiry']}")
    played.acknowledged = choice


def _asked(there: Installation, played: Played, hopeless: Callable[[], bool]) -> bool:
    """Whether the question is asked; if not, its agent has ended, or was told that it cannot be."""
    if not there.log.until(
        lambda: there.log.inquiry_of(played.name) is not None, f"{played} was never asked", hopeless
    ):
        for inquiry in there.request("GET", "/v1/inquiries?limit=100")["items"]:
            if inquiry["questions"][0]["question"] == played.name:
                played.inquiry = inquiry["id"]
        return bool(played.inquiry)
    played.inquiry = there.log.inquiry_of(played.name) or ""
    return True


def _ended(there: Installation, name: str) -> list[Json]:
    """The run of a name, if it is over."""
    runs = there.request("GET", "/v1/runs?limit=100")["items"]
    return [run for run in runs if run["task"] == name and run["state"] in ENDED]


def _seldom(look: Callable[[], bool]) -> Callable[[], bool]:
    """Look only now and then, because it costs a request."""
    next_look = time.monotonic() + 1.0

    def looked() -> bool:
        nonlocal next_look
        if time.monotonic() < next_look:
            return False
        next_look = time.monotonic() + 2.0
        return look()

    return looked


def _result(call: Future[Json]) -> Json | None:
    """What an agent was told; None if its pipe was killed."""
    try:
        return call.result(PATIENCE)
    except (ConnectionError, BrokenPipeError):
        return None
    except TimeoutError as error:
        raise StuckError("an agent waits for ever") from error
