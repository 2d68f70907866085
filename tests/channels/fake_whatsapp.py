"""WhatsApp on this machine: Meta's Cloud API over real sockets, with its limits and its signed calls.

It takes nothing that WhatsApp would refuse, lets people press only what is really shown, says afterwards whether a
message went out, and refuses free text to a person 24 hours after their last message.
"""

import asyncio
import hashlib
import hmac
import itertools
import json
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
from aiohttp import web

from tests.channels.changing import Changing
from tests.plain_http import plain_client
from upcall.channels.whatsapp.channel import WhatsApp
from upcall.testing.channel_house import Message

TOKEN, APP_SECRET, VERIFY_TOKEN = "EAA-token", "app-secret", "agreed"
NUMBER = "106540352242922"
URL = "https://upcall.example/channels/tried"
TAG = "biz_opaque_callback_data"
Json = dict[str, Any]
OVER: Json = {"code": 131047, "title": "Re-engagement message", "message": "Re-engagement message"}


_FENCED = re.compile(r"```(?=[^\s`])(.*?[^\s`])```(?!`)", re.DOTALL)
_STYLED = re.compile(r"(?<![^\W_])([*_~`])(?=\S)([^\n]*?\S)\1(?![^\W_])")


def read(text: str) -> str:
    """A text as WhatsApp shows it: signs that make it bold, italic, struck out or code are gone, except within a fence."""
    pieces = _FENCED.split(text)
    for index in range(0, len(pieces), 2):
        plain = pieces[index]
        while (styled := _STYLED.sub(r"\2", plain)) != plain:
            plain = styled
        pieces[index] = plain
    return "".join(pieces).replace("\u200b", "")


def outside(text: str) -> str:
    """What stands outside of every fence, where WhatsApp looks for markup."""
    return "".join(_FENCED.split(text)[::2])


def length(text: str) -> int:
    """How long WhatsApp says that a text is."""
    return len(text.encode("utf-16-le")) // 2


def problem_with(sent: Json) -> str | None:
    """What WhatsApp would say about this message."""
    match sent["type"]:
        case "text":
            if not 1 <= length(sent["text"]["body"]) <= 4096 or sent["text"].get("preview_url"):
                return "text"
        case "template":
            (body,) = sent["template"]["components"]
            gaps = [each["text"] for each in body["parameters"]]
            if any(not gap or length(gap) > 1024 or re.search(r"[\n\t]| {5}", gap) for gap in gaps):
                return "template"
        case "interactive":
            return problem_with_interactive(sent["interactive"])
        case _:
            return "type"
    return None


def problem_with_interactive(interactive: Json) -> str | None:
    if not 1 <= length(interactive["body"]["text"]) <= 1024:
        return "body"
    action = interactive["action"]
    if interactive["type"] == "button":
        replies = [button["reply"] for button in action["buttons"]]
        titles = [reply["title"] for reply in replies]
        if not 1 <= len(replies) <= 3 or len(set(titles)) < len(titles):
            return "buttons"
        if any(not 1 <= length(each["title"]) <= 20 or len(each["id"]) > 256 for each in replies):
            return "button"
        return None
    rows = [row for section in action["sections"] for row in section["rows"]]
    if not 1 <= len(rows) <= 10 or not 1 <= length(action["button"]) <= 20:
        return "rows"
    if any(not 1 <= length(row["title"]) <= 24 or len(row["id"]) > 200 for row in rows):
        return "row"
    return "description" if any(length(row.get("description", "")) > 72 for row in rows) else None


class FakeWhatsApp(Changing):
    """One number of a business. It is also the `Vendor` of the contract suite, and calls us."""

    place = "15550000501"
    known = "US.501"
    stranger = "US.502"
    direct = "15550000501"

    def __init__(self) -> None:
        super().__init__()
        self.url = ""
        self.replies: list[int] = []
        self.over: Literal["at once", "later"] | None = None
        """Whether the 24 hours of all people are over, and when WhatsApp says so."""
        self.phones = True
        """Whether people show their numbers."""
        self.takes_buttons = True
        self.sends_receipts = True
        """Whether receipts are delivered at once."""
        self._undelivered: list[Json] = []
        self._reachable = ""
        self._posted: dict[str, Json] = {}
        self._said: dict[str, str] = {}
        self._reacted: set[str] = set()
        self._reactions: set[str] = set()
        self._lines: list[tuple[str, str]] = []
        self._numbers = itertools.count(1)
        self._failing: Literal["unavailable", "refused", "signed_out"] | None = None
        self._busy = 0
        self._last: Json | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def served(self) -> AsyncIterator["FakeWhatsApp"]:
        """Serve until the end of the block."""
        app = web.Application()
        app.router.add_post("/v1/{number}/messages", self._messages)
        app.router.add_get("/v1/{number}", self._about)
        runner = web.AppRunner(app, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"
        try:
            yield self
        finally:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await runner.cleanup()

    # What the contract suite does here.

    def channel(self, template: str = "") -> WhatsApp:
        return WhatsApp(
            access_token=TOKEN,
            phone_number_id=NUMBER,
            app_secret=APP_SECRET,
            verify_token=VERIFY_TOKEN,
            template=template,
            url=URL,
            api_url=self.url,
        )

    def reachable(self, url: str) -> None:
        self._reachable = url

    def listening(self) -> bool:
        return bool(self._reachable)

    def messages(self) -> Sequence[Message]:
        return [self._message(name) for name, sent in self._posted.items() if "context" not in sent]

    def told(self, user: str) -> Sequence[str]:
        return [line for to, line in self._lines if to in {user, _phone(user)}]

    def fail(self, how: Literal["unavailable", "refused", "signed_out"] | None) -> None:
        self._failing = how

    def be_busy(self, times: int) -> None:
        """Answer so many posts with a rate limit."""
        self._busy = times

    async def answer(self, user: str, message: str, answers: Sequence[Sequence[str]]) -> None:
        for sort, reply, label in self._pressable(message):
            if [[label]] == [list(each) for each in answers]:
                await self.press(user, message, sort, reply)
                return
        if len(answers) == 1:
            await self.reply(user, message, ", ".join(answers[0]))
        else:
            lines = [f"{number}) {', '.join(each)}" for number, each in enumerate(answers, 1)]
            await self.reply(user, message, "\n".join(lines))

    async def press(self, user: str, message: str, sort: str, reply: Json) -> None:
        pressed = {"type": sort, sort: reply}
        context = {"from": "15550000000", "id": message}
        await self._do(user, {"type": "interactive", "interactive": pressed, "context": context})

    async def reply(self, user: str, message: str, words: str) -> None:
        context = {"from": "15550000000", "id": message}
        await self._do(user, {"type": "text", "text": {"body": words}, "context": context})

    async def write(self, user: str, words: str) -> None:
        await self._do(user, {"type": "text", "text": {"body": words}})

    async def react(self, user: str, message: str, emoji: str) -> None:
        """React to a message; what is said about that is said in reply to the same one."""
        self._reacted.add(message)
        await self._do(user, {"type": "reaction", "reaction": {"message_id": message, "emoji": emoji}})

    async def speak(self, user: str, message: str) -> None:
        """Reply with a voice note."""
        context = {"from": "15550000000", "id": message}
        await self._do(user, {"type": "audio", "audio": {"id": "1", "voice": True}, "context": context})

    async def send_picture(self, user: str, message: str, words: str) -> None:
        """Reply with a picture that has words beside it."""
        context = {"from": "15550000000", "id": message}
        picture = {"id": "1", "mime_type": "image/jpeg", "caption": words}
        await self._do(user, {"type": "image", "image": picture, "context": context})

    async def repeat(self) -> None:
        assert self._last is not None
        await self._deliver(self._last)

    async def lose(self, message: str) -> int:
        """Say only now that a message did not arrive, and return what we were told."""
        lost = {"id": message, "status": "failed", "errors": [OVER], "timestamp": str(int(time.time()))}
        await self._deliver(_payload(statuses=[lost]))
        return self.replies[-1]

    async def deliver_again(self) -> None:
        """Deliver the receipts that a daemon which was down has not got, as WhatsApp does for some days."""
        undelivered, self._undelivered = self._undelivered, []
        for payload in undelivered:
            await self._deliver(payload)

    def sent(self, message: str) -> Json:
        """What we were sent, as it came."""
        return self._posted[message]

    # The Cloud API.

    async def _about(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _no(401, 190, "Error validating access token")
        if request.match_info["number"] != NUMBER:
            return _no(400, 100, "Unsupported get request")
        return web.json_response({"display_phone_number": "+1 555-000-0000", "verified_name": "Acme"})

    async def _messages(self, request: web.Request) -> web.Response:
        sent: Json = await request.json()
        try:
            if request.headers.get("Authorization") != f"Bearer {TOKEN}":
                return _no(401, 190, "Error validating access token")
            taken = self._taken(sent)
        finally:
            self._changed.set()
        await self._may_reply()
        return taken

    def _taken(self, sent: Json) -> web.Response:
        if self._failing == "signed_out":
            return _no(401, 190, "Error validating access token")
        if self._failing is not None:
            down = self._failing == "unavailable"
            return _no(500, 131016, "Service unavailable") if down else _no(400, 131026, "Undeliverable")
        if self._busy:
            self._busy -= 1
            return _no(400, 131056, "Pair rate limit hit")
        to = str(sent.get("to") or sent.get("recipient"))
        if sent["messaging_product"] != "whatsapp" or not re.fullmatch(r"1555\d{7}|US\.\d+", to):
            return _no(400, 100, "Invalid parameter")
        if sent["type"] == "interactive" and not self.takes_buttons:
            return _no(400, 131009, "Parameter value is not valid")
        if problem := problem_with(sent):
            return _no(400, 100, f"Invalid parameter: {problem}")
        if len(sent.get(TAG, "")) > 512:
            return _no(400, 100, f"Invalid parameter: {TAG}")
        quoted = sent.get("context", {}).get("message_id")
        if quoted is not None and quoted not in self._posted and quoted not in self._said:
            return _no(400, 131009, "Parameter value is not valid")
        over = self.over is not None and sent["type"] != "template"
        if over and self.over == "at once":
            return _no(400, OVER["code"], OVER["title"])
        name = f"wamid.{next(self._numbers)}"
        if quoted in self._reactions:
            return _no(400, 131009, "Parameter value is not valid")
        if quoted in self._said or quoted in self._reacted:
            self._lines.append((to, sent["text"]["body"]))
        if not over:
            self._posted[name] = sent
        status = {"id": name, "status": "sent", "recipient_id": to}
        tag = {"biz_opaque_callback_data": sent[TAG]} if TAG in sent else {}
        # WhatsApp promises the tag for messages that were sent, delivered or read, not for failed ones.
        self._receipt(status | {"status": "failed", "errors": [OVER]} if over else status | tag)
        return web.json_response({"messaging_product": "whatsapp", "messages": [{"id": name}]})

    def _receipt(self, status: Json) -> None:
        async def deliver() -> None:
            payload = _payload(statuses=[status])
            try:
                await self._deliver(payload)
            except httpx2.TransportError:
                self._undelivered.append(payload)

        if not self.sends_receipts:
            self._undelivered.append(_payload(statuses=[status]))
            return
        task = asyncio.create_task(deliver())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # People.

    async def _do(self, user: str, done: Json) -> None:
        name = f"wamid.u{next(self._numbers)}"
        self._said[name] = user
        if done["type"] == "reaction":
            self._reactions.add(name)
        who = {"from": _phone(user), "from_user_id": user} if self.phones else {"from_user_id": user}
        contact = {"profile": {"name": "Ana"}, "user_id": user}
        said = {"id": name, "timestamp": str(int(time.time())), **who, **done}
        self._last = _payload(contacts=[contact], messages=[said])
        await self._deliver(self._last)

    async def _deliver(self, payload: Json) -> None:
        body = json.dumps(payload).encode()
        signature = hmac.new(APP_SECRET.encode(), body, hashlib.sha256).hexdigest()
        headers = {"X-Hub-Signature-256": f"sha256={signature}", "Host": "upcall.example"}
        async with plain_client() as client:
            reply = await client.post(self._reachable, content=body, headers=headers)
        self.replies.append(reply.status_code)
        self._changed.set()

    def _message(self, name: str) -> Message:
        """A message with what was said below it. Nothing can be taken back: it is over once that is said."""
        sent = self._posted[name]
        below = [
            each["text"]["body"]
            for each in self._posted.values()
            if each.get("context", {}).get("message_id") == name
        ]
        shown = [_text(sent), *(label for _, _, label in self._pressable(name)), *below]
        over = any(line.startswith(("✓", "✗")) for line in below)
        return Message(name=name, text="\n".join(shown), answerable=not over)

    def _pressable(self, name: str) -> list[tuple[str, Json, str]]:
        """What can be pressed: what comes of it, and what it stands for, which may be listed under its number."""
        sent = self._posted[name]
        if sent["type"] != "interactive":
            return []
        action = sent["interactive"]["action"]
        buttons = [("button_reply", each["reply"]) for each in action.get("buttons", [])]
        rows = [("list_reply", row) for each in action.get("sections", []) for row in each["rows"]]
        listed: dict[str, str] = {}
        for line in _text(sent).split("\n"):
            number, _, rest = line.partition(". ")
            listed[number] = rest
        return [
            (sort, reply, (listed.get(str(reply["title"])) or str(reply["title"])).partition(" — ")[0])
            for sort, reply in buttons + rows
        ]


def _text(sent: Json) -> str:
    match sent["type"]:
        case "text":
            return read(str(sent["text"]["body"]))
        case "template":
            return read(str(sent["template"]["components"][0]["parameters"][0]["text"]))
        case _:
            return read(str(sent["interactive"]["body"]["text"]))


def _phone(user: str) -> str:
    return f"15550000{user.removeprefix('US.')}"


def _payload(**value: Any) -> Json:
    metadata = {"display_phone_number": "15550000000", "phone_number_id": NUMBER}
    change = {"field": "messages", "value": {"messaging_product": "whatsapp", "metadata": metadata, **value}}
    return {"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [change]}]}


def _no(status: int, code: int, message: str) -> web.Response:
    error = {"message": f"(#{code}) {message}", "type": "OAuthException", "code": code}
    return web.json_response({"error": error | {"error_data": {"details": message}}}, status=status)
