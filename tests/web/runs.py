"""Runs without processes: what the API and the commands show of them, moved on by the test itself."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from upcall.domain.errors import InvalidRequest, RunConflict, UnknownRun
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller
from upcall.domain.run.program import Command, Permission
from upcall.domain.run.run import Order, Run, RunState
from upcall.ports.runs import Begun, LogLine, LogPage, RunPage

AGENTS = ("scripted", "claude")


@dataclass
class MemoryRuns:
    """Keeps runs in a dictionary."""

    runs: dict[int, Run] = field(default_factory=dict)
    orders: list[Order] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    lines: dict[int, list[str]] = field(default_factory=dict)
    resumes: dict[str, Mapping[str, object]] = field(default_factory=dict)
    told: set[tuple[str, str]] = field(default_factory=set)
    keys: dict[str, int] = field(default_factory=dict)
    answers_go_to: str = "call"
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    waiting: int = 0

    async def begin(self, order: Order, by: Caller) -> Begun:
        if order.agent not in AGENTS:
            (near,) = get_close_matches(order.agent, AGENTS, n=1, cutoff=0)
            raise InvalidRequest(f"there is no agent {order.agent!r}", hint=f"did you mean {near}?")
        if order.request_key in self.keys:
            return Begun(self.runs[self.keys[order.request_key]], created=False)
        self.orders.append(order)
        number = len(self.runs) + 1
        run = Run(
            number=number,
            agent=order.agent,
            task=order.task,
            cwd=order.cwd,
            by=by.name,
            runner="here",
            created_at=1_800_000_000.0,
            started_at=1_800_000_001.0,
            permission=order.permission or Permission.APPROVAL,
            arguments=order.arguments,
            retry_of=order.retry_of,
            state=RunState.RUNNING,
        )
        self.runs[number] = run
        self.lines[number] = []
        if order.request_key:
            self.keys[order.request_key] = number
        return Begun(run, created=True)

    async def get(self, number: int) -> Run:
        if number not in self.runs:
            raise UnknownRun(number)
        return self.runs[number]

    async def recipient(self, inquiry: Inquiry, *, awaited: bool) -> Mapping[str, object] | None:
        known = self.resumes.get(inquiry.id, {})
        return {
            "to": self.answers_go_to,
            "run": inquiry.origin.run or known.get("run"),
            "command": known.get("command"),
        }

    async def find(self, *, state: str | None = None, cursor: str | None = None, limit: int = 50) -> RunPage:
        if cursor and not (cursor.isascii() and cursor.isdigit()):
            raise InvalidRequest(f"{cursor[:64]!r} is not a cursor of this list")
        begins = int(cursor) if cursor else 2**62
        found = [
            run
            for number, run in sorted(self.runs.items(), reverse=True)
            if number < begins and state in {None, run.state.value}
        ]
        more = str(found[limit - 1].number) if len(found) > limit else None
        return RunPage(items=tuple(found[:limit]), next=more)

    async def cancel(self, number: int, by: Caller) -> Run:
        run = await self.get(number)
        if run.is_over:
            raise RunConflict(f"run {number} is over: it is {run.state}", hint=f"upcall show {number}")
        return await self.become(
            number, state=RunState.CANCELLED, reason="cancelled", ended_at=1_800_000_060.0
        )

    async def retry(self, number: int, by: Caller, key: str = "") -> Run:
        run = await self.get(number)
        if not run.is_over:
            raise RunConflict(f"run {number} is not over", hint=f"upcall cancel {number}")
        order = Order(agent=run.agent, task=run.task, cwd=run.cwd, retry_of=number, request_key=key)
        return (await self.begin(order, by)).run

    async def say(self, number: int, text: str, by: Caller, key: str = "") -> str:
        run = await self.get(number)
        if (key, text) not in self.told or not key:
            self.said.append(text)
        self.told.add((key, text))
        return "resumed" if run.is_over else "live"

    async def log(self, number: int, after: int, wait: float = 0, *, raw: bool = False) -> LogPage:
        await self.get(number)
        async with self.changed:
            self.waiting += 1
            try:
                async with asyncio.timeout(wait):
                    await self.changed.wait_for(
                        lambda: len(self.lines[number]) > after or self.runs[number].is_over
                    )
            except TimeoutError:
                pass
            finally:
                self.waiting -= 1
        texts = self.lines[number][after : after + 2]
        lines = tuple(
            LogLine(at=after + index, kind="raw" if raw else "said", text=text)
            for index, text in enumerate(texts)
        )
        position = after + len(lines)
        over = self.runs[number].is_over and not lines
        return LogPage(lines=lines, next_after=position, over=over)

    async def tail(self, number: int) -> LogPage:
        run = await self.get(number)
        lines = [LogLine(at=at, kind="said", text=text) for at, text in enumerate(self.lines[number])]
        return LogPage(lines=tuple(lines), next_after=len(lines), over=run.is_over)

    async def attach(self, number: int) -> Command:
        run = await self.get(number)
        if not run.is_over:
            raise RunConflict(f"a process of run {number} is alive", hint=f"upcall cancel {number}")
        return Command(argv=("scripted", "--resume", "s-1"), cwd=run.cwd, environment={"DOOR": "open"})

    async def resume_state(self, inquiry: str) -> Mapping[str, object] | None:
        return self.resumes.get(inquiry)

    async def become(self, number: int, **changes: object) -> Run:
        """Move a run on."""
        self.runs[number] = run = replace(self.runs[number], **changes)  # type: ignore[arg-type]  # named by tests
        async with self.changed:
            self.changed.notify_all()
        return run

    async def write(self, number: int, *texts: str) -> None:
        """Add to a run's log."""
        self.lines[number] += texts
        async with self.changed:
            self.changed.notify_all()
