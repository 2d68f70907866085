"""What channels cost before the network: channels that take every message at once, that are busy, and that hang."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop
from typing_extensions import override

from benchmarks.bench import PAUSE, Bench, collecting_as_the_daemon, median
from benchmarks.report import Figure, Target
from upcall.broker.broker import Broker, Reply
from upcall.channels.words import sentences
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.people import People
from upcall.domain.channel.routing import Place, Route, Routing
from upcall.domain.channel.showing import Capabilities, Finding, Reference, View
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.roles import Caller, Role
from upcall.ports.channel import Channel, Inbox, Unavailable
from upcall.stores.sqlite.store import SqliteStore

ANA = Caller(name="ana", role=Role.PERSON)
WAIT = 0.001
"""Seconds after which a busy channel wants to be asked again."""


class Taking:
    """A channel without a network."""

    capabilities = Capabilities(buttons=5)

    def __init__(self) -> None:
        self.shown: asyncio.Queue[str] = asyncio.Queue()

    async def show(self, view: View, place: str) -> Reference:
        """Take it."""
        self.shown.put_nowait(view.questions[0].text)
        return Reference(place=place, message=view.inquiry)

    async def refresh(self, reference: Reference, view: View) -> None:
        """Take it."""

    async def tell(self, reference: Reference, line: str) -> None:
        """Take it."""

    async def listen(self, inbox: Inbox) -> None:
        """Hear nothing."""
        await asyncio.Event().wait()

    async def check(self) -> Sequence[Finding]:
        """There is nothing to find out."""
        return []

    async def close(self) -> None:
        """Nothing is held."""


class Busy(Taking):
    """A channel that takes one message in three."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0

    @override
    async def show(self, view: View, place: str) -> Reference:
        """Take it, or say when to come again."""
        self._calls += 1
        if self._calls % 3:
            raise Unavailable("busy", after=WAIT)
        return await super().show(view, place)


class Hanging(Taking):
    """A channel that never replies."""

    @override
    async def show(self, view: View, place: str) -> Reference:
        """Wait for ever."""
        await asyncio.Event().wait()
        raise AssertionError


def run(bench: Bench) -> Iterator[Figure]:
    """Fan-out, a busy channel, and one that hangs."""
    with collecting_as_the_daemon():
        one, three = uvloop.run(_fan_out(bench))
        yield _ratio("asked → shown in 3 channels, p50", three, one, "the same in one channel", 2)
        free, beside = uvloop.run(_beside_a_hanging_one(bench))
        yield _ratio(
            "asked → shown → answered beside a channel that hangs, p50",
            beside,
            free,
            "beside one that works",
            1.5,
        )
        yield uvloop.run(_busy(bench))


def _ratio(name: str, measured: list[float], limit: list[float], limit_name: str, factor: float) -> Figure:
    return Figure(
        name=name,
        measured=median(measured) * 1e3,
        limit=median(limit) * 1e3,
        unit="ms",
        limit_name=limit_name,
        repetitions=len(measured),
        target=Target(factor=factor),
    )


async def _fan_out(bench: Bench) -> tuple[list[float], list[float]]:
    count = bench.size(200, 10)
    one, three = [Taking()], [Taking(), Taking(), Taking()]
    async with _house(bench.folder("one"), one) as alone, _house(bench.folder("three"), three) as many:
        pairs = [(await _shown(alone, one), await _shown(many, three)) for _ in range(count)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


async def _beside_a_hanging_one(bench: Bench) -> tuple[list[float], list[float]]:
    count = bench.size(200, 10)
    free, beside = Taking(), Taking()
    async with (
        _house(bench.folder("free"), [Taking(), free]) as alone,
        _house(bench.folder("hanging"), [Hanging(), beside]) as together,
    ):
        pairs = [(await _answered(alone, free), await _answered(together, beside)) for _ in range(count)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


async def _busy(bench: Bench) -> Figure:
    count = bench.size(1000, 20)
    channel = Busy()
    wanted = [f"Question {number}?" for number in range(count)]
    async with _house(bench.folder("busy"), [channel]) as broker:
        for question in wanted:
            await _ask(broker, question)
        shown = [await channel.shown.get() for _ in wanted]
    in_order = sum(mine == theirs for mine, theirs in zip(shown, wanted, strict=True))
    return Figure(
        name="questions shown by a busy channel, in their order",
        measured=in_order,
        limit=count,
        unit="",
        limit_name="all that were asked",
        repetitions=1,
        target=Target(factor=1, at_least=True),
    )


@asynccontextmanager
async def _house(folder: Path, channels: Sequence[Channel]) -> AsyncIterator[Broker]:
    store = await SqliteStore.open(folder / "upcall.db")
    names = [f"channel-{number}" for number in range(len(channels))]
    places = tuple(Place(channel=name, address="place") for name in names)
    routing = Routing(routes=(Route(places=places, remind=0),), channels=tuple(names))
    broker = Broker(store, follow_up=routing.consequences)
    posts = [
        ConfiguredChannel(name=name, channel=channel, words=sentences("en"), link=_link)
        for name, channel in zip(names, channels, strict=True)
    ]
    dispatch = Dispatch(broker, People(store, broker.now), posts, CurrentRouting(routing))
    await broker.start()
    await dispatch.start()
    try:
        yield broker
    finally:
        await dispatch.close()
        await broker.close()
        await store.close()


async def _link(_inquiry: Inquiry, _address: str) -> str:
    return ""


async def _ask(broker: Broker, question: str) -> Inquiry:
    asked = draft({"question": question, "options": ["Redis", "Memcached"]})
    return (await broker.ask(asked, Origin(agent="bench", session="s", door="bench"))).inquiry


async def _shown(broker: Broker, channels: Sequence[Taking]) -> float:
    await asyncio.sleep(PAUSE)
    began = time.perf_counter()
    await _ask(broker, "Which cache?")
    for channel in channels:
        await channel.shown.get()
    return time.perf_counter() - began


async def _answered(broker: Broker, channel: Taking) -> float:
    await asyncio.sleep(PAUSE)
    began = time.perf_counter()
    inquiry = await _ask(broker, "Which cache?")
    await channel.shown.get()
    await broker.receive(inquiry.id, Reply(text="1", via="bench"), ANA)
    await broker.wait(inquiry)
    return time.perf_counter() - began
