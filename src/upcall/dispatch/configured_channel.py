"""A configured channel: its name, its adapter, its words and its links."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from upcall.domain.channel import degrading
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.ports.channel import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredChannel:
    """A channel of the settings; `link` is where the people at an address can see all of an inquiry."""

    name: str
    channel: Channel
    words: Mapping[str, str]
    link: Callable[[Inquiry, str], Awaitable[str]]
    showing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a message is on its way or there, and not yet on record."""

    async def reminder(self, inquiry: Inquiry, address: str) -> str:
        """The line that reminds the people at an address of an inquiry."""
        link = await self.link(inquiry, address)
        return degrading.reminder(inquiry, self.channel.capabilities, self.words, link)
