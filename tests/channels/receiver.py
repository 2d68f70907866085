"""A program at the other end of webhooks: it checks every signature with code of its own, and calls back."""

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.plain_http import plain_client
from tests.prompt_server import PromptServer
from upcall.channels.webhook.channel import Webhook
from upcall.testing.channel_house import SECONDS, Message

KEY = bytes(range(32))
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
STATUSES = {"unavailable": 503, "refused": 410, "signed_out": 401}


def signature(name: str, moment: str, body: bytes, key: bytes = KEY) -> str:
    """As the specification says it."""
    mac = hmac.new(key, f"{name}.{moment}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(mac.digest()).decode()}"


@dataclass
class Receiver:
    """A vendor for the channel's contract."""

    url: str = ""
    place: str = "ops"
    known: str = "U1"
    stranger: str = "U2"
    received: list[dict[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    status: int = 200
    forgets_to_reply: bool = False
    """Whether something in front of it says that it took too long, after it took what was sent."""
    headers: dict[str, str] = field(default_factory=dict)
    replies: list[tuple[str, httpx2.Response]] = field(default_factory=list)
    _ours: str = ""
    _last: tuple[dict[str, str], bytes, str] | None = None
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def channel(self) -> Webhook:
        """The channel as it is after a start of the daemon."""
        return Webhook(url=self.url, secret=SECRET)

    def reachable(self, url: str) -> None:
        """From now on we are at this address."""
        self._ours = url

    def listening(self) -> bool:
        """Whether there is an address to call."""
        return bool(self._ours)

    async def until(self, seen: Callable[[], bool]) -> None:
        """Wait until this holds."""
        async with asyncio.timeout(SECONDS), self._changed:
            await self._changed.wait_for(seen)

    def messages(self) -> Sequence[Message]:
        """Every question as it was last sent."""
        latest: dict[str, dict[str, Any]] = {}
        for event in self.received:
            if event["type"] in {"inquiry.shown", "inquiry.updated"}:
                latest[event["data"]["message"]] = event["data"]
        return [
            Message(name=name, text=_text(data), answerable=data["outcome"] is None)
            for name, data in latest.items()
        ]

    async def answer(self, user: str, message: str, answers: Sequence[Sequence[str]]) -> None:
        """Send an answer for each question."""
        given = [list(values) for values in answers]
        await self.call({"inquiry": self.inquiry(message), "answers": given, "user": user})

    async def reply(self, user: str, message: str, words: str) -> None:
        """Send words about a message."""
        await self.call({"inquiry": self.inquiry(message), "text": words, "user": user})

    async def write(self, user: str, words: str) -> None:
        """Send words about nothing in particular."""
        await self.call({"text": words, "user": user})

    async def call(self, document: object, **changes: str) -> httpx2.Response:
        """Send something, signed."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        name, moment = f"in_{secrets.token_hex(8)}", str(int(time.time()))
        headers = {
            "webhook-id": name,
            "webhook-timestamp": moment,
            "webhook-signature": signature(name, moment, body),
        }
        user = document.get("user", "") if isinstance(document, dict) else ""
        headers |= {key.replace("_", "-"): value for key, value in changes.items()}
        self._last = (headers, body, str(user))
        await self.repeat()
        return self.replies[-1][1]

    async def repeat(self) -> None:
        """Send the last thing once more."""
        assert self._last is not None
        headers, body, user = self._last
        async with plain_client(trust_env=False) as http:
            response = await http.post(self._ours, content=body, headers=headers)
        async with self._changed:
            self.replies.append((user, response))
            self._changed.notify_all()

    def told(self, user: str) -> Sequence[str]:
        """The lines that came back for a person."""
        lines = [response.json().get("line") for who, response in self.replies if who == user]
        return [line for line in lines if line]

    def fail(self, how: Literal["unavailable", "refused", "signed_out"] | None) -> None:
        """Take nothing from now on, for that reason."""
        self.status = 200 if how is None else STATUSES[how]

    def inquiry(self, message: str) -> str:
        """The inquiry that a message is about."""
        found = (event["data"] for event in self.received if event["data"].get("message") == message)
        return str(next(found)["inquiry"])

    async def take(self, request: Request) -> Response:
        """Take what is sent, if it is signed."""
        body = await request.body()
        name, moment = request.headers["webhook-id"], request.headers["webhook-timestamp"]
        if request.headers["webhook-signature"] != signature(name, moment, body):
            return Response(status_code=401)
        if abs(time.time() - int(moment)) > 300:
            return Response(status_code=400)
        if self.status == 200 or self.forgets_to_reply:
            async with self._changed:
                self.received.append(json.loads(body))
                self.ids.append(name)
                self._changed.notify_all()
        return Response(status_code=504 if self.forgets_to_reply else self.status, headers=self.headers)

    @asynccontextmanager
    async def served(self) -> AsyncIterator["Receiver"]:
        """At work, on a port of its own."""
        app = Starlette(routes=[Route("/hook", self.take, methods=["POST"])])
        server = PromptServer(uvicorn.Config(app, ws="none", lifespan="off", log_config=None))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/hook"
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            try:
                yield self
            finally:
                server.should_exit = True
                await serving


def _text(data: dict[str, Any]) -> str:
    questions = [
        line
        for asked in data["questions"]
        for line in (
            asked["question"],
            *(f"{each['label']} {each['description']}" for each in asked["options"]),
        )
    ]
    parts = [data["heading"], data["context"], *questions, data["more"], data["link"], data["outcome"]]
    return "\n".join(part for part in parts if part)
