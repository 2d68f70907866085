"""Browsers that want to be told: they come with a session, and go with it."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.web.house import House
from tests.web.visitor import Form, Visitor
from upcall.access.tokens import Access
from upcall.dispatch.subscriptions import MOST, Subscriptions
from upcall.domain.channel.subscription import Subscription
from upcall.domain.roles import Caller, Role

PHONE = Subscription(endpoint="https://push.example/phone", p256dh="key", auth="secret")


@pytest.fixture
async def ana(live: House) -> AsyncIterator[Visitor]:
    """A person who has signed in."""
    visitor = Visitor(live)
    await visitor.signs_in()
    yield visitor
    await visitor.client.aclose()


@pytest.fixture
def kept(live: House) -> Subscriptions:
    """What the installation keeps."""
    return Subscriptions(live.store, live.access, lambda: ("other", "other"))


async def sent(ana: Visitor, action: str, subscription: Subscription = PHONE) -> int:
    """The status of the form that the page's script sends."""
    token = (await ana.form("/sessions", "/sign-out")).fields[0]
    fields = [token, *[(name, str(value)) for name, value in subscription.body().items()]]
    return (await ana.sends(Form(f"/push/{action}", fields))).status_code


async def test_a_browser_is_told_until_it_wants_no_more(ana: Visitor, kept: Subscriptions) -> None:
    assert 'data-push="public-key"' in await ana.looks()
    assert await sent(ana, "subscribe") == 204
    assert await sent(ana, "subscribe") == 204
    assert list(await kept.of("ana")) == [PHONE]
    assert list(await kept.of("ben")) == []
    assert await sent(ana, "unsubscribe") == 204
    assert list(await kept.of("ana")) == []


async def test_the_key_is_made_once(ana: Visitor, kept: Subscriptions) -> None:
    await ana.looks()
    assert await kept.keys() == ("private", "public-key")


async def test_signing_out_ends_what_was_subscribed(ana: Visitor, kept: Subscriptions) -> None:
    await sent(ana, "subscribe")
    await ana.sends(await ana.form("/sessions", "/sign-out"))
    assert list(await kept.of("ana")) == []


async def test_a_session_that_is_sent_away_is_told_nothing_more(
    live: House, ana: Visitor, kept: Subscriptions
) -> None:
    await sent(ana, "subscribe")
    await live.access.revoke("ana")
    assert list(await kept.of("ana")) == []


async def test_a_daemon_that_does_not_know_a_session_yet_forgets_nothing_of_it(live: House) -> None:
    there = Access(live.store, shared=True)
    await there.load()
    ana = Visitor(live)
    await ana.signs_in()
    assert await sent(ana, "subscribe") == 204
    kept = Subscriptions(live.store, there, lambda: ("other", "other"))
    assert list(await kept.of("ana")) == [PHONE]
    await ana.client.aclose()


async def test_of_many_browsers_each_can_come_again_and_one_more_is_too_many(
    live: House, ana: Visitor, kept: Subscriptions
) -> None:
    assert await sent(ana, "subscribe") == 204
    [session] = live.access.sessions(Caller(name="ana", role=Role.PERSON))
    for number in range(MOST - 1):
        await kept.keep("ana", session.name, replace(PHONE, endpoint=f"https://push.example/{number}"))
    assert await sent(ana, "subscribe") == 204
    assert await sent(ana, "subscribe", replace(PHONE, endpoint="https://push.example/one-more")) == 400


@pytest.mark.parametrize(
    "subscription",
    [
        Subscription(endpoint="http://127.0.0.1:22/", p256dh="key", auth="secret"),
        Subscription(endpoint="https://push.example/" + "x" * 3000, p256dh="key", auth="secret"),
        Subscription(endpoint="https://push.example/", p256dh="", auth="secret"),
        Subscription(endpoint="", p256dh="key", auth="secret"),
    ],
)
async def test_what_is_no_subscription_is_refused(
    ana: Visitor, kept: Subscriptions, subscription: Subscription
) -> None:
    assert await sent(ana, "subscribe", subscription) == 400
    assert list(await kept.of("ana")) == []


async def test_a_stranger_cannot_subscribe(live: House) -> None:
    stranger = Visitor(live)
    response = await stranger.sends(Form("/push/subscribe", [("endpoint", PHONE.endpoint)]))
    assert response.status_code == 303
    await stranger.client.aclose()
