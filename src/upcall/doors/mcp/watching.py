"""What the connection of a call hears while the call waits. Thousands may wait: each keeps as little as it can."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from upcall.domain.inquiry.inquiry import Inquiry


class Watcher(Protocol):
    """Hears of a call, as far as its connection wants to; None for what it does not."""

    @property
    def opened(self) -> Callable[[Inquiry], None] | None:
        """Told which inquiry the call became."""
        ...

    @property
    def progress(self) -> Callable[[int, str], None] | None:
        """Shown a sign of life: a number that grows, and a sentence."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """A watcher made of functions."""

    opened: Callable[[Inquiry], None] | None = None
    progress: Callable[[int, str], None] | None = None


UNWATCHED = Watching()


class SignsOfLife:
    """Shows a watcher that its call waits, for the inquiry of this ref if it has one. The sentence is made anew for each."""

    __slots__ = ("_ref", "_watcher")

    def __init__(self, watcher: Watcher, ref: str | None = None) -> None:
        self._watcher = watcher
        self._ref = ref

    def __call__(self, count: int) -> None:
        """Show one."""
        progress = self._watcher.progress
        if progress is not None:
            waits = "decide" if self._ref is None else f"answer (ref {self._ref})"
            progress(count, f"Waiting for a human to {waits}")
