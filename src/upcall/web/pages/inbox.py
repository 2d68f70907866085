"""The inbox itself: what waits, what was settled, one inquiry, and what a person does with it."""

import re
import secrets
from collections.abc import Awaitable, Callable, Sequence

from starlette.responses import HTMLResponse, Response

from upcall.broker.broker import Settled
from upcall.dispatch.dispatcher import Dispatch
from upcall.domain.errors import UnknownInquiry, UnusableFile
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.ports.store import Query
from upcall.ports.unhurried import unhurried
from upcall.web.pages import forms
from upcall.web.pages.batches import Listed, batches
from upcall.web.pages.channel_faults import fault_lines
from upcall.web.pages.filters import filters, offered
from upcall.web.pages.forms import REFUSED, VIA, value
from upcall.web.pages.locales import sentences
from upcall.web.pages.ordering import GROUPS, SETTLED, group, ordered
from upcall.web.pages.recipients import CALL, RECIPIENTS, Recipients
from upcall.web.pages.site import Site, problem
from upcall.web.pages.visit import Visit

MOST_ROWS = 60
"""How many are drawn at once; the page asks for more when its end comes near."""

ALL = 100_000

MOST_SETTLED = 5
MOST_OFFERED = 200
"""How many inquiries are looked at for the agents and workspaces that one can choose."""
SETTLED_WITHIN = 3600.0
HISTORY_PAGE = 30
REF = re.compile(r"[a-z0-9]{1,8}")
TOLD = frozenset({"answer", "reject"})
"""What is told to the asker."""

Do = Callable[[Visit, Inquiry], Awaitable[Settled]]


class Inbox:
    """The handlers of `/`, `/history` and everything under `/i`."""

    def __init__(self, site: Site, recipients: Recipients, dispatch: Dispatch | None = None) -> None:
        self._site = site
        self._broker = site.broker
        self._recipients = recipients
        self._dispatch = dispatch

    async def inbox(self, visit: Visit) -> Response:
        """What waits, as rows in their groups, the card of the first, and what was settled just now."""
        # Read first: what happens from here on comes over the stream, twice rather than never.
        seq = await self._broker.store.last_seq()
        chosen, find, now = filters(visit), self._broker.store.find, self._broker.now()
        waiting = (await find(chosen.query("open", ALL))).items
        listed = ordered(waiting, now, most=MOST_ROWS, cursor=visit.query("cursor"))
        settled = (await find(chosen.query("closed", MOST_SETTLED, since=now - SETTLED_WITHIN))).items
        everything = (await find(Query(state="open", limit=ALL))).items if chosen else waiting
        shown = None if visit.query("cursor") else _first(listed.items, settled, now)
        rows = {name: list[Listed]() for name in (*GROUPS, SETTLED)}
        for alike in batches((*listed.items, *settled), now):
            drawn = [self._site.row(visit, inquiry) for inquiry in alike]
            rows[group(alike[0], now)].append(Listed(alike[0].questions[0].text, drawn))
        return self._site.render(
            visit,
            "inbox.html",
            view="inbox",
            seq=seq,
            count=await self._broker.count_waiting(),
            groups=rows,
            waiting=len(waiting),
            shown="" if shown is None else shown.id,
            card="" if shown is None else await self._site.card(visit, shown),
            next=listed.next and chosen.address("/", listed.next),
            chosen=chosen,
            offered=offered(everything, chosen),
            push=await self._site.push_key(),
            faults=await fault_lines(self._dispatch, visit.words, self._site.settings.program),
            flash=await self._flash(visit),
            key=secrets.token_urlsafe(16),
        )

    async def history(self, visit: Visit) -> Response:
        """What was settled, the latest first."""
        chosen, find = filters(visit), self._broker.store.find
        page = await find(chosen.query("closed", HISTORY_PAGE, visit.query("cursor") or None))
        latest = await find(Query(state="closed", limit=MOST_OFFERED))
        cards = [await self._site.card(visit, inquiry, view="history") for inquiry in page.items]
        return self._site.render(
            visit,
            "history.html",
            cards=cards,
            complete=page.complete,
            next=page.next and chosen.address("/history", page.next),
            latest="" if not visit.query("cursor") else chosen.address("/history"),
            chosen=chosen,
            offered=offered(latest.items, chosen),
            count=await self._broker.count_waiting(),
        )

    async def help(self, visit: Visit) -> Response:
        """The keys."""
        return self._site.render(visit, "help.html", count=await self._broker.count_waiting())

    async def one(self, visit: Visit) -> Response:
        """One inquiry, with everything that belongs to it."""
        seq = await self._broker.store.last_seq()
        inquiry = await self._broker.get(visit.name, visit.caller)
        if visit.wants_fragment:
            return HTMLResponse(await self._site.entry(visit, inquiry))
        return await self._alone(visit, inquiry, seq=seq)

    async def answer(self, visit: Visit) -> Response:
        """Take an answer."""
        return await self._do(visit, self._receive)

    async def _receive(self, visit: Visit, inquiry: Inquiry) -> Settled:
        undo = self._site.settings.undo
        size = sum(len(content) for _, content in visit.uploads)
        reply = await unhurried(size, lambda: forms.reply(inquiry, visit.form, visit.uploads, undo=undo))
        return await self._broker.receive(inquiry.id, reply, visit.caller)

    async def reject(self, visit: Visit) -> Response:
        """Decline to answer."""
        return await self._do(
            visit,
            lambda visit, inquiry: self._broker.reject(
                inquiry.id,
                visit.caller,
                reason=value(visit.form, "reason"),
                via=VIA,
                key=value(visit.form, "key")[:100] or None,
            ),
        )

    async def undo(self, visit: Visit) -> Response:
        """Take back a decision of which the agent was not told yet."""
        return await self._do(visit, lambda visit, inquiry: self._broker.undo(inquiry.id, visit.caller))

    async def snooze(self, visit: Visit) -> Response:
        """Keep quiet about it for a while."""
        return await self._do(
            visit,
            lambda visit, inquiry: self._broker.snooze(inquiry.id, visit.caller, forms.span(visit.form)),
        )

    async def extend(self, visit: Visit) -> Response:
        """Give it more time."""
        return await self._do(
            visit,
            lambda visit, inquiry: self._broker.extend(inquiry.id, visit.caller, forms.span(visit.form)),
        )

    async def _do(self, visit: Visit, act: Do) -> Response:
        inquiry = await self._broker.get(visit.name, visit.caller)
        action = visit.scope["path"].rpartition("/")[2]
        back = value(visit.form, "back")
        view = back if back in {"one", "thread"} else "inbox"
        awaited = self._broker.is_awaited(inquiry.id)
        try:
            settled = await act(visit, inquiry)
        except (*REFUSED, UnusableFile) as error:
            # Nothing that was typed is lost: it comes back with a sentence.
            if visit.wants_fragment:
                return self._site.explain(visit, error)
            return await self._alone(visit, inquiry, status=422, trouble=problem(error, visit.words))
        said = _said(action, settled)
        told = ""
        if said in TOLD:
            told = await self._recipients.recipient(settled.inquiry, awaited=awaited)
        if visit.wants_fragment:
            sentence = await self._sentence(visit, said, settled.inquiry, told)
            card = await self._site.card(
                visit, settled.inquiry, view=view, said=sentence, lost=said == "lost"
            )
            return HTMLResponse((self._site.row(visit, settled.inquiry) if view == "inbox" else "") + card)
        if view == "thread" and inquiry.origin.thread is not None:
            return visit.redirect(f"/threads/{inquiry.origin.thread}", said=said, about=inquiry.ref)
        # Only a word travels in the address: what the page shows with it is read from the store.
        told = "" if told == CALL else told
        if said == "lost" or view == "one":
            return visit.redirect(f"/i/{inquiry.id}", said=said, about=inquiry.ref, told=told)
        return visit.redirect("/", said=said, about=inquiry.ref, told=told)

    async def _flash(self, visit: Visit) -> str:
        """What the page that sent the browser here had to say."""
        said, ref = visit.query("said"), visit.query("about")
        if f"said.{said}" not in sentences(visit.words.language) or not REF.fullmatch(ref):
            return ""
        try:
            inquiry = await self._broker.get(ref, visit.caller)
        except UnknownInquiry:
            return ""
        return await self._sentence(visit, said, inquiry, visit.query("told"))

    async def _sentence(self, visit: Visit, said: str, inquiry: Inquiry, told: str) -> str:
        gaps = {"ref": inquiry.ref}
        if said in TOLD:
            recipient = told if told in RECIPIENTS else CALL
            gaps["told"] = await self._recipients.sentence(visit.words, inquiry, recipient)
        return visit.words.say(f"said.{said}", **gaps)

    async def _alone(
        self, visit: Visit, inquiry: Inquiry, *, seq: int = 0, status: int = 200, trouble: str = ""
    ) -> Response:
        card = await self._site.card(visit, inquiry, view="one", problem=trouble, given=visit.form)
        return self._site.render(
            visit,
            "one.html",
            status,
            view="one",
            seq=seq or await self._broker.store.last_seq(),
            card=card,
            ref=inquiry.ref,
            flash=await self._flash(visit),
            count=await self._broker.count_waiting(),
        )


def _said(action: str, settled: Settled) -> str:
    """Which sentence tells how it went; an answer that leaves it open was one vote of several."""
    if settled.inquiry.held:
        return "held" if settled.accepted else "lost"
    if action == "answer" and settled.inquiry.is_open:
        return "vote" if settled.accepted else "voted"
    return action if settled.accepted else "lost"


def _first(waiting: Sequence[Inquiry], settled: Sequence[Inquiry], now: float) -> Inquiry | None:
    """What the page shows before a person has chosen: the first that waits, else what was settled last."""
    awake = (inquiry for inquiry in waiting if group(inquiry, now) != "snoozed")
    return next(awake, None) or next(iter((*settled, *waiting)), None)
