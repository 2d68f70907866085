"""The notifications of a desktop, on a bus of its own."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import NamedTuple

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

from tests.conftest import require

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
SECONDS = 20.0


class Notice(NamedTuple):
    """What is on the screen. The actions are keys and labels by turns."""

    title: str
    body: str
    actions: list[str]


class Screen:
    """Shows what programs ask it to, and lets a person press it."""

    def __init__(self, bus: MessageBus) -> None:
        self.bus = bus
        self.shown: list[Notice] = []
        self.arrived: asyncio.Queue[int] = asyncio.Queue()
        """The number of each notice, as it is shown and as it is changed."""
        self.closed: asyncio.Queue[int] = asyncio.Queue()
        bus.add_message_handler(self._serve)

    async def next(self) -> tuple[int, Notice]:
        """The next notice, and its number."""
        async with asyncio.timeout(SECONDS):
            number = await self.arrived.get()
        return number, self.shown[number - 1]

    async def next_closed(self) -> int:
        """The number of the notice that goes next."""
        async with asyncio.timeout(SECONDS):
            return await self.closed.get()

    async def press(self, number: int, label: str) -> None:
        """Press what a notice offers."""
        actions = self.shown[number - 1].actions
        key = actions[actions.index(label) - 1]
        await self.bus.send(Message.new_signal(PATH, NAME, "ActionInvoked", "us", [number, key]))

    def _serve(self, message: Message) -> Message | None:
        if message.path != PATH or message.message_type is not MessageType.METHOD_CALL:
            return None
        reply = partial(Message.new_method_return, message)
        match message.member:
            case "GetServerInformation":
                return reply("ssss", ["screen", "tests", "1", "1.2"])
            case "GetCapabilities":
                return reply("as", [["actions", "body"]])
            case "Notify":
                return reply("u", [self._show(message.body[1], Notice(*message.body[3:6]))])
            case "CloseNotification":
                self.closed.put_nowait(message.body[0])
                return reply()
            case _:
                return None

    def _show(self, replaced: int, notice: Notice) -> int:
        if replaced:
            self.shown[replaced - 1] = notice
        else:
            self.shown.append(notice)
        number = replaced or len(self.shown)
        self.arrived.put_nowait(number)
        return number


@asynccontextmanager
async def a_screen() -> AsyncIterator[tuple[str, Screen]]:
    """A screen, and the address of its bus."""
    program = shutil.which("dbus-daemon")
    require(program, "dbus-daemon")
    assert program is not None
    process = await asyncio.create_subprocess_exec(
        program, "--session", "--nofork", "--print-address", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    address = (await process.stdout.readline()).decode().strip()
    bus = await MessageBus(address).connect()
    await bus.request_name(NAME)
    try:
        yield address, Screen(bus)
    finally:
        process.terminate()
        await process.wait()
        # Without the bus, all its clients disconnect, the library under test included.
        with suppress(EOFError, OSError):
            await bus.wait_for_disconnect()  # type: ignore[no-untyped-call]  # the library does not say: nothing
