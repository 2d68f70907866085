"""Sessions that somebody else has started, made into runs of ours so that a late answer can bring them back."""

import asyncio
import secrets
from collections.abc import Callable

from upcall.access import digest
from upcall.domain.inquiry import Inquiry
from upcall.domain.program import Permission
from upcall.domain.records import Effects, Record
from upcall.domain.run import Run, RunState
from upcall.holding import session_name
from upcall.ports import Ledger
from upcall.runs.book import Book
from upcall.runs.premises import Premises

SESSION = "session"
STRANGER = "upcall"
"""Who is said to have started such a run."""


class Adopting:
    """Remembers which run a session has become."""

    def __init__(self, ledger: Ledger, book: Book, premises: Premises, clock: Callable[[], float]) -> None:
        self._ledger = ledger
        self._book = book
        self._premises = premises
        self._clock = clock

    async def adopt(self, inquiry: Inquiry) -> Run:
        """The run of the session that asked this. It gets the lowest permission: nobody knows which one it had."""
        origin = inquiry.origin
        name = session_name(origin.program, origin.session)
        known = await self._ledger.look_up(SESSION, name)
        if known is not None:
            return await self._book.get(int(str(known.body["run"])))
        secret = f"upcall_run_{secrets.token_urlsafe(32)}"

        def make(number: int) -> Run:
            return Run(
                number=number,
                agent=origin.program,
                task=f"Go on with session {origin.session}",
                cwd=origin.workspace or str(self._premises.home.path),
                by=STRANGER,
                runner=self._premises.runner,
                created_at=self._clock(),
                permission=Permission.APPROVAL,
                token=digest(secret),
                session=origin.session,
                state=RunState.WAITING,
            )

        run = await self._book.enter(make)
        await asyncio.to_thread(self._premises.furnish, run, secret, None)
        kept = Record(kind=SESSION, key=name, at=self._clock(), body={"run": run.number})
        await self._ledger.revise(SESSION, name, lambda _: Effects(records=(kept,)))
        return run
