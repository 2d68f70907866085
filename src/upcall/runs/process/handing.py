"""The desk of a program that is talked to, which takes note of what went back to it."""

from collections.abc import Callable, Mapping

from upcall.domain.answer.outcome import PARKED, Outcome
from upcall.domain.run.program import Action, Verdict
from upcall.ports.agent import Desk


class HandingDesk:
    """Another desk; `handed` hears of each inquiry whose end the program is told.

    That is not evidence that it has it, but whatever it says next is.
    """

    def __init__(self, desk: Desk, handed: Callable[[str], None]) -> None:
        self._desk = desk
        self._handed = handed

    async def ask(self, fields: Mapping[str, object], key: str, *, wait: float | None = None) -> Outcome:
        """See `Desk.ask`."""
        outcome = await self._desk.ask(fields, key, wait=wait)
        if outcome.id and outcome.status != PARKED:
            self._handed(outcome.id)
        return outcome

    async def approve(self, action: Action, key: str, *, wait: float | None = None) -> Verdict:
        """See `Desk.approve`."""
        verdict = await self._desk.approve(action, key, wait=wait)
        if verdict.inquiry and not verdict.open:
            self._handed(verdict.inquiry)
        return verdict
