"""`state.json` in a run's folder: how the run stands, for programs that look at files rather than at an API."""

import asyncio
from datetime import UTC, datetime

from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.run.run import Run
from upcall.runs.book import Book
from upcall.runs.deliveries import Deliveries
from upcall.runs.process.preparing import Premises


class StateFiles:
    """Keeps the files of one machine's runs up to date."""

    def __init__(self, premises: Premises, book: Book, deliveries: Deliveries) -> None:
        self._premises = premises
        self._book = book
        self._deliveries = deliveries
        self._written: dict[int, dict[str, object]] = {}

    async def refresh(self, number: int) -> None:
        """Write how a run stands, if that is news and the run is ours."""
        run = await self._book.get(number)
        if run.runner != self._premises.runner:
            return
        state = _state(run, await self._deliveries.open(run))
        if self._written.get(number) == state:
            return
        await asyncio.to_thread(self._premises.folder(number).write_state, state)
        self._written[number] = state
        if run.is_over:
            del self._written[number]


def _state(run: Run, asked: list[Inquiry]) -> dict[str, object]:
    return {
        "status": run.state.value,
        "session_id": run.session,
        "reason": run.reason,
        "pending_question": _question(asked[0]) if asked else None,
    }


def _question(inquiry: Inquiry) -> dict[str, object]:
    first = inquiry.questions[0]
    asked_at = datetime.fromtimestamp(inquiry.asked_at, UTC).isoformat(timespec="seconds")
    return {
        "id": inquiry.id,
        "question": "\n".join(question.text for question in inquiry.questions),
        "context": inquiry.context,
        "options": list(first.labels),
        "asked_at": asked_at.replace("+00:00", "Z"),
    }
