"""The tools inside a container without network: a call becomes a task in a folder, and waits for its response.

The same tools as at every other door, but there is no broker here: the daemon at the folder's other side has it.
However a call ends, its task is withdrawn or answered, and no file is left that neither side reads.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import cast

from upcall.domain.errors import InvalidRequest, UpcallError
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.limits import Limits
from upcall.domain.roles import Caller
from upcall.doors.files.exchange import (
    ASK_USER,
    COLLECTED,
    ID,
    NOTIFY as NOTIFY_TASK,
    RESPONSES,
    STAGING,
    SUFFIX,
    TAKEN,
    TASKS,
    WAIT as WAIT_TASK,
    Exchange,
    Fields,
    encoded,
)
from upcall.doors.files.inbox import Inbox
from upcall.doors.mcp.arguments import approval_in, fields_of, message_in, name_in
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.definitions import ASK, CONFIRM, NOTIFY, WAIT, Definition, definitions
from upcall.doors.mcp.evidence import HandedAnswers
from upcall.doors.mcp.progress import Beat
from upcall.doors.mcp.tools import ToolResult, failure
from upcall.doors.mcp.watching import UNWATCHED, Watcher

GRACE = 5.0
"""Seconds that the daemon's own *parked* gets to arrive before a call gives up by itself."""

NOTIFY_WITHIN = 10.0
"""Seconds in which a notice has to be picked up: it must not hold up the agent for long."""

ONE_QUESTION = ("question", "text", "prompt", "header", "options")
ONE_QUESTION_TOO = ("multiSelect", "multiple", "multi_select", "multi", "custom")

log = logging.getLogger(__name__)


class NotPickedUp(UpcallError):
    """No daemon took the task out of the folder while the call waited, so nothing was asked."""

    code = "not_picked_up"


class Lost(UpcallError):
    """The task is gone from the folder, and there is no response, or none that can be read."""

    code = "lost"


class FileTools:
    """The tools of one process in a container. `slice_seconds` is for clients that say nothing about waiting."""

    def __init__(
        self,
        exchange: Exchange,
        inbox: Inbox,
        *,
        limits: Limits = Limits(),
        aliases: Sequence[str] = (),
        slice_seconds: float = 50.0,
        block_timeout: float = 1800.0,
        grace: float = GRACE,
        beat: Beat | None = None,
    ) -> None:
        self.evidence = HandedAnswers(self._collected)
        self._definitions = definitions(limits, aliases)
        self._exchange = exchange
        self._inbox = inbox
        self._limits = limits
        self._slice = slice_seconds
        self._block = block_timeout
        self._grace = grace
        self._beat = beat or Beat()
        self._does: dict[str, Callable[[Fields, Asker, Watcher], Awaitable[ToolResult]]] = {
            **dict.fromkeys((ASK, *aliases), self._ask),
            CONFIRM: self._confirm,
            WAIT: self._wait,
            NOTIFY: self._notify,
        }

    def offered(self, caller: Caller) -> Sequence[Definition]:
        """The tools as they are listed, the same for every caller."""
        return self._definitions

    async def call(
        self, name: str, arguments: object, asker: Asker, watching: Watcher = UNWATCHED
    ) -> ToolResult:
        """Do what a tool says. Never raises, except when it is cancelled."""
        try:
            does = self._does.get(name)
            if does is None:
                raise InvalidRequest(
                    f"there is no tool {name[:100]!r}", hint=f"the tools are {', '.join(self._does)}"
                )
            return await does(fields_of(arguments), asker, watching)
        except UpcallError as error:
            return failure(error.code, error.message, error.hint)
        except OSError as problem:
            return failure(
                "storage_error",
                f"the folder that leads to Upcall cannot be used: {problem.strerror or problem}",
                "report this: the folder has to be mounted, writable, and not full",
            )
        except Exception:
            log.exception("the tool %s failed", name)
            return failure("internal", "something went wrong inside Upcall", "see its log, and try again")

    async def _ask(self, fields: Fields, asker: Asker, watching: Watcher) -> ToolResult:
        # A question that cannot be asked is refused here, so that its error does not depend on a daemon.
        draft(fields, self._limits)
        return await self._answered(ASK_USER, _with_questions(fields), asker, watching)

    async def _confirm(self, fields: Fields, asker: Asker, watching: Watcher) -> ToolResult:
        question = approval_in(fields, self._limits)
        return await self._ask(question | _agent_in(fields), asker, watching)

    async def _wait(self, fields: Fields, asker: Asker, watching: Watcher) -> ToolResult:
        name = name_in(fields)
        if not self._is_under_way(name):
            return await self._answered(WAIT_TASK, {"id": name, **_agent_in(fields)}, asker, watching)
        # A call of this folder that gave up before the daemon said what its question is called.
        if self._inbox.is_expected(name):
            raise InvalidRequest(f"{name!r} is being waited for already", hint="wait for that call")
        try:
            response = await self._arrival(name, self._patience(asker), watching)
        finally:
            self._inbox.forget(name)
        return self._unanswered(name) if response is None else told(response)

    async def _notify(self, fields: Fields, asker: Asker, watching: Watcher) -> ToolResult:
        task: Fields = {"message": message_in(fields, self._limits), **_agent_in(fields)}
        return await self._exchanged(_task(NOTIFY_TASK, task, asker), NOTIFY_WITHIN, watching)

    async def _answered(self, kind: str, fields: Fields, asker: Asker, watching: Watcher) -> ToolResult:
        patience = self._patience(asker)
        task = _task(kind, fields, asker) | {"timeout": patience}
        return await self._exchanged(task, patience + self._grace, watching)

    async def _exchanged(self, task: Fields, patience: float, watching: Watcher) -> ToolResult:
        """Put a task into the folder, and come back with its response or with why there is none."""
        request = cast("str", task["request_id"])
        self._exchange.prepare(TASKS, RESPONSES, STAGING)
        try:
            self._exchange.put(TASKS, request + SUFFIX, encoded(task))
            response = await self._arrival(request, patience, watching)
        except asyncio.CancelledError:
            self._detach(request)
            raise
        finally:
            self._inbox.forget(request)
        return self._unanswered(request) if response is None else told(response)

    async def _arrival(self, request: str, patience: float, watching: Watcher) -> Fields | None:
        arrival = self._inbox.expect(request)
        tick = partial(self._show_life, request, watching)
        if watching.progress is not None:
            self._beat.join(tick)
        try:
            await asyncio.wait({arrival}, timeout=patience)
        finally:
            self._beat.leave(tick)
        if not arrival.done():
            self._inbox.look_again(request)
        return arrival.result() if arrival.done() else None

    def _unanswered(self, request: str) -> ToolResult:
        """Nothing came in time: what is left in the folder tells why."""
        if self._exchange.remove(TASKS, request + SUFFIX):
            raise NotPickedUp(
                "no Upcall picked this up, so nothing was asked",
                hint="report that no human can be reached; ask again later",
            )
        if self._exchange.has(RESPONSES, request + SUFFIX):
            raise Lost(
                "there is a response, but it cannot be read here",
                hint="report this: the folder has to be open to the user that this runs as",
            )
        if self._exchange.has(TAKEN, request + SUFFIX):
            return _parked(request)
        raise Lost("the question disappeared from the folder without a response", hint="ask again")

    def _detach(self, request: str) -> None:
        """The agent wants no response any more: what was not taken is withdrawn, what was asked stays open."""
        name = request + SUFFIX
        try:
            if not self._exchange.remove(TASKS, name):
                # In this order, so that the daemon, which does it the other way round, leaves nothing either.
                self._exchange.remove(TAKEN, name)
                self._exchange.remove(RESPONSES, name)
        except OSError as problem:
            log.warning("the task %r cannot be withdrawn: %s", name, problem)

    def _is_under_way(self, name: str) -> bool:
        if not ID.fullmatch(name):
            return False
        return any(self._exchange.has(inside, name + SUFFIX) for inside in (RESPONSES, TAKEN))

    def _patience(self, asker: Asker) -> float:
        return min(self._slice if asker.wait is None else asker.wait, self._block)

    def _show_life(self, request: str, watching: Watcher, count: int) -> None:
        waits_here = self._exchange.has(TASKS, request + SUFFIX)
        if watching.progress is not None:
            watching.progress(
                count, "Waiting for Upcall to pick this up" if waits_here else "Waiting for a human to answer"
            )

    async def _collected(self, inquiry: str, caller: Caller, evidence: str) -> None:
        task: Fields = {
            "type": COLLECTED,
            "request_id": _new_id(),
            "id": inquiry,
            "evidence": evidence,
        }
        self._exchange.put(TASKS, f"{task['request_id']}{SUFFIX}", encoded(task))


def told(response: Mapping[str, object]) -> ToolResult:
    """What an agent is told of a response, also of one that another program wrote."""
    text, problem = response.get("text"), response.get("error")
    if problem is not None or response.get("status") == "error":
        said = text if isinstance(text, str) and text else f"Error: {problem}"
        return ToolResult(text=said, structured={"error": problem}, is_error=True)
    told = ("status", "id", "ref", "answers", "note", "waited_seconds")
    structured: Fields = {name: response[name] for name in told if response.get(name) is not None}
    name = response.get("id")
    answered = structured.get("status") == "answered"
    return ToolResult(
        text=text if isinstance(text, str) and text else f"The user answered: {response.get('answers')}",
        structured=structured,
        collectable=name if answered and isinstance(name, str) else None,
    )


def _task(kind: str, fields: Fields, asker: Asker) -> Fields:
    task: Fields = {"type": kind, "request_id": _new_id(), **fields}
    named = {
        "session": asker.session,
        "workspace": asker.origin.workspace,
        "request_key": asker.origin.request_key,
    }
    task |= {name: value for name, value in named.items() if value is not None}
    return task


def _with_questions(fields: Fields) -> Fields:
    """The fields of a single question go where those of several are: a task has one form."""
    if fields.get("questions") is not None:
        return fields
    single = {*ONE_QUESTION, *ONE_QUESTION_TOO}
    question = {name: value for name, value in fields.items() if name in single}
    return {"questions": [question]} | {name: value for name, value in fields.items() if name not in single}


def _agent_in(fields: Fields) -> Fields:
    return {"agent_id": fields["agent_id"]} if "agent_id" in fields else {}


def _parked(request: str) -> ToolResult:
    text = (
        "No answer yet. This is not an answer, and not a yes. The question was picked up and stays open as "
        f'{request}. Call wait_for_answer with id "{request}" to go on waiting. If you end your turn instead, say '
        "that you are waiting for this answer."
    )
    return ToolResult(text=text, structured={"status": "parked", "id": request})


def _new_id() -> str:
    return os.urandom(16).hex()
