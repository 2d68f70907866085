"""The web application: every route, behind the guard."""

from collections.abc import Sequence
from typing import Any

from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.broker.broker import Broker
from upcall.broker.threads import Threads
from upcall.dispatch.answer_links import AnswerLinks
from upcall.dispatch.service import Dispatch
from upcall.dispatch.subscriptions import Subscriptions
from upcall.ports.runs import Runs
from upcall.web.api.agent_questions import AgentQuestions
from upcall.web.api.answer_links import AnswerLinkHandlers
from upcall.web.api.channels import ChannelHandlers, PeopleHandlers
from upcall.web.api.documents import Documents
from upcall.web.api.inquiries import Inquiries
from upcall.web.api.rules import Rules
from upcall.web.api.runs import RunHandlers
from upcall.web.api.service import Service
from upcall.web.api.sign_in_links import SignInLinks
from upcall.web.api.stream import Live
from upcall.web.api.threads import ThreadHandlers
from upcall.web.api.tokens import Tokens
from upcall.web.call import Resource
from upcall.web.callbacks import callback_routes
from upcall.web.errors import NotFound
from upcall.web.guard import Guard
from upcall.web.pages.routes import page_routes
from upcall.web.settings import WebSettings

__all__ = ["WebSettings", "api_routes", "create_app"]


def create_app(
    *,
    broker: Broker,
    access: Access,
    runs: Runs,
    settings: WebSettings,
    links: AnswerLinks,
    dispatch: Dispatch | None = None,
    pushed: Subscriptions | None = None,
    extra_routes: Sequence[BaseRoute] = (),
    lifespan: Lifespan[Any] | None = None,
) -> ASGIApp:
    """The ASGI application. Paths are taken literally: nothing is redirected for a slash at its end.

    Waiting requests and streams end when the broker closes, so close it before the server is asked to stop.
    """
    routes = [
        *api_routes(broker, access, runs, settings, links, dispatch),
        *(callback_routes(dispatch, settings) if dispatch is not None and dispatch.names else ()),
        *extra_routes,
        *page_routes(broker, access, runs, settings, links, dispatch, pushed),
    ]
    router = Router(routes, redirect_slashes=False, default=_not_found, lifespan=lifespan)
    return Guard(router, settings)


def api_routes(
    broker: Broker,
    access: Access,
    runs: Runs,
    settings: WebSettings,
    links: AnswerLinks,
    dispatch: Dispatch | None = None,
) -> list[BaseRoute]:
    """The routes of the API, those first that every question goes through."""
    documents = Documents(
        runs.resume_state,
        dispatch.deliveries if dispatch is not None and dispatch.names else None,
        runs.fate,
    )
    threads = Threads(broker)
    inquiries, live = Inquiries(broker, documents, threads), Live(broker, access, settings, documents)
    tokens, sign_in, service = Tokens(access), SignInLinks(access, settings), Service(broker, settings)
    rules, answer_links = Rules(broker), AnswerLinkHandlers(broker, links, settings)
    asked = AgentQuestions(broker, live, documents)
    one = "/v1/inquiries/{name}"
    return [
        Resource(access, {"POST": inquiries.ask, "GET": inquiries.list}).at("/v1/inquiries"),
        Resource(access, {"GET": live.wait}).at(f"{one}/wait"),
        Resource(access, {"POST": inquiries.answer}).at(f"{one}/answer"),
        Resource(access, {"GET": inquiries.get}).at(one),
        Resource(access, {"POST": inquiries.collect}).at(f"{one}/collect"),
        Resource(access, {"GET": live.events}).at("/v1/events"),
        Resource(access, {"GET": live.stream}).at("/v1/stream"),
        Resource(access, {"GET": asked.stream}).at("/v1/agent-questions"),
        Resource(access, {"POST": asked.answer}).at("/v1/answer-agent"),
        Resource(access, {"POST": inquiries.reject}).at(f"{one}/reject"),
        Resource(access, {"POST": inquiries.cancel}).at(f"{one}/cancel"),
        Resource(access, {"POST": inquiries.snooze}).at(f"{one}/snooze"),
        Resource(access, {"POST": inquiries.extend}).at(f"{one}/extend"),
        Resource(access, {"GET": inquiries.attachment}).at(one + "/attachments/{number}"),
        Resource(access, {"POST": answer_links.create}).at(f"{one}/links"),
        *run_routes(broker, access, runs),
        *thread_routes(access, ThreadHandlers(broker, access, threads, documents)),
        *channel_routes(broker, access, dispatch),
        Resource(access, {"GET": tokens.me}).at("/v1/me"),
        Resource(access, {"POST": sign_in.create}).at("/v1/sign-in-links"),
        Resource(access, {"GET": tokens.list, "POST": tokens.create}).at("/v1/tokens"),
        Resource(access, {"DELETE": tokens.revoke}).at("/v1/tokens/{name}"),
        Resource(access, {"GET": rules.list, "POST": rules.add}).at("/v1/rules"),
        Resource(access, {"GET": rules.get, "DELETE": rules.revoke}).at("/v1/rules/{name}"),
        Resource(access, {"POST": service.backup}).at("/v1/backup"),
        Resource(access, {"GET": service.metrics}).at("/metrics"),
        Resource(access, {"GET": service.health, "HEAD": service.health}, public=True).at("/healthz"),
        Resource(access, {"GET": service.alive, "HEAD": service.alive}, public=True).at("/livez"),
        Resource(access, {"GET": service.openapi}, public=True).at("/v1/openapi.json"),
    ]


def run_routes(broker: Broker, access: Access, runs: Runs) -> list[BaseRoute]:
    """The routes about runs."""
    handlers = RunHandlers(runs, broker, access)
    one = "/v1/runs/{number}"
    return [
        Resource(access, {"POST": handlers.begin, "GET": handlers.list}).at("/v1/runs"),
        Resource(access, {"GET": handlers.get}).at(one),
        Resource(access, {"GET": handlers.log}).at(f"{one}/log"),
        Resource(access, {"POST": handlers.cancel}).at(f"{one}/cancel"),
        Resource(access, {"POST": handlers.retry}).at(f"{one}/retry"),
        Resource(access, {"POST": handlers.say}).at(f"{one}/say"),
        Resource(access, {"POST": handlers.attach}).at(f"{one}/attach"),
    ]


def thread_routes(access: Access, handlers: ThreadHandlers) -> list[BaseRoute]:
    """The routes about threads."""
    one = "/v1/threads/{name}"
    return [
        Resource(access, {"POST": handlers.begin, "GET": handlers.list}).at("/v1/threads"),
        Resource(access, {"GET": handlers.get, "PATCH": handlers.choose}).at(one),
        Resource(access, {"GET": handlers.items, "POST": handlers.post}).at(f"{one}/items"),
        Resource(access, {"POST": handlers.turn}).at(f"{one}/turn"),
        Resource(access, {"POST": handlers.resolve}).at(f"{one}/resolve"),
        Resource(access, {"POST": handlers.reject}).at(f"{one}/reject"),
    ]


def channel_routes(broker: Broker, access: Access, dispatch: Dispatch | None) -> list[BaseRoute]:
    """The routes about channels and the people in them."""
    people, channels = PeopleHandlers(broker, dispatch), ChannelHandlers(dispatch)
    return [
        Resource(access, {"GET": people.list, "POST": people.add}).at("/v1/people"),
        Resource(access, {"DELETE": people.remove}).at("/v1/people/{name}"),
        Resource(access, {"GET": channels.list}).at("/v1/channels"),
        Resource(access, {"POST": channels.test}).at("/v1/channels/{name}/test"),
    ]


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000})
        return
    raise NotFound(
        f"there is nothing at {scope['path'][:200]!r}", hint="GET /v1/openapi.json says what there is"
    )
