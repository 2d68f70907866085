"""Makes channels and routes from the settings."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import invalidate_caches
from zoneinfo import ZoneInfo

from upcall.access.tokens import Access
from upcall.channels.catalogue import channel, needs_library, new_push_key, push
from upcall.channels.words import sentences
from upcall.config.channels import QUIET, ChannelSettings, PushSettings, RouteSettings
from upcall.config.settings import Config
from upcall.dispatch.answer_links import AnswerLinks
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.subscriptions import Subscriptions
from upcall.domain.channel.notification import Notifications
from upcall.domain.channel.off import Off
from upcall.domain.channel.routing import Place, Quiet, Route, Routing
from upcall.domain.consequences import FollowUp
from upcall.domain.errors import InvalidSetting, UpcallError
from upcall.domain.inquiry.inquiry import Change, Inquiry
from upcall.domain.records import Effects
from upcall.domain.run import resume
from upcall.home.program import installing
from upcall.ports.channel import Channel, Stamps
from upcall.ports.store import Store

log = logging.getLogger("upcall.wiring")


def follow_up(routing: CurrentRouting, notifications: Notifications) -> FollowUp:
    """The jobs that are written with each change of an inquiry: those of resuming, of channels and of notifications."""

    def consequences(change: Change) -> Effects:
        effects = resume.consequences(change)
        if told := routing.consequences(change):
            effects += told
        return effects + notifications.consequences(change) if notifications.places else effects

    return consequences


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
    return Routing(routes=routes, channels=(*config.channels, *config.channels_off), inbox=config.inbox)


SignedPath = Callable[[Inquiry, str, str], Awaitable[str | None]]
"""The path where the owner of an address in a channel answers an inquiry; None if the address belongs to no person."""


async def unsigned(inquiry: Inquiry, channel: str, address: str) -> str | None:
    """No answer link: people sign in."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeChannels:
    """Channels ready for use, and those that cannot be made, with the reason."""

    channels: Sequence[ConfiguredChannel]
    off: Mapping[str, Off]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMaker:
    """Makes channels from their settings. What they show leads to the inbox at `base`, or to an answer link there."""

    base: str
    signed_path: SignedPath = unsigned
    own_path: SignedPath = unsigned
    """The same where the address is the person's name."""
    stamps: Stamps | None = None
    pushed: Subscriptions | None = None

    def make(self, channels: Mapping[str, ChannelSettings]) -> MadeChannels:
        """Make each channel on its own: one that cannot be made is off, and the others are not."""
        configured: list[ConfiguredChannel] = []
        off: dict[str, Off] = {}
        # What was installed since the last time is found too.
        invalidate_caches()
        for name, settings in channels.items():
            try:
                configured.append(self.configure(name, settings))
            except InvalidSetting as error:
                off[name] = Off(problem=error.message, hint=error.hint or "edit upcall.toml")
        return MadeChannels(channels=configured, off=off)

    def configure(self, name: str, settings: ChannelSettings) -> ConfiguredChannel:
        """One channel.

        Raises:
            InvalidSetting: if it needs something that is not installed, or cannot work with its settings.
        """
        channel = self._channel(name, settings)

        async def link(inquiry: Inquiry, address: str) -> str:
            by_link = channel.capabilities.link and inquiry.is_open
            path = self.own_path if channel.capabilities.personal else self.signed_path
            signed = await path(inquiry, name, address) if by_link else None
            return f"{self.base}{signed or f'/i/{inquiry.id}'}"

        return ConfiguredChannel(name=name, channel=channel, words=sentences(settings.language), link=link)

    def _channel(self, name: str, settings: ChannelSettings) -> Channel:
        try:
            if isinstance(settings, PushSettings) and self.pushed is not None:
                return push(settings, self.pushed)
            return channel(settings, f"{self.base}/channels/{name}", self.stamps)
        except ImportError as error:
            raise InvalidSetting(
                f"channels.{name}: {needs_library(settings.kind, error)}",
                hint=installing(settings.kind),
            ) from error
        except (ValueError, UpcallError) as error:
            raise InvalidSetting(f"channels.{name}: {error}") from error
        except Exception as error:
            # A channel of another package may raise anything, and must not keep the daemon from starting.
            log.exception("the channel %s cannot be made", name)
            raise InvalidSetting(
                f"channels.{name}: it cannot be made: {type(error).__name__}: {error}", hint="see daemon.log"
            ) from error


def channel_maker(
    config: Config, url: str, links: AnswerLinks, pushed: Subscriptions | None = None
) -> ChannelMaker:
    """Makes the channels of a daemon."""
    base = config.public_url.rstrip("/") or url
    return ChannelMaker(
        base=base, signed_path=links.path_in, own_path=links.path_for, stamps=links.signing, pushed=pushed
    )


def subscriptions(store: Store, access: Access) -> Subscriptions:
    """The browsers that get push messages."""
    return Subscriptions(store, access, new_push_key)


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
