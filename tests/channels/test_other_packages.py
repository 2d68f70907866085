"""A channel that another package brings: one folder and one entry point, and it is set up like those that are built in."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.channels.receiver import Receiver
from upcall.broker.broker import Broker
from upcall.channels.catalogue import channel
from upcall.channels.webhook.channel import Webhook
from upcall.config import channels
from upcall.config.settings import Config, load
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.people import People
from upcall.domain.channel.routing import Routing
from upcall.home.files import Home
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing import channel_house

PACKAGE = """
from dataclasses import dataclass, field

from upcall.channels.one_way import OneWay
from upcall.config.channels import ChannelSettings
from upcall.config.reading import NEEDED


class Journal(OneWay):
    def __init__(self, file, url):
        self.file, self.url = file, url


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalSettings(ChannelSettings):
    file: str = field(default="", metadata=NEEDED)

    def channel(self, url):
        return Journal(self.file, url)


class Nothing:
    pass
"""

Installed = Callable[[str], None]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Installs a package that has the kind `journal` at a place of its own."""

    def install(place: str) -> None:
        (tmp_path / "journal_channel.py").write_text(PACKAGE)
        information = tmp_path / "journal_channel-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: journal-channel\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(f"[upcall.channels]\njournal = {place}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "journal_channel", raising=False)

    return install


def loaded(folder: Path, settings: str) -> Config:
    home = Home(folder / "home")
    home.create()
    (home.path / "upcall.toml").write_text(settings)
    return load(home)


def read(folder: Path, settings: str) -> channels.ChannelSettings:
    return loaded(folder, settings).channels["diary"]


@pytest.mark.promise("house/13")
def test_it_is_made_of_its_own_settings(tmp_path: Path, installed: Installed) -> None:
    installed("journal_channel:JournalSettings")
    settings = read(tmp_path, '[channels.diary]\nkind = "journal"\nfile = "/x"\nlanguage = "de"')
    made = channel(settings, "https://upcall.example/channels/diary")
    assert (vars(made), settings.language) == (
        {"file": "/x", "url": "https://upcall.example/channels/diary"},
        "de",
    )


@pytest.mark.parametrize(
    ("place", "more", "problem"),
    [
        ("journal_channel:JournalSettings", "", "channels.diary.file: is needed"),
        ("journal_channel:JournalSettings", 'file = "x"\nink = "blue"', "channels.diary.ink"),
        (
            "journal_channel:Nothing",
            "",
            "channels.diary.kind: journal_channel:Nothing is no class of settings",
        ),
        ("journal_channel:Missing", "", "channels.diary.kind: journal_channel:Missing cannot be loaded"),
        ("no_such_module:X", "", "channels.diary.kind: no_such_module:X cannot be loaded"),
    ],
)
def test_what_is_wrong_with_it_is_a_line_about_its_table(
    tmp_path: Path, installed: Installed, place: str, more: str, problem: str
) -> None:
    installed(place)
    config = loaded(tmp_path, f'[channels.diary]\nkind = "journal"\n{more}')
    assert problem in config.channels_off["diary"].problem


def test_its_kind_is_named_where_an_unknown_one_is_asked_for(tmp_path: Path, installed: Installed) -> None:
    installed("journal_channel:JournalSettings")
    config = loaded(tmp_path, '[channels.diary]\nkind = "fax"')
    assert "desktop, journal; got 'fax'" in config.channels_off["diary"].problem


@pytest.mark.promise("programs/28")
async def test_the_contract_says_that_a_reply_carries_the_inquirys_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_house, "SECONDS", 0)
    store = await SqliteStore.open(tmp_path / "upcall.db")
    broker = Broker(store)
    await broker.start()
    people = People(store, broker.now)
    routing = CurrentRouting(Routing(routes=(), channels=()))
    house = channel_house.House(broker=broker, people=people, dispatch=Dispatch(broker, people, (), routing))
    inquiry = await house.ask(options=["Redis", "Memcached"])
    try:
        with pytest.raises(AssertionError, match=f"with the inquiry's id .`inquiry='{inquiry.id}'`"):
            await house.settled(inquiry)
    finally:
        await broker.close()
        await store.close()


async def test_the_contract_ends_at_once_at_a_method_that_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def show(*_: object) -> None:
        raise NotImplementedError("show: post the view")

    async def wait_for_a_message(receiver: Receiver) -> None:
        async with channel_house.a_house(receiver, tmp_path) as house:
            await house.ask(options=["Redis", "Memcached"])
            await receiver.until(lambda: bool(receiver.messages()))

    monkeypatch.setattr(Webhook, "show", show)
    async with Receiver().served() as receiver:
        with pytest.raises(NotImplementedError, match="show: post the view"):
            await wait_for_a_message(receiver)
