"""Correct it: the agent of an answered question is told what is right, as a message."""

from starlette.responses import HTMLResponse, Response

from upcall.broker.corrections import Corrections
from upcall.domain.errors import CannotTell, EmptyAnswer, InvalidRequest, NotAnswered, PromptPending
from upcall.web.pages.forms import VIA, value
from upcall.web.pages.site import Site, problem
from upcall.web.pages.visit import Visit


class Correcting:
    """The handler of `/i/{name}/correct`."""

    def __init__(self, site: Site, corrections: Corrections) -> None:
        self._site = site
        self._corrections = corrections

    async def correct(self, visit: Visit) -> Response:
        """Tell the correction, and say how the agent hears of it."""
        words = value(visit.form, "text").replace("\r\n", "\n")
        try:
            told = await self._corrections.correct(
                visit.name, words, visit.caller, via=VIA, key=value(visit.form, "key")[:100]
            )
        except (CannotTell, EmptyAnswer, InvalidRequest, NotAnswered, PromptPending) as error:
            if visit.wants_fragment:
                return self._site.explain(visit, error)
            return await self._refused(visit, problem(error, visit.words))
        ref, to = told.inquiry.ref, told.to
        if visit.wants_fragment:
            view = "one" if value(visit.form, "back") == "one" else "inbox"
            said = visit.words.say(f"said.correct_{to}", ref=ref)
            return HTMLResponse(await self._site.card(visit, told.inquiry, view=view, said=said))
        return visit.redirect(f"/i/{told.inquiry.id}", said=f"correct_{to}", about=ref)

    async def _refused(self, visit: Visit, trouble: str) -> Response:
        broker = self._site.broker
        inquiry = await broker.get(visit.name, visit.caller)
        card = await self._site.card(visit, inquiry, view="one", problem=trouble, given=visit.form)
        return self._site.render(
            visit,
            "one.html",
            422,
            view="one",
            seq=await broker.store.last_seq(),
            card=card,
            ref=inquiry.ref,
            count=await broker.store.count_open(),
        )
