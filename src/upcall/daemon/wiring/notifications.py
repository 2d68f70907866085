"""Notifications of the home's owner put together: settings in, places and the channels that they are in out."""

import hashlib
import sys
from shutil import which

from upcall.channels.notifications.channel import (
    OSASCRIPT,
    Notification,
    Notifier,
    bell,
    notify_macos,
    terminal,
    webhook,
)
from upcall.channels.words import sentences
from upcall.config.settings import Config
from upcall.daemon.wiring.credentials import owner_name
from upcall.daemon.wiring.runs import runner_name
from upcall.dispatch.answer_links import AnswerLinks
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.domain.channel.notification import PREFIX, Notifications
from upcall.domain.channel.routing import Place
from upcall.domain.errors import UnknownPerson
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.home.files import Home


def notification_places(config: Config, home: Home) -> Notifications:
    """Where the owner of a home is told of every question."""
    return Notifications(places=tuple(_place(name) for name in _notifiers(config, home)))


def notification_posts(
    config: Config, url: str, links: AnswerLinks, home: Home
) -> dict[Place, ConfiguredChannel]:
    """The channels of these places, ready for use. What they show leads to an answer link of the owner's."""
    settings, base = config.notifications, config.public_url.rstrip("/") or url

    async def link(inquiry: Inquiry, address: str) -> str:
        try:
            return base + await links.path(inquiry, address, via="terminal")
        except UnknownPerson:
            # Where homes share a database, another person may have the name.
            return f"{base}/i/{inquiry.id}"

    return {
        _place(name): ConfiguredChannel(
            name=name,
            channel=Notification(notify, title=settings.title, language=settings.language),
            words=sentences(settings.language),
            link=link,
        )
        for name, notify in _notifiers(config, home).items()
    }


def _notifiers(config: Config, home: Home) -> dict[str, Notifier]:
    """The notifiers that the settings want, by the name of their channel.

    What notifies at this machine is this home's alone. An address belongs to every home on the same store that has it in
    its settings: its name is made of the address, which is a secret.
    """
    settings, runner = config.notifications, runner_name(home)
    address = hashlib.sha256(settings.webhook_url.encode("utf-8", "replace")).hexdigest()[:16]
    in_terminal = sys.stdout.isatty()
    wanted = (
        (settings.terminal_bell and in_terminal, f"bell@{runner}", bell()),
        (bool(settings.terminal_osc) and in_terminal, f"terminal@{runner}", terminal(settings.terminal_osc)),
        # The same settings may be used on other systems, where there is nothing to notify with.
        (settings.macos_notification and which(OSASCRIPT[0]) is not None, f"macos@{runner}", notify_macos),
        (bool(settings.webhook_url), f"webhook@{address}", webhook(settings.webhook_url)),
    )
    return {PREFIX + name: notify for is_wanted, name, notify in wanted if is_wanted}


def _place(name: str) -> Place:
    return Place(channel=name, address=owner_name())
