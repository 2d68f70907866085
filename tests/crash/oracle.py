"""The oracle: holds the log of an installation against what its people, agents and channel have seen, promise by promise."""

from collections import Counter
from collections.abc import Sequence

from tests.crash.installation import Installation
from tests.crash.log import Json
from tests.crash.scenarios import BrokenError, Played, told

BEGINNING = ""
STEPS: dict[tuple[str, str], str] = {
    (BEGINNING, "asked"): "open",
    ("open", "answered"): "answered",
    ("answered", "collected"): "collected",
}
"""The only ways from one state to another that these scenarios leave open: no person rejects, and no asker withdraws."""

REMARKS = frozenset({"shown", "undelivered", "activity", "block_ended", "forwarded", "released"})
"""What may be said of an inquiry at any time after it was asked."""


def check(there: Installation, scenarios: Sequence[Played], *, disturbed: bool = True) -> None:
    """Wait until every answer has arrived and every message is up to date, then read the log.

    Raises:
        BrokenError: if a promise was broken.
        StuckError: if an answer never arrives.
    """
    answered = [played for played in scenarios if played.acknowledged]
    for played in answered:
        _await_arrival(there, played)
    events = there.log.read()
    _check_followed(list(there.log.events), events)
    walked = {name: walk(name, steps) for name, steps in by_inquiry(events).items()}
    for played in answered:
        if walked[played.inquiry] != "collected":
            raise BrokenError(f"{played} is {walked[played.inquiry]}")
        _check_answer(there, played, events)
        _check_shown(there, played, events, disturbed=disturbed)
    asked = Counter(there.log.names.values())
    if any(count > 1 for count in asked.values()):
        raise BrokenError(f"asked twice: {asked.most_common(3)}")


def _await_arrival(there: Installation, played: Played) -> None:
    there.log.until(lambda: there.log.has(played.inquiry, "collected"), f"{played} was never collected")
    there.log.until(
        lambda: there.receiver.states.get(played.inquiry, "answered") == "answered",
        f"the message of {played} still asks",
    )


def by_inquiry(events: Sequence[Json]) -> dict[str, list[str]]:
    """What happened to each inquiry, in its order."""
    steps: dict[str, list[str]] = {}
    for event in events:
        if event["inquiry"] is not None:
            steps.setdefault(event["inquiry"], []).append(event["type"])
    return steps


def walk(name: str, steps: Sequence[str]) -> str:
    """The state that an inquiry has reached.

    Raises:
        BrokenError: if a step does not lead from one state to another.
    """
    state = BEGINNING
    for step in steps:
        if state == BEGINNING or step not in REMARKS:
            following = STEPS.get((state, step))
            if following is None:
                raise BrokenError(f"{name} went through {list(steps)}")
            state = following
    return state


def _check_followed(followed: Sequence[Json], events: Sequence[Json]) -> None:
    """Who follows the log from daemon to daemon sees what is in it, each event once, in its order."""
    common = min(len(followed), len(events))
    seen, kept = [[event["seq"] for event in log[:common]] for log in (followed, events)]
    if seen != kept:
        wrong = sorted(set(seen) ^ set(kept)) or "another order"
        raise BrokenError(f"who follows the log sees something else than who reads it: {wrong}")


def _check_answer(there: Installation, played: Played, events: Sequence[Json]) -> None:
    (answered,) = [
        event for event in events if (event["inquiry"], event["type"]) == (played.inquiry, "answered")
    ]
    if answered["data"]["answers"] != [[played.acknowledged]]:
        raise BrokenError(f"{played} has {answered['data']}, and {played.acknowledged} was given")
    times = len(told(there, played))
    if times > 1 + played.is_killed:
        raise BrokenError(f"the run of {played} was told its answer {times} times")


def _check_shown(there: Installation, played: Played, events: Sequence[Json], *, disturbed: bool) -> None:
    """A receiver takes a message that comes again under its name for the same; without a fault none comes again."""
    shown = there.receiver.shown.get(played.inquiry, [])
    if len(set(shown)) > 1 or (len(shown) > 1 and not disturbed):
        raise BrokenError(f"{played} was shown as {shown}")
    said = [event for event in events if (event["inquiry"], event["type"]) == (played.inquiry, "shown")]
    if len(said) > 1 or (said and not shown):
        raise BrokenError(f"{played} is said to be shown {len(said)} times, and was {len(shown)} times")
