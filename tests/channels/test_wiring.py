"""What the settings say of channels, put together."""

import json
import sys
from dataclasses import replace

import pytest

from upcall.channel_settings import KINDS, RouteSettings, SlackSettings, TelegramSettings
from upcall.channels.catalogue import CALLED, MAKERS
from upcall.channels.slack import Slack
from upcall.cli.app import run
from upcall.config import Config
from upcall.domain import resume
from upcall.domain.errors import InvalidSetting
from upcall.domain.inquiry import Cancelled, Closing, Inquiry
from upcall.domain.routing import Place, Quiet
from upcall.testing.examples import an_inquiry
from upcall.wiring_channels import channel_routing, follow_up, posts

CONFIG = Config(
    public_url="https://upcall.example/",
    channels={"chat": SlackSettings(kind="slack", bot_token="xoxb-1", app_token="xapp-1", language="ja")},
    routes=(RouteSettings(to=("chat:C1", "chat:U1"), quiet="22:30-07:00", remind_most=1),),
)


def test_channels_and_routes_are_as_the_settings_say() -> None:
    (post,) = posts(CONFIG, "http://127.0.0.1:1")
    assert (post.name, post.words["approve"]) == ("chat", "承認")
    assert isinstance(post.channel, Slack)
    routing = channel_routing(CONFIG)
    (route,) = routing.routes
    assert route.places == (Place(channel="chat", address="C1"), Place(channel="chat", address="U1"))
    assert (route.quiet, route.remind_most) == (Quiet(begin=22 * 60 + 30, end=7 * 60), 1)
    assert routing.channels == ("chat",)


def test_without_channels_a_step_has_no_more_consequences_than_before() -> None:
    assert posts(Config(), "http://127.0.0.1:1") == []
    assert follow_up(channel_routing(Config())) is resume.consequences


def test_a_missing_library_is_an_error_that_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "upcall.channels.slack")
    monkeypatch.setitem(sys.modules, "slack_sdk.errors", None)
    with pytest.raises(InvalidSetting) as caught:
        posts(CONFIG, "http://127.0.0.1:1")
    assert caught.value.hint == "pip install 'upcall[slack]'"
    assert caught.value.message.startswith("channels.chat: slack needs a library")


async def test_a_channel_that_carries_links_leads_to_a_signed_one_where_the_address_is_somebodys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Slack, "capabilities", replace(Slack.capabilities, link=True))

    async def signed(inquiry: Inquiry, channel: str, address: str) -> str | None:
        return f"/a/{inquiry.id}.{channel}" if address == "U1" else None

    (post,) = posts(CONFIG, "http://127.0.0.1:1", signed)
    asked = an_inquiry()
    assert await post.link(asked, "U1") == f"https://upcall.example/a/{asked.id}.chat"
    assert await post.link(asked, "U2") == f"https://upcall.example/i/{asked.id}"
    over = replace(asked, state=Cancelled(closing=Closing(by="ana", via="web", at=1)))
    assert await post.link(over, "U1") == f"https://upcall.example/i/{asked.id}"


def test_settings_of_a_channel_that_cannot_work_are_named() -> None:
    wrong = Config(channels={"phone": TelegramSettings(kind="telegram", bot_token="no token")})
    with pytest.raises(InvalidSetting) as caught:
        posts(wrong, "http://127.0.0.1:1")
    assert caught.value.message.startswith("channels.phone: bot_token looks like 123456789:AAE")
    settings = TelegramSettings(kind="telegram", bot_token="1:a", webhook_secret="s")
    assert len(posts(Config(public_url="https://x.example", channels={"phone": settings}), "http://x")) == 1
    with pytest.raises(InvalidSetting, match="webhook_secret needs public_url"):
        posts(Config(channels={"phone": settings}), "http://127.0.0.1:1")


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
    assert {*MAKERS, *CALLED} == set(KINDS.values())
