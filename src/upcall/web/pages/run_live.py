"""Runs kept up to date: how far they are, what they ask, and what they write, over server-sent events."""

from collections.abc import AsyncIterator, Sequence

from starlette.responses import Response

from upcall.domain.text.display import one_line
from upcall.ports.runs import Runs
from upcall.ports.store import Event
from upcall.web.pages.live import Live
from upcall.web.pages.run_views import log_tail, run_view
from upcall.web.pages.runs import run_number
from upcall.web.pages.site import Site
from upcall.web.pages.streaming import LivePage, Streamed, frame, known_to
from upcall.web.pages.visit import Visit

LOOK_EVERY = 1.0
"""Seconds after which an open log is read again; no event announces what a run writes."""

FURTHEST = 2**62


class RunLive:
    """The handlers of `/runs/stream` and `/runs/NUMBER/stream`."""

    def __init__(self, site: Site, runs: Runs, live: Live) -> None:
        self._site = site
        self._runs = runs
        self._live = live

    async def all(self, visit: Visit) -> Response:
        """A row for each run that moves on."""

        async def frames(events: Sequence[Event]) -> AsyncIterator[str]:
            moved = {number: event.seq for event in events if (number := _run(event)) is not None}
            for number in sorted(moved, key=lambda number: moved[number]):
                yield frame("run", await self._drawn(visit, "run-row.html", number), moved[number])

        after = await known_to(visit, self._site.broker.store)
        return Streamed(self._site, LivePage(visit=visit, after=after, frames=frames))

    async def one(self, visit: Visit) -> Response:
        """How far a run is, its questions, and what it has written since the page was rendered."""
        number = run_number(visit)
        await self._runs.get(number)
        sent = visit.query("log")
        position = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 19 else 0

        async def frames(events: Sequence[Event]) -> AsyncIterator[str]:
            nonlocal position
            async for text in self._live.cards(visit, events, run=number):
                yield text
            if any(_run(event) == number for event in events):
                # The last number of all, so that none of its questions looks like old news.
                yield frame("run", await self._drawn(visit, "run-head.html", number), events[-1].seq)
            page = await self._runs.log(number, min(position, FURTHEST))
            if page.next_after != position:
                position = page.next_after
                yield frame("log", self._site.part(visit, "run-log.html", log=log_tail(page)))

        after = await known_to(visit, self._site.broker.store)
        return Streamed(self._site, LivePage(visit=visit, after=after, frames=frames, look_every=LOOK_EVERY))

    async def beside(self, visit: Visit) -> Response:
        """Where a question comes from: who asks, from when until when, and the end of its run's log."""
        inquiry = await self._site.broker.get(visit.name, visit.caller)
        run = inquiry.origin.run
        html = self._site.part(
            visit,
            "beside.html",
            asker=one_line(inquiry.origin.asker),
            workspace=one_line(inquiry.origin.workspace or ""),
            asked_at=inquiry.asked_at,
            expires_at=inquiry.expires_at,
            run=run,
            log=None if run is None else log_tail(await self._runs.tail(run)),
        )
        return visit.page(html)

    async def _drawn(self, visit: Visit, template: str, number: int) -> str:
        return self._site.part(visit, template, run=run_view(await self._runs.get(number)))


def _run(event: Event) -> int | None:
    number = event.data.get("run")
    return number if event.type.startswith("run_") and isinstance(number, int) else None
