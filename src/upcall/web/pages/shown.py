"""Which questions were on a person's screen: reported by the page's script, kept beside the deliveries of channels.

A page that was only sent does not count, nor does a hidden tab. Without scripts nothing is reported.
"""

from starlette.responses import Response

from upcall.domain.channel import delivery
from upcall.domain.channel.delivery import Delivery
from upcall.domain.channel.routing import Place
from upcall.domain.errors import UnknownInquiry
from upcall.domain.records import Effects, Happening, Record
from upcall.web.pages.site import Site
from upcall.web.pages.visit import Visit

INBOX = "inbox"
"""What the inbox is called among the channels."""

MOST = 50


class Shown:
    """The handler of `/inbox/shown`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._store = site.broker.store

    async def take(self, visit: Visit) -> Response:
        """Note what a person had on the screen, each question once."""
        for name in visit.form.get("id", [])[:MOST]:
            try:
                inquiry = await self._store.get(name)
            except UnknownInquiry:
                continue
            if inquiry.is_open and inquiry.id == name:
                await self._note(inquiry.id, inquiry.ref, Place(channel=INBOX, address=visit.caller.name))
        return Response(status_code=204)

    async def _note(self, inquiry: str, ref: str, place: Place) -> None:
        now = self._site.broker.now()

        def decide(kept: Record | None) -> Effects | None:
            if kept is not None:
                return None
            shown = Delivery(inquiry=inquiry, place=place, shown_at=now, at=now)
            data: dict[str, object] = {"ref": ref, "channel": place.channel, "place": place.address}
            return Effects(
                records=(delivery.record(shown),),
                happenings=(Happening(type="shown", at=now, data=data, inquiry=inquiry),),
            )

        await self._store.revise(delivery.KIND, delivery.key(inquiry, place), decide)
