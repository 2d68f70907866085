"""What a person tells the agent of a question beside an answer: a correction of one, or a question back."""

from starlette.responses import HTMLResponse, Response

from upcall.broker.corrections import Corrections
from upcall.domain.errors import (
    CannotTell,
    EmptyAnswer,
    InvalidRequest,
    NotAnswered,
    PromptPending,
    UpcallError,
)
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.web.pages.forms import VIA, value
from upcall.web.pages.site import Site, problem
from upcall.web.pages.visit import Visit


class Messages:
    """The handlers of `/i/{name}/correct` and `/i/{name}/ask-back`."""

    def __init__(self, site: Site, corrections: Corrections) -> None:
        self._site = site
        self._corrections = corrections

    async def correct(self, visit: Visit) -> Response:
        """Tell the correction, and say how the agent hears of it."""
        try:
            told = await self._corrections.correct(
                visit.name, _words(visit), visit.caller, via=VIA, key=value(visit.form, "key")[:100]
            )
        except (CannotTell, EmptyAnswer, InvalidRequest, NotAnswered, PromptPending) as error:
            return await self._refused(visit, error)
        return await self._told(visit, told.inquiry, f"correct_{told.to}")

    async def ask_back(self, visit: Visit) -> Response:
        """Ask the agent something, and leave the question open."""
        try:
            settled = await self._site.broker.back.ask(visit.name, _words(visit), visit.caller, via=VIA)
        except (CannotTell, EmptyAnswer, InvalidRequest) as error:
            return await self._refused(visit, error)
        return await self._told(visit, settled.inquiry, "ask_back" if settled.accepted else "lost")

    async def _told(self, visit: Visit, inquiry: Inquiry, said: str) -> Response:
        if not visit.wants_fragment:
            return visit.redirect(f"/i/{inquiry.id}", said=said, about=inquiry.ref)
        view = "one" if value(visit.form, "back") == "one" else "inbox"
        sentence = visit.words.say(f"said.{said}", ref=inquiry.ref)
        return HTMLResponse(await self._site.card(visit, inquiry, view=view, said=sentence))

    async def _refused(self, visit: Visit, error: UpcallError) -> Response:
        if visit.wants_fragment:
            return self._site.explain(visit, error)
        broker = self._site.broker
        inquiry = await broker.get(visit.name, visit.caller)
        trouble = problem(error, visit.words)
        card = await self._site.card(visit, inquiry, view="one", problem=trouble, given=visit.form)
        return self._site.render(
            visit,
            "one.html",
            422,
            view="one",
            seq=await broker.store.last_seq(),
            card=card,
            ref=inquiry.ref,
            count=await broker.count_waiting(),
        )


def _words(visit: Visit) -> str:
    return value(visit.form, "text").replace("\r\n", "\n")
