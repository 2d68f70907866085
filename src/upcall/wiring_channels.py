"""Channels put together: settings in, routes and the channels that they name out."""

from upcall.channel_ports import Channel
from upcall.channels.words import sentences
from upcall.config import QUIET, ChannelSettings, Config
from upcall.dispatch.worker import Post
from upcall.domain import resume
from upcall.domain.consequences import FollowUp
from upcall.domain.errors import InvalidSetting
from upcall.domain.routing import Place, Quiet, Route, Routing


def follow_up(routing: Routing) -> FollowUp:
    """What is written with each step of an inquiry; where no channel is set up, nothing about channels."""
    if not routing.channels:
        return resume.consequences
    return lambda change: resume.consequences(change) + routing.consequences(change)


def channel_routing(config: Config) -> Routing:
    """Where questions go beside the inbox."""
    routes = tuple(
        Route(
            places=tuple(_place(place) for place in route.to),
            agent=route.agent,
            workspace=route.workspace,
            kind=route.kind,
            remind=route.remind,
            remind_most=route.remind_most,
            escalate_after=route.escalate_after,
            quiet=_quiet(route.quiet),
        )
        for route in config.routes
    )
    return Routing(routes=routes, channels=tuple(config.channels))


def posts(config: Config, url: str) -> list[Post]:
    """The channels that the settings name, ready for use.

    Raises:
        InvalidSetting: if one of them needs something that is not installed.
    """
    base = config.public_url.rstrip("/") or url
    return [
        Post(
            name=name,
            channel=_channel(name, settings),
            words=sentences(settings.language),
            link=lambda inquiry: f"{base}/i/{inquiry.id}",
        )
        for name, settings in config.channels.items()
    ]


def _channel(name: str, settings: ChannelSettings) -> Channel:
    try:
        # Not everybody has the SDK, and loading it takes a third of a second.
        from upcall.channels.slack import Slack  # noqa: PLC0415
    except ImportError as error:
        raise InvalidSetting(
            f"channels.{name}: Slack needs its SDK, which cannot be loaded: {str(error).splitlines()[0]}",
            hint="pip install 'upcall[slack]'",
        ) from error
    return Slack(
        bot_token=settings.bot_token,
        app_token=settings.app_token,
        api_url=settings.api_url,
        language=settings.language,
    )


def _place(written: str) -> Place:
    channel, _, address = written.partition(":")
    return Place(channel=channel, address=address)


def _quiet(written: str) -> Quiet | None:
    found = QUIET.fullmatch(written)
    if found is None:
        return None
    hours = [int(part) for part in found.groups()]
    return Quiet(begin=hours[0] * 60 + hours[1], end=hours[2] * 60 + hours[3])
