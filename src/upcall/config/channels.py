"""Settings of channels and routes: `[channels.NAME]`, with keys that depend on the kind, and `[[routes]]`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from typing_extensions import override

from upcall.config.reading import (
    EXACT,
    NEEDED,
    SECONDS,
    SECRET,
    SecretOf,
    Table,
    as_table,
    fill,
    fill_named,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

QUIET = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
_CHANNEL_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """The settings of every channel. A channel that is named like a kind has that kind."""

    needs_public_url: ClassVar[bool] = False
    """Whether it is of use only where people or vendors can reach the daemon from outside."""

    kind: str = ""
    language: Literal["en", "zh-CN", "es", "de", "fr", "ja"] = "en"

    def problem(self) -> str:
        """What is wrong with these settings together."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings(ChannelSettings):
    """A Slack app."""

    bot_token: str = field(default="", metadata=SECRET | NEEDED)
    app_token: str = field(default="", metadata=SECRET)
    signing_secret: str = field(default="", metadata=SECRET)
    api_url: str = ""

    @override
    def problem(self) -> str:
        """Each token is in its place, and Slack is listened to, or it calls."""
        if self.bot_token.startswith("xapp-"):
            return "bot_token: this is the app-level token (xapp-…); the bot's begins with xoxb-"
        if self.app_token.startswith("xoxb-"):
            return "app_token: this is the bot's token (xoxb-…); the app-level token begins with xapp-"
        if self.app_token or self.signing_secret:
            return ""
        return "app_token: is needed for Socket Mode, or signing_secret where Slack calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramSettings(ChannelSettings):
    """A Telegram bot."""

    bot_token: str = field(default="", metadata=SECRET | NEEDED)
    webhook_secret: str = field(default="", metadata=SECRET)
    api_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatsAppSettings(ChannelSettings):
    """A number of a business in WhatsApp."""

    needs_public_url: ClassVar[bool] = True
    phone_number_id: str = field(default="", metadata=NEEDED)
    access_token: str = field(default="", metadata=SECRET | NEEDED)
    app_secret: str = field(default="", metadata=SECRET | NEEDED)
    verify_token: str = field(default="", metadata=SECRET | NEEDED)
    template: str = ""
    template_language: str = "en"
    api_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSettings(ChannelSettings):
    """Web Push to the browsers of people; `subject` is whom a push service can write to when something goes wrong."""

    subject: str = field(default="", metadata=NEEDED)

    @override
    def problem(self) -> str:
        """Push services want an address that they can reach."""
        if self.subject.startswith(("mailto:", "https://")):
            return ""
        return "subject: an address that a push service can write to, such as mailto:you@example.org"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSettings(ChannelSettings):
    """An account on a Matrix homeserver."""

    homeserver: str = field(default="", metadata=NEEDED)
    access_token: str = field(default="", metadata=SECRET | NEEDED)


Security = Literal["starttls", "tls", "none"]
_MAIL_ADDRESS = re.compile(r"[a-z0-9._-]{1,20}@[a-z0-9.-]+")
_WEBHOOK_SECRET = re.compile(
    r"whsec_(?:[A-Za-z0-9+/]{4}){6,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?|(?!whsec_).{24,}"
)
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailSettings(ChannelSettings):
    """A mailbox that is Upcall's own."""

    address: str = field(default="", metadata=NEEDED)
    username: str = ""
    password: str = field(default="", metadata=SECRET | NEEDED)
    smtp_host: str = field(default="", metadata=NEEDED)
    smtp_port: int = 587
    smtp_security: Security = "starttls"
    imap_host: str = field(default="", metadata=NEEDED)
    imap_port: int = 993
    imap_security: Security = "tls"
    folder: str = "INBOX"
    ca_file: str = ""

    @override
    def problem(self) -> str:
        """Signed addresses are made from the address, and passwords travel encrypted."""
        if self.address and not _MAIL_ADDRESS.fullmatch(self.address):
            return "address: an address in small letters with at most 20 before the @, without a plus sign"
        for name, host, security in (
            ("smtp", self.smtp_host, self.smtp_security),
            ("imap", self.imap_host, self.imap_security),
        ):
            if security == "none" and host not in _LOOPBACK:
                return f'{name}_security: "none" is for a server on this machine only'
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings(ChannelSettings):
    """A program of the owner."""

    url: str = field(default="", metadata=NEEDED)
    secret: str = field(default="", metadata=SECRET | NEEDED)

    @override
    def problem(self) -> str:
        """The address has to be one of HTTP, and the secret long enough."""
        parts = urlsplit(self.url)
        if self.url and (parts.scheme not in {"http", "https"} or not parts.hostname):
            return f"url: an address such as https://example.org/hook, got {self.url!r}"
        if self.secret and not _WEBHOOK_SECRET.fullmatch(self.secret):
            return "secret: at least 24 characters; behind whsec_, base 64"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordSettings(ChannelSettings):
    """A Discord bot."""

    bot_token: str = field(default="", metadata=SECRET | NEEDED)
    api_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NtfySettings(ChannelSettings):
    """A server of ntfy's."""

    needs_public_url: ClassVar[bool] = True
    server: str = "https://ntfy.sh"
    token: str = field(default="", metadata=SECRET)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppriseSettings(ChannelSettings):
    """A service that Apprise knows."""

    needs_public_url: ClassVar[bool] = True
    url: str = field(default="", metadata=SECRET | NEEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class DesktopSettings(ChannelSettings):
    """The desktop that the daemon runs on."""


KINDS: Mapping[str, type[ChannelSettings]] = {
    "slack": SlackSettings,
    "telegram": TelegramSettings,
    "whatsapp": WhatsAppSettings,
    "push": PushSettings,
    "matrix": MatrixSettings,
    "discord": DiscordSettings,
    "email": EmailSettings,
    "webhook": WebhookSettings,
    "ntfy": NtfySettings,
    "apprise": AppriseSettings,
    "desktop": DesktopSettings,
}
"""Every kind of channel that is built in."""

GROUP = "upcall.channels"
"""The group of entry points in which other packages name their kinds of channels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSettings:
    """The places of matching questions, such as `slack:C0123456789`, all at once."""

    to: tuple[str, ...] = field(default=(), metadata=EXACT)
    agent: str = ""
    workspace: str = ""
    kind: Literal["", "text", "approval", "ask_user_question", "plan"] = ""
    label: str = ""
    order: Literal["all", "round_robin"] = "all"
    remind: float = field(default=600.0, metadata=SECONDS)
    remind_most: int = 3
    escalate_after: float = field(default=0.0, metadata=SECONDS)
    quiet: str = ""
    zone: str = ""


def channel_keys() -> Iterator[tuple[str, str, object]]:
    """Every setting of a `[channels.NAME]` table as (kind, key, default); those of every kind come first, for `any`."""
    shared = {each.name for each in fields(ChannelSettings)}
    for kind, settings in (("any", ChannelSettings), *KINDS.items()):
        for known in fields(settings):
            if kind == "any" or known.name not in shared:
                yield kind, known.name, getattr(settings(), known.name)


def route_keys() -> Iterator[tuple[str, object]]:
    """Every setting of a `[[routes]]` table as (key, default)."""
    for known in fields(RouteSettings):
        yield known.name, getattr(RouteSettings(), known.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadChannels:
    """The channels of the settings by their names: those that can be used, and why the others cannot."""

    on: Mapping[str, ChannelSettings]
    off: Mapping[str, Sequence[str]]


def read_channels(tables: Table, secrets: Table, secret: SecretOf) -> ReadChannels:
    """Read each channel on its own: what is wrong with one of them is no problem of the others."""
    on: dict[str, ChannelSettings] = {}
    off: dict[str, Sequence[str]] = {}
    for name, given in tables.items():
        problems: list[str] = []
        settings = _read_channel(name, given, secrets.get(name), secret, problems)
        if settings is None or problems:
            off[name] = problems
        else:
            on[name] = settings
    return ReadChannels(on=on, off=off)


def _read_channel(
    name: str, given: object, kept: object, secret: SecretOf, problems: list[str]
) -> ChannelSettings | None:
    key = f"channels.{name}"
    if not _CHANNEL_NAME.fullmatch(name):
        problems.append(f"{key}: a name of small letters, digits and - only")
    table = dict(as_table(given, key, problems))
    if problems:
        return None
    table |= as_table({} if kept is None else kept, f"secrets.toml: {key}", problems)
    settings = _settings_of(str(table.setdefault("kind", name)), f"{key}.kind", problems)
    if settings is None:
        return None
    channel = fill_named(settings, table, secret, f"{key}.", problems)
    if not problems and (problem := channel.problem()):
        problems.append(f"{key}.{problem}")
    return channel


def installed() -> Mapping[str, "EntryPoint"]:
    """The kinds of channels of other packages; they cannot replace those that are built in."""
    # Late: most homes have no such channel, and every command reads the settings.
    from importlib.metadata import entry_points  # noqa: PLC0415 - loading it takes longer than most commands do

    return {each.name: each for each in entry_points(group=GROUP)}


def _settings_of(kind: str, key: str, problems: list[str]) -> type[ChannelSettings] | None:
    if kind in KINDS:
        return KINDS[kind]
    others = installed()
    if kind not in others:
        problems.append(f"{key}: one of {', '.join([*KINDS, *others])}; got {kind!r}")
        return None
    place = others[kind].value
    try:
        found = others[kind].load()
    except Exception as error:  # noqa: BLE001 - the package of another author may raise anything when it is imported
        problems.append(f"{key}: {place} cannot be loaded: {type(error).__name__}: {error}")
        return None
    if not (isinstance(found, type) and issubclass(found, ChannelSettings) and hasattr(found, "channel")):
        problems.append(f"{key}: {place} is no class of settings with a method `channel`")
        return None
    return found


def read_routes(given: object, channels: Table, problems: list[str]) -> tuple[RouteSettings, ...]:
    """The routes in their order; they lead to channels that there are."""
    if not isinstance(given, list):
        problems.append(f"routes: tables [[routes]], got {given!r}")
        return ()
    routes = []
    for number, each in enumerate(given, 1):
        key = f"routes {number}"
        route = fill(RouteSettings, as_table(each, key, problems), {}, f"{key}: ", problems)
        if not route.to:
            problems.append(f'{key}: to: places such as ["slack:C0123456789"]')
        for place in route.to:
            channel, _, address = place.partition(":")
            if channel not in channels or not address:
                problems.append(f"{key}: to: a channel's name, a colon and an address there, got {place!r}")
            elif _is_mail(channels[channel]) and address != address.casefold():
                problems.append(f"{key}: to: an e-mail address in small letters, got {place!r}")
        if route.quiet and not QUIET.fullmatch(route.quiet):
            problems.append(f'{key}: quiet: hours such as "22:00-07:00", got {route.quiet!r}')
        if route.zone and not _is_zone(route.zone):
            problems.append(f'{key}: zone: a time zone such as "Europe/Berlin", got {route.zone!r}')
        routes.append(route)
    return tuple(routes)


def _is_mail(channel: object) -> bool:
    return isinstance(channel, dict) and channel.get("kind") == "email"


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return False
    return True
