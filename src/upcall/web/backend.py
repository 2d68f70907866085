"""What stands behind the routes and is passed to both, the API and the pages."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from upcall.access.tokens import Access
from upcall.approvals.away import AwaySwitch
from upcall.broker.broker import Broker
from upcall.dispatch.answer_links import AnswerLinks
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.subscriptions import Subscriptions
from upcall.ports.runs import Runs
from upcall.telemetry.inquiries import InquiryMetrics
from upcall.web.settings import WebSettings

Reload = Callable[[], Awaitable[Mapping[str, object]]]
"""Reads the settings again, and says what that has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The services of one daemon; `dispatch`, `pushed`, `reload` and `away` are None where there is none of it.

    Without `metrics` counting begins with the first scrape.
    """

    broker: Broker
    access: Access
    runs: Runs
    settings: WebSettings
    links: AnswerLinks
    dispatch: Dispatch | None = None
    pushed: Subscriptions | None = None
    reload: Reload | None = None
    away: AwaySwitch | None = None
    metrics: InquiryMetrics | None = None
