"""Makes channels and routes from the settings."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from zoneinfo import ZoneInfo

from upcall.access.tokens import Access
from upcall.broker.broker import Broker
from upcall.channels.catalogue import channel, new_push_key, push
from upcall.channels.words import sentences
from upcall.config.channels import QUIET, ChannelSettings, PushSettings, RouteSettings
from upcall.config.settings import Config
from upcall.daemon.wiring.notifications import notification_posts
from upcall.dispatch.answer_links import AnswerLinks
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.listening import LEASE
from upcall.dispatch.people import People
from upcall.dispatch.subscriptions import Subscriptions
from upcall.domain.channel.notification import Notifications
from upcall.domain.channel.routing import Place, Quiet, Route, Routing
from upcall.domain.consequences import FollowUp
from upcall.domain.errors import InvalidSetting
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.run import resume
from upcall.home.files import Home
from upcall.ports.channel import Channel, Stamps
from upcall.ports.store import Store


def follow_up(routing: Routing, notifications: Notifications) -> FollowUp:
    """The jobs that are written with each change of an inquiry; without channels, only those of resuming."""
    if not routing.channels and not notifications.places:
        return resume.consequences
    return lambda change: (
        resume.consequences(change) + routing.consequences(change) + notifications.consequences(change)
    )


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
) -> list[ConfiguredChannel]:
    """The channels that the settings name, ready for use. What they show leads to the inbox, or to an answer link.

    Raises:
        InvalidSetting: if one of them needs something that is not installed.
    """
    base = config.public_url.rstrip("/") or url

    def post(name: str, settings: ChannelSettings) -> ConfiguredChannel:
        channel = _channel(name, settings, f"{base}/channels/{name}", stamps, pushed)

        async def link(inquiry: Inquiry, address: str) -> str:
            by_link = channel.capabilities.link and inquiry.is_open
            signed = await signed_path(inquiry, name, address) if by_link else None
            return f"{base}{signed or f'/i/{inquiry.id}'}"

        return ConfiguredChannel(name=name, channel=channel, words=sentences(settings.language), link=link)

    return [post(name, settings) for name, settings in config.channels.items()]


def subscriptions(config: Config, store: Store, access: Access) -> Subscriptions | None:
    """The browsers that get push messages; None without a push channel."""
    wanted = any(isinstance(settings, PushSettings) for settings in config.channels.values())
    return Subscriptions(store, access, new_push_key) if wanted else None


@asynccontextmanager
async def running_channels(
    broker: Broker,
    config: Config,
    url: str,
    routing: Routing,
    links: AnswerLinks,
    pushed: Subscriptions | None,
    home: Home,
    *,
    shared: bool,
) -> AsyncIterator[Dispatch]:
    """The channels at work; where daemons share a database, one at a time listens to each channel."""
    dispatch = Dispatch(
        broker,
        People(broker.store, broker.now),
        posts(config, url, links.path_in, links.signing, pushed),
        routing,
        listening_lease=LEASE if shared else None,
        notifications=notification_posts(config, url, links, home),
    )
    await dispatch.start()
    try:
        yield dispatch
    finally:
        await dispatch.close()


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
