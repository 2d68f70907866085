"""A simulated vendor of messages, and the channel to it of each daemon: slow, unavailable, or silent after it took a message."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.simulation.facts import Facts
from upcall.domain.channel.showing import Capabilities, Finding, Heard, Inbound, Reference, View
from upcall.ports.channel import Inbox, Refused, Unavailable

PLACE = "C1"


@dataclass(slots=True)
class Message:
    """A message that people see."""

    id: str
    inquiry: str
    view: View


class Vendor:
    """Outlives every daemon. While `silent`, it takes what it is given and does not reply; while `down`, it takes nothing."""

    def __init__(self, random: Random, facts: Facts) -> None:
        self.random = random
        self.facts = facts
        self.messages: dict[str, Message] = {}
        self.silent = self.down = False
        self.updates: list[tuple[Inbound, Callable[[Heard], Awaitable[None]]]] = []
        self.more = asyncio.Event()
        self.posted: Callable[[], None] = lambda: None

    def done_by(self, inbound: Inbound, heard: Callable[[Heard], Awaitable[None]]) -> None:
        """A person does something in the channel."""
        self.updates.append((inbound, heard))
        self.more.set()

    async def call(self) -> None:
        """A request is on its way."""
        await asyncio.sleep(self.random.choice((0.01, 0.05, 0.3, 2.0)))
        if self.down:
            raise Unavailable("the vendor is down")

    async def reply(self) -> None:
        """The reply is on its way."""
        await asyncio.sleep(self.random.choice((0.01, 0.05)))
        if self.silent:
            raise Unavailable("the connection was cut")


class SimulatedChannel:
    """The channel of one daemon; it can look messages up, as most can."""

    capabilities = Capabilities(buttons=5, button_label=40)

    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor

    async def show(self, view: View, place: str) -> Reference:
        """See `Channel.show`."""
        await self._vendor.call()
        name = f"m{len(self._vendor.messages) + 1}"
        self._vendor.messages[name] = Message(name, view.inquiry, view)
        self._vendor.facts.posted[view.inquiry].append(name)
        self._vendor.posted()
        await self._vendor.reply()
        return Reference(place=place, message=name)

    async def find(self, view: View, place: str) -> Reference | None:
        """See `Finds.find`."""
        await self._vendor.call()
        found = [each.id for each in self._vendor.messages.values() if each.inquiry == view.inquiry]
        await self._vendor.reply()
        return Reference(place=place, message=found[-1]) if found else None

    async def refresh(self, reference: Reference, view: View) -> None:
        """See `Channel.refresh`."""
        await self._vendor.call()
        if reference.message not in self._vendor.messages:
            raise Refused("there is no such message")
        self._vendor.messages[reference.message].view = view
        await self._vendor.reply()

    async def tell(self, reference: Reference, line: str) -> None:
        """See `Channel.tell`."""
        await self._vendor.call()

    async def listen(self, inbox: Inbox) -> None:
        """See `Channel.listen`. What was not taken is delivered again, also to another daemon."""
        vendor = self._vendor
        while True:
            vendor.more.clear()
            for update in list(vendor.updates):
                inbound, tell = update
                await vendor.call()
                heard = await inbox.receive(inbound)
                if not heard.again and update in vendor.updates:
                    vendor.updates.remove(update)
                    await tell(heard)
            if vendor.updates:
                await asyncio.sleep(1.0)
            else:
                await vendor.more.wait()

    async def check(self) -> Sequence[Finding]:
        """See `Channel.check`."""
        return []

    async def close(self) -> None:
        """See `Channel.close`."""
