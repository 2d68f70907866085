"""The inbox kept up to date: each change of an inquiry as its card, over server-sent events.

A page says up to which event it is rendered; what comes after is sent, so that nothing is missed in between. Of
several changes of one inquiry only the latest is. In the inbox its row comes first: a card takes longer to draw.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from starlette.responses import Response

from upcall.dispatch.dispatcher import Dispatch
from upcall.domain.errors import UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.text.display import one_line
from upcall.ports.store import Event
from upcall.web.pages.channel_faults import FaultLine, fault_lines
from upcall.web.pages.locales import sentences
from upcall.web.pages.site import Site
from upcall.web.pages.streaming import SHOWN, LivePage, Streamed, frame, known_to
from upcall.web.pages.visit import Visit

LOOK_EVERY = 2.0
"""Seconds after which the health of channels is read again: it is kept as records, which no event announces."""

HEAD_START = 0.02
"""Seconds by which a row is ahead of its card: where browser and daemon share a small machine, the row is drawn meanwhile."""


class Live:
    """The handlers of `/inbox/stream` and `/inbox/here`."""

    def __init__(self, site: Site, dispatch: Dispatch | None = None) -> None:
        self._site = site
        self._dispatch = dispatch
        self._store = site.broker.store

    async def here(self, visit: Visit) -> Response:
        """That the session is good: a stream that fails cannot say why it did."""
        return Response(status_code=204)

    async def stream(self, visit: Visit) -> Response:
        """Cards, from the event that the page was rendered at, and in the inbox the channels that do not work."""
        after = await known_to(visit, self._store)
        watched = self._dispatch if visit.query("view") == "inbox" else None
        told: list[FaultLine] | None = None
        due = 0.0

        async def frames(events: Sequence[Event]) -> AsyncIterator[str]:
            nonlocal told, due
            async for text in self.cards(visit, events):
                yield text
            now = asyncio.get_running_loop().time()
            if watched is None or now < due:
                return
            due = now + LOOK_EVERY
            lines = await fault_lines(watched, visit.words, self._site.settings.program)
            if lines != told:
                told = lines
                yield frame("faults", self._site.part(visit, "faults.html", faults=lines))

        look_every = None if watched is None else LOOK_EVERY
        return Streamed(self._site, LivePage(visit=visit, after=after, frames=frames, look_every=look_every))

    async def cards(
        self, visit: Visit, events: Sequence[Event], *, run: int | None = None
    ) -> AsyncIterator[str]:
        """What changed, as cards: of every inquiry, or only of those that a run has asked."""
        alone = visit.query("view") == "one"
        last = {
            event.inquiry: event
            for event in events
            # Where a question was shown stands on its own page alone, and changes nothing elsewhere.
            if event.inquiry is not None and (alone or event.type not in SHOWN)
        }
        # A page takes nothing that is older than what it has seen.
        pause = HEAD_START if len(last) == 1 else 0.0
        for event in sorted(last.values(), key=lambda event: event.seq):
            async for text in self.card(visit, event, run, pause=pause):
                yield text

    async def card(
        self, visit: Visit, event: Event, run: int | None = None, *, pause: float = 0.0
    ) -> AsyncIterator[str]:
        """What changed about an inquiry, its card a pause after its row; nothing while it waits for its turn."""
        inquiry = event.subject or await self.inquiry(event)
        if inquiry is None or inquiry.is_queued or (run is not None and inquiry.origin.run != run):
            return
        view = visit.query("view")
        if view == "inbox":
            # Numbered as what came before: a page that is cut off here asks for the card, too.
            yield frame("row", self._site.row(visit, inquiry), event.seq - 1)
            await asyncio.sleep(pause)
        view = view if view in {"one", "thread"} else "inbox"
        drawn = await self._site.card(visit, inquiry, view=view, change=_change(visit, event))
        yield frame("card", drawn, event.seq)

    async def inquiry(self, event: Event) -> Inquiry | None:
        """The inquiry that an event is about, if it is still known."""
        try:
            return await self._store.get(event.inquiry or "")
        except UnknownInquiry:
            return None


def _change(visit: Visit, event: Event) -> str:
    name = f"change.{event.type}"
    known = sentences(visit.words.language)
    return visit.words.say(name, who=one_line(str(event.data.get("by", "")), 60)) if name in known else ""
