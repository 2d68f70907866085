"""The web application: every route, behind the guard."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Lifespan

from upcall.access.tokens import Access
from upcall.approvals.away import AwaySwitch
from upcall.broker.broker import Broker
from upcall.broker.corrections import Corrections
from upcall.broker.threads import Threads
from upcall.dispatch.answer_links import AnswerLinks
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.subscriptions import Subscriptions
from upcall.http.guard import Guard
from upcall.ports.runs import Runs
from upcall.telemetry.inquiries import InquiryMetrics
from upcall.web.api.agent_questions import AgentQuestionHandlers
from upcall.web.api.answer_links import AnswerLinkHandlers
from upcall.web.api.approvals import ApprovalHandlers
from upcall.web.api.away import AwayHandlers
from upcall.web.api.channels import ChannelHandlers, PeopleHandlers
from upcall.web.api.corrections import CorrectionHandlers
from upcall.web.api.daemon import DaemonHandlers
from upcall.web.api.decisions import DecisionHandlers
from upcall.web.api.documents import Documents
from upcall.web.api.endpoint import resources
from upcall.web.api.inquiries import InquiryHandlers
from upcall.web.api.metrics import MetricsHandlers
from upcall.web.api.openapi import openapi
from upcall.web.api.routes import TABLE
from upcall.web.api.rules import RuleHandlers
from upcall.web.api.runs import RunHandlers
from upcall.web.api.settings import SettingsHandlers
from upcall.web.api.sign_in_links import SignInLinkHandlers
from upcall.web.api.stream import EventHandlers
from upcall.web.api.threads import ThreadHandlers
from upcall.web.api.tokens import TokenHandlers
from upcall.web.backend import Backend, Reload
from upcall.web.callbacks import callback_routes
from upcall.web.pages.nowhere import Nowhere
from upcall.web.pages.routes import page_routes
from upcall.web.path_table import PathTable
from upcall.web.settings import WebSettings

__all__ = ["Backend", "WebSettings", "api_routes", "create_app"]


def create_app(
    *,
    broker: Broker,
    access: Access,
    runs: Runs,
    settings: WebSettings,
    links: AnswerLinks,
    dispatch: Dispatch | None = None,
    pushed: Subscriptions | None = None,
    reload: Reload | None = None,
    away: AwaySwitch | None = None,
    metrics: InquiryMetrics | None = None,
    extra_routes: Sequence[BaseRoute] = (),
    lifespan: Lifespan[Any] | None = None,
) -> ASGIApp:
    """The ASGI application. Paths are taken literally: nothing is redirected for a slash at its end.

    Waiting requests and streams end when the broker closes, so close it before the server is asked to stop.
    """
    backend = Backend(
        broker=broker,
        access=access,
        runs=runs,
        settings=settings,
        links=links,
        dispatch=dispatch,
        pushed=pushed,
        reload=reload,
        away=away,
        metrics=metrics,
    )
    api = api_routes(backend)
    routes = [
        *api,
        *(callback_routes(dispatch, settings) if dispatch is not None else ()),
        *extra_routes,
        *page_routes(backend),
    ]
    router = Router(routes, redirect_slashes=False, default=Nowhere(backend), lifespan=lifespan)
    return Guard(
        PathTable(api, router),
        body_limit=settings.body_limit,
        answer_limit=settings.answer_limit,
        hosts=settings.allowed_hosts,
        origins=settings.allowed_origins,
    )


def api_routes(backend: Backend) -> list[BaseRoute]:
    """The routes of the API: the table, with the handlers of this installation."""
    broker, access, runs, settings = backend.broker, backend.access, backend.runs, backend.settings
    dispatch = backend.dispatch
    documents = Documents(
        runs.resume_state,
        dispatch,
        runs.recipient,
    )
    threads = Threads(broker)
    live = EventHandlers(broker, access, settings, documents)
    inquiries = InquiryHandlers(broker, documents, threads, undo=settings.undo)
    handlers = (
        inquiries,
        ApprovalHandlers(broker, inquiries, documents),
        DecisionHandlers(broker, documents, undo=settings.undo),
        CorrectionHandlers(broker, Corrections(broker, threads, runs), documents),
        live,
        AgentQuestionHandlers(broker, live, documents),
        AnswerLinkHandlers(broker, backend.links, settings),
        RunHandlers(runs, broker, access),
        ThreadHandlers(broker, access, threads, documents),
        PeopleHandlers(broker, dispatch),
        ChannelHandlers(dispatch),
        SettingsHandlers(backend.reload),
        AwayHandlers(backend.away),
        RuleHandlers(broker),
        TokenHandlers(access),
        SignInLinkHandlers(access, settings),
        MetricsHandlers(broker, dispatch, backend.metrics or InquiryMetrics(broker.store), settings.version),
        DaemonHandlers(broker, settings, partial(openapi, settings.version, broker.policy.limits)),
    )
    return resources(chain.from_iterable(TABLE.values()), access, handlers)
