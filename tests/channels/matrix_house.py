"""People on a real homeserver, and the wire between it and the channel, on which things can go wrong.

What is seen here is what one of the people sees: events as the homeserver delivers them, edits and removals applied.
"""

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal
from urllib.parse import quote

import aiohttp
from aiohttp import web

from tests.channels.changing import Changing
from tests.channels.synapse import Synapse
from upcall.channels.matrix.channel import Matrix
from upcall.channels.words import sentences
from upcall.testing.channel_house import Message

CLIENT = "/_matrix/client/v3"
REACT = sentences("en")["react"].partition("{")[0]
Json = dict[str, Any]
_accounts = itertools.count(1)


class MatrixHouse(Changing):
    """A room with a bot and two people in it. It is also the `Vendor` of the contract suite."""

    def __init__(self, synapse: Synapse) -> None:
        super().__init__()
        self.synapse = synapse
        self.url = ""
        number = next(_accounts)
        names = [f"{name}{number}" for name in ("upcall", "ana", "mallory")]
        (self.bot, self.bot_token), (self.known, known), (self.stranger, stranger) = map(
            synapse.account, names
        )
        self.tokens = {self.bot: self.bot_token, self.known: known, self.stranger: stranger}
        self.place = ""
        self.synced: list[str] = []
        self.calls: list[str] = []
        self._seen: dict[str, Json] = {}
        self.refuse_reactions = False
        self.limited = 0
        """How often the homeserver said that it is too much."""
        self._reacted: dict[tuple[str, str, str], str] = {}
        self._listening = 0
        self._failing: str | None = None
        self._busy = 0
        self._last: Json = {}
        self._repeats: asyncio.Queue[Json] = asyncio.Queue()
        self._numbers = itertools.count(1)
        self._session: aiohttp.ClientSession

    @asynccontextmanager
    async def served(self) -> AsyncIterator["MatrixHouse"]:
        """Put all people into the room until the end of the block."""
        app = web.Application(client_max_size=2**22)
        app.router.add_route("*", "/{path:.*}", self._between)
        runner = web.AppRunner(app, shutdown_timeout=1, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = "http://{}:{}".format(*runner.addresses[0][:2])
        async with aiohttp.ClientSession() as self._session:
            self.place = await self.room(self.known, self.bot, self.stranger)
            watching = asyncio.create_task(self._watch())
            try:
                yield self
            finally:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching
                await runner.cleanup()

    # What people do.

    async def room(self, *members: str, joined: bool = True, **more: object) -> str:
        """A room that the first of them makes for the others."""
        body = {"preset": "private_chat", "invite": list(members[1:]), **more}
        made = await self.call(members[0], "POST", "/createRoom", body)
        for member in members[1:] if joined else ():
            await self.call(member, "POST", f"/join/{quote(made['room_id'])}", {})
        return str(made["room_id"])

    async def call(self, user: str, method: str, path: str, body: Json | None = None) -> Json:
        """Ask the homeserver for something, as one of them."""
        headers = {"Authorization": f"Bearer {self.tokens[user]}"}
        async with self._session.request(
            method, f"{self.synapse.url}{CLIENT}{path}", json=body, headers=headers
        ) as answer:
            read: Json = await answer.json()
            assert answer.status == 200, read
            return read

    async def send(self, user: str, kind: str, content: Json, room: str = "") -> str:
        """Put an event into a room."""
        room = room or self.place
        path = f"/rooms/{quote(room)}/send/{kind}/t{next(self._numbers)}"
        event = str((await self.call(user, "PUT", path, content))["event_id"])
        self._last = await self.call(user, "GET", f"/rooms/{quote(room)}/event/{quote(event)}")
        return event

    async def react(self, user: str, message: str, key: str) -> None:
        """React; a person who has reacted so before takes that back first."""
        earlier = self._reacted.get((user, message, key))
        if earlier is not None:
            path = f"/rooms/{quote(self.place)}/redact/{quote(earlier)}/t{next(self._numbers)}"
            await self.call(user, "PUT", path, {})
        relation = {"rel_type": "m.annotation", "event_id": _event(message), "key": key}
        event = await self.send(user, "m.reaction", {"m.relates_to": relation})
        self._reacted[user, message, key] = event

    async def speak(self, user: str, message: str) -> None:
        """Reply with a voice note."""
        relation = {"m.in_reply_to": {"event_id": _event(message)}}
        voice = {"msgtype": "m.audio", "body": "yes.ogg", "url": "mxc://localhost/1"}
        await self.send(user, "m.room.message", voice | {"m.relates_to": relation})

    # What the contract suite does here.

    def channel(self) -> Matrix:
        return Matrix(homeserver=self.url, access_token=self.bot_token)

    def listening(self) -> bool:
        return self._listening > 0

    def messages(self) -> Sequence[Message]:
        return [
            Message(name=f"{self.place}/{name}", text=self._text(name), answerable=REACT in self._text(name))
            for name, event in self._seen.items()
            if event["sender"] == self.bot and _is_question(event)
        ]

    def told(self, user: str) -> Sequence[str]:
        return [
            event["content"]["body"]
            for event in self._seen.values()
            if event["sender"] == self.bot
            and user in event["content"].get("m.mentions", {}).get("user_ids", [])
        ]

    def said(self) -> Sequence[str]:
        """Every text of the bot's that is no question and no edit."""
        found = [event["content"] for event in self._seen.values() if event["sender"] == self.bot]
        return [content["body"] for content in found if "m.in_reply_to" in content.get("m.relates_to", {})]

    def named(self, text: str) -> str:
        """What the bot's message with this text is called."""
        found = [name for name, event in self._seen.items() if event["content"].get("body") == text]
        return f"{self.place}/{found[0]}"

    def fail(self, how: Literal["unavailable", "refused", "signed_out"] | None) -> None:
        self._failing = how

    def be_busy(self, times: int) -> None:
        """Answer so many events with M_LIMIT_EXCEEDED."""
        self._busy = times

    async def answer(self, user: str, message: str, answers: Sequence[Sequence[str]]) -> None:
        text = self._text(_event(message))
        if len(answers) > 1:
            lines = [f"{number}) {', '.join(values)}" for number, values in enumerate(answers, 1)]
            await self.reply(user, message, "\n".join(lines))
            return
        if REACT not in text:
            await self.reply(user, message, ", ".join(answers[0]))
            return
        (wanted,) = answers[0]
        verdict = re.search(rf"^.*(✅|❌) {re.escape(wanted)}(?: |$)", text, re.MULTILINE)
        listed = re.search(rf"^│ (\d)\. {re.escape(wanted)}(?: —|$)", text, re.MULTILINE)
        found = verdict or listed
        assert found, f"{wanted!r} is not shown in {text!r}"
        key = found[1] if verdict else f"{found[1]}\ufe0f\u20e3"
        await self.react(user, message, key)

    async def reply(self, user: str, message: str, words: str) -> None:
        relation = {"m.in_reply_to": {"event_id": _event(message)}}
        await self.send(
            user, "m.room.message", {"msgtype": "m.text", "body": words, "m.relates_to": relation}
        )

    async def write(self, user: str, words: str) -> None:
        name = self.bot[1:].partition(":")[0]
        content = {
            "msgtype": "m.text",
            "body": f"{name}: {words}",
            "m.mentions": {"user_ids": [self.bot]},
        }
        await self.send(user, "m.room.message", content)

    async def repeat(self) -> None:
        await self._repeats.put(self._last)

    # What one of them sees.

    def _text(self, name: str) -> str:
        content = self._seen[name]["content"]
        for event in self._seen.values():
            relation = event["content"].get("m.relates_to", {})
            edits = relation.get("rel_type") == "m.replace" and relation["event_id"] == name
            if edits and event["sender"] == self.bot:
                content = event["content"]["m.new_content"]
        assert "formatted_body" not in content
        assert content["m.mentions"] == {}
        return str(content["body"])

    def sent(self) -> list[str]:
        """Every event of the bot's by its type, once, however often it was tried."""
        sent = dict.fromkeys(call for call in self.calls if call.startswith("PUT"))
        found = [call.partition("/rooms/")[2].split("/") for call in sent]
        return [parts[2] if parts[1] == "send" else parts[1] for parts in found]

    async def _watch(self) -> None:
        since = ""
        while True:
            found = await self.call(self.known, "GET", f"/sync?timeout=20000{since}")
            since = f"&since={found['next_batch']}"
            for room in found.get("rooms", {}).get("join", {}).values():
                for event in room["timeline"]["events"]:
                    if event["type"] in {"m.room.message", "m.reaction"}:
                        self._seen[event["event_id"]] = event
            self._changed.set()

    # The wire.

    async def _between(self, request: web.Request) -> web.Response:
        self.calls.append(f"{request.method} {request.path}")
        if request.path.endswith("/sync") and request.query.get("since"):
            self.synced.append(request.query["since"])
            return await self._sync(request)
        if "/send/" in request.path:
            if self._busy:
                self._busy -= 1
                return _no(429, "M_LIMIT_EXCEEDED", retry_after_ms=1)
            if self.refuse_reactions and "/m.reaction/" in request.path:
                return _no(429, "M_LIMIT_EXCEEDED", retry_after_ms=60_000)
            if self._failing == "refused":
                return _no(403, "M_FORBIDDEN")
            if self._failing == "signed_out":
                return _no(401, "M_UNKNOWN_TOKEN")
            if self._failing == "unavailable":
                return web.Response(status=502, text="Bad Gateway")
        return await self._forward(request)

    async def _sync(self, request: web.Request) -> web.Response:
        self._listening += 1
        self._changed.set()
        asked = asyncio.create_task(self._forward(request))
        repeated = asyncio.create_task(self._repeats.get())
        try:
            await asyncio.wait((asked, repeated), return_when=asyncio.FIRST_COMPLETED)
            if not repeated.done():
                return await asked
            rooms = {repeated.result()["room_id"]: {"timeline": {"events": [repeated.result()]}}}
            whole = {"next_batch": request.query["since"], "rooms": {"join": rooms}}
            return web.json_response(whole)
        finally:
            asked.cancel()
            repeated.cancel()
            self._listening -= 1
            self._changed.set()

    async def _forward(self, request: web.Request) -> web.Response:
        headers = {"Authorization": request.headers.get("Authorization", "")}
        async with self._session.request(
            request.method, self.synapse.url + request.raw_path, data=await request.read(), headers=headers
        ) as answer:
            self.limited += answer.status == 429
            return web.Response(
                status=answer.status, body=await answer.read(), content_type="application/json"
            )


def _is_question(event: Json) -> bool:
    return event["type"] == "m.room.message" and "m.relates_to" not in event["content"]


def _event(message: str) -> str:
    return "$" + message.partition("/$")[2]


def _no(status: int, code: str, **more: object) -> web.Response:
    body = json.dumps({"errcode": code, "error": "no", **more})
    return web.Response(status=status, text=body, content_type="application/json")
