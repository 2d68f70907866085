"""Answer links: one inquiry for one person, who need not sign in. Looking changes nothing; only sending answers."""

from starlette.responses import Response

from upcall.dispatch.answer_links import AnswerLinks, Opened
from upcall.domain.errors import LinkUsed
from upcall.web.api.inquiries import InquiryHandlers
from upcall.web.call import Call
from upcall.web.pages import forms
from upcall.web.pages.forms import REFUSED
from upcall.web.pages.recipients import Recipients
from upcall.web.pages.site import Site, problem
from upcall.web.pages.visit import Visit


class Answering:
    """The handlers of everything under `/a`."""

    def __init__(
        self, site: Site, links: AnswerLinks, inquiries: InquiryHandlers, recipients: Recipients
    ) -> None:
        self._site = site
        self._recipients = recipients
        self._links = links
        self._inquiries = inquiries

    async def show(self, visit: Visit) -> Response:
        """The inquiry, with a form while it is open. Programs that look at links in messages change nothing."""
        return await self._page(visit, await self._opened(visit))

    async def answer(self, visit: Visit) -> Response:
        """Take the answer."""
        opened = await self._links.open(visit.params["token"])
        awaited = self._site.broker.is_awaited(opened.inquiry.id)
        try:
            settled = await self._links.answer(opened, forms.reply(opened.inquiry, visit.form))
        except REFUSED as error:
            if opened.used:
                raise LinkUsed from None
            return await self._page(visit, opened, status=422, trouble=problem(error, visit.words))
        said = "lost" if not settled.accepted else "vote" if settled.inquiry.is_open else "answer"
        gaps = {"ref": settled.inquiry.ref}
        if said == "answer":
            told = await self._recipients.recipient(settled.inquiry, awaited=awaited)
            gaps["told"] = await self._recipients.sentence(
                visit.words, settled.inquiry, told, with_command=False
            )
        if visit.wants_fragment:
            # A press on a notification: one sentence takes its place.
            sentence = visit.words.say(f"said.{'late' if said == 'lost' else said}", **gaps)
            return Response(sentence, 200 if settled.accepted else 409, media_type="text/plain")
        flash = visit.words.say(f"said.{said}", **gaps)
        now = Opened(caller=opened.caller, inquiry=settled.inquiry, via=opened.via)
        # A button of a message shows nothing but whether it worked, and what came too late did not.
        return await self._page(visit, now, status=200 if settled.accepted else 409, flash=flash)

    async def attachment(self, visit: Visit) -> Response:
        """A file of the inquiry."""
        opened = await self._opened(visit)
        params = {"name": opened.inquiry.id, "number": visit.params["number"]}
        return await self._inquiries.attachment(Call(visit.scope, visit.receive, opened.caller, params))

    async def _opened(self, visit: Visit) -> Opened:
        opened = await self._links.open(visit.params["token"])
        if opened.used:
            raise LinkUsed
        return opened

    async def _page(
        self, visit: Visit, opened: Opened, *, status: int = 200, flash: str = "", trouble: str = ""
    ) -> Response:
        inquiry, card = opened.inquiry, None
        # A person who has voted has nothing more to do here while votes of others are missing.
        if not (inquiry.is_open and opened.used):
            link = f"/a/{visit.params['token']}"
            card = await self._site.card(
                visit, inquiry, view="link", link=link, problem=trouble, given=visit.form
            )
        return self._site.render(
            visit, "answer.html", status, card=card, ref=inquiry.ref, flash=flash, who=opened.caller.name
        )
