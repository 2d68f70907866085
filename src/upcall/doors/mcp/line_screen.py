"""What a client that speaks in lines shows to its person: requests of ours to it, and its responses.

The id of a request names the inquiry. A response is understood without any memory of the request: the daemon may have restarted
meanwhile, or a pipe may have sent it over another connection.
"""

import asyncio
from collections.abc import Callable, Mapping

from upcall.domain.inquiry.inquiry import Inquiry
from upcall.doors.mcp.fields import Message
from upcall.doors.mcp.open_forms import Screen

FORM, LINK = "upcall:form:", "upcall:link:"


class LineScreen:
    """The requests of one connection."""

    __slots__ = ("_awaited", "_send", "_tries")

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._awaited: dict[object, asyncio.Future[object]] = {}
        self._tries: dict[str, int] = {}

    def of(self, inquiry: Inquiry) -> Screen:
        """The screen for one inquiry."""

        async def ask(asked: Message) -> object:
            tries = self._tries[inquiry.id] = self._tries.get(inquiry.id, 0) + 1
            kind = LINK if asked.get("mode") == "url" else FORM
            return await self._asked(f"{kind}{inquiry.id}:{tries}", asked)

        return Screen(ask=ask, done=self._done)

    def heard(self, message: Mapping[str, object]) -> bool:
        """Take a response; False if nothing here waits for it."""
        awaited = self._awaited.pop(message.get("id"), None)
        if awaited is None or awaited.done():
            return False
        awaited.set_result(message.get("result"))
        return True

    async def _asked(self, name: str, asked: Message) -> object:
        awaited = self._awaited[name] = asyncio.get_running_loop().create_future()
        self._send({"jsonrpc": "2.0", "id": name, "method": "elicitation/create", "params": asked})
        try:
            return await awaited
        except asyncio.CancelledError:
            params: Message = {"requestId": name, "reason": "answered elsewhere"}
            self._send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
            raise
        finally:
            self._awaited.pop(name, None)

    async def _done(self, link: str) -> None:
        params: Message = {"elicitationId": link}
        self._send({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": params})


def inquiry_in(name: object) -> str | None:
    """The inquiry whose form has this id; None if it is no form of ours."""
    if not isinstance(name, str) or not name.startswith(FORM):
        return None
    return name.removeprefix(FORM).rpartition(":")[0]
