"""Makes channels and routes from the settings."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from shutil import which
from zoneinfo import ZoneInfo

from upcall.access.tokens import Access
from upcall.broker.broker import Broker
from upcall.channels.catalogue import channel, new_push_key, push
from upcall.channels.words import sentences
from upcall.config.channels import QUIET, ChannelSettings, PushSettings, RouteSettings
from upcall.config.settings import Config
from upcall.dispatch.answer_links import AnswerLinks
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.listening import LEASE
from upcall.dispatch.notifying import OSASCRIPT, Notifying, bell, notify_macos, terminal, told_once, webhook
from upcall.dispatch.people import People
from upcall.dispatch.post import Post
from upcall.dispatch.subscriptions import Subscriptions
from upcall.domain.channel.routing import Place, Quiet, Route, Routing
from upcall.domain.consequences import FollowUp
from upcall.domain.errors import InvalidSetting, UnknownPerson
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.run import resume
from upcall.ports.channel import Channel, Stamps
from upcall.ports.store import Store


def follow_up(routing: Routing) -> FollowUp:
    """The jobs that are written with each change of an inquiry; without channels, only those of resuming."""
    if not routing.channels:
        return resume.consequences
    return lambda change: resume.consequences(change) + routing.consequences(change)


def channel_routing(config: Config) -> Routing:
    """The routes of questions beside the inbox."""
    routes = tuple(
        Route(
            places=tuple(_place(place) for place in route.to),
            agent=route.agent,
            workspace=route.workspace,
            kind=route.kind,
            label=route.label,
            in_turn=route.order == "round_robin",
            remind=route.remind,
            remind_most=route.remind_most,
            escalate_after=route.escalate_after,
            quiet=_quiet(route),
        )
        for route in config.routes
    )
    return Routing(routes=routes, channels=tuple(config.channels), inbox=config.inbox)


SignedPath = Callable[[Inquiry, str, str], Awaitable[str | None]]
"""The path where the owner of an address in a channel answers an inquiry; None if the address belongs to no person."""


async def unsigned(inquiry: Inquiry, channel: str, address: str) -> str | None:
    """No answer link: people sign in."""
    return None


def posts(
    config: Config,
    url: str,
    signed_path: SignedPath = unsigned,
    stamps: Stamps | None = None,
    pushed: Subscriptions | None = None,
) -> list[Post]:
    """The channels that the settings name, ready for use. What they show leads to the inbox, or to an answer link.

    Raises:
        InvalidSetting: if one of them needs something that is not installed.
    """
    base = config.public_url.rstrip("/") or url

    def post(name: str, settings: ChannelSettings) -> Post:
        channel = _channel(name, settings, f"{base}/channels/{name}", stamps, pushed)

        async def link(inquiry: Inquiry, address: str) -> str:
            by_link = channel.capabilities.link and inquiry.is_open
            signed = await signed_path(inquiry, name, address) if by_link else None
            return f"{base}{signed or f'/i/{inquiry.id}'}"

        return Post(name=name, channel=channel, words=sentences(settings.language), link=link)

    return [post(name, settings) for name, settings in config.channels.items()]


def subscriptions(config: Config, store: Store, access: Access) -> Subscriptions | None:
    """The browsers that get push messages; None without a push channel."""
    wanted = any(isinstance(settings, PushSettings) for settings in config.channels.values())
    return Subscriptions(store, access, new_push_key) if wanted else None


@asynccontextmanager
async def channels_at_work(
    broker: Broker,
    config: Config,
    url: str,
    routing: Routing,
    links: AnswerLinks,
    pushed: Subscriptions | None,
    owner: str,
    *,
    shared: bool,
) -> AsyncIterator[Dispatch]:
    """The running channels and notifications. Where daemons share a database, one at a time listens to each channel."""
    dispatch = Dispatch(
        broker,
        People(broker.store, broker.now),
        posts(config, url, links.path_in, links.signing, pushed),
        routing,
        listening_lease=LEASE if shared else None,
    )
    await dispatch.start()
    try:
        async with _notifications(broker.store, links, config, url, owner, shared=shared):
            yield dispatch
    finally:
        await dispatch.close()


@asynccontextmanager
async def _notifications(
    store: Store, links: AnswerLinks, config: Config, url: str, owner: str, *, shared: bool
) -> AsyncIterator[None]:
    """Notify the owner of the home about questions, as the settings say."""
    settings, base = config.notifications, config.public_url.rstrip("/") or url

    async def link(inquiry: Inquiry) -> str:
        try:
            return base + await links.path(inquiry, owner, via="terminal")
        except UnknownPerson:
            # Where homes share a database, the name may belong to a person of another home.
            return f"{base}/i/{inquiry.id}"

    post = webhook(settings.webhook_url)
    wanted = (
        (settings.terminal_bell, bell()),
        (bool(settings.terminal_osc), terminal(settings.terminal_osc)),
        # The same settings may be used on other systems, where there is nothing to notify with.
        (settings.macos_notification and which(OSASCRIPT[0]) is not None, notify_macos),
        (bool(settings.webhook_url), told_once(store, settings.webhook_url, post) if shared else post),
    )
    notifying = Notifying(
        store,
        [notifier for is_wanted, notifier in wanted if is_wanted],
        title=settings.title,
        words=sentences(settings.language),
        link=link,
    )
    await notifying.start()
    try:
        yield
    finally:
        await notifying.close()


def _channel(
    name: str, settings: ChannelSettings, url: str, stamps: Stamps | None, pushed: Subscriptions | None
) -> Channel:
    try:
        if isinstance(settings, PushSettings) and pushed is not None:
            return push(settings, pushed)
        return channel(settings, url, stamps)
    except ValueError as error:
        raise InvalidSetting(f"channels.{name}: {error}") from error
    except ImportError as error:
        raise InvalidSetting(
            f"channels.{name}: {settings.kind} needs a library that cannot be loaded: {str(error).splitlines()[0]}",
            hint=f"pip install 'upcall[{settings.kind}]'",
        ) from error


def _place(written: str) -> Place:
    channel, _, address = written.partition(":")
    return Place(channel=channel, address=address)


def _quiet(route: RouteSettings) -> Quiet | None:
    found = QUIET.fullmatch(route.quiet)
    if found is None:
        return None
    hours = [int(part) for part in found.groups()]
    zone = ZoneInfo(route.zone) if route.zone else None
    return Quiet(begin=hours[0] * 60 + hours[1], end=hours[2] * 60 + hours[3], zone=zone)
