"""Channels that are off: their questions take the next route and wait; channels come, change and go while others work on."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.dispatch.scripted_channel import ScriptedChannel
from tests.postgres_server import PostgresServer
from upcall.broker.broker import Broker, Reply
from upcall.channels.words import sentences
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.people import People
from upcall.domain.channel.off import Off
from upcall.domain.channel.routing import Place, Route, Routing
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.ports.channel import Callback
from upcall.stores.postgres.store import PostgresStore
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.channel_house import WEB

WHY = Off(problem="channels.one.bot_token: the variable BOT is not set", hint="set it")
ROUTES = (
    Route(places=(Place(channel="one", address="C1"),)),
    Route(places=(Place(channel="two", address="C2"),)),
)
ROUTING = Routing(routes=ROUTES, channels=("one", "two"))


async def no_link(_inquiry: Inquiry, _address: str) -> str:
    return ""


def a_post(name: str, channel: ScriptedChannel) -> ConfiguredChannel:
    return ConfiguredChannel(name=name, channel=channel, words=sentences("en"), link=no_link)


@dataclass
class House:
    """A broker, and a dispatch with the channel `two` at work."""

    broker: Broker
    routing: CurrentRouting
    dispatch: Dispatch
    two: ScriptedChannel
    seconds: list[float] = field(default_factory=lambda: [0.0])

    async def ask(self, question: str = "Which cache?") -> Inquiry:
        asked = draft({"question": question, "options": ["Redis", "Memcached"]})
        return (await self.broker.ask(asked, Origin(agent="bot", session="s", door="test"))).inquiry

    async def deliveries(self, inquiry: Inquiry) -> dict[str, object]:
        return {str(each["channel"]): each["error"] for each in await self.dispatch.deliveries(inquiry.id)}


@asynccontextmanager
async def a_house(
    folder: Path,
    off: Mapping[str, Off] | None = None,
    *,
    lease: float | None = None,
    routing: Routing = ROUTING,
) -> AsyncIterator[House]:
    seconds = [0.0]
    store = await SqliteStore.open(folder / "upcall.db", clock=lambda: time.time() + seconds[0])
    current, two = CurrentRouting(routing), ScriptedChannel()
    broker = Broker(store, follow_up=current.consequences)
    people = People(store, broker.now)
    off = {"one": WHY} if off is None else off
    dispatch = Dispatch(broker, people, [a_post("two", two)], current, listening_lease=lease, off=off)
    await broker.start()
    await dispatch.start()
    try:
        yield House(broker=broker, routing=current, dispatch=dispatch, two=two, seconds=seconds)
    finally:
        await dispatch.close()
        await broker.close()
        await store.close()


@pytest.mark.promise("doorway/4")
async def test_a_question_for_a_channel_that_is_off_takes_the_next_route_at_once(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        inquiry = await house.ask()
        await house.two.until(lambda: house.two.questions == ["Which cache?"])
        assert (await house.deliveries(inquiry))["one"] == f"the channel is off: {WHY.problem}"


@pytest.mark.promise("doorway/3")
async def test_a_channel_that_comes_on_shows_what_is_still_open_and_the_others_are_left_alone(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path) as house:
        await house.ask()
        await house.two.until(lambda: bool(house.two.shown))
        listening = house.two.inbox
        one = ScriptedChannel()
        await house.dispatch.change([a_post("one", one)], {}, (), ROUTING)
        await one.until(lambda: one.questions == ["Which cache?"] and one.inbox is not None)
        assert (house.dispatch.off, await house.dispatch.faults("one")) == ({}, [])
        assert house.two.inbox is listening
        await house.ask("And the queue?")
        await one.until(lambda: one.questions == ["Which cache?", "And the queue?"])
        assert house.two.questions == ["Which cache?"]


async def test_a_channel_that_goes_off_is_closed_and_its_questions_go_on(tmp_path: Path) -> None:
    async with a_house(tmp_path, {}) as house:
        one = ScriptedChannel()
        await house.dispatch.change([a_post("one", one)], {}, (), ROUTING)
        await one.until(lambda: one.inbox is not None)
        await house.dispatch.change([], {"one": WHY}, (), ROUTING)
        await house.ask()
        await house.two.until(lambda: bool(house.two.shown))
        assert one.attempts == 0
        (fault,) = await house.dispatch.faults("one")
        assert (fault.side, fault.problem) == ("off", WHY.problem)


async def test_new_routes_count_for_the_next_question_without_a_new_connection(tmp_path: Path) -> None:
    async with a_house(tmp_path, {}, routing=Routing(routes=(), channels=("two",))) as house:
        await house.two.until(lambda: house.two.inbox is not None)
        listening = house.two.inbox
        await house.dispatch.change([], {}, (), Routing(routes=ROUTES[1:], channels=("two",)))
        await house.ask()
        await house.two.until(lambda: bool(house.two.shown))
        assert house.two.inbox is listening


async def test_the_first_channel_can_come_while_the_daemon_runs_and_go_again(tmp_path: Path) -> None:
    async with a_house(tmp_path, {}) as house:
        await house.dispatch.change([], {}, ["two"], Routing(routes=(), channels=()))
        assert list(house.dispatch.names) == []
        one = ScriptedChannel()
        await house.dispatch.change(
            [a_post("one", one)], {}, (), Routing(routes=ROUTES[:1], channels=("one",))
        )
        await house.ask()
        await one.until(lambda: bool(one.shown))


@pytest.mark.promise("doorway/2")
async def test_what_is_off_says_why_when_it_is_tried_and_sends_vendors_away_for_later(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        (finding,) = await house.dispatch.check("one")
        assert (finding.ok, finding.hint) == (False, "set it")
        assert WHY.problem in finding.text
        reply = await house.dispatch.called("one", Callback(method="POST", url="http://x/channels/one"))
        assert reply.status == 503


@pytest.mark.promise("doorway/4")
async def test_on_a_shared_store_a_daemon_without_the_channel_leaves_it_to_one_that_has_it(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path, lease=6.0) as house:
        inquiry = await house.ask()
        one = ScriptedChannel()
        people = People(house.broker.store, house.broker.now)
        other = Dispatch(house.broker, people, [a_post("one", one)], house.routing, listening_lease=6.0)
        await other.start()
        try:
            await one.until(lambda: bool(one.shown))
        finally:
            await other.close()
        assert (await house.deliveries(inquiry)) == {"one": None}


@pytest.mark.promise("doorway/1", "doorway/4")
async def test_of_two_daemons_on_postgresql_the_one_with_the_channel_shows_what_is_asked_at_the_other(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    address = postgres.database(tmp_path)
    without = await PostgresStore.open(address)
    beside = await PostgresStore.open(address)
    routing, one = CurrentRouting(ROUTING), ScriptedChannel()
    asking, showing = (Broker(store, follow_up=routing.consequences) for store in (without, beside))
    off = Dispatch(asking, People(without, asking.now), [], routing, listening_lease=6.0, off={"one": WHY})
    on = Dispatch(showing, People(beside, showing.now), [a_post("one", one)], routing, listening_lease=6.0)
    parts = (asking, showing, off, on)
    for part in parts:
        await part.start()
    try:
        asked = draft({"question": "Which cache?", "options": ["Redis", "Memcached"]})
        inquiry = (await asking.ask(asked, Origin(agent="bot", session="s", door="test"))).inquiry
        await one.until(lambda: one.questions == ["Which cache?"])
        # Each daemon says of its own what is wrong with it.
        assert [len(await each.faults("one")) for each in (off, on)] == [1, 0]
        await asking.receive(inquiry.id, Reply(text="Redis", via="web"), WEB)
        await one.until(lambda: one.outcomes != [None])
        assert [each["error"] for each in await off.deliveries(inquiry.id)] == [None]
    finally:
        for part in reversed(parts):
            await part.close()
        await without.close()
        await beside.close()


@pytest.mark.promise("doorway/4")
async def test_on_a_shared_store_a_question_that_no_daemon_shows_takes_the_next_route_in_the_end(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path, lease=6.0) as house:
        inquiry = await house.ask()
        house.seconds[0] = 55.0
        await house.ask("And the queue?")
        assert await house.deliveries(inquiry) == {}
        house.seconds[0] = 62.0
        await house.ask("And the disk?")
        await house.two.until(lambda: house.two.questions == ["Which cache?"])
