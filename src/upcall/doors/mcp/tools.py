"""What the tools do, whichever way they are called. Knows the broker; knows neither MCP's SDK nor any transport.

A call always comes back with a result: an outcome that a model can act upon, or an error that teaches it the
right form. Cancelling a call only detaches it; the question stays open.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from upcall.broker.broker import Broker
from upcall.broker.evidence import drop_resume_job, record_evidence
from upcall.broker.repeats import Scope
from upcall.broker.threads import Threads
from upcall.domain.answer.outcome import outcome
from upcall.domain.errors import InvalidRequest, Unauthenticated, UnknownAgent, UnknownInquiry, UpcallError
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.asking_back import is_pending
from upcall.domain.inquiry.inquiry import Answered, Inquiry, Origin, Rejected
from upcall.domain.inquiry.limits import weight
from upcall.domain.records import Happening
from upcall.domain.roles import Caller
from upcall.domain.text.forms import kind_of
from upcall.domain.text.redaction import redact
from upcall.doors.mcp.arguments import Fields, approval_in, fields_of, message_in, name_in, reply_in
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.definitions import (
    ASK,
    CONFIRM,
    NOTIFY,
    PERMIT,
    WAIT,
    Definition,
    definitions,
    permission_tool,
)
from upcall.doors.mcp.elicitation import Elicitation
from upcall.doors.mcp.evidence import HandedAnswers
from upcall.doors.mcp.open_forms import OpenForms
from upcall.doors.mcp.pictures import Picture, pictures
from upcall.doors.mcp.progress import Beat
from upcall.doors.mcp.watching import UNWATCHED, SignsOfLife, Watcher
from upcall.doors.native import Call, DeskFor, call_in, decide, permission_text
from upcall.ports.unhurried import LIGHT, unhurried

SLICE = 50.0
"""Seconds that a client waits which says nothing about its patience: below every hard limit that was measured but one."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a call. `collectable` is the inquiry that it says has ended; `structured` may be empty."""

    text: str
    structured: Fields
    is_error: bool = False
    collectable: str | None = None
    pictures: tuple[Picture, ...] = ()


class BlockTimeout(UpcallError):
    """No answer came while the call waited, and the policy makes that an error."""

    code = "timeout"


class Closed(UpcallError):
    """Upcall was closed while the call waited, and the policy makes that an error."""

    code = "closed"


class ApprovalLapsed(UpcallError):
    """An approval was given, but its time has passed since."""

    code = "approval_lapsed"


class Tools:
    """The tools of one broker. One per process, shared by every connection."""

    def __init__(
        self,
        broker: Broker,
        *,
        slice_seconds: float = SLICE,
        aliases: Sequence[str] = (),
        desk_for: DeskFor | None = None,
        runner: str = "",
        resumes_all: bool = False,
        beat: Beat | None = None,
        clock: Callable[[], float] | None = None,
        elicitation: Elicitation | None = None,
    ) -> None:
        self.elicitation = elicitation or Elicitation(broker)
        self.forms = OpenForms(broker.store, self.elicitation)
        self.evidence = HandedAnswers(partial(record_evidence, broker))
        self.definitions: tuple[Definition, ...] = definitions(broker.policy.limits, aliases)
        self._with_permissions = (*self.definitions, permission_tool())
        self._desk_for = desk_for
        self.runner = runner
        self._resumes_all = resumes_all
        self._broker = broker
        self._slice = slice_seconds
        self._beat = beat or Beat()
        self._threads = Threads(broker)
        self._asking = frozenset({ASK, CONFIRM, *aliases})
        self._clock = clock or broker.now
        self._does: dict[str, Callable[[Fields, Asker], Awaitable[Inquiry | ToolResult]]] = {
            **dict.fromkeys((ASK, *aliases), self._ask),
            CONFIRM: self._confirm,
            WAIT: self._wait,
            NOTIFY: self._notify,
        }

    def offered(self, caller: Caller) -> Sequence[Definition]:
        """The tools as they are listed for a caller: permission prompts are for supervised runs alone."""
        return self._with_permissions if self._may_prompt(caller) else self.definitions

    def _origin(self, asker: Asker) -> Origin:
        """The origin that is stored: with our name where we may resume any session whose program we know."""
        origin = asker.origin
        if not origin.runner and origin.program and self._resumes_all:
            return replace(origin, runner=self.runner)
        return origin

    async def drop_resume_job(self, inquiry: str) -> None:
        """Drop the resume job of an inquiry: its session has the answer, or will not show that it has."""
        await drop_resume_job(self._broker.store, inquiry)

    async def call(
        self, name: str, arguments: object, asker: Asker, watching: Watcher = UNWATCHED
    ) -> ToolResult:
        """Do what a tool says. Never raises, except when it is cancelled."""
        try:
            if name == PERMIT and self._desk_for is not None and self._may_prompt(asker.caller):
                return await self._permit(arguments, asker, self._desk_for, watching)
            begun = await self._begin(name, arguments, asker)
            if isinstance(begun, ToolResult):
                return begun
            # Thousands may wait from here on: what was sent is stored by now and need not be held as well.
            arguments = None
            return await self._until_settled(begun, asker, watching, named=name == WAIT)
        except Exception as problem:  # noqa: BLE001 - each becomes a result
            return await self._failed(problem, name, asker)

    async def start(self, name: str, arguments: object, asker: Asker) -> Inquiry | ToolResult:
        """Do what a tool says without waiting: the inquiry that is open then, or the result. Raises as `call` does."""
        try:
            begun = await self._begin(name, arguments, asker)
            if isinstance(begun, Inquiry) and (not begun.is_open or is_pending(begun)):
                return await self._until_settled(begun, asker, UNWATCHED, named=name == WAIT)
        except Exception as problem:  # noqa: BLE001 - each becomes a result
            return await self._failed(problem, name, asker)
        return begun

    async def finish(self, inquiry: Inquiry, asker: Asker) -> ToolResult:
        """The result of an inquiry that is settled, or about which a person has asked back."""
        if not inquiry.is_open:
            return await self._until_settled(inquiry, asker, UNWATCHED, named=True)
        if is_pending(inquiry):
            await self._broker.back.hear(inquiry)
        return result(inquiry)

    async def own(self, name: str, asker: Asker) -> Inquiry:
        """An inquiry of the asker's own.

        Raises:
            UnknownInquiry: if it has none of that name.
            ApprovalLapsed: if it was approved, and the time of that has passed.
        """
        return await self._wait({"id": name}, asker)

    async def withdraw(self, inquiry: Inquiry, asker: Asker, reason: str) -> None:
        """Close a question that its asker takes back."""
        await self._broker.cancel(inquiry.id, asker.caller, via=asker.origin.door, reason=reason)

    async def _failed(self, problem: Exception, name: str, asker: Asker) -> ToolResult:
        if not isinstance(problem, UpcallError):
            log.error("the tool %s failed", name, exc_info=problem)
            return failure("internal", "something went wrong inside Upcall", "see its log, and try again")
        if asker.origin.thread is not None and name in self._asking:
            await self._threads.refused(asker.origin, problem)
        return failure(problem.code, problem.message, problem.hint)

    def _may_prompt(self, caller: Caller) -> bool:
        return self._desk_for is not None and caller.run is not None

    async def _permit(
        self, arguments: object, asker: Asker, desk_for: DeskFor, watching: Watcher
    ) -> ToolResult:
        """Decide a permission prompt. Its caller understands only a yes or a no."""
        call = call_in(arguments, cwd=asker.origin.workspace)
        if isinstance(call, Call):
            desk = desk_for(
                caller=asker.caller,
                session=asker.origin.session,
                door=asker.origin.door,
                workspace=asker.origin.workspace,
            )
            signs = self._show_life(watching)
            try:
                call = await decide(call, desk, self._patience(asker))
            finally:
                self._beat.leave(signs)
        return ToolResult(text=permission_text(call), structured={})

    async def _begin(self, name: str, arguments: object, asker: Asker) -> Inquiry | ToolResult:
        """What is to be waited for, or the result where there is nothing to wait for."""
        does = self._does.get(name)
        if does is None:
            raise InvalidRequest(
                f"there is no tool {name[:100]!r}", hint=f"the tools are {', '.join(self._does)}"
            )
        fields = fields_of(arguments)
        _check_agent(fields.pop("agent_id", None), asker.caller)
        return await does(fields, asker)

    async def _ask(self, fields: Fields, asker: Asker) -> Inquiry:
        limits = self._broker.policy.limits
        added = await self._broker.ask(
            await unhurried(weight(fields, LIGHT), lambda: draft(fields, limits)),
            self._origin(asker),
            named_session=asker.session is not None,
            scope=self._scope(asker),
        )
        return added.inquiry

    def _scope(self, asker: Asker) -> Scope | None:
        if not asker.scope:
            return None
        return Scope(name=asker.scope, has_reached=partial(self.evidence.has_given, asker.caller))

    async def _confirm(self, fields: Fields, asker: Asker) -> Inquiry:
        return await self._ask(approval_in(fields, self._broker.policy.limits), asker)

    async def _wait(self, fields: Fields, asker: Asker) -> Inquiry:
        name = name_in(fields)
        inquiry = await self._broker.get(name, asker.caller)
        if not asker.caller.asked(inquiry):
            raise UnknownInquiry(name)
        if inquiry.kind.is_consent:
            self._check_approval(inquiry, name, asker)
        if said := reply_in(fields, self._broker.policy.limits):
            return await self._broker.back.reply(inquiry, redact(said).text)
        return inquiry

    async def _notify(self, fields: Fields, asker: Asker) -> ToolResult:
        message = message_in(fields, self._broker.policy.limits)
        masked = redact(message)
        await self._broker.notify(masked.text, self._origin(asker))
        note = f" ({masked.count} secret(s) in it were masked.)" if masked.count else ""
        return ToolResult(text=f"Recorded for the user.{note}", structured={"status": "notified"})

    async def _until_settled(
        self, inquiry: Inquiry, asker: Asker, watching: Watcher, *, named: bool
    ) -> ToolResult:
        if watching.opened is not None:
            watching.opened(inquiry)
        signs = self._show_life(watching if inquiry.is_open else UNWATCHED, inquiry.ref)
        try:
            patience = await self._after_line(inquiry, asker)
            inquiry = await self._broker.wait(inquiry, patience, hears=True)
        finally:
            self._beat.leave(signs)
        if is_pending(inquiry):
            await self._broker.back.hear(inquiry)
            return result(inquiry)
        if inquiry.is_approved:
            await self._use(inquiry, asker, named=named)
        policy = self._broker.policy
        waited = patience >= policy.block_timeout and not inquiry.is_queued
        blocked_to_the_end = waited and not self._broker.closing.is_set()
        if inquiry.is_open and self._broker.closing.is_set() and policy.on_block_end == "error":
            raise Closed(
                f"Upcall was closed while the question was open as {inquiry.id} (ref {inquiry.ref})",
                hint="stop and report that no human could be asked",
            )
        if not (inquiry.is_open and blocked_to_the_end):
            shown = await pictures(inquiry, asker.origin.client, self._broker.files)
            told = result(inquiry)
            return replace(told, pictures=shown) if shown else told
        if policy.on_block_end == "end_run" and inquiry.origin.run is not None:
            # The supervisor reads the log, and ends the run.
            data: Fields = {"ref": inquiry.ref, "run": inquiry.origin.run}
            await self._broker.store.record(
                Happening(type="block_ended", at=self._clock(), data=data, inquiry=inquiry.id)
            )
        if policy.on_block_end == "error":
            raise BlockTimeout(
                f"no answer came within {patience:g} seconds",
                hint=f"the question stays open as {inquiry.id} (ref {inquiry.ref}); stop and report what is blocking",
            )
        return result(inquiry)

    async def _use(self, inquiry: Inquiry, asker: Asker, *, named: bool) -> None:
        """A yes is for one call: the one that asked last, or one that names the inquiry before that had it."""
        repeats = self._broker.repeats
        used = repeats.tell(inquiry) if named else repeats.use(inquiry, asker.origin.request_key)
        if not await used:
            raise ApprovalLapsed(f"the yes to {inquiry.ref} belongs to another call", hint="ask again")

    async def _after_line(self, inquiry: Inquiry, asker: Asker) -> float:
        """How long to wait once it is the turn of an inquiry: while it waits in line, no block has begun."""
        if not inquiry.is_queued:
            return self._patience(asker)
        can_wait = asker.patience(self._slice)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await self._broker.wait_in_line(inquiry, None if math.isinf(can_wait) else can_wait)
        return min(max(can_wait - (loop.time() - began), 0), self._broker.policy.block_timeout)

    def _patience(self, asker: Asker) -> float:
        return min(asker.patience(self._slice), self._broker.policy.block_timeout)

    def _show_life(self, watching: Watcher, ref: str | None = None) -> SignsOfLife:
        signs = SignsOfLife(watching, ref)
        if watching.progress is not None:
            self._beat.join(signs)
        return signs

    def _check_approval(self, inquiry: Inquiry, name: str, asker: Asker) -> None:
        """A yes belongs to the session that asked, and to its time."""
        if asker.session is not None and inquiry.origin.session != asker.session:
            raise UnknownInquiry(name)
        match inquiry.state:
            case Answered(closing=closing) if closing.at < inquiry.expires_at <= self._clock():
                raise ApprovalLapsed(
                    f"the decision about {inquiry.ref} was made, but its time has passed", hint="ask again"
                )
            case _:
                pass


def result(inquiry: Inquiry) -> ToolResult:
    """What an asker is told of an inquiry as it stands; one that is open is parked."""
    told = outcome(inquiry)
    structured: Fields = {"status": told.status, "id": told.id, "ref": told.ref}
    if told.answers is not None:
        structured["answers"] = [list(values) for values in told.answers]
    if told.content is not None:
        structured["content"] = told.content
    if inquiry.asked_back:
        structured["asked_back"] = [each.words for each in inquiry.asked_back]
    if told.note:
        structured["note"] = told.note
    if told.waited is not None:
        structured["waited_seconds"] = told.waited
    collectable = told.id if isinstance(inquiry.state, Answered | Rejected) else None
    return ToolResult(text=told.text, structured=structured, collectable=collectable)


def failure(code: str, message: str, hint: str | None = None) -> ToolResult:
    """An error that a model can read and act upon."""
    text = f"Error: {message}." + (f" {hint[:1].upper()}{hint[1:]}." if hint else "")
    structured: Fields = {"error": {"code": code, "message": message, "hint": hint}}
    return ToolResult(text=text, structured=structured, is_error=True)


def still_known(told: ToolResult, identify: Callable[[], object] | None) -> ToolResult:
    """A result, or an error if the token of the call was revoked while it waited."""
    try:
        if identify is not None:
            identify()
    except Unauthenticated as error:
        return failure(error.code, error.message, error.hint)
    return told


def _check_agent(sent: object, caller: Caller) -> None:
    if sent not in (None, "", caller.name):
        raise UnknownAgent(sent[:100] if isinstance(sent, str) else kind_of(sent))
