"""The first steps from the empty inbox: the phone by a code to scan, and a test question."""

from urllib.parse import urlsplit

from starlette.responses import Response

from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Origin
from upcall.web.api.sign_in_links import sign_in_path
from upcall.web.pages.forms import value
from upcall.web.pages.site import Site
from upcall.web.pages.visit import Visit

LOOPBACK = ("127.0.0.1", "::1", "localhost")
ASKER = "upcall"
"""The name under which a test question is asked."""


class Arriving:
    """The handlers of `/phone` and `/inbox/test`."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def phone(self, visit: Visit) -> Response:
        """Make a sign-in link for this person and draw it as a QR code, where a phone can reach it at all."""
        base = self._site.settings.public_url or f"http://{visit.header(b'host')}"
        host = urlsplit(base).hostname or ""
        code = ""
        if host not in LOOPBACK:
            code = drawn(f"{base}{sign_in_path(await self._site.access.codes.issue(visit.caller))}")
        count = await self._site.broker.count_waiting()
        return self._site.render(visit, "phone.html", code=code, host=host, count=count)

    async def test(self, visit: Visit) -> Response:
        """Ask the question that shows how questions arrive; pressed twice, it is one."""
        say = visit.words.say
        asked = draft({"question": say("test.question"), "options": [say("test.yes"), say("test.no")]})
        key = value(visit.form, "key")[:100]
        await self._site.broker.ask(
            asked, Origin(agent=ASKER, session=f"test-{key}", door="http", request_key=key or None)
        )
        return visit.redirect("/")


def drawn(text: str) -> str:
    """A text as a QR code for a page."""
    # Most daemons never draw one.
    import segno  # noqa: PLC0415

    drawn: str = segno.make(text, error="l", micro=False).svg_data_uri(
        scale=6, border=4, dark="#000", light="#fff"
    )
    return drawn
