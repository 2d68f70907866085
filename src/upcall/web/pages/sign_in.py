"""Coming in and going out: one-time links, sign-out, and the list of browsers that are signed in."""

from contextlib import suppress

from starlette.responses import Response

from upcall.domain.errors import Unauthenticated
from upcall.web.pages.forms import value
from upcall.web.pages.site import Site
from upcall.web.pages.visit import Visit


class SignIn:
    """The handlers of `/sign-in`, `/sign-out` and `/sessions`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._access = site.access

    async def show(self, visit: Visit) -> Response:
        """Say whom the link would let in. Looking uses nothing up: programs that preview links look too."""
        code = visit.query("code")
        holder = await self._access.codes.holder(code) if code else None
        if holder is None and await self._is_signed_in(visit):
            return visit.redirect("/")
        return self._site.render(
            visit,
            "sign-in.html",
            410 if code and holder is None else 200,
            code=code,
            holder=holder,
            ended=bool(visit.query("ended")),
        )

    async def enter(self, visit: Visit) -> Response:
        """Use a code up and open a session."""
        caller = await self._access.codes.redeem(value(visit.form, "code"))
        if caller is None:
            if await self._is_signed_in(visit):
                return visit.redirect("/")
            return self._site.render(visit, "sign-in.html", 410, code="used", holder=None, ended=False)
        with suppress(Unauthenticated):
            # One session for each browser.
            await self._access.revoke((await self._access.admit_session(visit.secret)).name)
        await self._site.browsers.tidy()
        response = visit.redirect("/")
        visit.sign_in(response, await self._access.open_session(caller))
        return response

    async def offline(self, visit: Visit) -> Response:
        """The page that a browser shows while the daemon cannot be reached; there is nothing private in it."""
        return self._site.render(visit, "offline.html")

    async def leave(self, visit: Visit) -> Response:
        """End this session."""
        assert visit.session is not None
        await self._access.revoke(visit.session.name)
        response = visit.redirect("/sign-in")
        visit.sign_out(response)
        return response

    async def sessions(self, visit: Visit) -> Response:
        """Every browser that this person can send away."""
        return self._site.render(
            visit,
            "sessions.html",
            sessions=self._access.sessions(visit.caller),
            browsers=await self._site.browsers.known(),
            mine=visit.session,
            count=await self._site.broker.count_waiting(),
        )

    async def revoke(self, visit: Visit) -> Response:
        """Send one of them away."""
        name = value(visit.form, "name")
        if name in {session.name for session in self._access.sessions(visit.caller)}:
            await self._access.revoke(name)
        return visit.redirect("/sessions")

    async def _is_signed_in(self, visit: Visit) -> bool:
        try:
            await self._access.admit_session(visit.secret)
        except Unauthenticated:
            return False
        return True
