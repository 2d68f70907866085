"""A channel without a vendor: it does what the test says, and remembers what it was made to show."""

import asyncio
from collections.abc import Callable, Sequence

from upcall.domain.channel.showing import Capabilities, Finding, Reference, View
from upcall.ports.channel import Inbox

SECONDS = 20.0


class ScriptedChannel:
    """Shows everything, once `hold` is set and `failures` are used up."""

    capabilities = Capabilities(buttons=5, button_label=40)

    def __init__(self) -> None:
        self.shown: dict[str, View] = {}
        self.told: list[str] = []
        self.attempts = 0
        self.hold = asyncio.Event()
        self.hold.set()
        self.failures: list[Exception] = []
        self.inbox: Inbox | None = None
        self._changed = asyncio.Event()

    async def show(self, view: View, place: str) -> Reference:
        self.attempts += 1
        self._changed.set()
        await self.hold.wait()
        if self.failures:
            raise self.failures.pop(0)
        message = f"m{len(self.shown) + 1}"
        self.shown[message] = view
        self._changed.set()
        return Reference(place=place, message=message)

    async def refresh(self, reference: Reference, view: View) -> None:
        self.shown[reference.message] = view
        self._changed.set()

    async def tell(self, reference: Reference, line: str) -> None:
        self.told.append(line)
        self._changed.set()

    async def listen(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self._changed.set()
        await asyncio.Event().wait()

    async def check(self) -> Sequence[Finding]:
        return [Finding(ok=True, text="it is there")]

    async def close(self) -> None:
        """Nothing is held."""

    async def until(self, seen: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not seen():
                self._changed.clear()
                await self._changed.wait()

    @property
    def questions(self) -> list[str]:
        return [view.questions[0].text for view in self.shown.values()]

    @property
    def outcomes(self) -> list[str | None]:
        return [view.outcome for view in self.shown.values()]
