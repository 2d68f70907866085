"""One group's folder, served: every task in it is taken once, asked through the tools, and responded to once.

A task lies in `taken` from when it was taken until its response is written, so a daemon that dies in between finds
it there; its id is the request key, so it is asked once all the same.
"""

import asyncio
import logging
import math
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.inquiry.wording import duration
from upcall.domain.roles import Caller, Role
from upcall.doors.files import exchange as at
from upcall.doors.files.documents import EXAMPLE, LONGEST_NAME, check_task, name_in, response, tool_of
from upcall.doors.files.exchange import SUFFIX, Exchange, Fields, InvalidFile
from upcall.doors.files.pace import Pace
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.evidence import EVIDENCE, Collect
from upcall.doors.mcp.tools import ToolResult, Tools, failure, result
from upcall.doors.mcp.watching import Watching

LARGE = 256 * 1024
SHORTEST_NAP, LONGEST_NAP = 0.1, 5.0
LEFT_FOR = 86400.0
"""Seconds that a response is kept which is not fetched; staged files too."""

ASKING = 5.0
"""Seconds that an end waits for questions that are being stored."""

KEPT_ASIDE = 100
"""Refused files that are kept at most, the latest ones."""

TIDIED_EVERY = 20
"""Refused files between two looks at how many there are."""

log = logging.getLogger(__name__)

FindAsker = Callable[[str], Awaitable[Caller | None]]
"""Finds the agent of a group; None where the settings name none, and the group asks in its own name."""


async def no_agent(_: str) -> Caller | None:
    """The agent of a group that the settings do not mention."""
    return None


@dataclass(slots=True)
class _Serving:
    asked: "asyncio.Future[Inquiry | None]"
    """What the task asked, once that is known; None for a task that ends without a question."""
    task: "asyncio.Task[None] | None" = None


class Group:
    """The tasks of one folder. It survives every change of that folder except its removal."""

    def __init__(
        self,
        name: str,
        folder: Exchange,
        tools: Tools,
        collect: Collect,
        asker: FindAsker,
    ) -> None:
        self.caller = Caller(name=f"files:{name}", role=Role.AGENT)
        self._name = name
        self._folder = folder
        self._tools = tools
        self._collect = collect
        self._find_asker = asker
        self._serving: dict[str, _Serving] = {}
        # A container that writes to the folder decides how much there is to do in it.
        self._pace = Pace()
        self._found: dict[tuple[str, str], None] = {}
        self._taking: asyncio.Task[None] | None = None
        self._aside = 0
        self._closed = False
        self._resumed = False
        self._trouble = ""

    def look(self, name: str | None) -> None:
        """Take the task of that name, or all there are."""
        if self._closed:
            return
        try:
            if name is not None:
                self._found[at.TASKS, name] = None
            else:
                self._look_around()
            self._trouble = ""
        except OSError as problem:
            self._troubled(problem)
        self._begin_taking()

    def _begin_taking(self) -> None:
        if self._found and self._taking is None:
            self._taking = asyncio.get_running_loop().create_task(self._take_all())

    def _troubled(self, problem: OSError) -> None:
        # The watcher looks again later; the same trouble is told once.
        if str(problem) != self._trouble and not self._folder.is_gone():
            log.warning("%s: the folder cannot be used: %s", self._name, problem)
        self._trouble = str(problem)

    async def _take_all(self) -> None:
        """Take what was found, a few at a time."""
        try:
            while self._found:
                async with self._pace:
                    inside, name = next(iter(self._found))
                    del self._found[inside, name]
                    try:
                        self._handle(inside, name)
                    except OSError as problem:
                        self._troubled(problem)
        finally:
            self._taking = None

    def _handle(self, inside: str, name: str) -> None:
        match inside:
            case at.TASKS:
                self._pick(name)
            case at.TAKEN:
                self._go_on(name)
            case _:
                self._drop_old(inside, name)

    def _go_on(self, name: str) -> None:
        """Serve what an earlier daemon had taken."""
        request = at.id_in(name)
        if request is None:
            self._set_aside(at.TAKEN, name, "nothing of ours")
        elif request not in self._serving:
            self._serve(request)

    def _look_around(self) -> None:
        """Make what is missing, go on with what an earlier daemon had taken, and take what is new."""
        self._folder.prepare(at.TASKS, at.TAKEN, at.RESPONSES, at.STAGING)
        if not self._resumed:
            self.sweep()
            self._found |= {(at.TAKEN, name): None for name in self._folder.names(at.TAKEN)}
            self._resumed = True
        self._found |= {(at.TASKS, name): None for name in sorted(self._folder.names(at.TASKS))}

    def sweep(self) -> None:
        """Remove what was not fetched in a day."""
        for inside in (at.RESPONSES, at.STAGING):
            self._found |= {(inside, name): None for name in self._folder.names(inside)}
        self._begin_taking()

    def _drop_old(self, inside: str, name: str) -> None:
        with suppress(FileNotFoundError):
            if self._folder.age_of(inside, name, time.time()) > LEFT_FOR:
                self._folder.remove(inside, name)

    async def close(self, *, end: bool) -> None:
        """Stop. At an end those who wait are told *parked*; before a restart nothing is said, it goes on after it."""
        self._closed = True
        if self._taking is not None:
            self._taking.cancel()
            await asyncio.gather(self._taking, return_exceptions=True)
        serving = list(self._serving.items())
        if end and serving:
            # A task whose question is being stored would wait for an end that it is never told.
            await asyncio.wait([each.asked for _, each in serving], timeout=ASKING)
        for _, each in serving:
            if each.task is not None:
                each.task.cancel()
        await asyncio.gather(*(each.task for _, each in serving if each.task), return_exceptions=True)
        for request, each in serving:
            if end and each.asked.done() and (inquiry := each.asked.result()) is not None:
                try:
                    self._respond(request, result(inquiry))
                except OSError as problem:
                    log.warning("%s: %s cannot be told that it is parked: %s", self._name, request, problem)
        self._folder.close()

    def _pick(self, name: str) -> None:
        if _is_being_written(name):
            return
        request = at.id_in(name)
        if request is None:
            self._set_aside(
                at.TASKS, name, f"no name for a task: ID{SUFFIX}, with an ID like {at.ID.pattern}"
            )
        elif request in self._serving:
            self._set_aside(at.TASKS, name, "a task of this id is under way")
        elif self._take(name):
            self._serve(request)

    def _take(self, name: str) -> bool:
        """Move a task to `taken`, by which its writer can tell that it was taken. False if it is not there any more."""
        try:
            self._folder.move(name, at.TASKS, at.TAKEN)
        except FileNotFoundError:
            if not self._folder.has(at.TASKS, name):
                return False
            # It is the other folder that is not there.
            self._folder.prepare(at.TAKEN)
            self._folder.move(name, at.TASKS, at.TAKEN)
        return True

    def _serve(self, request: str) -> None:
        loop = asyncio.get_running_loop()
        serving = self._serving[request] = _Serving(asked=loop.create_future())
        serving.task = loop.create_task(self._served(request, serving))

    async def _served(self, request: str, serving: _Serving) -> None:
        try:
            told = await self._told(request, serving)
            await self._persistently(request, lambda: self._respond(request, told))
        except Exception:
            # It is still in `taken`, and gets another chance with the next daemon.
            log.exception("%s: the task %s could not be served", self._name, request)
        finally:
            if not serving.asked.done():
                serving.asked.set_result(None)
            self._serving.pop(request, None)

    async def _told(self, request: str, serving: _Serving) -> ToolResult | None:
        """What is to be said to a task, None for one that is owed nothing."""
        try:
            async with self._pace:
                task = await self._read(request)
        except FileNotFoundError:
            return None
        except InvalidFile as refusal:
            await self._refuse(request, str(refusal))
            return None
        if task["type"] == at.COLLECTED:
            await self._note(task)
            await self._persistently(request, lambda: self._folder.remove(at.TAKEN, request + SUFFIX))
            return None
        try:
            asker = self._asker(request, task, await self._find_asker(self._name) or self.caller)
        except UpcallError as problem:
            return failure(problem.code, problem.message, problem.hint)

        def opened(inquiry: Inquiry) -> None:
            if not serving.asked.done():
                serving.asked.set_result(inquiry)

        tool, fields = tool_of(task)
        # It may wait for long, and what was sent is stored by then.
        task = {}
        return await self._tools.call(tool, fields, asker, Watching(opened=opened))

    async def _read(self, request: str) -> Fields:
        """A task as it was written.

        Raises:
            FileNotFoundError: if it is not there.
            InvalidFile: if it is none.
        """
        name = request + SUFFIX
        data = self._folder.read(at.TAKEN, name)
        task = at.decoded(data) if len(data) < LARGE else await asyncio.to_thread(at.decoded, data)
        check_task(task, request)
        return task

    def _asker(self, request: str, task: Mapping[str, object], caller: Caller) -> Asker:
        """Who asks: the folder says which agent it is, the task which session, call and place.

        Raises:
            InvalidRequest: if something of it is not of the documented form.
        """
        wait = task.get("timeout")
        return Asker.of(
            caller,
            door="files",
            session=name_in(task, "session"),
            workspace=name_in(task, "workspace"),
            request_key=name_in(task, "request_key") or request,
            wait=math.inf if wait is None else duration(wait),
        )

    async def _note(self, task: Mapping[str, object]) -> None:
        """The asker says that it has its answer."""
        name, evidence = task.get("id"), task.get("evidence")
        said = evidence if isinstance(evidence, str) and len(evidence) <= LONGEST_NAME else EVIDENCE
        try:
            caller = await self._find_asker(self._name) or self.caller
            await self._collect(name[:LONGEST_NAME] if isinstance(name, str) else "", caller, said)
        except UpcallError as problem:
            log.warning("%s: could not record that an answer was collected: %s", self._name, problem.message)

    async def _refuse(self, request: str, why: str) -> None:
        """Move a file to quarantine, and write a response in case its writer waits for one."""
        told = failure("invalid_request", f"the task was refused: {why}", EXAMPLE)
        await self._persistently(request, lambda: self._set_aside(at.TAKEN, request + SUFFIX, why))
        await self._persistently(request, lambda: self._write(request, told))

    def _respond(self, request: str, told: ToolResult | None) -> None:
        """Write the response, unless the asker has left."""
        name = request + SUFFIX
        if told is None or not self._folder.has(at.TAKEN, name):
            return
        self._write(request, told)
        if not self._folder.remove(at.TAKEN, name):
            # The asker left at this very moment, and will not fetch it.
            self._folder.remove(at.RESPONSES, name)

    def _write(self, request: str, told: ToolResult) -> None:
        self._folder.prepare(at.RESPONSES, at.STAGING)
        content = at.encoded(response(request, told))
        if not self._folder.put(at.RESPONSES, request + SUFFIX, content, once=True):
            log.warning("%s: %s has a response already, which stands", self._name, request)

    def _set_aside(self, inside: str, name: str, why: str) -> None:
        """Put a file that is none of ours where it does no harm, and write down why."""
        log.warning("%s: %r in %s was refused: %s", self._name, name, inside, why)
        self._folder.prepare(at.QUARANTINE, at.STAGING)
        kept = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100]
        if self._folder.has(at.QUARANTINE, kept):
            kept = f"{os.urandom(4).hex()}-{kept}"
        try:
            self._folder.move(name, inside, at.QUARANTINE, kept)
        except FileNotFoundError:
            # Its writer has removed it.
            return
        said = f"{name!r} in {inside} was refused: {why}\n"
        try:
            self._folder.put(at.QUARANTINE, f"{kept}.reason", said.encode("utf-8", "replace"))
            # Looking through all of them is most of the work.
            if self._aside % TIDIED_EVERY == 0:
                self._folder.keep_latest(at.QUARANTINE, 2 * (KEPT_ASIDE - TIDIED_EVERY))
            self._aside += 1
        except OSError as problem:
            log.warning("%s: why %r was refused is written nowhere else: %s", self._name, name, problem)

    async def _persistently(self, request: str, do: Callable[[], object]) -> None:
        """Do it, as often as it takes: a full disk or a folder that was taken away is no end."""
        nap = SHORTEST_NAP
        while True:
            try:
                async with self._pace:
                    do()
            except FileNotFoundError as problem:
                if self._folder.is_gone():
                    return
                self._complain(request, problem, nap)
            except OSError as problem:
                self._complain(request, problem, nap)
            else:
                return
            await asyncio.sleep(nap)
            nap = min(nap * 2, LONGEST_NAP)

    def _complain(self, request: str, problem: OSError, nap: float) -> None:
        log.warning("%s: %s cannot be served: %s; trying again in %g s", self._name, request, problem, nap)


def _is_being_written(name: str) -> bool:
    """Whether a program writes the file here before it renames it, as many do."""
    return name.startswith(".") or name.endswith(".tmp")
