"""Two daemons bring one message up to date at the same time, and the call of the one with the older view arrives last."""

from pathlib import Path

import pytest
from typing_extensions import override

from tests.dispatch.scripted_channel import ScriptedChannel
from tests.dispatch.test_dispatch import ANA, ONE, no_link
from upcall.broker.broker import Broker, Policy, Reply
from upcall.channels.words import sentences
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.worker import Worker
from upcall.domain.channel.routing import Route, Routing
from upcall.domain.channel.showing import Reference, View
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Origin
from upcall.domain.roles import Caller, Role
from upcall.stores.sqlite.store import SqliteStore

BOB = Caller(name="bob", role=Role.PERSON)


class Peer(ScriptedChannel):
    """The channel of another daemon to the same vendor; its refresh arrives when `hold` is set."""

    def __init__(self, vendor: ScriptedChannel) -> None:
        super().__init__()
        self.shown, self._changed = vendor.shown, vendor._changed
        self.refreshes = 0

    @override
    async def refresh(self, reference: Reference, view: View) -> None:
        self.refreshes += 1
        self._changed.set()
        await self.hold.wait()
        await super().refresh(reference, view)


@pytest.mark.promise("spec/6", "proof/5")
async def test_a_late_refresh_of_another_daemon_does_not_stand(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "upcall.db")
    routing = Routing(routes=(Route(places=(ONE,)),), channels=("one",), inbox=True)
    broker = Broker(store, Policy(quorum=2), follow_up=routing.consequences)
    await broker.start()
    slow = Peer(quick := ScriptedChannel())
    workers = [
        Worker(
            store,
            ConfiguredChannel(name="one", channel=channel, words=sentences("en"), link=no_link),
            CurrentRouting(routing),
            broker.now,
            alone=False,
        )
        for channel in (slow, quick)
    ]
    try:
        asked = draft({"question": "Deploy?", "kind": "approval"})
        inquiry = (await broker.ask(asked, Origin(agent="bot", session="s", door="test"))).inquiry
        workers[0].start()
        await slow.until(lambda: bool(slow.shown))
        slow.hold.clear()
        await broker.receive(inquiry.id, Reply(text="yes", via="web"), ANA)
        workers[0].wake()
        await slow.until(lambda: slow.refreshes > 0)
        # The first vote is on its way to the message; the second one settles the question.
        await broker.receive(inquiry.id, Reply(text="yes", via="web"), BOB)
        workers[1].start()
        await quick.until(lambda: quick.outcomes[0] is not None)
        slow.hold.set()
        await slow.until(lambda: slow.outcomes[0] is None)
        await slow.until(lambda: slow.outcomes[0] is not None)
    finally:
        for worker in workers:
            await worker.close()
        await broker.close()
        await store.close()
