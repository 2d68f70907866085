"""Notifications on the Linux desktop of the daemon's own session, over D-Bus. A place is the name of the person at that desktop."""

import asyncio
import logging
import webbrowser
from collections.abc import Sequence

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.errors import DBusError, InvalidAddressError
from typing_extensions import override

from upcall.channels.one_way import OneWay, summary
from upcall.channels.words import sentences
from upcall.domain.channel.showing import Capabilities, Finding, Reference, View
from upcall.ports.channel import Inbox, Refused, Unavailable

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
OPEN = "default"
"""The action of a click on the notification itself; the button has it as well."""

AS_LONG_AS_IT_TAKES = 0
WATCH = f"type='signal',interface='{NAME}',member='ActionInvoked'"

log = logging.getLogger("upcall.channels.desktop")


class Desktop(OneWay):
    """One desktop. The bus is connected when it is first needed, and again after it was lost."""

    capabilities = Capabilities(one_way=True, link=True, replies=False, body=700)

    def __init__(self, *, language: str = "en") -> None:
        self._words = sentences(language)
        self._bus: MessageBus | None = None
        self._connecting = asyncio.Lock()
        self._links: dict[int, tuple[int, str]] = {}
        """For each notification, the first one about the same question, and the link that a click opens."""
        self._opening: set[asyncio.Task[None]] = set()

    async def show(self, view: View, place: str) -> Reference:
        """Notify of a question; a click opens it in the browser."""
        number = await self._notify(view.heading, summary(view), [OPEN, self._words["answer"]])
        self._links[number] = (number, view.link)
        return Reference(place=place, message=str(number))

    @override
    async def refresh(self, reference: Reference, view: View) -> None:
        """Close the notifications of a question that is over."""
        if view.outcome is not None:
            first = int(reference.message)
            reminders = [number for number, (about, _) in self._links.items() if about == first != number]
            for number in (first, *reminders):
                self._links.pop(number, None)
                await self._call("CloseNotification", "u", [number])

    async def tell(self, reference: Reference, line: str) -> None:
        """Show one more line, with the same link."""
        number = await self._notify("Upcall", line, [OPEN, self._words["answer"]])
        first = int(reference.message)
        if first in self._links:
            self._links[number] = self._links[first]

    @override
    async def listen(self, inbox: Inbox) -> None:
        """Hold the connection, since clicks come through it."""
        bus = await self._connected()
        await inbox.connected()
        try:
            await bus.wait_for_disconnect()  # type: ignore[no-untyped-call]  # the library does not say: nothing
        except (EOFError, OSError) as error:
            raise Unavailable("the desktop is gone") from error
        raise Unavailable("the desktop is gone")

    async def check(self) -> Sequence[Finding]:
        """Whether there is a desktop that shows notifications."""
        try:
            name, *_ = await self._call("GetServerInformation")
        except (Refused, Unavailable) as problem:
            return [Finding(ok=False, text=str(problem), hint="run the daemon in your desktop's session")]
        return [Finding(ok=True, text=f"{name} shows notifications")]

    @override
    async def close(self) -> None:
        """Leave the bus."""
        if self._bus is not None and self._bus.connected:
            self._bus.disconnect()

    async def _notify(self, title: str, text: str, actions: list[str]) -> int:
        # Some desktops read a body as markup.
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        hints = {"urgency": Variant("y", 1)}
        arguments = ["Upcall", 0, "", title, text, actions, hints, AS_LONG_AS_IT_TAKES]
        (number,) = await self._call("Notify", "susssasa{sv}i", arguments)
        return int(number)

    async def _call(self, member: str, signature: str = "", arguments: Sequence[object] = ()) -> list[str]:
        bus = await self._connected()
        message = Message(
            destination=NAME,
            path=PATH,
            interface=NAME,
            member=member,
            signature=signature,
            body=list(arguments),
        )
        reply = await _asked(bus, message)
        if reply.message_type is MessageType.ERROR:
            raise Unavailable(f"nothing shows notifications here: {reply.error_name}")
        return list(reply.body)

    async def _connected(self) -> MessageBus:
        async with self._connecting:
            if self._bus is None or not self._bus.connected:
                try:
                    bus = await MessageBus().connect()
                except (InvalidAddressError, EOFError, OSError) as error:
                    raise Unavailable(f"there is no desktop here: {type(error).__name__}") from error
                bus.add_message_handler(self._heard)
                await _watch(bus)
                self._bus = bus
            return self._bus

    def _heard(self, message: Message) -> None:
        if message.message_type is MessageType.SIGNAL and message.member == "ActionInvoked":
            _, link = self._links.get(message.body[0], (0, ""))
            if link:
                opening = asyncio.create_task(_open(link))
                self._opening.add(opening)
                opening.add_done_callback(self._opening.discard)


async def _open(link: str) -> None:
    # The call may take as long as the browser is open.
    try:
        await asyncio.to_thread(webbrowser.open, link)
    except (webbrowser.Error, OSError) as error:
        log.warning("no browser can be opened: %s", error)


async def _watch(bus: MessageBus) -> None:
    """Subscribe to clicks; a connection that does not deliver them is closed."""
    message = Message(
        destination="org.freedesktop.DBus",
        path="/org/freedesktop/DBus",
        interface="org.freedesktop.DBus",
        member="AddMatch",
        signature="s",
        body=[WATCH],
    )
    watching = False
    try:
        reply = await _asked(bus, message)
        watching = reply.message_type is not MessageType.ERROR
    finally:
        if not watching:
            bus.disconnect()
    if not watching:
        raise Unavailable(f"clicks cannot be heard here: {reply.error_name}")


async def _asked(bus: MessageBus, message: Message) -> Message:
    try:
        return await bus.call(message)
    except (DBusError, EOFError, OSError) as error:
        raise Unavailable(f"the desktop cannot be reached: {type(error).__name__}") from error
