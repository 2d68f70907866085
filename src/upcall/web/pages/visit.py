"""One request of a browser: its cookies, its language, its form, and whether that form is really ours."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import parse_qs, quote, urlsplit

from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope

from upcall.access.tokens import SESSION_SECONDS, BrowserSession
from upcall.domain.errors import InvalidRequest
from upcall.domain.roles import Caller
from upcall.http.body import read_body
from upcall.http.errors import ForeignOrigin
from upcall.web.multipart import read_parts
from upcall.web.pages.locales import LANGUAGES, Words, chosen

LANGUAGE_COOKIE = "upcall-language"
ELSEWHERE = {"cross-site", "same-site"}
YEAR = 365 * 86400
MOST_FIELDS = 200
FRAGMENT = b"x-upcall-fragment"
"""Sent by our own script, which wants a card and not a whole page."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    # Told nothing at all, a browser would hide even from us that a form is one of ours.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "X-Frame-Options": "DENY",
    "Vary": "Cookie, Accept-Language",
}


@dataclass(slots=True)
class Visit:
    """A request, and who makes it once that is known."""

    scope: Scope
    receive: Receive
    public_url: str
    params: Mapping[str, str]
    words: Words = field(init=False)
    session: BrowserSession | None = None
    form: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    uploads: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])
    """The files that came with the form, by name, as they were sent."""
    _query: Mapping[str, list[str]] = field(init=False)
    _cookies: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self._query = parse_qs(self.scope["query_string"].decode("latin-1"), max_num_fields=MOST_FIELDS)
        self._cookies = _cookies(self.header(b"cookie"))
        picked = self.query("lang")
        wanted = picked if picked in LANGUAGES else self._cookies.get(LANGUAGE_COOKIE)
        self.words = chosen(wanted, self.header(b"accept-language"))

    @property
    def caller(self) -> Caller:
        """The person who is signed in; only for pages that are not public."""
        assert self.session is not None
        return self.session.caller

    @property
    def name(self) -> str:
        """The id or ref in the path."""
        return self.params["name"]

    @property
    def wants_fragment(self) -> bool:
        """Whether our own script asks, which replaces one card."""
        return self.header(FRAGMENT) != ""

    @property
    def secret(self) -> str:
        """What the session's cookie holds; empty when there is none."""
        return self._cookies.get(self._cookie, "")

    @property
    def token(self) -> str:
        """What every form of this session carries, and no page of another site can know."""
        return hashlib.sha256(b"form:" + self.secret.encode()).hexdigest()

    def query(self, name: str) -> str:
        """A parameter after the question mark; empty when it is not there."""
        return next(iter(self._query.get(name, ())), "")

    def header(self, wanted: bytes) -> str:
        """A header, all of them put together; empty when there is none."""
        headers = cast("Sequence[tuple[bytes, bytes]]", self.scope["headers"])
        return ", ".join(value.decode("latin-1") for name, value in headers if name == wanted)

    async def read_form(self, *, signed: bool = True, most: int | None = None) -> None:
        """Read what was sent, once it is sure that one of our own pages sent it.

        Raises:
            ForeignOrigin: if it was not.
            TooLarge: if there is more of it than that.
        """
        # An origin that is there has been checked already, on every route; `null` says nothing by itself.
        origin, site = self.header(b"origin"), self.header(b"sec-fetch-site")
        if (not origin and site != "same-origin") or (origin == "null" and site in ELSEWHERE):
            raise ForeignOrigin(
                "this form was not sent by a page of Upcall", hint="open the inbox and try again"
            )
        raw = await read_body(self.receive, most=most)
        try:
            if self.header(b"content-type").startswith("multipart/form-data"):
                self.form, self.uploads = await read_parts(self.scope, raw)
            else:
                self.form = parse_qs(raw.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:
            raise InvalidRequest("this is not a form of Upcall") from None
        sent = next(iter(self.form.get("token", ())), "")
        if signed and not hmac.compare_digest(sent.encode(), self.token.encode()):
            raise ForeignOrigin("this form belongs to another session", hint="reload the page and try again")

    def page(self, html: str, status: int = 200) -> Response:
        """A response with HTML."""
        return HTMLResponse(html, status)

    def redirect(self, path: str, **query: str) -> Response:
        """A response that sends the browser to another page of ours."""
        words = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items() if value)
        return Response(status_code=303, headers={"Location": f"{path}?{words}" if words else path})

    def sign_in(self, response: Response, secret: str) -> None:
        """Let the browser keep a session."""
        response.set_cookie(
            self._cookie,
            secret,
            max_age=int(SESSION_SECONDS),
            path="/",
            httponly=True,
            samesite="strict",
            secure=self._is_https,
        )

    def sign_out(self, response: Response) -> None:
        """Let the browser forget it."""
        response.delete_cookie(
            self._cookie, path="/", httponly=True, samesite="strict", secure=self._is_https
        )

    def finish(self, response: Response) -> None:
        """Put on what every page has."""
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if self.query("lang") in LANGUAGES:
            response.set_cookie(
                LANGUAGE_COOKIE,
                self.words.language,
                max_age=YEAR,
                path="/",
                httponly=True,
                samesite="lax",
                secure=self._is_https,
            )

    @property
    def _is_https(self) -> bool:
        public = urlsplit(self.public_url)
        called = self.header(b"host").lower()
        return self.scope["scheme"] == "https" or (
            public.scheme == "https" and public.netloc.lower() == called
        )

    @property
    def _cookie(self) -> str:
        # Browsers do not tell ports apart, so two homes on one machine need two names.
        port = self.header(b"host").rpartition(":")[2]
        return "__Host-upcall" if self._is_https else f"upcall-{port if port.isdigit() else '80'}"


def _cookies(header: str) -> Mapping[str, str]:
    # Browsers send the cookies of every port of this machine: one that is malformed spoils no other.
    pairs = (part.partition("=") for part in header.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}
