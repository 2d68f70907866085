"""Explores every state that a model can reach, and tells how it came to one that breaks a rule. It knows no model."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Generic[S]):
    """One thing that can happen next. What is `certain` happens sooner or later if nothing else does; a crash need not."""

    name: str
    after: S
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A rule that does not hold, and the names of the steps that lead there: no shorter way does."""

    rule: str
    trace: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """How many states and steps there are, and what was found broken first."""

    states: int
    steps: int
    broken: Broken | None


def explore(
    start: S,
    steps: Callable[[S], Iterable[Step[S]]],
    *,
    always: Callable[[S], Iterator[str]],
    in_the_end: Callable[[S], Iterator[str]],
) -> Explored:
    """Go through all states, the nearest first. `always` and `in_the_end` tell the rules that a state breaks.

    A state is an end where nothing is certain to happen any more.
    """
    came_from: dict[S, tuple[S, str] | None] = {start: None}
    waiting, taken = deque([start]), 0
    while waiting:
        state = waiting.popleft()
        following = list(steps(state))
        is_end = not any(step.certain for step in following)
        for rule in [*always(state), *(in_the_end(state) if is_end else ())]:
            return Explored(
                states=len(came_from), steps=taken, broken=Broken(rule=rule, trace=_way(came_from, state))
            )
        for step in following:
            taken += 1
            if step.after not in came_from:
                came_from[step.after] = (state, step.name)
                waiting.append(step.after)
    return Explored(states=len(came_from), steps=taken, broken=None)


def _way(came_from: dict[S, tuple[S, str] | None], state: S) -> tuple[str, ...]:
    names: list[str] = []
    while (before := came_from[state]) is not None:
        state, name = before
        names.append(name)
    return tuple(reversed(names))
