"""Where the pages are."""

from starlette.responses import Response
from starlette.routing import BaseRoute

from upcall.broker.corrections import Corrections
from upcall.broker.threads import Threads
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.subscriptions import Subscriptions
from upcall.ports.runs import Runs
from upcall.web.api.documents import Documents
from upcall.web.api.inquiries import InquiryHandlers
from upcall.web.backend import Backend
from upcall.web.call import Call
from upcall.web.pages import assets
from upcall.web.pages.answering import Answering
from upcall.web.pages.arriving import Arriving
from upcall.web.pages.batches import Batches
from upcall.web.pages.channels import ChannelPages
from upcall.web.pages.finding import Finding
from upcall.web.pages.inbox import Inbox
from upcall.web.pages.live import Live
from upcall.web.pages.messages import Messages
from upcall.web.pages.push import PushDesk
from upcall.web.pages.recipients import Recipients
from upcall.web.pages.rules import RulePages
from upcall.web.pages.run_live import RunLive
from upcall.web.pages.runs import RunPages
from upcall.web.pages.shown import Shown
from upcall.web.pages.sign_in import SignIn
from upcall.web.pages.site import Page, Site
from upcall.web.pages.threads import ThreadLive, ThreadPages
from upcall.web.pages.visit import Visit


def page_routes(backend: Backend) -> list[BaseRoute]:
    """The routes of the inbox."""
    broker, runs, dispatch, pushed = backend.broker, backend.runs, backend.dispatch, backend.pushed
    site, recipients = Site(broker, backend.access, backend.settings, pushed, dispatch), Recipients(runs)
    inbox, live, sign_in = Inbox(site, recipients, dispatch), Live(site, dispatch), SignIn(site)
    inquiries = InquiryHandlers(broker, Documents(), Threads(broker), undo=backend.settings.undo)
    messages = Messages(site, Corrections(broker, Threads(broker), runs))
    answering = Answering(site, backend.links, inquiries, recipients)

    async def attachment(visit: Visit) -> Response:
        return await inquiries.attachment(Call(visit.scope, visit.receive, visit.caller, visit.params))

    async def answer_file(visit: Visit) -> Response:
        return await inquiries.answer_file(Call(visit.scope, visit.receive, visit.caller, visit.params))

    return [
        Page(site, {"GET": inbox.inbox}).at("/"),
        Page(site, {"GET": live.stream}).at("/inbox/stream"),
        Page(site, {"GET": live.here}).at("/inbox/here"),
        Page(site, {"GET": inbox.history}).at("/history"),
        Page(site, {"GET": inbox.help}).at("/help"),
        Page(site, {"GET": Finding(site, runs).find}).at("/find"),
        *_thread_routes(site, live),
        Page(site, {"GET": inbox.one}).at("/i/{name}"),
        Page(site, {"POST": inbox.answer}).at("/i/{name}/answer"),
        Page(site, {"POST": inbox.reject}).at("/i/{name}/reject"),
        Page(site, {"POST": inbox.undo}).at("/i/{name}/undo"),
        Page(site, {"POST": messages.correct}).at("/i/{name}/correct"),
        Page(site, {"POST": messages.ask_back}).at("/i/{name}/ask-back"),
        Page(site, {"POST": inbox.snooze}).at("/i/{name}/snooze"),
        Page(site, {"POST": inbox.extend}).at("/i/{name}/extend"),
        Page(site, {"GET": attachment}).at("/i/{name}/attachments/{number}"),
        Page(site, {"GET": answer_file}).at("/i/{name}/files/{number}"),
        # The address itself is the secret: the browser sends it in no Referer, not even to us.
        Page(site, {"GET": answering.show, "POST": answering.answer}, public=True, untold=True).at(
            "/a/{token}"
        ),
        Page(site, {"GET": answering.attachment}, public=True, untold=True).at(
            "/a/{token}/attachments/{number}"
        ),
        *_run_routes(site, runs, live),
        *_push_routes(site, pushed),
        *_rule_routes(site),
        *_channel_routes(site, dispatch),
        *_arriving_routes(site),
        Page(site, {"POST": Batches(site).decide}).at("/decide"),
        Page(site, {"POST": Shown(site).take}).at("/inbox/shown"),
        Page(site, {"GET": assets.service_worker}, public=True).at("/service-worker.js"),
        Page(site, {"GET": sign_in.offline}, public=True).at("/offline"),
        Page(site, {"GET": sign_in.sessions, "POST": sign_in.revoke}).at("/sessions"),
        Page(site, {"POST": sign_in.leave}).at("/sign-out"),
        Page(site, {"GET": sign_in.show, "POST": sign_in.enter}, public=True).at("/sign-in"),
        Page(site, {"GET": assets.serve}, public=True).at("/static/{name}"),
    ]


def _push_routes(site: Site, pushed: Subscriptions | None) -> list[BaseRoute]:
    if pushed is None:
        return []
    desk = PushDesk(pushed)
    return [
        Page(site, {"POST": desk.subscribe}).at("/push/subscribe"),
        Page(site, {"POST": desk.unsubscribe}).at("/push/unsubscribe"),
    ]


def _arriving_routes(site: Site) -> list[BaseRoute]:
    arriving = Arriving(site)
    return [
        Page(site, {"POST": arriving.phone}).at("/phone"),
        Page(site, {"POST": arriving.test}).at("/inbox/test"),
    ]


def _channel_routes(site: Site, dispatch: Dispatch | None) -> list[BaseRoute]:
    pages = ChannelPages(site, dispatch)
    return [
        Page(site, {"GET": pages.all}).at("/channels"),
        Page(site, {"POST": pages.join}).at("/people"),
        Page(site, {"POST": pages.test}).at("/channels/{name}/test"),
    ]


def _rule_routes(site: Site) -> list[BaseRoute]:
    pages = RulePages(site)
    return [
        Page(site, {"GET": pages.all, "POST": pages.make}).at("/rules"),
        Page(site, {"POST": pages.revoke}).at("/rules/{name}/revoke"),
    ]


def _run_routes(site: Site, runs: Runs, live: Live) -> list[BaseRoute]:
    pages, moving = RunPages(site, runs), RunLive(site, runs, live)
    one = "/runs/{number}"
    return [
        Page(site, {"GET": pages.all}).at("/runs"),
        Page(site, {"GET": moving.all}).at("/runs/stream"),
        Page(site, {"GET": pages.one}).at(one),
        Page(site, {"GET": moving.beside}).at("/i/{name}/beside"),
        Page(site, {"GET": moving.one}).at(f"{one}/stream"),
        Page(site, {"POST": pages.cancel}).at(f"{one}/cancel"),
        Page(site, {"POST": pages.retry}).at(f"{one}/retry"),
        Page(site, {"POST": pages.say}).at(f"{one}/say"),
    ]


def _thread_routes(site: Site, live: Live) -> list[BaseRoute]:
    threads = Threads(site.broker)
    pages = ThreadPages(site, threads)
    one = "/threads/{name}"
    return [
        Page(site, {"GET": pages.all}).at("/threads"),
        Page(site, {"GET": pages.one}).at(one),
        Page(site, {"POST": pages.say}).at(f"{one}/say"),
        Page(site, {"GET": ThreadLive(site, threads, pages, live).one}).at(f"{one}/stream"),
    ]
