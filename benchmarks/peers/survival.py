"""What is left after `kill -9`, found out by doing it: of the agent with everything that it has started, and of the server."""

import time
from dataclasses import dataclass

from benchmarks.peers.stage import LOOK, Stage

QUESTION, ANOTHER = "first", "second"
SETTLING = 3.0
"""Seconds after which a second question would have been seen."""

PATIENCE = 20.0
"""Seconds that an answer may take; the slowest candidate asks its database once a second."""

TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Survival:
    """What was seen. `server` is None for a candidate without a server of its own."""

    kept: bool
    """A person still sees the question after the agent was killed."""

    asked_again: bool
    """A person sees the question once more when the agent is started again and asks the same."""

    reached: bool
    """An answer that was given while no agent ran reaches the agent that is started again."""

    server: bool | None
    """A server that is killed and started again leaves the agent that waits as it was: the agent gets its answer."""


def survival(stage: Stage) -> Survival:
    """Kill agents and server of a candidate that has just been started."""
    stage.start(1)
    handle = _asked(stage, QUESTION)
    _until_open(stage)
    stage.agents.kill()
    kept = _open(stage)
    stage.another_crew()
    stage.agents.tell(do="ask", key=QUESTION)
    time.sleep(SETTLING)
    asked_again = _open(stage) > kept
    stage.agents.kill()
    answered = stage.person.order(do="answer", handle=handle, patience=SETTLING)["answered"]
    stage.another_crew()
    stage.agents.tell(do="ask", key=QUESTION)
    return Survival(
        kept=bool(kept),
        asked_again=asked_again,
        reached=answered and _heard(stage),
        server=_server(stage) if stage.server.killable else None,
    )


def _server(stage: Stage) -> bool:
    handle = _asked(stage, ANOTHER)
    _until_open(stage)
    stage.server.kill()
    stage.server.start()
    for _ in range(TRIES):
        # A connection from before is noticed to be gone when it is used.
        if stage.person.order(do="answer", handle=handle, patience=SETTLING)["answered"]:
            break
    return _heard(stage)


def _asked(stage: Stage, key: str) -> str:
    words = stage.agents.order(do="ask", key=key)
    handle: str = words["asked"]
    return handle


def _heard(stage: Stage) -> bool:
    """Whether the agent gets an answer; that its question is shown is said before."""
    end = time.monotonic() + PATIENCE
    while (left := end - time.monotonic()) > 0:
        try:
            words = stage.agents.said(left)
        except TimeoutError:
            return False
        if "asked" not in words:
            return "heard" in words
    return False


def _open(stage: Stage) -> int:
    found: int = stage.person.order(do="open")["open"]
    return found


def _until_open(stage: Stage) -> None:
    end = time.monotonic() + PATIENCE
    while not _open(stage):
        if time.monotonic() > end:
            raise TimeoutError(f"{stage.candidate.name}: the question was not seen")
        time.sleep(LOOK)
