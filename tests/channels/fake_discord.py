"""Discord on this machine: its REST API and its gateway over real sockets, with its limits, for the real library.

It takes nothing that Discord would refuse, lets people press only what is really shown, and gives up on a client that does
not acknowledge within three seconds.
"""

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Literal

from aiohttp import WSMsgType, web
from discord.utils import time_snowflake

from tests.channels import discord_wire as wire
from tests.channels.changing import Changing
from tests.channels.discord_limits import problem_with, problem_with_form, read, seen
from upcall.channels.discord.channel import Discord
from upcall.testing.channel_house import Message

TOKEN = "bot-token"
BOT, APPLICATION, GUILD = "1", "1", "900"
ACK_SECONDS = 3.0
CONTENT_INTENT = 1 << 15
CONTENT_FLAG = 1 << 19
Json = dict[str, Any]


class FakeDiscord(Changing):
    """One server with one bot. It is also the `Vendor` of the contract suite."""

    place = "100"
    known = "7"
    stranger = "8"
    direct = "@7"

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, str, Json]] = []
        self.url = ""
        self.identified = 0
        self.resumed = 0
        self.flags = CONTENT_FLAG
        self.intent_granted = True
        self.takes_components = True
        self.acknowledging = True
        """Whether what acknowledges a press is taken; if not, Discord has given up on it."""
        self.names_channels = True
        """Whether a press says in which channel it was."""
        self._posted: dict[str, Json] = {}
        self._lines: list[tuple[str, str]] = []
        self._forms: dict[str, Json] = {}
        self._acks: dict[str, asyncio.Future[int]] = {}
        self._users: dict[str, str] = {}
        self._writers: dict[str, str] = {}
        self._sockets: list[web.WebSocketResponse] = []
        self._sent: list[Json] = []
        self._numbers = itertools.count(1001)
        self._failing: tuple[int, int] | None = None
        self._busy: list[float] = []
        self._last: tuple[str, Json] | None = None

    @asynccontextmanager
    async def served(self) -> AsyncIterator["FakeDiscord"]:
        """Serve until the end of the block."""
        app = web.Application()
        app.router.add_get("/gateway", self._gateway)
        app.router.add_get("/gateway/", self._gateway)
        app.router.add_route("*", "/api/v10/{path:.*}", self._api)
        runner = web.AppRunner(app, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = "http://{}:{}/api/v10".format(*runner.addresses[0][:2])
        try:
            yield self
        finally:
            for socket in list(self._sockets):
                await socket.close()
            await runner.cleanup()

    # What the contract suite does here.

    def channel(self) -> Discord:
        return Discord(bot_token=TOKEN, api_url=self.url)

    def listening(self) -> bool:
        return bool(self._sockets)

    def messages(self) -> Sequence[Message]:
        return [
            Message(name=name, text=seen(posted), answerable=bool(posted["components"]))
            for name, posted in self._posted.items()
            if "components" in posted
        ]

    def told(self, user: str) -> Sequence[str]:
        return [line for to, line in self._lines if to == user]

    def fail(self, how: Literal["unavailable", "refused", "signed_out"] | None) -> None:
        self._failing = {
            "unavailable": (503, 0),
            "refused": (403, 50001),
            "signed_out": (401, 0),
            None: None,
        }[how]

    def posted(self, message: str) -> Json:
        """A message as it was sent."""
        return self._posted[message]

    def be_busy(self, *seconds: float) -> None:
        """Answer as many posts with 429, each with its own time to wait."""
        self._busy = list(seconds)

    async def answer(self, user: str, message: str, answers: Sequence[Sequence[str]]) -> None:
        components = [each for row in self._posted[message]["components"] for each in row["components"]]
        (first, *_) = components
        kind = first["custom_id"].partition(":")[0]
        if kind == "form":
            await self._fill(user, message, first, answers)
        elif kind == "list":
            (value,) = [each["value"] for each in first["options"] if each["label"] == answers[0][0]]
            data = {"component_type": 3, "custom_id": first["custom_id"], "values": [value]}
            await self._interact(3, user, message, data)
        else:
            found = [each for each in components if self._label(message, each) == answers[0][0]]
            assert found, f"{answers[0][0]!r} is not shown in {components}"
            await self._press(user, message, found[0])

    async def own_words(self, user: str, message: str, words: str) -> None:
        """Press the button for words of one's own, and write them."""
        components = [each for row in self._posted[message]["components"] for each in row["components"]]
        (button,) = [each for each in components if each["custom_id"].startswith("own:")]
        await self._fill(user, message, button, [[words]])

    async def own_form(self, user: str, message: str) -> None:
        """Press the button that opens the form, without waiting for the form."""
        (row,) = self._posted[message]["components"]
        await self._press(user, message, row["components"][0])

    async def press_what_is_gone(self, user: str, message: str, custom_id: str) -> None:
        """Press a button that was shown before, and that a person may still see."""
        await self._press(user, message, {"custom_id": custom_id})

    async def reply(self, user: str, message: str, words: str) -> None:
        channel, _, name = message.partition("/")
        reference = {"message_id": name, "channel_id": channel, "guild_id": GUILD}
        await self._say(user, channel, words, guild_id=GUILD, message_reference=reference, type=19)

    async def write(self, user: str, words: str) -> None:
        await self._say(user, f"50{user}", words)

    async def mention(self, user: str, words: str) -> None:
        """Write in the channel, with the bot's name before it."""
        bot = wire.user(BOT) | {"bot": True}
        await self._say(user, self.place, f"<@{BOT}> {words}", guild_id=GUILD, mentions=[bot])

    async def say(self, user: str, words: str, **more: Any) -> None:
        """Write in the channel."""
        await self._say(user, self.place, words, guild_id=GUILD, **more)

    async def react(self, user: str, message: str, emoji: str) -> None:
        """React to a message; what is said about that is said in reply to the same one."""
        channel, _, number = message.partition("/")
        self._writers[number] = user
        about = {"user_id": user, "channel_id": channel, "message_id": number, "burst": False, "type": 0}
        await self.until(self.listening)
        await self._dispatch("MESSAGE_REACTION_ADD", about | {"emoji": {"id": None, "name": emoji}})

    async def speak(self, user: str, message: str) -> None:
        """Reply with a voice message."""
        await self._attach(user, message, "", "voice-message.ogg", flags=1 << 13)

    async def send_picture(self, user: str, message: str, words: str) -> None:
        """Reply with a picture that has words beside it."""
        await self._attach(user, message, words, "image")

    async def _attach(self, user: str, message: str, words: str, name: str, **more: Any) -> None:
        channel, _, number = message.partition("/")
        reference = {"message_id": number, "channel_id": channel, "guild_id": GUILD}
        file = {"id": "1", "filename": name, "size": 1, "url": "https://x", "proxy_url": "https://x"}
        about = {"message_reference": reference, "type": 19, "attachments": [file]}
        await self._say(user, channel, words, guild_id=GUILD, **about, **more)

    async def repeat(self) -> None:
        assert self._last is not None
        await self._dispatch(*self._last)

    async def disconnect(self) -> None:
        """Ask the connected client to resume on a new connection, as Discord does now and then."""
        for socket in list(self._sockets):
            await socket.send_json({"op": 7, "d": None})

    async def forget(self) -> None:
        """Say that there is no such session any more, as Discord does after a while."""
        for socket in list(self._sockets):
            await socket.send_json({"op": 9, "d": False})

    # The API.

    async def _api(self, request: web.Request) -> web.Response:
        sent: Json = await request.json() if request.can_read_body else {}
        path = "/" + request.match_info["path"]
        self.calls.append((request.method, path, sent))
        try:
            if request.headers.get("Authorization") != f"Bot {TOKEN}":
                return wire.no(401, 0, "401: Unauthorized")
            return self._done(request.method, path, sent)
        finally:
            self._changed.set()

    def _done(self, method: str, path: str, sent: Json) -> web.Response:
        match method, path.strip("/").split("/"):
            case "GET", ["users", "@me"]:
                return wire.yes(wire.user(BOT) | {"username": "upcall", "bot": True})
            case "GET", ["oauth2", "applications", "@me"] | ["applications", "@me"]:
                return wire.yes(self._application())
            case "GET", ["gateway", "bot"]:
                limit = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
                url = self.url.replace("http", "ws", 1).replace("/api/v10", "/gateway")
                return wire.yes({"url": url, "shards": 1, "session_start_limit": limit})
            case "POST", ["users", "@me", "channels"]:
                return wire.yes({"id": f"50{sent['recipient_id']}", "type": 1})
            case "POST", ["channels", channel, "messages"]:
                return self._message(channel, None, sent)
            case "PATCH", ["channels", channel, "messages", message]:
                return self._message(channel, message, sent)
            case "POST", ["interactions", interaction, _, "callback"]:
                return self._called_back(interaction, sent)
            case "POST", ["webhooks", _, token]:
                return self._followed_up(token.removeprefix("token-"), sent)
            case _:
                return wire.no(404, 0, "404: Not Found")

    def _application(self) -> Json:
        owner = wire.user("2")
        about = {"id": APPLICATION, "name": "Upcall", "description": "", "icon": None, "summary": ""}
        rest = {"bot_public": False, "bot_require_code_grant": False, "verify_key": "00", "team": None}
        return {**about, **rest, "owner": owner, "flags": self.flags}

    def _message(self, channel: str, message: str | None, sent: Json) -> web.Response:
        if message is None and self._busy:
            after = self._busy.pop(0)
            body = {"message": "You are being rate limited.", "retry_after": after, "global": False}
            return wire.reply(body, 429, Via="1.1 fake")
        if self._failing is not None:
            status, code = self._failing
            return wire.no(status, code, "no")
        if sent.get("components") and not self.takes_components:
            return wire.no(400, 50035, "Invalid Form Body")
        if problem := problem_with(sent):
            return wire.no(400, 50035, problem)
        if message is not None and f"{channel}/{message}" not in self._posted:
            return wire.no(404, 10008, "Unknown Message")
        if message is None and sent.get("enforce_nonce"):
            for name, posted in self._posted.items():
                if posted.get("nonce") == sent["nonce"] and name.startswith(f"{channel}/"):
                    return wire.yes(self._whole(channel, name.partition("/")[2], posted))
        number = message or str(next(self._numbers))
        if "components" not in sent:
            reference = str(sent.get("message_reference", {}).get("message_id", ""))
            self._lines.append((self._writers.get(reference, reference), read(sent["content"])))
        self._posted[f"{channel}/{number}"] = {**self._posted.get(f"{channel}/{number}", {}), **sent}
        return wire.yes(self._whole(channel, number, sent))

    def _called_back(self, interaction: str, sent: Json) -> web.Response:
        waiting = self._acks.get(interaction)
        if waiting is None or not self.acknowledging:
            return wire.no(404, 10062, "Unknown interaction")
        if waiting.done():
            return wire.no(400, 40060, "Interaction has already been acknowledged.")
        user = self._users[interaction]
        if sent["type"] == 9:
            if not self.takes_components:
                return wire.no(400, 50035, "Invalid Form Body")
            if problem := problem_with_form(sent["data"]):
                return wire.no(400, 50035, problem)
            self._forms[user] = sent["data"]
        elif sent["type"] == 4:
            self._lines.append((user, read(sent["data"]["content"])))
        waiting.set_result(int(sent["type"]))
        return web.Response(status=204)

    def _followed_up(self, interaction: str, sent: Json) -> web.Response:
        waiting = self._acks.get(interaction)
        if waiting is None or not waiting.done():
            return wire.no(404, 10015, "Unknown Webhook")
        if problem := problem_with(sent | {"flags": sent["flags"] | 4}):
            return wire.no(400, 50035, problem)
        if sent["flags"] & 64:
            self._lines.append((self._users[interaction], read(sent["content"])))
        return wire.yes(self._whole(self.place, str(next(self._numbers)), sent))

    def _whole(self, channel: str, number: str, sent: Json) -> Json:
        author = wire.user(BOT) | {"username": "upcall", "bot": True}
        return wire.message(channel, number, author, sent.get("content", "")) | {
            "components": sent.get("components", [])
        }

    # The gateway.

    async def _gateway(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": 41250}})
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    await self._said(socket, json.loads(message.data))
        finally:
            if socket in self._sockets:
                self._sockets.remove(socket)
            self._changed.set()
        return socket

    async def _said(self, socket: web.WebSocketResponse, said: Json) -> None:
        match said["op"]:
            case 1:
                await socket.send_json({"op": 11})
            case 2 if said["d"]["token"] != TOKEN:
                await socket.close(code=4004)
            case 2 if said["d"]["intents"] & CONTENT_INTENT and not self.intent_granted:
                await socket.close(code=4014)
            case 2:
                self.identified += 1
                self._sockets.append(socket)
                resume = self.url.replace("http", "ws", 1).replace("/api/v10", "/gateway")
                ready = {"v": 10, "user": wire.user(BOT) | {"bot": True}, "guilds": [], "session_id": "s"}
                more = {"resume_gateway_url": resume, "application": {"id": APPLICATION, "flags": self.flags}}
                await self._dispatch("READY", ready | more)
                self._changed.set()
            case 6:
                self.resumed += 1
                self._sockets.append(socket)
                for missed in self._sent[said["d"]["seq"] :]:
                    await socket.send_json(missed)
                await self._dispatch("RESUMED", {})
                self._changed.set()
            case _:
                pass

    async def _dispatch(self, kind: str, data: Json) -> None:
        event = {"op": 0, "t": kind, "s": len(self._sent) + 1, "d": data}
        self._sent.append(event)
        if self._sockets:
            await self._sockets[-1].send_json(event)

    async def _press(self, user: str, message: str, button: Json) -> None:
        data = {"component_type": 2, "custom_id": button["custom_id"]}
        await self._interact(3, user, message, data)

    async def _interact(self, kind: int, user: str, message: str, data: Json) -> int:
        channel, _, name = message.partition("/")
        number = str(next(self._numbers))
        self._acks[number] = asyncio.get_running_loop().create_future()
        self._users[number] = user
        payload = {
            "id": number,
            "application_id": APPLICATION,
            "type": kind,
            "token": f"token-{number}",
            "version": 1,
            "channel_id": channel,
            **({"channel": {"id": channel, "type": 1}} if self.names_channels else {}),
            "user": wire.user(user),
            "data": data,
            "message": self._whole(channel, name, self._posted[message]),
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {},
            "context": 1,
            "app_permissions": "0",
            "attachment_size_limit": 0,
        }
        self._last = ("INTERACTION_CREATE", payload)
        await self.until(self.listening)
        await self._dispatch(*self._last)
        if not self.acknowledging:
            return 0
        async with asyncio.timeout(ACK_SECONDS):
            return await self._acks[number]

    async def _fill(self, user: str, message: str, button: Json, answers: Sequence[Sequence[str]]) -> None:
        self._forms.pop(user, None)
        await self._press(user, message, button)
        form = self._forms.get(user)
        if form is None:
            return
        given = iter(answers)
        filled: list[Json] = []
        for number, label in enumerate(form["components"], 1):
            field = label["component"]
            done: Json = {"type": field["type"], "id": number + 100, "custom_id": field["custom_id"]}
            if field["type"] == 4:
                done["value"] = next(given)[0] if field["required"] else ""
            else:
                wanted = next(given)
                values = [each["value"] for each in field["options"] if each["label"] in wanted]
                assert len(values) == len(wanted), f"{wanted} is not shown in {field['options']}"
                done["values"] = values
            filled.append({"type": 18, "id": number, "component": done})
        await self._interact(5, user, message, {"custom_id": form["custom_id"], "components": filled})

    async def _say(self, user: str, channel: str, words: str, **more: Any) -> None:
        number = str(time_snowflake(datetime.now(UTC)) + next(self._numbers))
        self._writers[number] = user
        payload = wire.message(channel, number, wire.user(user), words) | more
        self._last = ("MESSAGE_CREATE", payload)
        await self.until(self.listening)
        await self._dispatch(*self._last)

    def _label(self, message: str, button: Json) -> str:
        """What a button stands for: what it says, or what is listed under its number."""
        label = str(button["label"])
        found = re.search(rf"^{label}\. (.*?)(?: — .*)?$", self._posted[message]["content"], re.MULTILINE)
        return found[1] if label.isdigit() and found else label
