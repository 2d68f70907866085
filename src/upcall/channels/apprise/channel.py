"""Services that Apprise reaches: pagers, chats, text messages. A place is the name of the person who is told."""

import uuid
from collections.abc import Sequence

import apprise

from upcall.channels.one_way import OneWay, summary
from upcall.domain.channel.showing import Capabilities, Finding, Reference, View
from upcall.domain.text.display import inert
from upcall.ports.channel import SignedOut, Unavailable


class Apprise(OneWay):
    """One Apprise URL, such as `pover://user@token`."""

    capabilities = Capabilities(one_way=True, link=True, replies=False, edit=False, body=1500)

    def __init__(self, *, url: str) -> None:
        self._apprise = apprise.Apprise()
        self._known = bool(self._apprise.add(url))

    async def show(self, view: View, place: str) -> Reference:
        """Send what is asked, with the link."""
        await self._send(inert(view.heading), f"{summary(view)}\n\n{view.link}")
        # Apprise returns no id of a message.
        return Reference(place=place, message=uuid.uuid4().hex)

    async def tell(self, reference: Reference, line: str) -> None:
        """Send one more line."""
        await self._send("", line)

    async def check(self) -> Sequence[Finding]:
        """Whether Apprise knows the service; it says no more without sending something."""
        if self._known:
            return [Finding(ok=True, text="Apprise knows this service")]
        return [Finding(ok=False, text="Apprise does not know such an address", hint="check `url`")]

    async def _send(self, title: str, body: str) -> None:
        if not self._known:
            raise SignedOut("Apprise does not know such an address: check `url`")
        # Sent as plain text, so that nothing in it is read as markup.
        if not await self._apprise.async_notify(
            body=body, title=title, body_format=apprise.NotifyFormat.TEXT
        ):
            raise Unavailable("the service did not take it")
