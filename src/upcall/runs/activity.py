"""Reads what led to each question, as soon as it is asked: from the log of its run, or from the record of its session.

Asking waits for none of this. The files are read in threads, a few at a time, and what was read is one more step of the inquiry.
"""

import asyncio
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from upcall.access.connected import is_resumable, session_name
from upcall.domain.errors import UnknownInquiry, UnknownRun, UpcallError
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.activity import Activity, Call, Step, Steps, Words, activity, asks_now
from upcall.domain.inquiry.inquiry import Inquiry, Kind
from upcall.domain.run.resume import is_named
from upcall.domain.run.run import Run
from upcall.home.saved_environments import SavedEnvironments
from upcall.ports.branches import branch_of
from upcall.ports.following import Follower
from upcall.ports.runs import LogLine
from upcall.ports.store import Event
from upcall.ports.transcripts import AskingSession, transcripts_of
from upcall.runs.book import Book
from upcall.runs.process.host import RunHost
from upcall.runs.process.transcript import lines_of, stream_of
from upcall.runs.tasks import Tasks

TAIL = 512 * 1024
"""How many bytes of a run's output are looked at."""

AT_ONCE = 4
PAUSES = (0.0, 0.1, 0.3, 0.8, 1.6)
"""Seconds before each look: a program writes down what it has done a moment after it has done it."""

HOOK = "claude-hook"
ASKED = frozenset({"asked", lifecycle.ACTIVATED})

log = logging.getLogger("upcall.runs")

Found = tuple[Activity, bool]
"""What was read, and whether the call that asks is in it, so that nothing before it is missing."""


class ActivityReader:
    """Follows the questions in the event log of one daemon's store, and reads for those that were asked on this machine."""

    def __init__(self, host: RunHost, book: Book, live: Callable[[Run], Run]) -> None:
        self._host = host
        self._book = book
        self._live = live
        self._saved = SavedEnvironments(host.home.path)
        self._room = asyncio.Semaphore(AT_ONCE)
        self._tasks = Tasks()
        self._following = Follower("reading what led to questions", book.store, self._follow, log)

    async def start(self, seen: int) -> None:
        """Follow the log from there on; not at all where the owner wants none of it."""
        if self._host.settings.activity:
            await self._following.start(seen)

    async def close(self) -> None:
        """Stop following, and reading."""
        await self._following.close()
        await self._tasks.close()

    async def _follow(self, event: Event) -> None:
        if event.inquiry is None or event.type not in ASKED:
            return
        inquiry = event.subject
        if inquiry is None:
            with suppress(UnknownInquiry):
                inquiry = await self._book.store.get(event.inquiry)
        if inquiry is not None and not inquiry.is_queued and self._is_ours(inquiry):
            _ = self._tasks.add(self._observe(inquiry), f"reading what led to {inquiry.id}")

    def _is_ours(self, inquiry: Inquiry) -> bool:
        """Whether its agent works on this machine, as far as its door can tell."""
        origin = inquiry.origin
        if origin.door == HOOK and origin.run is None:
            return session_name("claude", origin.session) in self._host.held
        return origin.runner == self._book.runner and (origin.run is not None or bool(origin.program))

    async def _observe(self, inquiry: Inquiry) -> None:
        found: Activity | None = None
        for pause in PAUSES:
            await asyncio.sleep(pause)
            async with self._room:
                read = await self._read(inquiry)
            if read is None:
                continue
            found, is_complete = read
            if is_complete:
                break
        if found:
            await self._keep(inquiry, found)

    async def _keep(self, inquiry: Inquiry, found: Activity) -> None:
        now = self._book.now()
        with suppress(UnknownInquiry):
            await self._book.store.update(inquiry.id, lambda current: lifecycle.observe(current, found, now))

    async def _read(self, inquiry: Inquiry) -> Found | None:
        number = inquiry.origin.run
        try:
            if number is None:
                return await asyncio.to_thread(self._of_session, inquiry)
            run = self._live(await self._book.get(number))
            return await asyncio.to_thread(self._of_run, inquiry, run)
        except (OSError, ValueError, UnknownRun, UpcallError) as problem:
            log.debug("what led to %s cannot be read: %s", inquiry.id, problem)
            return None

    def _of_run(self, inquiry: Inquiry, run: Run) -> Found:
        folder = self._host.folder(run.number)
        stream = stream_of(folder, raw=False)
        data, end = folder.last_lines(TAIL, stream)
        lines = lines_of(stream, self._host.agents(run.agent).reader(), end - len(data), data, raw=False)
        steps = tuple(_steps(lines))
        return _found(inquiry, steps, task=run.task, branch=branch_of(run.cwd), turn=run.turns or None)

    def _of_session(self, inquiry: Inquiry) -> Found | None:
        origin = inquiry.origin
        program = origin.program or "claude"
        environment = self._environment(inquiry)
        transcripts = transcripts_of(self._host.agents(program))
        named = is_named(origin) and is_resumable(program, origin.session)
        if environment is None or transcripts is None or not (named or origin.program):
            return None
        asking = AskingSession(
            id=origin.session if named else "",
            folder=origin.workspace or "",
            question=inquiry.questions[0].text,
            asked_at=inquiry.asked_at,
            environment=environment,
        )
        record = transcripts.read(asking)
        if record is None:
            return None
        branch = branch_of(asking.folder) if asking.folder.startswith("/") else ""
        made, asked = _found(inquiry, record.steps, task=record.task, branch=branch, turn=record.turn)
        return made, asked or record.complete

    def _environment(self, inquiry: Inquiry) -> Mapping[str, str] | None:
        """The variables of the asking session. Its pipe has saved them here, or its hook belongs to a session with a pipe here."""
        if inquiry.origin.door == HOOK:
            return os.environ
        saved = self._saved.read(inquiry.id)
        return None if saved is None else {**os.environ, **saved.environment}


def _found(inquiry: Inquiry, steps: tuple[Step, ...], *, task: str, branch: str, turn: int | None) -> Found:
    action = "" if inquiry.subject is None else inquiry.subject.tool
    made = activity(steps, task=task, branch=branch, turn=turn, action=action)
    question = "" if inquiry.kind is Kind.PLAN else inquiry.questions[0].text
    return made, asks_now(steps, question, action)


def _steps(lines: Iterable[LogLine]) -> Iterator[Step]:
    for line in lines:
        match line.kind:
            case "said":
                yield Words(text=line.text)
            case "plan":
                yield Steps(text=line.text)
            case "tool":
                tool, _, given = line.text.partition(" ")
                yield Call(tool=tool, input=_input(given))
            case _:
                continue


def _input(given: str) -> object:
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given
