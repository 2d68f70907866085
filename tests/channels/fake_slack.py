"""Slack on this machine: its Web API, Socket Mode and signed HTTP over real sockets, with its limits, for the real SDK.

It takes nothing that Slack would refuse, lets people press only what is really shown, and gives up on a client that does
not acknowledge within three seconds.
"""

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, Self
from urllib.parse import quote, urlencode

from aiohttp import ClientSession, WSMsgType, web
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.views import View
from slack_sdk.signature import SignatureVerifier
from typing_extensions import override

from tests.channels.changing import Changing
from tests.channels.slack_limits import every, problem_with
from upcall.channels.slack.app import FILES_SCOPE, OPTIONAL_SCOPES, SCOPES
from upcall.channels.slack.channel import Slack
from upcall.testing.channel_house import Message

BOT_TOKEN, APP_TOKEN, SIGNING_SECRET = "xoxb-1", "xapp-1", "s3cret"
BOT = "U0BOT"
ACK_SECONDS = 3.0
Json = dict[str, Any]


class FakeSlack(Changing):
    """One workspace with one app. It is also the `Vendor` of the contract suite."""

    place = "C1"
    known = "U1"
    stranger = "U2"
    direct = "U1"

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, Json]] = []
        self.url = ""
        self.opened = 0
        self._posted: dict[str, Json] = {}
        self._lines: list[tuple[str, str]] = []
        self._views: dict[str, Json] = {}
        self._triggers: dict[str, tuple[float, str, bool]] = {}
        self._sockets: list[web.WebSocketResponse] = []
        self._acks: dict[str, asyncio.Future[Json | None]] = {}
        self._numbers = itertools.count(1)
        self.refusing: dict[str, str] = {}
        """What is said to each call of these methods."""
        self.takes_blocks = True
        self.scopes: Sequence[str] = (*SCOPES, *OPTIONAL_SCOPES)
        """The scopes with which the app was installed."""
        self._failing: str | None = None
        self._busy = 0
        self.silent = False
        """Whether it takes messages, and does not say so any more."""
        self._last: tuple[str, Json] | None = None
        self._files: dict[str, bytes] = {}
        self.fetched: list[str] = []
        """The names of the files that were downloaded."""

    @asynccontextmanager
    async def served(self) -> AsyncIterator[Self]:
        """Serve until the end of the block."""
        app = web.Application(client_max_size=2**22)
        app.router.add_post("/api/{method}", self._api)
        app.router.add_get("/link", self._socket)
        app.router.add_get("/files/{number}/{name}", self._file)
        runner = web.AppRunner(app, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/api/"
        try:
            yield self
        finally:
            for socket in list(self._sockets):
                await socket.close()
            await runner.cleanup()

    # What the contract suite does here.

    def channel(self) -> Slack:
        return Slack(bot_token=BOT_TOKEN, app_token=APP_TOKEN, api_url=self.url, ping=0.2)

    def listening(self) -> bool:
        return bool(self._sockets)

    @property
    def connections(self) -> int:
        """How many are listening at this moment."""
        return len(self._sockets)

    def messages(self) -> Sequence[Message]:
        return [
            _message(name, posted["blocks"]) for name, posted in self._posted.items() if posted.get("blocks")
        ]

    def told(self, user: str) -> Sequence[str]:
        return [line for to, line in self._lines if to == user]

    def fail(self, how: Literal["unavailable", "refused", "signed_out"] | None) -> None:
        self._failing = {
            "unavailable": "internal_error",
            "refused": "channel_not_found",
            "signed_out": "token_revoked",
            None: None,
        }[how]

    def be_busy(self, times: int) -> None:
        """Answer so many posts with 429."""
        self._busy = times

    def plain(self) -> dict[str, str]:
        """Every message without blocks by its name, as people read it."""
        return {name: _read(sent["text"]) for name, sent in self._posted.items() if not sent.get("blocks")}

    async def press_form(self, user: str, message: str) -> None:
        """Press the button that opens the form, without waiting for the form."""
        buttons = [each for each in every(self._posted[message]["blocks"]) if each.get("type") == "button"]
        await self._press(user, message, buttons[0], {})

    async def answer(self, user: str, message: str, answers: Sequence[Sequence[str]]) -> None:
        posted = self._posted[message]
        fields = [block for block in posted["blocks"] if block["type"] == "input"]
        buttons = [each for each in every(posted["blocks"]) if each.get("type") == "button"]
        if any(button["action_id"].startswith("form:") for button in buttons):
            await self._fill_form(user, message, buttons[0], answers)
        elif fields:
            state = _filled(fields, answers)
            await self._press(user, message, next(b for b in buttons if b["action_id"] == "send:0"), state)
        else:
            pressed = [each for each in buttons if _label(posted["blocks"], each) == answers[0][0]]
            assert pressed, f"{answers[0][0]!r} is not shown in {buttons}"
            await self._press(user, message, pressed[0], {})

    async def reply(self, user: str, message: str, words: str) -> None:
        channel, ts = message.split("/")
        await self._say(user, channel, words, thread_ts=ts)

    async def write(self, user: str, words: str) -> None:
        await self._say(user, f"D{user}", words, channel_type="im")

    async def react(self, user: str, message: str, emoji: str) -> None:
        """React to a message."""
        channel, ts = message.split("/")
        item = {"type": "message", "channel": channel, "ts": ts}
        event = {
            "type": "reaction_added",
            "user": user,
            "reaction": emoji,
            "item": item,
            "event_ts": self._ts(),
        }
        await self._send("events_api", {"event_id": f"Ev{next(self._numbers)}", "event": event})

    async def speak(self, user: str, message: str) -> None:
        """Reply with a clip."""
        channel, ts = message.split("/")
        clip = {"id": "F1", "subtype": "slack_audio", "mimetype": "audio/mp4"}
        await self._say(user, channel, "", thread_ts=ts, subtype="file_share", files=[clip])

    async def send_files(self, user: str, message: str, words: str, files: Mapping[str, bytes]) -> None:
        """Reply in the thread with files, which Slack keeps for those who may read them."""
        channel, ts = message.split("/")
        sent = []
        for name, content in files.items():
            number = f"F{next(self._numbers)}"
            self._files[number] = content
            address = f"{self.url.removesuffix('/api/')}/files/{number}/{quote(name)}"
            kept = {"id": number, "name": name, "mimetype": "application/octet-stream", "size": len(content)}
            sent.append(kept | {"url_private": address, "url_private_download": address})
        await self._say(user, channel, words, thread_ts=ts, subtype="file_share", files=sent)

    async def _file(self, request: web.Request) -> web.Response:
        """A file, for a token with the scope; every other reader is led to the page for signing in."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token != BOT_TOKEN or FILES_SCOPE not in self.scopes:
            return web.Response(status=302, headers={"Location": "/signin"})
        self.fetched.append(request.match_info["name"])
        return web.Response(body=self._files[request.match_info["number"]])

    async def repeat(self) -> None:
        assert self._last is not None
        await self._send(*self._last)

    async def disconnect(self) -> None:
        """Ask the connected client to connect again, as Slack does every few hours."""
        for socket in list(self._sockets):
            await socket.send_json({"type": "disconnect", "reason": "refresh_requested"})

    # The Web API.

    async def _api(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        sent: Json = await request.json() if request.content_type == "application/json" else {}
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.calls.append((method, sent))
        try:
            if method == "apps.connections.open":
                if token != APP_TOKEN:
                    return _no("not_allowed_token_type")
                return _yes(url=self.url.replace("http", "ws", 1).replace("/api/", "/link"))
            if token != BOT_TOKEN:
                return _no("invalid_auth")
            if method in self.refusing:
                return _no(self.refusing[method])
            done = self._done(method, sent)
        finally:
            self._changed.set()
        if method == "chat.postMessage":
            await self._may_reply()
        return done

    def _done(self, method: str, sent: Json) -> web.Response:
        match method:
            case "auth.test":
                scopes = {"x-oauth-scopes": ",".join(self.scopes)}
                return _yes(scopes, user="upcall", team="Acme", user_id=BOT)
            case "chat.postMessage" | "chat.update":
                return self._message(method, sent)
            case "chat.postEphemeral":
                self._lines.append((sent["user"], _read(sent["text"])))
                return _yes(message_ts=self._ts())
            case "conversations.open":
                if "im:write" not in self.scopes:
                    return _no("missing_scope")
                return _yes(channel={"id": f"D{sent['users']}"})
            case "conversations.history":
                return self._history(sent)
            case "views.open":
                return self._opened(sent)
            case _:
                return _no("unknown_method")

    def _message(self, method: str, sent: Json) -> web.Response:
        if self._busy and method == "chat.postMessage":
            self._busy -= 1
            return web.json_response(
                {"ok": False, "error": "ratelimited"}, status=429, headers={"Retry-After": "0"}
            )
        if self._failing is not None:
            return _no(self._failing)
        if not sent.get("text"):
            return _no("no_text")
        if "<" in sent["text"] or ">" in sent["text"] or sent.get("parse") != "none":
            return _no("not_escaped")
        if sent.get("blocks") and not self.takes_blocks:
            return _no("invalid_blocks")
        if problem := problem_with(sent.get("blocks", []), 50):
            return _no(problem.partition(":")[0], problem)
        channel = f"D{sent['channel']}" if sent["channel"].startswith("U") else sent["channel"]
        ts = sent["ts"] if method == "chat.update" else self._ts()
        if method == "chat.update" and f"{channel}/{ts}" not in self._posted:
            return _no("message_not_found")
        if not sent.get("blocks"):
            self._lines.append((channel.removeprefix("D"), _read(sent["text"])))
        # What an update does not name stays as it was.
        kept = self._posted.get(f"{channel}/{ts}", {}).get("metadata")
        self._posted[f"{channel}/{ts}"] = {"metadata": kept} | sent
        if self.silent:
            raise web.HTTPGatewayTimeout
        return _yes(channel=channel, ts=ts)

    def _history(self, sent: Json) -> web.Response:
        if not sent["channel"].startswith(("C", "D", "G")):
            return _no("channel_not_found")
        found = [
            {"ts": name.partition("/")[2], "metadata": posted.get("metadata") or {}}
            for name, posted in self._posted.items()
            if name.partition("/")[0] == sent["channel"]
        ]
        return _yes(messages=found[::-1][: sent["limit"]])

    def _opened(self, sent: Json) -> web.Response:
        at, user, used = self._triggers[sent["trigger_id"]]
        if used or time.monotonic() - at > ACK_SECONDS:
            return _no("exchanged_trigger_id" if used else "expired_trigger_id")
        self._triggers[sent["trigger_id"]] = (at, user, True)
        view = sent["view"]
        try:
            View(**view).to_dict()
        except SlackObjectFormationError as error:
            return _no("invalid_arguments", str(error))
        if problem := problem_with(view["blocks"], 100):
            return _no("invalid_arguments", problem)
        view["id"] = f"V{next(self._numbers)}"
        self._views[user] = view
        return _yes(view=view)

    # Socket Mode.

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "hello", "num_connections": 1})
        self._sockets.append(socket)
        self.opened += 1
        self._changed.set()
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                said = json.loads(message.data)
                waiting = self._acks.pop(said["envelope_id"], None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(said.get("payload"))
        self._sockets.remove(socket)
        self._changed.set()
        return socket

    async def _send(self, kind: str, payload: Json) -> Json | None:
        envelope = f"envelope-{next(self._numbers)}"
        self._acks[envelope] = asyncio.get_running_loop().create_future()
        acknowledged = self._acks[envelope]
        self._last = (kind, payload)
        await self.until(self.listening)
        await self._sockets[-1].send_json({"envelope_id": envelope, "type": kind, "payload": payload})
        async with asyncio.timeout(ACK_SECONDS):
            return await acknowledged

    async def _press(self, user: str, message: str, button: Json, state: Json) -> None:
        channel, ts = message.split("/")
        trigger = f"trigger-{next(self._numbers)}"
        self._triggers[trigger] = (time.monotonic(), user, False)
        action = {"type": "button", "action_ts": self._ts(), "block_id": "b"}
        payload = {
            "type": "block_actions",
            "user": {"id": user},
            "channel": {"id": channel},
            "message": {"ts": ts},
            "trigger_id": trigger,
            "state": {"values": state},
            "actions": [action | {"action_id": button["action_id"], "value": button["value"]}],
        }
        await self._send("interactive", payload)

    async def _fill_form(
        self, user: str, message: str, button: Json, answers: Sequence[Sequence[str]]
    ) -> None:
        self._views.pop(user, None)
        await self._press(user, message, button, {})
        await self.until(lambda: user in self._views)
        view = self._views[user]
        fields = [block for block in view["blocks"] if block["type"] == "input"]
        state = {"values": _filled(fields, answers)}
        payload = {"type": "view_submission", "user": {"id": user}, "view": {**view, "state": state}}
        reply = await self._send("interactive", payload)
        for line in (reply or {}).get("errors", {}).values():
            self._lines.append((user, line))
            self._changed.set()

    async def _say(self, user: str, channel: str, words: str, **more: Any) -> None:
        text = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        event = {"type": "message", "user": user, "channel": channel, "text": text, "ts": self._ts(), **more}
        await self._send("events_api", {"event_id": f"Ev{next(self._numbers)}", "event": event})

    def _ts(self) -> str:
        return f"{time.time():.3f}{next(self._numbers):03}"


class CallingSlack(FakeSlack):
    """A Slack that calls the app, which has no Socket Mode."""

    address = ""

    @override
    def channel(self) -> Slack:
        return Slack(bot_token=BOT_TOKEN, signing_secret=SIGNING_SECRET, api_url=self.url)

    def reachable(self, url: str) -> None:
        self.address = url

    @override
    def listening(self) -> bool:
        return bool(self.address)

    async def post(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """Call the app; its status and its body."""
        async with (
            asyncio.timeout(ACK_SECONDS),
            ClientSession() as session,
            session.post(self.address, data=body, headers=headers) as response,
        ):
            return response.status, await response.read()

    def signed(self, body: bytes, *, at: float | None = None, secret: str = SIGNING_SECRET) -> dict[str, str]:
        """The headers of what is really Slack's."""
        timestamp = str(int(time.time() if at is None else at))
        signature = SignatureVerifier(secret).generate_signature(timestamp=timestamp, body=body)
        assert signature is not None
        return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": signature}

    @override
    async def _send(self, kind: str, payload: Json) -> Json | None:
        self._last = (kind, payload)
        if kind == "events_api":
            body, media = json.dumps({"type": "event_callback", **payload}).encode(), "application/json"
        else:
            body = urlencode({"payload": json.dumps(payload)}).encode()
            media = "application/x-www-form-urlencoded"
        status, reply = await self.post(body, self.signed(body) | {"Content-Type": media})
        assert status == 200, status
        return json.loads(reply) if reply else None


def _yes(headers: dict[str, str] | None = None, **more: Any) -> web.Response:
    return web.json_response({"ok": True, **more}, headers=headers)


def _no(error: str, *details: str) -> web.Response:
    return web.json_response({"ok": False, "error": error, "response_metadata": {"messages": details}})


def _read(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _message(name: str, blocks: list[Json]) -> Message:
    text = "\n".join(each["text"] for each in every(blocks) if isinstance(each.get("text"), str))
    pressable = [each for each in every(blocks) if each.get("type") in {"button", "input"}]
    return Message(name=name, text=text, answerable=bool(pressable))


def _label(blocks: list[Json], button: Json) -> str:
    """What a button stands for: what it says, or what is listed under its number."""
    label = str(button["text"]["text"])
    lines = [
        line for each in every(blocks) if each.get("type") == "text" for line in each["text"].split("\n")
    ]
    listed = [line.partition(". ")[2] for line in lines if line.startswith(f"{label}. ")]
    return listed[0].partition(" — ")[0] if label.isdigit() and listed else label


def _filled(fields: list[Json], answers: Sequence[Sequence[str]]) -> Json:
    """The state of fields in which these answers were chosen, or written where nothing of the kind can be chosen."""
    state: Json = {}
    given = iter(answers)
    for block in fields:
        element = block["element"]
        if block["block_id"].startswith("words:"):
            state[block["block_id"]] = {"words": {"type": "plain_text_input", "value": None}}
            continue
        wanted = next(given)
        if element["type"] == "plain_text_input":
            value: Json = {"value": wanted[0]}
        else:
            chosen = [each for each in element["options"] if each["text"]["text"] in wanted]
            assert len(chosen) == len(wanted), f"{wanted} is not shown in {element['options']}"
            one = element["type"] in {"radio_buttons", "static_select"}
            value = {"selected_option": next(iter(chosen), None)} if one else {"selected_options": chosen}
        state[block["block_id"]] = {element["action_id"]: {"type": element["type"], **value}}
    return state
