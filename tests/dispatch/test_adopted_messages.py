"""Messages of which the dispatcher learns late: the worker takes them instead of sending, or has them say that they are replaced."""

from pathlib import Path

import pytest
from typing_extensions import override

from tests.dispatch.scripted_channel import ScriptedChannel
from tests.dispatch.test_dispatch import ONE, TWO, Hall, a_hall
from upcall.channels.words import sentences
from upcall.dispatch.deliveries import deliveries_in
from upcall.dispatch.reception import adopted
from upcall.domain.channel.delivery import KIND, MESSAGE, Delivery, delivery_in, key, message_key
from upcall.domain.channel.routing import Route
from upcall.domain.channel.showing import Capabilities, Reference, View
from upcall.domain.records import Effects, Record
from upcall.ports.channel import Refused, Unavailable
from upcall.ports.store import Store

ORPHAN = "m0"
REPLACED = sentences("en")["replaced"]


async def adopt(store: Store, inquiry: str) -> None:
    """Record a message as another daemon does that gets its receipt."""

    def decide(kept: Record | None) -> Effects:
        known = Delivery(inquiry=inquiry, place=ONE) if kept is None else delivery_in(kept)
        return adopted(known, ORPHAN, store.now())

    await store.revise(KIND, key(inquiry, ONE), decide)


class Looking(ScriptedChannel):
    """Finds nothing by itself, and fails once after a message was sent. Another daemon learns of that message meanwhile."""

    store: Store
    learned_while = "looking"

    async def find(self, view: View, place: str) -> Reference | None:
        if self.learned_while == "looking":
            await adopt(self.store, view.inquiry)
        return None

    @override
    async def show(self, view: View, place: str) -> Reference:
        if not self.attempts:
            self.attempts += 1
            self.shown[ORPHAN] = view
            raise Unavailable("no reply")
        await adopt(self.store, view.inquiry)
        return await super().show(view, place)


async def ready(hall: Hall) -> Looking:
    """The channel of a hall, ready to be asked."""
    channel = hall.one
    assert isinstance(channel, Looking)
    channel.store = hall.broker.store
    await channel.until(lambda: channel.inbox is not None)
    return channel


@pytest.mark.promise("trust/86")
async def test_a_message_that_another_daemon_learns_of_while_it_is_looked_for_is_not_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.dispatch.test_dispatch.ScriptedChannel", Looking)
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        channel = await ready(hall)
        inquiry = await hall.ask()
        await hall.said("shown", 0)
        assert list(channel.shown) == [ORPHAN]
        (delivery,) = await deliveries_in(hall.broker.store, inquiry.id, "one")
        assert (delivery.message, delivery.copies, delivery.begun) == (ORPHAN, (), False)
        await hall.answer(inquiry)
        await channel.until(lambda: channel.outcomes == ["✓ Answered: Redis — by ana"])


@pytest.mark.promise("trust/86")
async def test_a_message_that_another_daemon_learns_of_during_the_repetition_says_that_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.dispatch.test_dispatch.ScriptedChannel", Looking)
    monkeypatch.setattr(Looking, "learned_while", "sending")
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        channel = await ready(hall)
        inquiry = await hall.ask()
        await channel.until(lambda: channel.outcomes == [REPLACED, None])
        await hall.answer(inquiry)
        await channel.until(lambda: channel.outcomes == ["✓ Answered: Redis — by ana"] * 2)


async def test_a_message_that_is_recorded_right_after_it_was_looked_up_is_not_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        store = hall.broker.store
        inquiry = await hall.ask()
        await hall.said("shown", 0)
        before = await store.look_up(KIND, key(inquiry.id, ONE))
        look_up = store.look_up

        async def too_early(kind: str, name: str) -> Record | None:
            return None if kind == MESSAGE else await look_up(kind, name)

        monkeypatch.setattr(store, "look_up", too_early)
        await hall.one.until(lambda: hall.one.inbox is not None)
        assert hall.one.inbox is not None
        await hall.one.inbox.found(inquiry.id, ONE.address, "m1")
        assert await look_up(KIND, key(inquiry.id, ONE)) == before


class TwoPhase(ScriptedChannel):
    """Shows a question with nothing to press, and completes it with the first refresh."""

    capabilities = Capabilities(buttons=5, button_label=40, two_phase=True)

    def __init__(self) -> None:
        super().__init__()
        self.completed: list[str] = []
        self.fixed: set[str] = set()
        """Messages that cannot be changed."""

    @override
    async def refresh(self, reference: Reference, view: View) -> None:
        if reference.message in self.fixed:
            raise Refused("message to edit not found")
        self.completed.append(reference.message)
        await super().refresh(reference, view)


@pytest.mark.promise("trust/86")
async def test_a_message_in_two_phases_is_completed_once_it_is_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.dispatch.test_dispatch.ScriptedChannel", TwoPhase)
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        channel = hall.one
        assert isinstance(channel, TwoPhase)
        channel.hold.clear()
        inquiry = await hall.ask()
        await channel.until(lambda: channel.attempts == 1)
        assert channel.completed == []
        channel.hold.set()
        await channel.until(lambda: channel.completed == ["m1"])
        (delivery,) = await hall.dispatch.deliveries(inquiry.id)
        assert delivery["message_id"] == "m1"


@pytest.mark.promise("trust/92")
async def test_a_message_that_cannot_be_completed_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.dispatch.test_dispatch.ScriptedChannel", TwoPhase)
    async with a_hall(tmp_path, Route(places=(ONE,)), Route(places=(TWO,))) as hall:
        channel = hall.one
        assert isinstance(channel, TwoPhase)
        channel.fixed.add("m1")
        inquiry = await hall.ask()
        await channel.until(lambda: channel.completed == ["m2"])
        await hall.answer(inquiry)
        await channel.until(lambda: channel.completed == ["m2", "m2"])
        assert channel.outcomes[1] is not None
        # The first message cannot be changed, and that leads to no other place.
        assert hall.two.attempts == 0


@pytest.mark.promise("trust/92")
async def test_where_no_message_can_be_completed_the_next_route_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.dispatch.test_dispatch.ScriptedChannel", TwoPhase)
    async with a_hall(tmp_path, Route(places=(ONE,)), Route(places=(TWO,))) as hall:
        channel = hall.one
        assert isinstance(channel, TwoPhase)
        channel.fixed |= {"m1", "m2"}
        inquiry = await hall.ask()
        await hall.two.until(lambda: hall.two.attempts == 1)
        assert channel.attempts == 2
        here, *_ = await hall.dispatch.deliveries(inquiry.id)
        assert (here["message_id"], here["error"]) == (None, "message to edit not found")
        # Words in reply to what can be read there still count.
        led = await hall.broker.store.look_up(MESSAGE, message_key("one", "m1"))
        assert led is not None
        assert led.state == inquiry.id
