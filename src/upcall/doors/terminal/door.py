"""`POST /hooks/terminal`: what the hooks of a session report that a person started; see `hook.py`.

A reply is one of three: report again, with the time since the last key as it is then; a decision or words for the program; or
nothing, which leaves the dialog in the terminal as it is.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from upcall.access.connected import ConnectedSessions
from upcall.access.tokens import Access
from upcall.approvals.away import AwaySwitch
from upcall.approvals.unnamed import UnnamedCalls
from upcall.broker.broker import Broker
from upcall.broker.evidence import drop_resume_job
from upcall.domain.away import seconds_left
from upcall.domain.errors import UnknownInquiry, UpcallError
from upcall.domain.inquiry.inquiry import OWN_TERMINAL, Answered, Cancelled, Inquiry, Rejected
from upcall.domain.inquiry.lifecycle import POLICY
from upcall.domain.roles import Caller
from upcall.domain.run.program import Verdict
from upcall.domain.run.resume import needs_delivery
from upcall.doors.native import QUESTION_TOOL, Call, DeskFor, call_in
from upcall.doors.terminal.asking import (
    AGAIN,
    NOTHING,
    Ask,
    Reply,
    put_action,
    put_next,
    put_question,
    told_after,
)
from upcall.doors.terminal.dialogs import FINISHED, Dialog, Dialogs, name_of
from upcall.doors.terminal.handing import SPOKEN_LATER, TOOL_USED, Handing
from upcall.doors.terminal.programs import BEFORE_DIALOGS, CLAUDE, CODEX, COPILOT, GEMINI, OPENCODE
from upcall.doors.terminal.reports import USED, Report, report_in
from upcall.http.bearer import RequiresToken, caller_of
from upcall.http.body import Json, disconnected, read_body
from upcall.http.errors import MethodNotAllowed, failure
from upcall.ports.agent import Desk, SessionDesk
from upcall.ports.store import Query

PATH = "/hooks/terminal"
DOOR = "terminal"
OURS = ("mcp__upcall__", "upcall_", "upcall-")
"""How Claude Code and Codex, how opencode and how Copilot CLI begin the names of our own tools."""

CLIENTS = {
    CLAUDE: "claude-code",
    CODEX: "codex",
    OPENCODE: "opencode",
    GEMINI: "gemini-cli",
    COPILOT: "copilot",
}
NAMES = {
    CLAUDE: "Claude Code",
    CODEX: "Codex",
    OPENCODE: "opencode",
    GEMINI: "Gemini CLI",
    COPILOT: "Copilot CLI",
}
UNNAMED = (CLAUDE, GEMINI, COPILOT)
"""Programs whose hooks do not tell which call a dialog is about."""

SLICE = 5.0
"""Seconds after which a hook reports again, so that a switch at another daemon is heard."""

PAGE = 200


class TerminalDoor:
    """The door for hooks of sessions that people sit in, and of those that they start without a screen."""

    def __init__(
        self,
        broker: Broker,
        access: Access,
        desk_for: DeskFor,
        switch: AwaySwitch,
        held: ConnectedSessions,
    ) -> None:
        self._broker = broker
        self._access = access
        self._desk_for = desk_for
        self._switch = switch
        self._dialogs = Dialogs()
        self._handing = Handing(broker, held)
        self._unnamed = UnnamedCalls(broker.store)

    def routes(self) -> list[Route]:
        """The one path."""
        return [Route(PATH, RequiresToken(self._access, self._serve))]

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_of(scope)
        if scope["method"] != "POST":
            await failure(MethodNotAllowed(scope["method"], "POST"))(scope, receive, send)
            return
        try:
            report = report_in(await read_body(receive))
            reply = await _first(self._replied(report, caller), disconnected(receive)) or NOTHING
        except UpcallError as problem:
            await failure(problem)(scope, receive, send)
            return
        await Json(reply)(scope, receive, send)
        if (handed := reply.get("handed")) and not reply.get("acknowledge"):
            # An older hook will not say whether its program has it.
            await self._handing.collect(str(handed), caller, "hook")

    async def _replied(self, report: Report, caller: Caller) -> Reply:
        now = self._broker.now()
        session = report.session_of(caller)
        if report.acknowledged:
            await self._handing.acknowledged(report.acknowledged, caller)
        elif report.missed:
            self._handing.missed(report.missed, caller)
        elif report.settled:
            await self._withdraw(report.asked, caller)
        elif report.name in USED:
            given = report.event.get("tool_input")
            used = name_of(session, report.tool, given)
            await self._handing.proved(caller, TOOL_USED, lambda dialog: dialog.name == used)
            self._dialogs.settle(session, now, report.tool, given)
            return await told_after(report.name, report.tool, given, self._desk(report, caller))
        elif report.is_over:
            await self._handing.proved(caller, SPOKEN_LATER, lambda dialog: dialog.session == session)
            self._dialogs.settle(session, now)
            await self._begin_turn(report, caller)
        elif report.is_held:
            dialog = report.dialog(caller)
            with self._dialogs.waiting(dialog, now, again=report.again), self._handing.connected(report):
                return self._handed(await self._of_dialog(report, dialog, caller), report, dialog, caller)
        return NOTHING

    def _handed(self, reply: Reply, report: Report, dialog: Dialog, caller: Caller) -> Reply:
        """The reply, which asks the hook to say whether its program has got the answer in it."""
        inquiry = str(reply.get("handed") or "")
        if not inquiry or not report.acknowledges:
            return reply
        self._handing.hand(inquiry, report, dialog, caller)
        return {**reply, "acknowledge": True}

    async def _of_dialog(self, report: Report, dialog: Dialog, caller: Caller) -> Reply:
        if dialog.settled.is_set() or dialog.tool.startswith(OURS):
            await self._withdraw(report.asked, caller)
            return NOTHING
        before = await self._asked_before(report, caller)
        if before is not None and isinstance(before.state, Cancelled):
            return NOTHING  # the dialog was over while its hook was between two requests
        if report.attended and not report.asked:
            left = seconds_left((await self._switch.read()).mode, report.idle, self._switch.after)
            if left > 0:
                if report.event.get("agent_id") or report.program in BEFORE_DIALOGS:
                    return NOTHING  # the dialog appears only when its hook has ended
                await _first(dialog.settled.wait(), self._switch.wait(min(left, SLICE)))
                return NOTHING if dialog.settled.is_set() else AGAIN
        if dialog.tool == FINISHED:
            ask = partial(put_next, NAMES[report.program], report.event)
            return await self._put(report, dialog, caller, ask)
        if report.program not in UNNAMED:
            call = call_in(report.event, "tool_input", report.workspace)
            return await self._put_call(report, dialog, caller, call)
        # By the key that it has: a dialog that is over from now on is not asked about under the next one.
        key = None if before is None else before.origin.request_key
        async with self._unnamed.named(report.event, caller, key) as unnamed:
            call = call_in({**report.event, "tool_use_id": unnamed.key}, "tool_input", report.workspace)
            reply = await self._put_call(report, dialog, caller, call)
            if not reply.get("again"):
                # Whatever came of it, the same action later is another call.
                await self._unnamed.decided(unnamed, self._broker.now())
            return reply

    async def _put_call(self, report: Report, dialog: Dialog, caller: Caller, call: Call | Verdict) -> Reply:
        if not isinstance(call, Call):
            return NOTHING
        return await self._put(report, dialog, caller, partial(self._decided, report.program, call))

    async def _put(self, report: Report, dialog: Dialog, caller: Caller, ask: Ask) -> Reply:
        """Ask, and wait for a person's decision or the end of the dialog. The first reply only names what was asked."""
        desk = self._desk(report, caller)
        if not report.asked:
            return await ask(desk, 0.0)
        reply = await _first(ask(desk, self._broker.policy.block_timeout), dialog.settled.wait())
        if isinstance(reply, dict):
            return reply
        await self._withdraw(report.asked, caller)
        return NOTHING

    def _desk(self, report: Report, caller: Caller) -> SessionDesk:
        return self._desk_for(
            caller=caller,
            session=report.session,
            door=DOOR,
            workspace=report.workspace,
            client=CLIENTS[report.program],
            # Upcall has no runs of Copilot CLI, so its sessions are not resumed as such.
            program="" if report.program == COPILOT else report.program,
            runner=report.runner,
        )

    async def _decided(self, program: str, call: Call, desk: Desk, wait: float) -> Reply:
        if call.tool == QUESTION_TOOL:
            return await put_question(call, desk, wait)
        return await put_action(call, desk, wait, self._is_decided, program)

    async def _is_decided(self, inquiry: str) -> bool:
        """Whether a person has decided it."""
        match (await self._broker.store.get(inquiry)).state:
            case Answered(closing=closing) | Rejected(closing=closing):
                return closing.by != POLICY
            case _:
                return False

    async def _asked_before(self, report: Report, caller: Caller) -> Inquiry | None:
        """What the hook has put before; None if it is not known any more, or is another asker's."""
        if not report.asked:
            return None
        with suppress(UnknownInquiry):
            inquiry = await self._broker.store.get(report.asked)
            if caller.asked(inquiry) and inquiry.origin.session == report.session:
                return inquiry
        return None

    async def _withdraw(self, inquiry: str, caller: Caller) -> None:
        """Close a question whose dialog was answered in the terminal. The same action later is another call."""
        if not inquiry:
            return
        with suppress(UnknownInquiry):
            closed = (await self._broker.cancel(inquiry, caller, via=OWN_TERMINAL)).inquiry
            if needs_delivery(closed):
                # Answered elsewhere in the same moment: the session has gone on without it, and is not resumed for it.
                await drop_resume_job(self._broker.store, closed.id)
            if closed.is_approved:
                # A yes that came too late allows nothing: the terminal has decided.
                await self._broker.repeats.tell(closed)
            await self._unnamed.withdrawn(closed.origin.request_key, self._broker.now())
        self._handing.let_go(inquiry, caller)

    async def _begin_turn(self, report: Report, caller: Caller) -> None:
        """Close what the session still asks, and forget its denials: its person has spoken to it."""
        page = await self._broker.find(Query(state="open", agent=caller.name, limit=PAGE), caller)
        for inquiry in page.items:
            if inquiry.origin.session == report.session and inquiry.origin.door == DOOR:
                await self._withdraw(inquiry.id, caller)
        await self._desk(report, caller).begin_turn()


async def _first(wanted: Coroutine[Any, Any, Reply | bool | None], other: Coroutine[Any, Any, object]) -> Any:
    """The result of the first if it comes first, else None; the one that is late is cancelled."""
    tasks = asyncio.create_task(wanted), asyncio.create_task(other)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].result() if tasks[0].done() else None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
