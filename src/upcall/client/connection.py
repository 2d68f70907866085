"""Reaching the daemon: where it is, the token, connections that are kept, and finding it again when it restarts."""

import json
import os
import time
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import anyio
from anyio import to_thread

from upcall.client.errors import Refused, Unauthenticated, Unreachable, refusal
from upcall.client.wire import BROKEN, Address, Reply, Wire, unreachable
from upcall.home.files import Home, default_home
from upcall.home.instance import forget_dead
from upcall.home.launch import ensure_running

REPLY_SECONDS = 60.0
PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0, 3.0, 3.0)
"""Seconds between attempts to reach a daemon that is stopping or starting."""

LAST_REPLY_SECONDS = 5.0
"""Seconds in which the daemon has to reply to the last things that it was told, before the connections are closed."""

MOST_IDLE = 32
"""Connections that are kept for the next request."""

PASSING = frozenset({502, 503, 504})
"""What a proxy replies while the daemon behind it restarts, and a daemon whose database is away."""


class Connection:
    """The daemon at `url`, or the one of this machine, which is started if none runs.

    `UPCALL_URL` and `UPCALL_TOKEN` stand in for what is not given. The token of this machine's daemon can only ask.
    """

    def __init__(self, url: str | None = None, token: str | None = None, *, home: Home | None = None) -> None:
        self._home = home or default_home()
        self._url = (url or os.environ.get("UPCALL_URL", "")).strip()
        self._given = (token or os.environ.get("UPCALL_TOKEN", "")).strip()
        self._since = time.time()
        self._found: tuple[Address, str] | None = None
        self._idle: list[Wire] = []
        self._keeps = True
        self._finding = anyio.Lock()

    async def close(self) -> None:
        """Hang up, and keep no connection of the requests that are still on their way."""
        self._keeps = False
        idle, self._idle = self._idle, []
        try:
            with anyio.move_on_after(LAST_REPLY_SECONDS):
                for wire in idle:
                    with suppress(*BROKEN):
                        await wire.settle()
        finally:
            for wire in idle:
                await wire.close()

    def put_down(self) -> bool:
        """Whether `upcall down` was run since this connection was made."""
        return not self._url and self._home.was_put_down_since(self._since)

    async def get(self, path: str, *, patience: float = 0.0, **query: object) -> Any:
        """The reply to a GET request, which the daemon may hold back for `patience` seconds."""
        asked = {name: value for name, value in query.items() if value is not None}
        return await self.call("GET", f"{path}?{urlencode(asked)}" if asked else path, patience=patience)

    async def post(self, path: str, body: object) -> Any:
        """The reply to a POST request. It may be sent twice, so it has to carry a key where that matters."""
        return await self.call("POST", path, body)

    @property
    def is_found(self) -> bool:
        """Whether a request can have been sent."""
        return self._found is not None

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        patience: float = 0.0,
        persistent: bool = True,
    ) -> Any:
        """The reply to a request; where the daemon has moved or died, it is found again and the request repeated.

        Raises:
            Refused: if the daemon refuses the request.
            Unreachable: if no daemon is found.
        """
        content = None if body is None else json.dumps(body).encode()
        send = partial(self._once, method, path, content, patience)
        for pause in PAUSES if persistent else ():
            try:
                return await send()
            except Unreachable:
                if self.put_down():
                    raise
            except Refused as refused:
                if refused.status not in PASSING:
                    raise
            await anyio.sleep(pause)
        return await send()

    async def tell(self, path: str) -> None:
        """Send a POST request without a body and without waiting for its reply: that it is not heard changes nothing.

        The reply is read before the next request over the same connection, or when all are closed.
        """
        found = self._found
        if found is None:
            return
        address, token = found
        wire, told = None, False
        try:
            with suppress(Unreachable, *BROKEN), anyio.fail_after(REPLY_SECONDS):
                wire = self._idle.pop() if self._idle else await Wire.connect(address)
                await wire.tell("POST", path, token)
                told = True
        finally:
            if wire is not None:
                # The next request takes another one, if there is one.
                await self._keep(wire, 0, fit=told)

    async def _once(self, method: str, path: str, content: bytes | None, patience: float) -> Any:
        found = self._found or await self._find()
        address, token = found
        try:
            with anyio.fail_after(REPLY_SECONDS + patience):
                reply = await self._exchange(address, method, path, token, content)
        except BROKEN as problem:
            await self._forget(found)
            raise unreachable(address, problem) from problem
        except Unreachable:
            await self._forget(found)
            raise
        return _document(reply, address)

    async def _exchange(
        self, address: Address, method: str, path: str, token: str, content: bytes | None
    ) -> Reply:
        while self._idle:
            try:
                return await self._through(self._idle.pop(), method, path, token, content)
            except BROKEN as problem:
                # A kept connection that was closed meanwhile says nothing about the daemon.
                if isinstance(problem, TimeoutError):
                    raise
        return await self._through(await Wire.connect(address), method, path, token, content)

    async def _through(self, wire: Wire, method: str, path: str, token: str, content: bytes | None) -> Reply:
        reply = None
        try:
            reply = await wire.exchange(method, path, token, content)
            return reply
        finally:
            # When the task was cancelled, the reply would be taken for that of the next request.
            await self._keep(wire, len(self._idle), fit=reply is not None and not reply.last)

    async def _keep(self, wire: Wire, position: int, *, fit: bool) -> None:
        """Keep a connection for the next request, or close it."""
        if fit and self._keeps and len(self._idle) < MOST_IDLE:
            self._idle.insert(position, wire)
        else:
            await wire.close()

    async def _hang_up(self) -> None:
        idle, self._idle = self._idle, []
        for wire in idle:
            await wire.close()

    async def _find(self) -> tuple[Address, str]:
        async with self._finding:
            if self._found is None:
                self._found = await self._remote() if self._url else await self._local()
            return self._found

    async def _remote(self) -> tuple[Address, str]:
        if not self._given:
            raise Unauthenticated(
                f"there is no token for {self._url}",
                hint="set UPCALL_TOKEN, or pass `token`; `upcall tokens create --role agent --name NAME` makes one",
            )
        return Address.of(self._url), self._given

    async def _local(self) -> tuple[Address, str]:
        running = self._home.running()
        if running is None:
            if self.put_down():
                raise Unreachable("Upcall is down", hint="`upcall up` starts it again")
            running = await to_thread.run_sync(ensure_running, self._home)
        return Address.of(running.url), self._given or running.token

    async def _forget(self, found: tuple[Address, str]) -> None:
        """Let the next request find the daemon again: after its restart, it may be elsewhere."""
        if self._found is not found:
            # Another task has lost it too, and looks for it already.
            return
        self._found = None
        await self._hang_up()
        if not self._url and not self.put_down():
            await to_thread.run_sync(forget_dead, self._home)


def inquiry_path(name: str, *rest: str) -> str:
    """The path of an inquiry, or of an action on it."""
    return "/".join(("/v1/inquiries", quote(name, safe=""), *rest))


def _document(reply: Reply, address: Address) -> Any:
    try:
        document = json.loads(reply.content) if reply.content else None
    except ValueError:
        document = None
        if reply.status not in PASSING:
            raise Refused(
                f"the server at {address.url} is not Upcall (status {reply.status})",
                hint="check UPCALL_URL",
                status=reply.status,
            ) from None
    if reply.status >= 400:
        raise refusal(reply.status, document)
    return document
