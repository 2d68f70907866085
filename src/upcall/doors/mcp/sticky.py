"""Session ids that begin with the name of their daemon, by which a proxy routes the requests of a session to it.

The name is added to the id in responses and removed in requests. A session of another daemon is unknown here: its client is
told so, and begins a new one.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = b"mcp-session-id"


class Sticky:
    """The streamable door of a daemon that has a name among others."""

    def __init__(self, app: ASGIApp, replica: str) -> None:
        self._app = app
        self._mark = f"{replica}.".encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = [
            (name, value.removeprefix(self._mark) if name == HEADER else value)
            for name, value in scope["headers"]
        ]

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    (name, self._mark + value if name.lower() == HEADER else value)
                    for name, value in message.get("headers", ())
                ]
            await send(message)

        await self._app({**scope, "headers": headers}, receive, marked)


def messages_path(replica: str) -> str:
    """Where clients of the older transport post to, as they are told by the daemon that has their stream."""
    return f"/messages/{replica}/" if replica else "/messages/"
