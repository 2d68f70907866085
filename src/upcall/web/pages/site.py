"""What all pages share: the broker behind them, the rendering, and how a request becomes a page or says why not."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from upcall.access.browsers import Browsers
from upcall.access.tokens import Access
from upcall.broker.broker import Broker
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.subscriptions import Subscriptions
from upcall.domain.channel import delivery
from upcall.domain.errors import InvalidRequest, Unauthenticated, UpcallError
from upcall.domain.inquiry.inquiry import Inquiry, Question
from upcall.domain.inquiry.unfit import UnfitAnswer
from upcall.domain.text.display import one_line
from upcall.http.errors import STATUSES, MethodNotAllowed
from upcall.http.gate import KNOWN
from upcall.ports.store import Store
from upcall.ports.unhurried import unhurried
from upcall.web.pages.channel_faults import off_lines
from upcall.web.pages.forms import UnusableForm
from upcall.web.pages.locales import Words, sentences
from upcall.web.pages.visit import Visit
from upcall.web.settings import WebSettings

if TYPE_CHECKING:
    from upcall.web.pages.cards import Additions
    from upcall.web.pages.rendering import Rendering

TEXT = ("text/", "application/json")
LONGEST_TEXT = 64 * 1024
MOST_DELIVERIES, MOST_PLACES = 50, 5

Handler = Callable[[Visit], Awaitable[Response]]


class Site:
    """The inbox as a whole."""

    def __init__(
        self,
        broker: Broker,
        access: Access,
        settings: WebSettings,
        pushed: Subscriptions | None = None,
        dispatch: Dispatch | None = None,
    ) -> None:
        self.broker = broker
        self.access = access
        self.browsers = Browsers(broker.store, broker.now)
        self.settings = settings
        self._pushed = pushed
        self._dispatch = dispatch

    @cached_property
    def rendering(self) -> "Rendering":
        """The templates."""
        # Loading them takes as long as all the rest of a start, and most daemons are started by an agent.
        from upcall.web.pages.rendering import Rendering  # noqa: PLC0415

        return Rendering(card_label=self.settings.card_label, program=self.settings.program)

    def render(self, visit: Visit, template: str, status: int = 200, **values: object) -> Response:
        """A page for a visitor."""
        caller = None if visit.session is None else visit.session.caller
        token = "" if visit.session is None else visit.token
        common = {"token": token, "now": self.broker.now(), "path": visit.scope["path"], "count": 0}
        common |= {"stream": "/inbox/stream", "flash": "", "push": ""}
        common |= {"off": [] if caller is None else off_lines(self._dispatch, visit.words)}
        html = self.rendering.page(template, visit.words, caller, **(common | values))
        return visit.page(html, status)

    async def card(
        self,
        visit: Visit,
        inquiry: Inquiry,
        *,
        view: str = "inbox",
        link: str = "",
        **additions: "Unpack[Additions]",
    ) -> str:
        """An inquiry for a visitor, with those of its attachments that can be read where it stands.

        `link` is the address at which a person answers without signing in.
        """
        # A page of many cards takes its time, in which agents are not to wait.
        await asyncio.sleep(0)
        texts: dict[int, str] = {}
        for number, file in enumerate(inquiry.attachments if view != "history" else ()):
            if file.media_type.lower().startswith(TEXT) and file.size <= LONGEST_TEXT:
                content = await self.broker.store.attachment(inquiry.id, number)
                texts[number] = content.decode("utf-8", "replace")
        if view == "one" or (view != "link" and not inquiry.is_open):
            additions["shown"] = await _first_shown(self.broker.store, inquiry.id)
        length = len(inquiry.context) + sum(map(len, texts.values())) + sum(map(_length, inquiry.questions))
        additions["texts"] = texts
        now, token = self.broker.now(), "" if link else visit.token
        # The first request loads the templates, and never two threads at once.
        draw = self.rendering.card
        return await unhurried(
            length,
            lambda: draw(inquiry, visit.words, now=now, token=token, view=view, link=link, **additions),
        )

    async def entry(self, visit: Visit, inquiry: Inquiry, **additions: "Unpack[Additions]") -> str:
        """An inquiry for the inbox: its row in the list, and its card."""
        return self.row(visit, inquiry) + await self.card(visit, inquiry, **additions)

    def row(self, visit: Visit, inquiry: Inquiry) -> str:
        """An inquiry in the list of the inbox."""
        return self.rendering.row(inquiry, visit.words, self.broker.now())

    async def push_key(self) -> str:
        """What a browser needs to be told by push; empty where that is not set up."""
        pushed = self._pushed
        return "" if pushed is None or not pushed.in_use else (await pushed.keys())[1]

    def part(self, visit: Visit, template: str, **values: object) -> str:
        """A part of a page, for its stream."""
        return self.rendering.part(template, visit.words, now=self.broker.now(), **values)

    def is_signed_in(self, visit: Visit) -> bool:
        """Whether a visitor's session is good, now and not only when the visit began."""
        try:
            self.access.session(visit.secret)
        except Unauthenticated:
            return False
        return True

    def explain(self, visit: Visit, error: UpcallError) -> Response:
        """A page, or for our own script a sentence, about what went wrong."""
        status = STATUSES.get(error.code, 500)
        sentence = problem(error, visit.words)
        if visit.wants_fragment:
            return Response(sentence, status, media_type="text/plain")
        return self.render(visit, "error.html", status, sentence=sentence)


LARGEST_FORM = 64 * 1024
LARGEST_ANSWER = 1024 * 1024
"""Bytes of a form of a visitor who is not signed in."""


class Page:
    """What lives at one path of the inbox, for those who have signed in unless it is public.

    From a page that is `untold`, browsers send no Referer.
    """

    def __init__(
        self, site: Site, handlers: Mapping[str, Handler], *, public: bool = False, untold: bool = False
    ) -> None:
        self._site = site
        self._handlers = handlers
        self._public = public
        self._untold = untold
        # What an answer link leads to takes an answer; everything else that strangers send is short.
        self._largest_form = None if not public else LARGEST_ANSWER if untold else LARGEST_FORM

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        visit = _visit(scope, receive, self._site.settings.public_url)
        try:
            response = await self._respond(visit)
        except Unauthenticated:
            # A stream or a script is told; a person is shown where to sign in.
            told = visit.wants_fragment or "text/html" not in visit.header(b"accept")
            response = (
                Response(status_code=401)
                if told
                else visit.redirect("/sign-in?ended=1" if visit.secret else "/sign-in")
            )
        except UpcallError as error:
            response = self._site.explain(visit, error)
        if self._untold:
            response.headers["Referrer-Policy"] = "no-referrer"
        visit.finish(response)
        await response(scope, receive, send)

    def at(self, path: str) -> Route:
        """A route to this page."""
        return Route(path, self, name=path)

    async def _respond(self, visit: Visit) -> Response:
        method = visit.scope["method"]
        handler = self._handlers.get("GET" if method == "HEAD" else method)
        if handler is None:
            raise MethodNotAllowed(method, ", ".join(self._handlers))
        if not self._public:
            visit.session = await self._site.access.admit_session(visit.secret)
            visit.scope[KNOWN] = True
            await self._site.browsers.note(visit.session.name, visit.header(b"user-agent"))
        if method == "POST":
            await visit.read_form(signed=not self._public, most=self._largest_form)
        return await handler(visit)


def problem(error: UpcallError, words: Words) -> str:
    """An error in the reader's language."""
    if isinstance(error, UnusableForm):
        return words.say(error.sentence)
    if isinstance(error, UnfitAnswer):
        return " ".join(
            f"{one_line(each.title, 60)}: {words.say(f'field.{each.rule}', **each.gaps)}"
            for each in error.problems
        )
    name = f"problem.{error.code}"
    return words.say(name if name in sentences(words.language) else "problem.other")


def _visit(scope: Scope, receive: Receive, public_url: str) -> Visit:
    try:
        return Visit(scope, receive, public_url, scope["path_params"])
    except ValueError:
        raise InvalidRequest("the address has too many parameters") from None


def _length(question: Question) -> int:
    shown = (len(option.description) + len(option.preview or "") for option in question.options)
    return len(question.text) + sum(shown)


async def _first_shown(store: Store, inquiry: str) -> tuple[float, str] | None:
    """When an inquiry was seen for the first time, and all the places where it was; None if no delivery tells."""
    found = await store.records(delivery.KIND, state=inquiry, limit=MOST_DELIVERIES)
    shown = [each for kept in found.items if (each := delivery.delivery_in(kept)).shown_at is not None]
    if not shown:
        return None
    shown.sort(key=lambda each: each.shown_at or 0.0)
    places = ", ".join(one_line(each.place.name, 40) for each in shown[:MOST_PLACES])
    return shown[0].shown_at or 0.0, places
