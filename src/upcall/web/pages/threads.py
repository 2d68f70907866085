"""Threads as pages: the list of them, one as a conversation, and what a person says in it."""

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from starlette.responses import Response

from upcall.broker.threads import Threads, Words as Said
from upcall.domain.errors import EmptyAnswer, InvalidRequest, PromptPending, UnknownInquiry, UnreadableAnswer
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.text.display import one_line, visible
from upcall.domain.thread import prompts
from upcall.domain.thread.thread import ITEM, ItemType, Thread
from upcall.ports.store import Event
from upcall.web.pages.forms import VIA, value
from upcall.web.pages.live import Live
from upcall.web.pages.site import Site, problem
from upcall.web.pages.streaming import LivePage, Streamed, frame, known_to
from upcall.web.pages.visit import Visit

THREADS_PAGE = 50
ITEMS_PAGE = 100
LATEST = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownItem:
    """One item, ready for its template. `card` is the question's own card where it is one."""

    seq: int
    kind: str
    role: str
    by: str
    at: float
    text: str
    name: str
    queued: bool
    error: bool
    card: str


class ThreadPages:
    """The handlers of `/threads` and everything under it."""

    def __init__(self, site: Site, threads: Threads) -> None:
        self._site = site
        self._broker = site.broker
        self._threads = threads

    async def all(self, visit: Visit) -> Response:
        """All threads, the newest first."""
        found, following = await self._threads.page(visit.caller, visit.query("cursor") or None, THREADS_PAGE)
        rows = [(known, await self._threads.prompt(known)) for known in found]
        return self._site.render(
            visit,
            "threads.html",
            rows=[_row(known, inquiry) for known, inquiry in rows],
            next=following,
            count=await self._broker.count_waiting(),
        )

    async def one(self, visit: Visit) -> Response:
        """A thread as a conversation, its latest items first loaded."""
        return await self._shown(visit, await self._threads.get(visit.name, visit.caller))

    async def say(self, visit: Visit) -> Response:
        """Take a person's message: the answer to the open question, or words for the next turn."""
        known = await self._threads.get(visit.name, visit.caller)
        text = value(visit.form, "text").replace("\r\n", "\n")
        seen = value(visit.form, "prompt_id")
        said = Said(text=text, seen=seen, key=value(visit.form, "key")[:100], via=VIA)
        try:
            if not text.strip():
                raise EmptyAnswer
            inquiry = await self._threads.prompt(known)
            if inquiry is not None and inquiry.is_open and inquiry.secret:
                raise PromptPending(known.id)
            await self._threads.post(known.id, visit.caller, said)
        except (EmptyAnswer, UnreadableAnswer, InvalidRequest, PromptPending) as error:
            if visit.wants_fragment:
                return self._site.explain(visit, error)
            return await self._shown(
                visit, known, status=422, trouble=problem(error, visit.words), draft=text
            )
        if visit.wants_fragment:
            return visit.page(await self.composer(visit, known))
        return visit.redirect(f"/threads/{known.id}#compose")

    async def _shown(
        self, visit: Visit, known: Thread, *, status: int = 200, trouble: str = "", draft: str = ""
    ) -> Response:
        # Read first: what happens from here on comes over the stream, twice rather than never.
        seq = await self._broker.store.last_seq()
        sent = visit.query("before")
        before = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 19 else LATEST
        found = await self._broker.store.thread_items(known.id, before=before, limit=ITEMS_PAGE + 1)
        shown = found[-ITEMS_PAGE:]
        return self._site.render(
            visit,
            "thread.html",
            status,
            view="thread",
            stream=f"/threads/{known.id}/stream",
            seq=seq,
            flash="",
            thread=known,
            title=_title(known),
            items=[await self.item(visit, event, known) for event in shown],
            earlier=shown[0].seq if len(found) > ITEMS_PAGE else None,
            latest=before == LATEST,
            pinned=await self._pinned(visit, known, shown),
            **await self._composing(known),
            key=secrets.token_urlsafe(16),
            problem=trouble,
            draft=draft,
            count=await self._broker.count_waiting(),
        )

    async def _pinned(self, visit: Visit, known: Thread, shown: Sequence[Event]) -> str:
        """The card of the open question where it stands on an earlier page: words must answer nothing that is not in sight."""
        inquiry = await self._threads.prompt(known)
        if inquiry is None or not inquiry.is_open or any(_prompt_in(event) == inquiry.id for event in shown):
            return ""
        return await self._site.card(visit, inquiry, view="thread")

    async def item(self, visit: Visit, event: Event, known: Thread) -> ShownItem:
        """One item for a visitor."""
        data = cast("Mapping[str, Any]", event.data)
        metadata = cast("Mapping[str, Any]", data["metadata"])
        kind = str(metadata["type"])
        return ShownItem(
            seq=event.seq,
            kind=kind,
            role=str(data["role"]),
            by=one_line(str(data["by"]), 60),
            at=event.at,
            text=visible("\n".join(str(part["text"]) for part in data["content"])).strip("\n"),
            name=one_line(str(metadata.get("name") or metadata.get("tool_name") or ""), 60),
            queued=bool(data.get("queued")) and event.seq > known.taken,
            error=metadata.get("status") == "error",
            card=await self._card(visit, _prompt_in(event)) if kind == ItemType.PENDING else "",
        )

    async def composer(self, visit: Visit, known: Thread) -> str:
        """What the next message will do, as HTML."""
        return self._site.part(visit, "composing.html", **await self._composing(known))

    async def _composing(self, known: Thread) -> dict[str, object]:
        """What the next message will do, the prompt that it is about, and how far the agent has taken messages up."""
        inquiry = await self._threads.prompt(known)
        if inquiry is None or not inquiry.is_open:
            return {"composing": "queue", "prompt_id": "", "taken": known.taken}
        states = {"answer": "answer", "gate": "gate", "ignore": "queue"}
        # The composer neither masks what is written in it nor forgets it: a secret is told on its card.
        composing = "gate" if inquiry.secret else states[self._broker.policy.threads.capture]
        return {"composing": composing, "prompt_id": prompts.prompt_id(inquiry), "taken": known.taken}

    async def _card(self, visit: Visit, name: str) -> str:
        try:
            inquiry = await self._broker.store.get(name)
        except UnknownInquiry:
            return ""
        return await self._site.card(visit, inquiry, view="thread")


class ThreadLive:
    """The handler of `/threads/NAME/stream`: new items, the question's card, and what the next message will do."""

    def __init__(self, site: Site, threads: Threads, pages: ThreadPages, live: Live) -> None:
        self._site = site
        self._threads = threads
        self._pages = pages
        self._live = live

    async def one(self, visit: Visit) -> Response:
        """What happens in a thread, from the event that the page was rendered at."""
        await self._threads.get(visit.name, visit.caller)

        after = await known_to(visit, self._site.broker.store)
        return Streamed(self._site, LivePage(visit=visit, after=after, frames=partial(self._frames, visit)))

    async def _frames(self, visit: Visit, events: Sequence[Event]) -> AsyncIterator[str]:
        known = await self._threads.get(visit.name, visit.caller)
        told = False
        for event in events:
            if event.type == ITEM and event.data.get("thread") == known.id:
                item = await self._pages.item(visit, event, known)
                told = True
                yield frame("item", self._site.part(visit, "thread-item.html", item=item), event.seq)
            elif event.inquiry is not None and await self._is_here(event, known):
                async for text in self._live.card(visit, event):
                    told = True
                    yield text
        if told:
            yield frame("composer", await self._pages.composer(visit, known))

    async def _is_here(self, event: Event, known: Thread) -> bool:
        inquiry = event.subject or await self._live.inquiry(event)
        return inquiry is not None and inquiry.origin.thread == known.id


def _prompt_in(event: Event) -> str:
    """The id of the inquiry that an item asks; empty if it asks none."""
    metadata = cast("Mapping[str, Any]", event.data["metadata"])
    if metadata["type"] != ItemType.PENDING:
        return ""
    return str(metadata["prompt"]["prompt_id"]).removeprefix(prompts.PREFIX)


def _row(known: Thread, inquiry: Inquiry | None) -> dict[str, object]:
    return {
        "id": known.id,
        "title": _title(known),
        "agent": one_line(known.agent, 60),
        "at": known.created_at,
        "question": ""
        if inquiry is None or not inquiry.is_open
        else one_line(inquiry.questions[0].text, 120),
    }


def _title(known: Thread) -> str:
    return one_line(known.title, 120) or known.id
