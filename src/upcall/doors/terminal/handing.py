"""Answers on their way through hooks: handed over, and not collected before there is evidence that the program has them.

Until then the session counts as connected, so that it is not resumed with an answer that its hook is about to print.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from upcall.access.connected import ConnectedSessions, session_name
from upcall.broker.broker import Broker
from upcall.broker.evidence import record_evidence
from upcall.domain.errors import UnknownInquiry
from upcall.domain.roles import Caller
from upcall.doors.terminal.dialogs import Dialog
from upcall.doors.terminal.reports import Report
from upcall.doors.terminal.screen import is_running

ACKNOWLEDGED, TOOL_USED, SPOKEN_LATER = "acknowledged", "tool used", "later message of the session"
"""Evidence: its hook has seen the program after it had printed the answer, the tool was used, or the session has gone on."""

HEARD_WITHIN = 20.0
"""Seconds in which a hook says what became of an answer. One that does not, and has ended, has died."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """One answer that a hook has. `name` is that of its session among all sessions, `process` its hook where that is on this machine."""

    inquiry: str
    caller: Caller
    dialog: Dialog
    name: str
    process: int
    timer: asyncio.TimerHandle | None = None


class Handing:
    """Those of all hooks at this daemon.

    Kept in memory only: a hook repeats to the next daemon what became of its answer, and a daemon that has just started resumes no session.
    """

    def __init__(self, broker: Broker, held: ConnectedSessions) -> None:
        self._broker = broker
        self._held = held
        self._handed: dict[str, Handed] = {}

    @contextmanager
    def connected(self, report: Report) -> Iterator[None]:
        """Count a session as connected while its hook waits for what was asked."""
        if not report.asked:
            yield
            return
        name = session_name(report.program, report.session)
        self._held.connect(name)
        try:
            yield
        finally:
            self._held.disconnect(name)

    def hand(self, inquiry: str, report: Report, dialog: Dialog, caller: Caller) -> None:
        """An answer is about to be written to a hook."""
        name = session_name(report.program, report.session)
        self._held.connect(name)
        self.let_go(inquiry, caller)
        self._expect(
            Handed(
                inquiry=inquiry,
                caller=caller,
                dialog=dialog,
                name=name,
                process=report.process if report.runner else 0,
            )
        )

    async def acknowledged(self, inquiry: str, caller: Caller) -> None:
        """A hook has seen its program after it had printed the answer."""
        await self.collect(inquiry, caller, ACKNOWLEDGED)
        self.let_go(inquiry, caller)

    def missed(self, inquiry: str, caller: Caller) -> None:
        """A hook had an answer that its program did not take: the answer stays uncollected, and the session can be resumed."""
        if self.let_go(inquiry, caller):
            log.info("the answer to %s was handed to a hook, and its program was gone", inquiry)

    async def proved(self, caller: Caller, evidence: str, is_meant: Callable[[Dialog], bool]) -> None:
        """There is evidence that a program has gone on with these answers."""
        for each in list(self._handed.values()):
            if is_meant(each.dialog):
                await self.collect(each.inquiry, caller, evidence)
                self.let_go(each.inquiry, caller)

    async def collect(self, inquiry: str, caller: Caller, evidence: str) -> None:
        """Record evidence; of an inquiry that is another asker's there is none."""
        with suppress(UnknownInquiry):
            await record_evidence(self._broker, inquiry, caller, evidence)

    def let_go(self, inquiry: str, caller: Caller) -> bool:
        """Forget an answer; False if it was not on its way to that caller."""
        handed = self._handed.get(inquiry)
        if handed is None or (handed.caller.name, handed.caller.run) != (caller.name, caller.run):
            return False
        del self._handed[inquiry]
        if handed.timer is not None:
            handed.timer.cancel()
        self._held.disconnect(handed.name)
        return True

    def _expect(self, handed: Handed) -> None:
        timer = asyncio.get_running_loop().call_later(HEARD_WITHIN, self._not_heard, handed.inquiry)
        self._handed[handed.inquiry] = replace(handed, timer=timer)

    def _not_heard(self, inquiry: str) -> None:
        handed = self._handed[inquiry]
        if is_running(handed.process):
            # Its program may be halted, with its hook: it has the answer as soon as it goes on.
            self._expect(handed)
        else:
            self.missed(inquiry, handed.caller)
