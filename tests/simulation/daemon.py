"""One simulated daemon: the broker, dispatch and runs of the product, on the store, the machine and the vendor of a world."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.machine import Machine, SimulatedAgent, SimulatedHost
from tests.simulation.memory_store import MemoryStore
from tests.simulation.vendor import PLACE, SimulatedChannel, Vendor
from upcall.access.connected import ConnectedSessions
from upcall.access.tokens import Access
from upcall.approvals.desk import ApprovalDesk
from upcall.broker.broker import Broker
from upcall.broker.ids import Ids
from upcall.channels.words import sentences
from upcall.daemon.wiring.channels import follow_up
from upcall.dispatch import listening
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.people import People
from upcall.domain.channel.notification import Notifications
from upcall.domain.channel.routing import Place, Route, Routing
from upcall.domain.errors import StorageError
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.home.files import Home
from upcall.runs.process.host import RunSettings
from upcall.runs.service import RunService

T = TypeVar("T")

CHANNEL = "chat"
WORDS = sentences("en")


class Lost(Exception):
    """The daemon that was asked is dead, or does not reply."""


class Daemon:
    """Begins with `start`; ends with `crash`, and with nothing else."""

    def __init__(
        self,
        number: int,
        loop: VirtualLoop,
        store: MemoryStore,
        machine: Machine,
        vendor: Vendor,
        *,
        alone: bool,
    ) -> None:
        self.number = number
        self.process = Process(store.holder)
        self.store = store
        self.ready = False
        self._loop = loop
        self._machine = machine
        self._vendor = vendor
        self._alone = alone
        self._died: asyncio.Future[None] = loop.create_future()
        self.held = ConnectedSessions()
        self.broker: Broker
        self.runs: RunService

    @property
    def alive(self) -> bool:
        """Whether it has not been killed."""
        return self.process.alive

    def start(self) -> None:
        """Begin, as a process of its own."""
        self._loop.begin(self.process, self._begin()).add_done_callback(lambda task: task.result())

    async def _begin(self) -> None:
        store = self.store
        while True:
            # As a service manager does it: what cannot start for want of its database is started again.
            try:
                await self._assemble(store)
            except StorageError:
                await asyncio.sleep(1.0)
            else:
                self.ready = True
                return

    async def _assemble(self, store: MemoryStore) -> None:
        if self._alone:
            await store.take_over(lambda holder: holder != store.holder)
        routing = CurrentRouting(
            Routing(routes=(Route(places=(Place(channel=CHANNEL, address=PLACE),)),), channels=(CHANNEL,))
        )
        self.broker = broker = Broker(
            store,
            follow_up=follow_up(routing, Notifications(places=())),
            installation="" if self._alone else f"daemon {self.number}",
        )
        # So that a seed brings the same ids.
        broker.ids = Ids(Random(self._loop.steps))
        access = Access(store, store.now, shared=not self._alone)
        await access.load()
        await broker.start()
        host = SimulatedHost(
            home=Home(Path("/simulated")),
            url="http://127.0.0.1:1",
            runner=f"machine {self.number}",
            settings=RunSettings(limit=2, activity=False),
            access=access,
            agents=lambda _: SimulatedAgent(),
            desks=lambda run: ApprovalDesk(
                broker, caller=run.caller, session=f"run-{run.number}", door="native"
            ),
            held=self.held,
            machine=self._machine,
            process=self.process,
        )
        self.runs = RunService(host, broker)
        await self.runs.open()
        people = People(store, store.now)
        channel = ConfiguredChannel(
            name=CHANNEL, channel=SimulatedChannel(self._vendor), words=WORDS, link=_no_link
        )
        dispatch = Dispatch(
            broker, people, [channel], routing, listening_lease=None if self._alone else listening.LEASE
        )
        await dispatch.start()

    async def call(self, work: Coroutine[Any, Any, T], *, within: float | None = None) -> T:
        """Have the daemon do something for a caller that outlives it.

        Raises:
            Lost: if it dies meanwhile, or does not reply in time.
        """
        if not self.alive or not self.ready:
            work.close()
            raise Lost(self.process.name)
        task = self._loop.begin(self.process, work)
        either: set[asyncio.Future[Any]] = {task, self._died}
        await asyncio.wait(either, timeout=within, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            # What comes of it later concerns no caller.
            task.add_done_callback(_forget)
            raise Lost(self.process.name)
        return task.result()

    async def gone(self) -> None:
        """Wait until it has been killed."""
        await asyncio.shield(self._died)

    def crash(self) -> None:
        """Kill it between two of its steps."""
        self.process.kill()
        # What the system does for a process that is gone: its connections to others are closed.
        self._machine.owner = None
        for keeper in self._machine.live():
            keeper.connection = None
        if not self._died.done():
            self._died.set_result(None)


def _forget(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()


async def _no_link(_inquiry: Inquiry, _address: str) -> str:
    return ""
