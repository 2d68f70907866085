"""The log of a run, page by page, as a person reads it."""

import asyncio

from upcall.domain.run.run import RunState
from upcall.ports.runs import LogPage
from upcall.runs.book import Book
from upcall.runs.process.host import RunHost
from upcall.runs.process.transcript import complaints, lines_of, stream_of

TAIL = 64 * 1024
"""How many bytes of output the end of a log is made from."""


class RunLogs:
    """Reads what the processes of runs have written, from the runs' folders."""

    def __init__(self, host: RunHost, book: Book) -> None:
        self._host = host
        self._book = book

    async def page(self, number: int, after: int, wait: float, *, raw: bool) -> LogPage:
        """See `Runs.log`."""
        folder, store = self._host.folder(number), self._book.store
        deadline = self._book.now() + wait
        seen = await store.last_seq()
        while True:
            run = await self._book.get(number)
            stream = stream_of(folder, raw=raw)
            begins, data = await asyncio.to_thread(folder.read_lines, after, stream, cut=not run.alive)
            left = deadline - self._book.now()
            if data or run.is_over or left <= 0:
                break
            # Progress is written into the log of events, so the files need no polling.
            events = await store.events(seen, wait=min(left, 1.0))
            seen = events[-1].seq if events else seen
        lines = lines_of(stream, self._host.agents(run.agent).reader(), begins, data, raw=raw)
        over = run.is_over and not data
        if over and not raw and run.state is RunState.FAILED:
            lines += await asyncio.to_thread(complaints, folder, begins)
        return LogPage(lines=tuple(lines), next_after=begins + len(data), over=over)

    async def tail(self, number: int) -> LogPage:
        """See `Runs.tail`."""
        run = await self._book.get(number)
        folder = self._host.folder(number)
        stream = stream_of(folder, raw=False)
        data, end = await asyncio.to_thread(folder.last_lines, TAIL, stream)
        lines = lines_of(stream, self._host.agents(run.agent).reader(), end - len(data), data, raw=False)
        return LogPage(lines=tuple(lines), next_after=end, over=run.is_over)
