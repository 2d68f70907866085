"""Makes each kind of channel from its settings.

A channel is imported here alone, and only where one is set up: its library may be missing, and takes time to load.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from upcall.config import channels as kinds
from upcall.domain.channel.off import Off
from upcall.home.program import installing
from upcall.ports.channel import Channel, Stamps

if TYPE_CHECKING:
    from upcall.channels.push.channel import Recipients


@runtime_checkable
class MakesChannel(Protocol):
    """Settings of another package's kind of channel."""

    def channel(self, url: str) -> Channel:
        """The channel, which its vendor can call at `url`. Raises as the function `channel` does."""
        ...


def channel(settings: kinds.ChannelSettings, url: str, stamps: Stamps | None = None) -> Channel:
    """The channel for these settings. Its vendor can call it at `url`; e-mail, where a sender proves nothing, takes `stamps`.

    Raises:
        ImportError: if its library is not installed.
        ValueError: if it cannot work with these settings.
    """
    if isinstance(settings, MakesChannel):
        return settings.channel(url)
    called, stamped = CALLED.get(type(settings)), STAMPED.get(type(settings))
    if stamped is not None:
        assert stamps is not None
        return stamped(settings, stamps)
    return MAKERS[type(settings)](settings) if called is None else called(settings, url)


def missing_library(settings: kinds.ChannelSettings) -> str:
    """What a channel needs that is not installed; empty where nothing is missing."""
    # A channel's module imports its library, and a folder here is named like its kind.
    if settings.kind not in kinds.KINDS:
        return ""
    try:
        import_module(f"upcall.channels.{settings.kind}.channel")
    except ImportError as error:
        return needs_library(settings.kind, error)
    return ""


def without_library(channels: Mapping[str, kinds.ChannelSettings]) -> dict[str, Off]:
    """The channels that are off because what they need is not installed."""
    missing = {name: missing_library(settings) for name, settings in channels.items()}
    return {
        name: Off(problem=f"channels.{name}: {problem}", hint=installing(channels[name].kind))
        for name, problem in missing.items()
        if problem
    }


def needs_library(kind: str, error: ImportError) -> str:
    """That a library is missing, and how to install it."""
    found = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"{kind} needs a library that is not installed ({found}); {installing(kind)} brings it"


def push(settings: kinds.PushSettings, recipients: "Recipients") -> Channel:
    """Web Push, which looks up the browsers of a person in `recipients`. Raises as `channel` does."""
    from upcall.channels.push.channel import Push

    return Push(recipients, settings.subject)


def new_push_key() -> tuple[str, str]:
    """A key by which push services know this installation. Raises as `channel` does."""
    from upcall.channels.push.channel import new_key

    return new_key()


def _slack(settings: kinds.SlackSettings) -> Channel:
    from upcall.channels.slack.channel import Slack

    return Slack(
        bot_token=settings.bot_token,
        app_token=settings.app_token,
        signing_secret=settings.signing_secret,
        api_url=settings.api_url,
        language=settings.language,
    )


def _telegram(settings: kinds.TelegramSettings, url: str) -> Channel:
    from upcall.channels.telegram.channel import Telegram

    return Telegram(
        bot_token=settings.bot_token,
        webhook_secret=settings.webhook_secret,
        url=url,
        api_url=settings.api_url,
        language=settings.language,
    )


def _whatsapp(settings: kinds.WhatsAppSettings, url: str) -> Channel:
    from upcall.channels.whatsapp.channel import WhatsApp

    return WhatsApp(
        access_token=settings.access_token,
        phone_number_id=settings.phone_number_id,
        app_secret=settings.app_secret,
        verify_token=settings.verify_token,
        template=settings.template,
        template_language=settings.template_language,
        url=url,
        api_url=settings.api_url,
        language=settings.language,
    )


def _matrix(settings: kinds.MatrixSettings) -> Channel:
    from upcall.channels.matrix.channel import Matrix

    return Matrix(
        homeserver=settings.homeserver, access_token=settings.access_token, language=settings.language
    )


def _discord(settings: kinds.DiscordSettings) -> Channel:
    from upcall.channels.discord.channel import Discord

    return Discord(bot_token=settings.bot_token, api_url=settings.api_url, language=settings.language)


def _email(settings: kinds.EmailSettings, stamps: Stamps) -> Channel:
    from upcall.channels.email.channel import Email
    from upcall.channels.email.mailbox import Server

    who = {"username": settings.username or settings.address, "password": settings.password}
    smtp = Server(
        host=settings.smtp_host,
        port=settings.smtp_port,
        security=settings.smtp_security,
        ca_file=settings.ca_file,
        **who,
    )
    imap = Server(
        host=settings.imap_host,
        port=settings.imap_port,
        security=settings.imap_security,
        ca_file=settings.ca_file,
        **who,
    )
    return Email(
        address=settings.address,
        smtp=smtp,
        imap=imap,
        stamps=stamps,
        folder=settings.folder,
        language=settings.language,
    )


def _webhook(settings: kinds.WebhookSettings) -> Channel:
    from upcall.channels.webhook.channel import Webhook

    return Webhook(url=settings.url, secret=settings.secret)


def _ntfy(settings: kinds.NtfySettings) -> Channel:
    from upcall.channels.ntfy.channel import Ntfy

    return Ntfy(server=settings.server, token=settings.token, language=settings.language)


def _apprise(settings: kinds.AppriseSettings) -> Channel:
    from upcall.channels.apprise.channel import Apprise

    return Apprise(url=settings.url)


def _desktop(settings: kinds.DesktopSettings) -> Channel:
    from upcall.channels.desktop.channel import Desktop

    return Desktop(language=settings.language)


MAKERS: Mapping[type[kinds.ChannelSettings], Callable[[Any], Channel]] = {
    kinds.SlackSettings: _slack,
    kinds.MatrixSettings: _matrix,
    kinds.DiscordSettings: _discord,
    kinds.WebhookSettings: _webhook,
    kinds.NtfySettings: _ntfy,
    kinds.AppriseSettings: _apprise,
    kinds.DesktopSettings: _desktop,
}

CALLED: Mapping[type[kinds.ChannelSettings], Callable[[Any, str], Channel]] = {
    kinds.TelegramSettings: _telegram,
    kinds.WhatsAppSettings: _whatsapp,
}
"""Channels that have to know the address at which the vendor calls them."""

STAMPED: Mapping[type[kinds.ChannelSettings], Callable[[Any, Stamps], Channel]] = {
    kinds.EmailSettings: _email
}
"""Channels that sign what they send, since their vendor proves no sender."""
