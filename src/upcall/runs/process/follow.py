"""Follows one process of a run: reads its output, runs its driver, and hands what it notices to the watch."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from upcall.domain.answer.outcome import PARKED, Outcome
from upcall.domain.run.program import Action, Finished, Noticed, Verdict
from upcall.ports.agent import Desk, Driver, Reader, is_silent
from upcall.runs.process.folder import RunFolder
from upcall.runs.process.keeper_server import KeeperConnection
from upcall.runs.process.transcript import Transcript
from upcall.runs.process.watch import Watch

log = logging.getLogger("upcall.runs")


class Console:
    """The lines of a process, for its driver."""

    def __init__(self, keeper: KeeperConnection) -> None:
        self._keeper = keeper
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    async def read(self) -> str | None:
        """The next line; None once the process has ended."""
        return await self._lines.get()

    async def write(self, line: str) -> None:
        """Give it a line to read."""
        self._keeper.write(line if line.endswith("\n") else f"{line}\n")

    def feed(self, line: str | None) -> None:
        """Take in what it wrote."""
        self._lines.put_nowait(line)


class ReportingDesk:
    """A desk that reports the id of each inquiry that it tells the end of to the program.

    That is not evidence that the program has it, but the next thing that the program says is.
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
        return self._told(await self._desk.approve(action, key, wait=wait))

    async def put_plan(
        self, plan: str, key: str, *, edits: bool = True, wait: float | None = None
    ) -> Verdict:
        """See `Desk.put_plan`."""
        return self._told(await self._desk.put_plan(plan, key, edits=edits, wait=wait))

    def _told(self, verdict: Verdict) -> Verdict:
        if verdict.inquiry and not verdict.open:
            self._handed(verdict.inquiry)
        return verdict


@dataclass(slots=True, kw_only=True)
class ProcessFollower:
    """One live process. The watch gets everything that is noticed, in order, and marks up to where that was all.

    So the next daemon begins at a mark, counts nothing twice and misses nothing. The output of the process begins at
    `begins`, and `read` is the mark of the daemon before us: what lies between is read once more, by a reader that then
    knows as much as the one before it (such as the first half of a question), and is not taken again. A driver sees
    everything, and counts for itself. `talks` says whether the program is one that has a driver.
    """

    keeper: KeeperConnection
    folder: RunFolder
    begins: int
    read: int
    reader: Reader
    driver: Driver | None
    talks: bool
    desk: Desk
    watch: Watch
    _seen: asyncio.Queue[Noticed | int | str | None] = field(default_factory=asyncio.Queue)

    async def until_over(self) -> int | None:
        """Follow to the end, and return the exit code; None when the keeper went away and may come back."""
        taking = asyncio.create_task(self._take_all())
        try:
            if self.driver is None:
                await self._each_line(partial(self._notice, taken=self.read))
            else:
                await self._drive(self.driver)
            self._seen.put_nowait(None)
            await taking
        finally:
            taking.cancel()
        if self.keeper.exit_code is not None:
            return self.keeper.exit_code
        ended = self.folder.read_exit()
        return ended.code if ended is not None and ended.number == self.keeper.start else None

    async def say(self, text: str) -> bool:
        """Tell the live process something, if it can be told."""
        return self.driver is not None and await self.driver.say(text)

    async def _each_line(self, heed: Callable[[str], None]) -> None:
        self.read = self.begins
        while True:
            self.keeper.grew.clear()
            over = self.keeper.gone or self.keeper.exit_code is not None
            begins, data = await asyncio.to_thread(self.folder.read_lines, self.read, cut=over)
            if data:
                self.read = begins
                for line in data.splitlines(keepends=True):
                    self.read += len(line)
                    heed(line.decode("utf-8", "replace").rstrip("\n"))
            elif over:
                return
            else:
                await self.keeper.grew.wait()

    def _notice(self, line: str, *, taken: int) -> None:
        noticed = list(self.reader.notice(line))
        if self.read > taken:
            self._see(noticed)
            self._seen.put_nowait(self.read)

    def _see(self, noticed: Iterable[Noticed]) -> None:
        for each in noticed:
            self._seen.put_nowait(each)

    async def _take_all(self) -> None:
        handed: list[str] = []
        while (noticed := await self._seen.get()) is not None:
            if isinstance(noticed, int):
                self.watch.mark(noticed)
            elif isinstance(noticed, str):
                handed.append(noticed)
            else:
                await self.watch.take(noticed)
                # A bad end may be our own word for it, and proves nothing.
                is_proof = not (isinstance(noticed, Finished) and not noticed.ok)
                if handed and is_proof and await self.watch.heard(handed):
                    handed = []

    async def _drive(self, driver: Driver) -> None:
        console = Console(self.keeper)
        desk = ReportingDesk(self.desk, self._seen.put_nowait)
        transcript = Transcript(self.folder) if is_silent(driver) else None

        def notice(noticed: Noticed) -> None:
            if transcript is not None:
                transcript.write(noticed)
            self._seen.put_nowait(noticed)

        driving = asyncio.create_task(driver.drive(console, desk, notice))
        driving.add_done_callback(self._after_driving)
        try:
            await self._each_line(partial(self._feed, console))
            console.feed(None)
            # Its process is gone, so there is nothing that it could still wait for.
            async with asyncio.timeout(5):
                await asyncio.wait({driving})
        except TimeoutError:
            log.warning("run %s: its driver goes on although the process has ended", self.keeper.run)
        finally:
            driving.cancel()
            await asyncio.gather(driving, return_exceptions=True)
            if transcript is not None:
                transcript.close()

    def _feed(self, console: Console, line: str) -> None:
        console.feed(line)
        self._seen.put_nowait(self.read)

    def _after_driving(self, driving: "asyncio.Task[None]") -> None:
        if driving.cancelled():
            return
        problem = driving.exception()
        if problem is not None:
            log.error("run %s: talking to its program failed", self.keeper.run, exc_info=problem)
            self._see([Finished(ok=False, text=str(problem), reason="protocol_error")])
        # The work is done, or cannot be: either way the process is not needed any more.
        self.keeper.end()
