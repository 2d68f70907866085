"""Sign-in links over HTTP: the holder of a person's token gets a link that signs a browser in, once."""

from urllib.parse import quote

from starlette.responses import Response

from upcall.access.tokens import CODE_SECONDS, Access
from upcall.http.body import Json
from upcall.web.call import Call
from upcall.web.settings import WebSettings


def sign_in_path(code: str) -> str:
    """Where a one-time code is redeemed."""
    return f"/sign-in?code={quote(code, safe='')}"


class SignInLinkHandlers:
    """The handler of `/v1/sign-in-links`."""

    def __init__(self, access: Access, settings: WebSettings) -> None:
        self._access = access
        self._settings = settings

    async def create(self, call: Call) -> Response:
        """Make a link that signs a browser in, once."""
        call.query()
        code = await self._access.codes.issue(call.caller)
        # A caller that came through a tunnel is given the tunnel's address.
        base = self._settings.public_url or f"http://{call.header(b'host')}"
        return Json({"url": f"{base}{sign_in_path(code)}", "expires_in": int(CODE_SECONDS)}, 201)
