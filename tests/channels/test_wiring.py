"""What the settings say of channels, put together."""

import json
import sys
from dataclasses import replace
from importlib import import_module

import pytest

from upcall.channels.catalogue import CALLED, MAKERS, STAMPED
from upcall.channels.email.channel import Email
from upcall.channels.slack.channel import Slack
from upcall.channels.webhook.channel import Webhook
from upcall.cli.app import run
from upcall.config.channels import (
    KINDS,
    EmailSettings,
    PushSettings,
    RouteSettings,
    SlackSettings,
    TelegramSettings,
    WebhookSettings,
    read_channels,
)
from upcall.config.settings import Config
from upcall.daemon.wiring.channels import ChannelMaker, SignedPath, channel_routing, follow_up, unsigned
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.domain.channel.notification import Notifications
from upcall.domain.channel.off import Off
from upcall.domain.channel.routing import Place, Quiet
from upcall.domain.inquiry.inquiry import Cancelled, Change, Closing, Inquiry
from upcall.domain.records import Happening
from upcall.domain.run import resume
from upcall.ports.channel import HasAccount
from upcall.testing.examples import an_inquiry

WRITTEN_TO = dict.fromkeys(KINDS, False) | dict.fromkeys(
    ("slack", "telegram", "whatsapp", "matrix", "discord", "email"), True
)
"""Every kind of channel, and whether people write to an app or an account there."""

CONFIG = Config(
    public_url="https://upcall.example/",
    channels={"chat": SlackSettings(kind="slack", bot_token="xoxb-1", app_token="xapp-1", language="ja")},
    routes=(RouteSettings(to=("chat:C1", "chat:U1"), quiet="22:30-07:00", remind_most=1),),
)


class NoStamps:
    """Makes none, and knows none."""

    async def stamp(self, purpose: str, text: str) -> str:
        raise AssertionError

    async def has_stamped(self, purpose: str, text: str, stamp: str) -> bool:
        raise AssertionError


def the_post(config: Config, signed: SignedPath = unsigned) -> ConfiguredChannel:
    """The only channel of these settings."""
    base = config.public_url.rstrip("/") or "http://127.0.0.1:1"
    maker = ChannelMaker(base=base, signed_path=signed, stamps=NoStamps())
    (post,) = maker.make(config.channels).channels
    return post


def why_off(config: Config) -> Off:
    """Why the only channel of these settings cannot be made."""
    base = config.public_url.rstrip("/") or "http://127.0.0.1:1"
    made = ChannelMaker(base=base).make(config.channels)
    assert list(made.channels) == []
    (off,) = made.off.values()
    return off


def problems_of(name: str, table: dict[str, object]) -> list[str]:
    """What is wrong with the settings of one channel."""
    return [problem for found in read_channels({name: table}, {}, str).off.values() for problem in found]


def test_channels_and_routes_are_as_the_settings_say() -> None:
    post = the_post(CONFIG)
    assert (post.name, post.words["approve"]) == ("chat", "承認")
    assert isinstance(post.channel, Slack)
    routing = channel_routing(CONFIG)
    (route,) = routing.routes
    assert route.places == (Place(channel="chat", address="C1"), Place(channel="chat", address="U1"))
    assert (route.quiet, route.remind_most) == (Quiet(begin=22 * 60 + 30, end=7 * 60), 1)
    assert routing.channels == ("chat",)


def test_without_channels_a_step_has_no_more_consequences_than_before() -> None:
    asked = an_inquiry()
    change = Change(inquiry=asked, happening=Happening(type="asked", at=1.0, data={}))
    consequences = follow_up(CurrentRouting(channel_routing(Config())), Notifications())
    assert consequences(change) == resume.consequences(change)


def test_a_missing_library_is_an_error_that_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "upcall.channels.slack.channel")
    monkeypatch.setitem(sys.modules, "slack_sdk.errors", None)
    off = why_off(CONFIG)
    assert off.hint == "pip install 'upcall[slack]'"
    assert off.problem.startswith("channels.chat: slack needs a library that is not installed (")
    assert off.problem.endswith("; pip install 'upcall[slack]' brings it")


async def test_a_channel_that_carries_links_leads_to_a_signed_one_where_the_address_is_a_persons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Slack, "capabilities", replace(Slack.capabilities, link=True))

    async def signed(inquiry: Inquiry, channel: str, address: str) -> str | None:
        return f"/a/{inquiry.id}.{channel}" if address == "U1" else None

    post = the_post(CONFIG, signed)
    asked = an_inquiry()
    assert await post.link(asked, "U1") == f"https://upcall.example/a/{asked.id}.chat"
    assert await post.link(asked, "U2") == f"https://upcall.example/i/{asked.id}"
    over = replace(asked, state=Cancelled(closing=Closing(by="ana", via="web", at=1)))
    assert await post.link(over, "U1") == f"https://upcall.example/i/{asked.id}"


def test_settings_of_a_channel_that_cannot_work_are_named() -> None:
    wrong = Config(channels={"phone": TelegramSettings(kind="telegram", bot_token="no token")})
    assert why_off(wrong).problem.startswith("channels.phone: bot_token looks like 123456789:AAE")
    settings = TelegramSettings(kind="telegram", bot_token="1:a", webhook_secret="s")
    assert the_post(Config(public_url="https://x.example", channels={"phone": settings})).name == "phone"
    assert "webhook_secret needs public_url" in why_off(Config(channels={"phone": settings})).problem


def test_the_printed_manifest_is_for_the_way_that_was_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["setup", "slack"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert (settings["socket_mode_enabled"], settings["interactivity"]) == (True, {"is_enabled": True})
    url = "https://upcall.example/channels/slack"
    assert run(["setup", "slack", "--callback", url]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert settings["socket_mode_enabled"] is False
    assert settings["interactivity"]["request_url"] == settings["event_subscriptions"]["request_url"] == url


def test_every_kind_of_channel_can_be_made() -> None:
    # Web Push is made with those whom it tells.
    assert {*MAKERS, *CALLED, *STAMPED, PushSettings} == set(KINDS.values())


@pytest.mark.promise("doorway/12")
@pytest.mark.parametrize(("kind", "is_written_to"), WRITTEN_TO.items(), ids=list(WRITTEN_TO))
def test_an_app_is_named_for_each_kind_of_channel_that_people_write_to(
    kind: str, is_written_to: object
) -> None:
    """What the apps are called is for the contract, which asks each vendor; here is that none is forgotten."""
    made = import_module(f"upcall.channels.{kind}.channel")
    channels = [
        each for each in vars(made).values() if isinstance(each, type) and hasattr(each, "capabilities")
    ]
    assert channels
    assert {issubclass(each, HasAccount) for each in channels} == {is_written_to}


def test_a_mailbox_is_made_as_the_settings_say() -> None:
    settings = EmailSettings(
        kind="email",
        address="upcall@example.org",
        password="secret",
        smtp_host="smtp.example.org",
        imap_host="imap.example.org",
    )
    post = the_post(Config(channels={"mail": settings}))
    assert isinstance(post.channel, Email)
    assert post.channel.capabilities.link


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"address": "Upcall@example.org"}, "address"),
        ({"address": "upcall+x@example.org"}, "address"),
        ({"address": "a-name-that-is-too-long-to-sign@example.org"}, "address"),
        ({"smtp_security": "none"}, "smtp_security"),
        ({"imap_security": "none"}, "imap_security"),
        ({"imap_security": "some"}, "imap_security"),
        ({"password": ""}, "password"),
    ],
)
def test_a_mailbox_that_cannot_be_used_is_a_problem(changes: dict[str, object], wrong: str) -> None:
    table: dict[str, object] = {
        "kind": "email",
        "address": "upcall@example.org",
        "password": "secret",
        "smtp_host": "smtp.example.org",
        "imap_host": "imap.example.org",
    }
    assert problems_of("mail", table) == []
    assert [problem.partition(":")[0] for problem in problems_of("mail", table | changes)] == [
        f"channels.mail.{wrong}"
    ]
    assert problems_of("mail", table | {"smtp_host": "127.0.0.1", "smtp_security": "none"}) == []


def test_a_webhook_goes_to_the_address_in_the_settings_and_has_a_secret() -> None:
    table: dict[str, object] = {"kind": "webhook", "url": "https://example.org/hook", "secret": "x" * 24}
    assert problems_of("hook", table) == []
    assert problems_of("hook", table | {"secret": f"whsec_{'QUJD' * 8}"}) == []
    for key, value in (
        ("url", "ftp://example.org"),
        ("url", "example.org"),
        ("secret", "short"),
        ("secret", f"whsec_{'!' * 40}"),
    ):
        (problem,) = problems_of("hook", table | {key: value})
        assert problem.startswith(f"channels.hook.{key}: ")
    settings = WebhookSettings(kind="webhook", url="https://example.org/hook", secret="x" * 24)
    post = the_post(Config(channels={"hook": settings}))
    assert isinstance(post.channel, Webhook)
