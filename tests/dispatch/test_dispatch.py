"""Showing, refreshing, reminding and escalating, with channels that hang, refuse and are busy."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from tests.dispatch.scripted_channel import SECONDS, ScriptedChannel
from upcall.broker.broker import Broker, Reply
from upcall.channels.words import sentences
from upcall.dispatch import messages, worker
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.people import People
from upcall.domain.channel import degrading
from upcall.domain.channel.routing import DEAL, Place, Route, Routing
from upcall.domain.channel.showing import Reference, View
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Failed, Inquiry, Origin
from upcall.domain.records import Job
from upcall.domain.roles import Caller, Role
from upcall.ports.channel import Refused, Unavailable
from upcall.ports.store import Event
from upcall.stores.sqlite.store import SqliteStore

ANA = Caller(name="ana", role=Role.PERSON)
ONE, TWO = Place(channel="one", address="C1"), Place(channel="two", address="C2")


@dataclass
class Hall:
    """A broker with two channels."""

    broker: Broker
    dispatch: Dispatch
    one: ScriptedChannel
    two: ScriptedChannel

    async def ask(self, question: str = "Which cache?") -> Inquiry:
        asked = draft({"question": question, "options": ["Redis", "Memcached"]})
        return (await self.broker.ask(asked, Origin(agent="bot", session="s", door="test"))).inquiry

    async def said(self, event: str, after: int) -> int:
        """Where the log says so, after that place in it."""
        async with asyncio.timeout(SECONDS):
            while True:
                for each in await self.broker.store.events(after, wait=SECONDS):
                    after = each.seq
                    if each.type == event:
                        return after

    async def answer(self, inquiry: Inquiry) -> None:
        settled = await self.broker.receive(inquiry.id, Reply(text="1", via="web"), ANA)
        assert settled.accepted


async def no_link(_inquiry: Inquiry, _address: str) -> str:
    return ""


@asynccontextmanager
async def a_hall(
    folder: Path,
    *routes: Route,
    inbox: bool = True,
    clock: Callable[[], float] = time.time,
    language: str = "en",
) -> AsyncIterator[Hall]:
    store = await SqliteStore.open(folder / "upcall.db", clock=clock)
    routing = Routing(routes=routes, channels=("one", "two"), inbox=inbox)
    broker = Broker(store, follow_up=routing.consequences)
    one, two = ScriptedChannel(), ScriptedChannel()
    posts = [
        ConfiguredChannel(name=name, channel=channel, words=sentences(language), link=no_link)
        for name, channel in (("one", one), ("two", two))
    ]
    dispatch = Dispatch(broker, People(store, broker.now), posts, CurrentRouting(routing))
    await broker.start()
    await dispatch.start()
    try:
        yield Hall(broker=broker, dispatch=dispatch, one=one, two=two)
    finally:
        await dispatch.close()
        await broker.close()
        await store.close()


@pytest.mark.promise("spec/6", "spec/73")
async def test_the_first_answer_is_seen_in_every_channel(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE, TWO))) as hall:
        inquiry = await hall.ask()
        await hall.one.until(lambda: bool(hall.one.shown))
        await hall.two.until(lambda: bool(hall.two.shown))
        await hall.answer(inquiry)
        for channel in (hall.one, hall.two):
            await channel.until(lambda: channel.outcomes == ["✓ Answered: Redis — by ana"])  # noqa: B023 - awaited here


@pytest.mark.promise("spec/85")
async def test_an_answer_during_the_sending_leaves_nothing_to_press(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        hall.one.hold.clear()
        inquiry = await hall.ask()
        await hall.one.until(lambda: hall.one.attempts == 1)
        await hall.answer(inquiry)
        # Another daemon looks first, and finds no message that it could bring up to date.
        store = hall.broker.store
        (job,) = await store.claim(["refresh:one"], runner="", now=hall.broker.now(), lease=30, limit=1)
        assert await store.settle(job)
        hall.one.hold.set()
        await hall.one.until(lambda: hall.one.outcomes == ["✓ Answered: Redis — by ana"])


@pytest.mark.thorough
async def test_a_channel_that_hangs_delays_neither_another_nor_the_agent(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE, TWO))) as hall:
        hall.one.hold.clear()
        inquiry = await hall.ask()
        await hall.one.until(lambda: hall.one.attempts == 1)
        await hall.two.until(lambda: hall.two.questions == ["Which cache?"])
        await hall.answer(inquiry)
        assert not (await hall.broker.wait(inquiry, SECONDS)).is_open
        await hall.two.until(lambda: hall.two.outcomes != [None])
        assert hall.one.shown == {}


@pytest.mark.promise("spec/86")
async def test_a_refusal_hands_over_to_the_next_route_at_once(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,)), Route(places=(TWO,))) as hall:
        hall.one.failures = [Refused("no such place")]
        inquiry = await hall.ask()
        await hall.two.until(lambda: bool(hall.two.shown))
        assert (await hall.broker.store.get(inquiry.id)).is_open
        errors = {each["channel"]: each["error"] for each in await hall.dispatch.deliveries(inquiry.id)}
        assert errors["one"] == "no such place"
        assert hall.one.attempts == 1


@pytest.mark.promise("spec/87", "pynchy/35")
async def test_what_every_place_refuses_fails_at_once_where_the_inbox_is_no_route(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,)), Route(places=(TWO,)), inbox=False) as hall:
        hall.one.failures = [Refused("no such place")]
        hall.two.failures = [Refused("cannot ask there")]
        inquiry = await hall.ask()
        failed = await hall.broker.wait(inquiry, SECONDS)
        assert isinstance(failed.state, Failed)
        reason = "no person could be asked: one:C1: no such place; two:C2: cannot ask there"
        assert failed.state.closing.reason == reason


async def test_what_did_not_arrive_after_all_takes_the_next_route_and_fails_after_the_last(
    tmp_path: Path,
) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,)), Route(places=(TWO,)), inbox=False) as hall:
        inquiry, after = await hall.ask(), 0
        for channel, reason in ((hall.one, "no phone"), (hall.two, "no room")):
            after = await hall.said("shown", after)
            assert channel.inbox is not None
            assert not await channel.inbox.failed("m7", "none of ours")
            assert await channel.inbox.failed("m1", reason)
        failed = await hall.broker.wait(inquiry, SECONDS)
        assert isinstance(failed.state, Failed)
        assert failed.state.closing.reason == "no person could be asked: one:C1: no phone; two:C2: no room"
        assert (len(hall.one.shown), len(hall.two.shown)) == (1, 1)


async def test_one_place_that_takes_it_is_enough(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE, TWO)), inbox=False) as hall:
        hall.one.failures = [Refused("no such place")]
        inquiry = await hall.ask()
        await hall.two.until(lambda: bool(hall.two.shown))
        await hall.answer(inquiry)


async def test_a_question_without_a_route_fails_at_once_where_the_inbox_is_no_route(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,), agent="another"), inbox=False) as hall:
        failed = await hall.broker.wait(await hall.ask(), SECONDS)
        assert isinstance(failed.state, Failed)
        assert failed.state.closing.reason == "no person could be asked: no route leads anywhere"


@pytest.mark.promise("spec/91")
async def test_people_who_take_turns_get_one_question_each(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE, TWO), in_turn=True)) as hall:
        for number in range(4):
            await hall.ask(f"question {number}")
            channel = (hall.one, hall.two)[number % 2]
            await channel.until(lambda: len(channel.shown) == number // 2 + 1)  # noqa: B023 - awaited here
        assert hall.one.questions == ["question 0", "question 2"]
        assert hall.two.questions == ["question 1", "question 3"]


@pytest.mark.promise("spec/88")
async def test_an_unavailable_channel_is_tried_again_while_the_next_route_is_taken(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,)), Route(places=(TWO,))) as hall:
        hall.one.failures = [Unavailable("down")]
        await hall.ask()
        await hall.two.until(lambda: bool(hall.two.shown))
        await hall.one.until(lambda: bool(hall.one.shown))
        assert hall.one.attempts == 2


async def test_a_fault_of_a_channel_stops_neither_it_nor_the_others(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        hall.one.failures = [KeyError("ts")]
        first = await hall.ask("first")
        await hall.ask("second")
        await hall.one.until(lambda: hall.one.questions == ["second"])
        (delivery,) = await hall.dispatch.deliveries(first.id)
        assert delivery["error"] == "the channel failed: KeyError"


async def test_a_busy_channel_keeps_its_order_and_takes_no_other_route(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,)), Route(places=(TWO,))) as hall:
        hall.one.failures = [Unavailable("busy", after=0.01) for _ in range(5)]
        asked = [f"question {number}" for number in range(20)]
        for question in asked:
            await hall.ask(question)
        await hall.one.until(lambda: len(hall.one.shown) == len(asked))
        assert hall.one.questions == asked
        assert hall.two.shown == {}


@pytest.mark.promise("spec/92")
async def test_silence_takes_the_next_route_and_reminds_as_often_as_it_should(tmp_path: Path) -> None:
    first = Route(places=(ONE,), escalate_after=0.05, remind=0.05, remind_most=2)
    async with a_hall(tmp_path, first, Route(places=(TWO,), remind_most=0)) as hall:
        inquiry = await hall.ask()
        await hall.two.until(lambda: bool(hall.two.shown))
        await hall.one.until(lambda: len(hall.one.told) == 2)
        await hall.answer(inquiry)
        # One thing at a time: once this is seen, the reminder is settled.
        await hall.one.until(lambda: hall.one.outcomes != [None])
        assert await hall.broker.store.jobs("remind:one", inquiry.id) == []
        assert hall.two.told == []


async def test_a_snoozed_question_is_neither_shown_nor_escalated_before_its_time(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,), escalate_after=0.2), Route(places=(TWO,))) as hall:
        hall.one.failures = [Unavailable("busy", after=0.1)]
        inquiry = await hall.ask()
        await hall.one.until(lambda: hall.one.attempts == 1)
        await hall.broker.snooze(inquiry.id, ANA, 0.5)
        await hall.one.until(lambda: bool(hall.one.shown))
        await hall.two.until(lambda: bool(hall.two.shown))
        snoozed = (await hall.broker.store.get(inquiry.id)).state
        until = getattr(snoozed, "snoozed_until", 0.0)
        for job in await hall.broker.store.jobs("remind:one", inquiry.id):
            assert job.due > until


async def test_a_message_whose_job_was_lost_meanwhile_is_kept_up_to_date(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        hall.one.hold.clear()
        inquiry = await hall.ask()
        await hall.one.until(lambda: hall.one.attempts == 1)
        # Its lease ran out, and another daemon took it over while the message was on its way.
        (held,) = await hall.broker.store.jobs("show:one", inquiry.id)
        store = hall.broker.store
        (stolen,) = await store.claim(["show:one"], runner="", now=held.due + 1e6, lease=1, limit=1)
        hall.one.hold.set()
        await hall.one.until(lambda: len(hall.one.shown) == 1)
        assert await store.settle(stolen)
        await hall.answer(inquiry)
        await hall.one.until(lambda: hall.one.outcomes == ["✓ Answered: Redis — by ana"])


@pytest.mark.promise("spec/89")
async def test_without_channels_nothing_is_left_to_be_done(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "upcall.db")
    broker = Broker(store)
    dispatch = Dispatch(
        broker, People(store, broker.now), [], CurrentRouting(Routing(routes=(), channels=()))
    )
    await broker.start()
    await dispatch.start()
    hall = Hall(broker=broker, dispatch=dispatch, one=ScriptedChannel(), two=ScriptedChannel())
    inquiry = await hall.ask()
    assert await store.next_due(["show:one", "refresh:one", "escalate"], "") is None
    assert await dispatch.deliveries(inquiry.id) == []
    await dispatch.close()
    await broker.close()
    await store.close()


async def test_what_cannot_be_drawn_up_is_refused_and_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = degrading.view

    def view(inquiry: Inquiry, *others: Any) -> View:
        if inquiry.questions[0].text == "first":
            raise KeyError("late")
        return drawn(inquiry, *others)

    monkeypatch.setattr(degrading, "view", view)
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        first = await hall.ask("first")
        await hall.ask("second")
        await hall.one.until(lambda: hall.one.questions == ["second"])
        (delivery,) = await hall.dispatch.deliveries(first.id)
        assert delivery["error"] == "the channel failed: KeyError"


async def test_a_fault_that_nobody_thought_of_ends_no_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    claim, events, failed = SqliteStore.claim, SqliteStore.events, set[str]()

    def fail_once(name: str) -> None:
        if name not in failed:
            failed.add(name)
            raise ValueError(name)

    async def claiming(store: SqliteStore, kinds: Sequence[str], **named: Any) -> Sequence[Job]:
        fail_once(kinds[0] if kinds[0].startswith("say:") else kinds[0].rpartition(":")[2])
        return await claim(store, kinds, **named)

    async def reading(store: SqliteStore, after: int, **named: Any) -> Sequence[Event]:
        if named.get("wait"):
            # The first read of the broker, and the first one of the channels.
            fail_once("events of the broker" if "events of the broker" not in failed else "events")
        return await events(store, after, **named)

    monkeypatch.setattr(SqliteStore, "claim", claiming)
    monkeypatch.setattr(SqliteStore, "events", reading)
    async with a_hall(tmp_path, Route(places=(ONE,), escalate_after=0.05), Route(places=(TWO,))) as hall:
        for number in (1, 2):
            # The second one is seen in time only by those whom the log has woken.
            await hall.ask(f"question {number}")
            await hall.one.until(lambda: len(hall.one.shown) == number)  # noqa: B023 - awaited here
            await hall.two.until(lambda: len(hall.two.shown) == number)  # noqa: B023 - awaited here
    assert failed == {"one", "two", "say:one", "say:two", DEAL, "events of the broker", "events"}
    for said in (
        "worker of one",
        "worker of two",
        "saying lines in one",
        "saying lines in two",
        "escalating",
        "following the log for channels",
    ):
        assert f"{said} failed" in caplog.text


async def test_a_channel_that_is_busy_for_long_is_waited_for_while_the_next_route_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "PATIENCE", 0.025)
    async with a_hall(tmp_path, Route(places=(ONE,)), Route(places=(TWO,))) as hall:
        hall.one.failures = [Unavailable("busy", after=0.01) for _ in range(3)]
        inquiry = await hall.ask()
        await hall.two.until(lambda: bool(hall.two.shown))
        (busy,) = [each for each in await hall.dispatch.deliveries(inquiry.id) if each["channel"] == "one"]
        assert busy["error"] == "busy"
        await hall.one.until(lambda: bool(hall.one.shown))
        assert hall.one.attempts == 4
        assert len(hall.two.shown) == 1


async def test_a_message_is_brought_up_to_date_however_often_that_failed(tmp_path: Path) -> None:
    class Stubborn(ScriptedChannel):
        refusals = 40

        @override
        async def refresh(self, reference: Reference, view: View) -> None:
            if self.refusals:
                self.refusals -= 1
                raise Unavailable("down")
            await super().refresh(reference, view)

    store = await SqliteStore.open(tmp_path / "upcall.db")
    routing = Routing(routes=(Route(places=(ONE,)),), channels=("one",))
    broker, channel = Broker(store, follow_up=routing.consequences), Stubborn()
    post = ConfiguredChannel(name="one", channel=channel, words=sentences("en"), link=no_link)
    at_work = worker.Worker(store, post, CurrentRouting(routing), broker.now, pauses=(0.0,))
    inquiry = await Hall(
        broker, Dispatch(broker, People(store, broker.now), [], CurrentRouting(routing)), channel, channel
    ).ask()
    at_work.start()
    await channel.until(lambda: bool(channel.shown))
    await broker.receive(inquiry.id, Reply(text="1", via="web"), ANA)
    at_work.wake()
    await channel.until(lambda: channel.outcomes == ["✓ Answered: Redis — by ana"])
    await at_work.close()
    await store.close()
