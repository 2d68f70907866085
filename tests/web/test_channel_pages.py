"""The page of channels and people."""

from html import unescape
from pathlib import Path

import pytest

from tests.dispatch.scripted_channel import ScriptedChannel
from tests.web.house import House
from tests.web.test_fates import no_link
from tests.web.visitor import Visitor, words
from upcall.channels.words import sentences
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.health import SENDING, Health
from upcall.domain.channel.off import Off
from upcall.domain.channel.routing import Place, Route
from upcall.web.pages.locales import LANGUAGES


@pytest.mark.promise("desk/21")
async def test_the_page_shows_each_channel_and_an_admin_tests_it_and_lets_people_join(tmp_path: Path) -> None:
    post = ConfiguredChannel(name="slack", channel=ScriptedChannel(), words=sentences("en"), link=no_link)
    off = {"matrix": Off(problem="the variable <TOKEN> is not set", hint="set it")}
    async with House.open(tmp_path, posts=[post], off=off) as house:
        await Health(house.store, "slack", house.clock, lambda: None).failed(SENDING, OSError("no route"))
        root, ana = Visitor(house), Visitor(house)
        await root.signs_in("root")
        await ana.signs_in()

        seen = unescape(words(await ana.looks("/channels")))
        assert "slack does not work no route since 2027-01-15 08:00 UTC" in seen
        assert "matrix off the variable <TOKEN> is not set since" in seen
        assert "People" not in seen.partition("Channels Where")[2]
        assert 'action="/channels' not in await ana.looks("/channels")

        tested = await root.sends(await root.form("/channels", "/channels/matrix/test"))
        assert "matrix cannot be used now; nothing was sent" in unescape(words(tested.text))
        working = await root.sends(await root.form("/channels", "/channels/slack/test"))
        assert "no route leads to a place in it" in unescape(words(working.text))
        assert (await house.as_("root").get("/v1/inquiries")).json()["items"] == []

        form = await root.form("/channels", "/people")
        form.fields = [(field, value) for field, value in form.fields if field != "name"]
        joined = await root.sends(form, ("name", "ben"))
        assert 'class="code" src="data:image/svg+xml' in joined.text
        page = unescape(words(joined.text))
        assert "ben sends this code, and nothing else" in page
        assert "ben has not joined yet" in page
        (known,) = (await house.as_("root").get("/v1/people")).json()["items"]
        assert known["name"] == "ben"
        assert "has not joined yet" in unescape(words(await root.looks("/channels")))
        assert 'class="code"' not in await root.looks("/channels")

        refused = await root.sends(form, ("name", "a b"))
        assert (refused.status_code, "cannot be a person's name" in unescape(refused.text)) == (400, True)
        for action in ("/channels/slack/test", "/people"):
            mine = await ana.form("/channels", "/sign-out")
            mine.action = action
            assert (await ana.sends(mine, ("name", "eve"))).status_code == 403
        for language in LANGUAGES:
            assert "matrix" in await root.looks(f"/channels?lang={language}")


async def test_without_channels_the_page_says_how_to_add_one(tmp_path: Path) -> None:
    async with House.open(tmp_path) as house:
        root = Visitor(house)
        await root.signs_in("root")
        assert "No channel is set up" in words(await root.looks("/channels"))
        assert "<code>upcall channels add slack</code>" in await root.looks("/channels")
        form = await root.form("/channels", "/sign-out")
        form.action = "/channels/slack/test"
        assert (await root.sends(form)).status_code == 404


@pytest.mark.promise("desk/50")
async def test_a_test_message_arrives_in_the_channel_and_nowhere_else(tmp_path: Path) -> None:
    slack, other = ScriptedChannel(), ScriptedChannel()
    posts = [
        ConfiguredChannel(name=name, channel=channel, words=sentences("en"), link=no_link)
        for name, channel in (("slack", slack), ("other", other))
    ]
    routes = (Route(places=(Place(channel="slack", address="C1"), Place(channel="other", address="C2"))),)
    async with House.open(tmp_path, posts=posts, routes=routes) as house:
        assert house.dispatch is not None
        await house.dispatch.start()
        try:
            root = Visitor(house)
            await root.signs_in("root")
            sent = await root.sends(await root.form("/channels", "/channels/slack/test"))
            await slack.until(lambda: bool(slack.shown))
        finally:
            await house.dispatch.close()
        (asked,) = (await house.as_("root").get("/v1/inquiries")).json()["items"]
        (shown,) = slack.shown.values()
        assert (shown.inquiry, asked["agent"]) == (asked["id"], "root")
        assert "A test question was sent through slack." in unescape(words(sent.text))
        assert other.attempts == 0
