"""`POST /v1/pipe`: the door for pipes on other machines, on the same footing as a connection on loopback.

The body is two lines, the pipe's introduction and one MCP message. The reply is lines, among them empty ones as
signs of life, until the message has been answered. Losing the connection only detaches; the pipe sends the message
again under the same key.
"""

import asyncio
from collections.abc import Mapping
from functools import partial

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.domain.errors import InvalidRequest, Unauthenticated, UpcallError
from upcall.doors.mcp.checks import NoMessage, ProtocolError, message_of
from upcall.doors.mcp.conversation import Conversation
from upcall.doors.mcp.link import PlainLink
from upcall.doors.mcp.tools import Tools
from upcall.doors.mcp.wire import encoded
from upcall.doors.pipe.hello import LONGEST_LINE, asker_in, greeting, hello_of, refusal, taken_in
from upcall.http.bearer import admit, token_of
from upcall.http.body import disconnected, read_body
from upcall.ports.unhurried import unhurried

SIGN_OF_LIFE = 15.0
PATH = "/v1/pipe"


class PipeDoor:
    """The remote pipes' end in the daemon."""

    def __init__(self, tools: Tools, access: Access, *, sign_of_life: float = SIGN_OF_LIFE) -> None:
        self._tools = tools
        self._access = access
        self._sign_of_life = sign_of_life

    def routes(self) -> list[Route]:
        """The one path."""
        return [Route(PATH, self)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one message."""
        try:
            if scope["method"] != "POST":
                raise InvalidRequest("this is the door for `upcall mcp`", hint="POST two lines")
            caller = await admit(self._access, scope)
            body = await read_body(receive, most=LONGEST_LINE)
            hello, message = await unhurried(len(body), lambda: _two_lines(body))
        except UpcallError as problem:
            status = 401 if isinstance(problem, Unauthenticated) else 400
            await _start(send, status)
            await send({"type": "http.response.body", "body": encoded(refusal(problem))})
            return
        await _start(send, 200)
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        asker = asker_in(hello, caller, self._tools.runner)
        link = PlainLink(
            ("pipe", caller.name, asker.client_id),
            lines.put_nowait,
            partial(self._access.identify, token_of(scope)),
        )
        initialized = hello.get("initialized") is True
        conversation = Conversation(
            self._tools, asker, link, initialized=initialized, person=hello.get("person")
        )
        handshake = hello.get("handshake")
        if initialized and isinstance(handshake, Mapping):
            # Each of its messages comes alone, and only the first of them was the handshake.
            conversation.met(handshake)
        lines.put_nowait(encoded(greeting()))
        for inquiry in taken_in(hello):
            conversation.handle({"upcall": "taken", "id": inquiry})
        is_acknowledgement = not isinstance(message, ProtocolError) and "upcall" in message
        if isinstance(message, ProtocolError):
            conversation.refuse(message)
        else:
            conversation.handle(message)
        gone = asyncio.create_task(disconnected(receive))
        try:
            if conversation.recording is not None and is_acknowledgement:
                # Its pipe says so until it has a reply: until it is on record, another daemon would have to be told.
                await asyncio.wait({conversation.recording, gone}, return_when=asyncio.FIRST_COMPLETED)
            await self._pass_on(conversation, lines, gone, send)
        finally:
            gone.cancel()
            conversation.leave_forms()
            conversation.detach()

    async def _pass_on(
        self,
        conversation: Conversation,
        lines: "asyncio.Queue[bytes]",
        gone: "asyncio.Task[None]",
        send: Send,
    ) -> None:
        while not gone.done() and (conversation.busy or not lines.empty()):
            line = asyncio.ensure_future(lines.get())
            try:
                await asyncio.wait(
                    {line, gone}, timeout=self._sign_of_life, return_when=asyncio.FIRST_COMPLETED
                )
                body = line.result() if line.done() else b"\n"
            finally:
                line.cancel()
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _two_lines(body: bytes) -> tuple[Mapping[str, object], Mapping[str, object] | ProtocolError]:
    """The introduction and the message, or why the conversation has to refuse that."""
    first, _, rest = body.partition(b"\n")
    hello = hello_of(first)
    try:
        return hello, message_of(rest.strip())
    except NoMessage:
        raise InvalidRequest("the second line is no JSON", hint="send one MCP message") from None
    except ProtocolError as refusal:
        return hello, refusal


async def _start(send: Send, status: int) -> None:
    headers = [
        (b"content-type", b"application/x-ndjson"),
        (b"cache-control", b"no-cache, no-transform"),
        # Proxies that gather what they pass on would gather our signs of life.
        (b"x-accel-buffering", b"no"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
