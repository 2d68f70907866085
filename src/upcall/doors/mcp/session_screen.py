"""What a client of the handshake era shows: it is asked while the call waits, on the stream of the call."""

from typing import Any

from upcall.doors.mcp.fields import Message
from upcall.doors.mcp.open_forms import Screen


def session_screen(session: Any, request_id: str | int | None) -> Screen:
    """The screen of a session of the SDK, for the questions of one call."""

    async def ask(asked: Message) -> object:
        if asked.get("mode") == "url":
            came = await session.elicit_url(
                asked["message"], asked["url"], asked["elicitationId"], request_id
            )
        else:
            came = await session.elicit_form(asked["message"], asked["requestedSchema"], request_id)
        return came.model_dump(mode="json", exclude_none=True)

    async def done(name: str) -> None:
        await session.send_elicit_complete(name, request_id)

    return Screen(ask=ask, done=done)
