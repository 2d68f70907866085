"""Answer links over HTTP: a person makes them for themselves, an administrator for every person who may answer."""

from starlette.responses import Response

from upcall.broker.broker import Broker
from upcall.dispatch.answer_links import LINK_SECONDS, AnswerLinks
from upcall.domain.document import timestamp
from upcall.domain.errors import InvalidRequest
from upcall.domain.roles import require_admin
from upcall.http.body import Json
from upcall.web import fields
from upcall.web.call import Call
from upcall.web.settings import WebSettings


class AnswerLinkHandlers:
    """The handler of `/v1/inquiries/{name}/links`."""

    def __init__(self, broker: Broker, links: AnswerLinks, settings: WebSettings) -> None:
        self._broker = broker
        self._links = links
        self._settings = settings

    async def create(self, call: Call) -> Response:
        """Make a link with which one person can answer it, once; a person for themselves, an admin for others."""
        body = await call.body()
        person = fields.text(body, "person") or call.caller.name
        if person != call.caller.name:
            require_admin(call.caller, "make answer links for others")
        inquiry = await self._broker.get(call.name, call.caller)
        if not inquiry.is_open:
            raise InvalidRequest(
                f"{inquiry.ref!r} is settled, so there is nothing to answer",
                hint="`upcall status` lists the open ones",
            )
        # A caller that came through a tunnel is given the tunnel's address.
        base = self._settings.public_url or f"http://{call.header(b'host')}"
        url = f"{base}{await self._links.path(inquiry, person)}"
        expires_at = min(inquiry.expires_at, self._broker.now() + LINK_SECONDS)
        return Json({"url": url, "person": person, "expires_at": timestamp(expires_at)}, 201)
