"""Telegram on this machine: its Bot API over real sockets, with its limits, for the real library.

It takes nothing that Telegram would refuse, and nothing in which Telegram would find a name, a command, a tag or an
address that is not ours. People press only what is really shown. Updates are asked for, or brought to a webhook until they are taken.
"""

import itertools
import json
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

from aiohttp import web

from tests.channels.changing import Changing
from tests.plain_http import plain_client
from upcall.testing.channel_house import Message

if TYPE_CHECKING:
    from upcall.channels.telegram.channel import Telegram

TOKEN = "123456:AAE-token"
SECRET = "a_secret-1"
HOOK = "https://upcall.example/channels/tried"
BOT = {"id": 123456, "is_bot": True, "first_name": "Upcall", "username": "upcall_bot"}
GROUP = -1001
ENTITIES = {"bold", "pre", "code", "blockquote"}
EXACT = {"pre", "code"}
FOUND_BY_TELEGRAM = re.compile(
    r"(?<!\w)(?:@\w{2,}|[#$][A-Za-z]\w*)|(?<![\w/<>])/[A-Za-z]\w*|\w+://\S+|[\w.-]+@[\w-]+\.\w+|(?:[a-z0-9-]+\.)+[a-z]{2,}\S*",
    re.IGNORECASE,
)
OURS = re.compile(r"https?://(?:x|upcall\.example|127\.0\.0\.1(?::\d+)?)/")
"""Addresses of the inbox, which are to be followed."""
Json = dict[str, Any]


def telegram_channel(**settings: str) -> "Telegram":
    """The real channel. Its library takes seconds to load, so only a worker that runs a test of it does so."""
    from upcall.channels.telegram.channel import Telegram

    return Telegram(**settings)


def length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def problem_with(sent: Json) -> str | None:
    """What Telegram would say about this message."""
    text, entities = sent.get("text", ""), sent.get("entities", [])
    if not text.strip():
        return "message text is empty"
    if length(text) > 4096:
        return "message is too long"
    if "parse_mode" in sent or not sent.get("link_preview_options", {}).get("is_disabled"):
        return "agent text would be parsed or its links followed"
    if len(entities) > 100:
        return "too many entities"
    exact: list[range] = []
    for entity in entities:
        begin, end = entity["offset"], entity["offset"] + entity["length"]
        if entity["type"] not in ENTITIES or not 0 <= begin < end <= length(text):
            return f"wrong entity {entity}"
        if entity["type"] in EXACT:
            exact.append(range(begin, end))
    for found in FOUND_BY_TELEGRAM.finditer(text):
        if not OURS.match(found[0]) and not any(length(text[: found.start()]) in each for each in exact):
            return f"{found[0]} could ping or link"
    if problem := problem_with_nesting(entities):
        return problem
    buttons = [button for row in keyboard(sent) for button in row]
    if len(buttons) > 100 or any(not row or len(row) > 8 for row in keyboard(sent)):
        return "too many buttons"
    for button in buttons:
        if not button["text"] or not 1 <= len(button["callback_data"].encode()) <= 64:
            return "BUTTON_DATA_INVALID"
    return None


def problem_with_nesting(entities: list[Json]) -> str | None:
    """Entities stand apart, or one within the other; code holds nothing and is held by quotations alone."""
    for one in entities:
        for other in entities:
            begin, end = other["offset"], other["offset"] + other["length"]
            apart = one["offset"] + one["length"] <= begin or one["offset"] >= end
            inside = begin <= one["offset"] and one["offset"] + one["length"] <= end
            if one is other or apart or (inside and (one["type"], other["type"]) == ("code", "blockquote")):
                continue
            if not (begin >= one["offset"] and end <= one["offset"] + one["length"]):
                return f"entities {one} and {other} overlap"
            if (other["type"], one["type"]) != ("code", "blockquote"):
                return f"{one} holds {other}"
    return None


def keyboard(sent: Json) -> list[list[Json]]:
    rows: list[list[Json]] = (sent.get("reply_markup") or {}).get("inline_keyboard", [])
    return rows


class FakeTelegram(Changing):
    """One bot in one group. It is also the `Vendor` of the contract suite."""

    place = str(GROUP)
    known = "501"
    stranger = "502"
    direct = "501"

    def __init__(self, *, webhook: bool = False) -> None:
        super().__init__()
        self.calls: list[tuple[str, Json]] = []
        self.url = ""
        self._webhook = webhook
        self._hook: Json | None = None
        self._reachable: str | None = None
        self._posted: dict[str, Json] = {}
        self._lines: list[tuple[str, str]] = []
        self._queries: set[str] = set()
        self._updates: list[Json] = []
        self._repeated: list[Json] = []
        self._asking = 0
        self._last: Json | None = None
        self._numbers = itertools.count(1)
        self.takes_entities = True
        """Whether anything but plain text is taken."""
        self._failing: Literal["unavailable", "refused", "signed_out"] | None = None
        self._busy = 0
        self._files: dict[str, bytes] = {}

    @asynccontextmanager
    async def served(self) -> AsyncIterator["FakeTelegram"]:
        """Serve until the end of the block."""
        app = web.Application()
        app.router.add_post("/bot{token}/{method}", self._api)
        app.router.add_get("/file/bot{token}/{path}", self._file)
        runner = web.AppRunner(app, shutdown_timeout=1, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        try:
            yield self
        finally:
            await runner.cleanup()

    # What the contract suite does here.

    def channel(self) -> "Telegram":
        secret = SECRET if self._webhook else ""
        return telegram_channel(bot_token=TOKEN, webhook_secret=secret, url=HOOK, api_url=self.url)

    def reachable(self, url: str) -> None:
        self._reachable = url

    def listening(self) -> bool:
        return self._hook is not None if self._webhook else self._asking > 0

    def messages(self) -> Sequence[Message]:
        return [
            Message(
                name=name, text=posted["text"], answerable=bool(keyboard(posted)) or _asks(posted["text"])
            )
            for name, posted in self._posted.items()
            if "reply_parameters" not in posted and name not in self.announced()
        ]

    def announced(self) -> Sequence[str]:
        """The names of messages with nothing to press that say they are not complete yet, the oldest first."""
        return [
            name
            for name, posted in self._posted.items()
            if not keyboard(posted) and re.search(r"\n\n⏳ [^\n]*$", posted["text"])
        ]

    def told(self, user: str) -> Sequence[str]:
        return [line for to, line in self._lines if to == user]

    def fail(self, how: Literal["unavailable", "refused", "signed_out"] | None) -> None:
        self._failing = how

    def be_busy(self, times: int) -> None:
        """Answer so many posts with 429."""
        self._busy = times

    async def answer(self, user: str, message: str, answers: Sequence[Sequence[str]]) -> None:
        for number, wanted in enumerate(answers, 1):
            if len(answers) > 1:
                await self.asked(message, f"{number} / {len(answers)}")
            if not any(self._button(message, label) for label in wanted):
                await self.reply(user, message, wanted[0])
                continue
            several = any(label[0] in "☐☑" for label in self.buttons(message))
            for label in wanted:
                await self.press(user, message, label)
                if several:
                    await self.asked(message, f"☑ {label}")
            if several:
                await self.press(
                    user, message, next(text for text in self.buttons(message) if text[-1] == "→")
                )

    async def asked(self, message: str, text: str) -> None:
        """Wait until a message has a button that says so."""
        await self.until(lambda: text in self.buttons(message))

    def buttons(self, message: str) -> list[str]:
        return [button["text"] for row in keyboard(self._posted[message]) for button in row]

    async def press(self, user: str, message: str, label: str) -> None:
        await self.deliver(self.prepared(user, message, label))

    def prepared(self, user: str, message: str, label: str) -> Json:
        """A press on what is shown now, on its way."""
        button = self._button(message, label)
        assert button is not None, f"{label!r} is not shown in {self.buttons(message)}"
        query = f"q{next(self._numbers)}"
        self._queries.add(query)
        shown = self._seen(message)
        data = {"id": query, "from": _person(user), "message": shown, "chat_instance": "1"}
        return {"callback_query": data | {"data": button["callback_data"]}}

    async def forge(self, user: str, message: str, data: str) -> None:
        """Press a button that was never shown, as a client of one's own can."""
        pressed = {
            "id": "forged",
            "from": _person(user),
            "message": self._seen(message),
            "chat_instance": "1",
        }
        await self.deliver({"callback_query": pressed | {"data": data}})

    async def reply(self, user: str, message: str, words: str) -> None:
        await self._say(user, GROUP, words, reply_to_message=self._seen(message))

    async def write(self, user: str, words: str, chat: int | None = None) -> None:
        await self._say(user, chat or int(user), words)

    async def react(self, user: str, message: str, emoji: str) -> None:
        """React to a message."""
        chat, _, number = message.partition("/")
        reaction = {
            "chat": {"id": int(chat), "type": "supergroup"},
            "message_id": int(number),
            "user": _person(user),
            "date": int(time.time()),
            "old_reaction": [],
            "new_reaction": [{"type": "emoji", "emoji": emoji}],
        }
        await self.deliver({"message_reaction": reaction})

    async def speak(self, user: str, message: str) -> None:
        """Reply with a voice note."""
        voice = {"file_id": "1", "file_unique_id": "1", "duration": 3}
        await self._say(user, GROUP, None, reply_to_message=self._seen(message), voice=voice)

    async def send_files(self, user: str, message: str, words: str, files: Mapping[str, bytes]) -> None:
        """Reply with files: several are an album, of which Telegram delivers each apart, with the words beside the first."""
        assert length(words) <= 1024
        album = {"media_group_id": f"g{next(self._numbers)}"} if len(files) > 1 else {}
        caption = {"caption": words} if words else {}
        for name, content in files.items():
            kept = f"f{next(self._numbers)}"
            self._files[kept] = content
            size = {"file_id": kept, "file_unique_id": kept, "file_size": len(content)}
            media: Json = {"document": size | {"file_name": name}}
            if name == "photo.jpg":
                small = {
                    "file_id": "small",
                    "file_unique_id": "small",
                    "file_size": 1,
                    "width": 9,
                    "height": 9,
                }
                media = {"photo": [small, size | {"width": 900, "height": 900}]}
            await self._say(
                user, GROUP, None, reply_to_message=self._seen(message), **album, **caption, **media
            )
            caption = {}

    async def _file(self, request: web.Request) -> web.Response:
        if request.match_info["token"] != TOKEN:
            return _no(401, "Unauthorized")
        return web.Response(body=self._files[request.match_info["path"]])

    async def repeat(self) -> None:
        assert self._last is not None
        await self._deliver(self._last, self._repeated)

    # The Bot API.

    async def _api(self, request: web.Request) -> web.Response:
        if request.match_info["token"] != TOKEN:
            return _no(401, "Unauthorized")
        method = request.match_info["method"]
        sent: Json = {name: _value(str(value)) for name, value in (await request.post()).items()}
        self.calls.append((method, sent))
        if method == "getUpdates":
            return await self._get_updates(int(sent.get("offset", 0)))
        try:
            done = self._done(method, sent)
        finally:
            self._changed.set()
        if method == "sendMessage":
            await self._may_reply()
        return done

    def _done(self, method: str, sent: Json) -> web.Response:
        match method:
            case "getMe":
                return _yes(BOT)
            case "getWebhookInfo":
                url = HOOK if self._hook else ""
                return _yes({"url": url, "has_custom_certificate": False, "pending_update_count": 0})
            case "setWebhook":
                if not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", sent["secret_token"]):
                    return _no(400, "Bad Request: secret token contains unallowed characters")
                self._hook = sent
                return _yes(True)
            case "deleteWebhook":
                self._hook = None
                return _yes(True)
            case "getFile":
                content = self._files[str(sent["file_id"])]
                if len(content) > 20 * 1024**2:
                    return _no(400, "Bad Request: file is too big")
                name = str(sent["file_id"])
                return _yes({"file_id": name, "file_unique_id": name, "file_path": name})
            case "answerCallbackQuery":
                return self._acknowledged(sent)
            case "sendMessage" | "editMessageText":
                return self._message(method, sent)
            case _:
                return _no(404, "Not Found")

    def _acknowledged(self, sent: Json) -> web.Response:
        query = str(sent["callback_query_id"])
        if query not in self._queries:
            return _no(
                400, "Bad Request: query is too old and response timeout expired or query ID is invalid"
            )
        if length(str(sent.get("text", ""))) > 200:
            return _no(400, "Bad Request: MESSAGE_TOO_LONG")
        self._queries.remove(query)
        if "text" in sent:
            assert self._last is not None
            self._lines.append((str(self._last["callback_query"]["from"]["id"]), sent["text"]))
        return _yes(True)

    def _message(self, method: str, sent: Json) -> web.Response:
        if self._busy and method == "sendMessage":
            self._busy -= 1
            return _no(429, "Too Many Requests: retry after 1", parameters={"retry_after": 1})
        if self._failing == "unavailable":
            return _no(502, "Bad Gateway")
        if self._failing == "signed_out":
            return _no(401, "Unauthorized")
        chat = int(sent["chat_id"])
        if self._failing == "refused" or chat not in {GROUP, int(self.known), int(self.stranger)}:
            return _no(400, "Bad Request: chat not found")
        if (sent.get("entities") or keyboard(sent)) and not self.takes_entities:
            return _no(400, "Bad Request: can't parse entities: unsupported type")
        if problem := problem_with(sent):
            return _no(400, f"Bad Request: {problem}")
        name = f"{chat}/{sent['message_id'] if method == 'editMessageText' else next(self._numbers)}"
        if method == "editMessageText":
            if name not in self._posted:
                return _no(400, "Bad Request: message to edit not found")
            kept = self._posted[name]
            if kept["text"] == sent["text"] and keyboard(kept) == keyboard(sent):
                return _no(400, "Bad Request: message is not modified")
        elif "reply_parameters" in sent and "message_reaction" in (self._last or {}):
            # In reply to the message that a person reacted to, so it is for that person.
            assert self._last is not None
            self._lines.append((str(self._last["message_reaction"]["user"]["id"]), sent["text"]))
        elif (
            "reply_parameters" in sent
            and f"{chat}/{sent['reply_parameters']['message_id']}" not in self._posted
        ):
            # In reply to a person's own message, so it is for that person.
            assert self._last is not None
            self._lines.append((str(self._last["message"]["from"]["id"]), sent["text"]))
        self._posted[name] = sent
        return _yes(self._seen(name))

    async def _get_updates(self, offset: int) -> web.Response:
        if self._hook is not None:
            return _no(409, "Conflict: can't use getUpdates method while webhook is active")
        if self._asking:
            return _no(409, "Conflict: terminated by other getUpdates request")
        self._updates = [each for each in self._updates if each["update_id"] >= offset]
        self._asking += 1
        self._changed.set()
        try:
            await self.until_there_are_updates()
        finally:
            self._asking -= 1
        given, self._repeated = [*self._repeated, *self._updates], []
        return _yes(given)

    async def until_there_are_updates(self) -> None:
        while not self._updates and not self._repeated:
            self._changed.clear()
            await self._changed.wait()

    # People.

    async def _say(self, user: str, chat: int, words: str | None, **more: Any) -> None:
        where = {"id": chat, "type": "supergroup" if chat == GROUP else "private"}
        said: Json = {"message_id": next(self._numbers), "date": int(time.time()), "chat": where}
        said |= {} if words is None else {"text": words}
        await self.deliver({"message": said | {"from": _person(user)} | more})

    async def deliver(self, update: Json) -> None:
        self._last = {"update_id": next(self._numbers), **update}
        await self._deliver(self._last, self._updates)

    async def _deliver(self, update: Json, waiting: list[Json]) -> None:
        if not self._webhook:
            waiting.append(update)
            self._changed.set()
            return
        assert self._hook is not None
        assert self._reachable is not None
        headers = {"X-Telegram-Bot-Api-Secret-Token": self._hook["secret_token"]}
        async with plain_client() as client:
            reply = await client.post(self._reachable, json=update, headers=headers)
        assert reply.status_code == 200, reply.text
        self._changed.set()

    def _seen(self, name: str) -> Json:
        """A message as Telegram hands it out."""
        chat, _, number = name.partition("/")
        posted = self._posted[name]
        seen = {
            "message_id": int(number),
            "date": 1,
            "chat": {"id": int(chat), "type": "supergroup" if int(chat) == GROUP else "private"},
            "from": BOT,
            "text": posted["text"],
            "entities": posted.get("entities", []),
        }
        return seen | ({"reply_markup": posted["reply_markup"]} if keyboard(posted) else {})

    def _button(self, message: str, label: str) -> Json | None:
        """The button that says so, or the one with the number under which it is listed."""
        lines = self._posted[message]["text"].split("\n")
        listed = [line.partition(". ") for line in lines]
        numbers = [number for number, _, rest in listed if rest.partition(" — ")[0] == label]
        for row in keyboard(self._posted[message]):
            for button in row:
                text = button["text"].removeprefix("☐ ").removeprefix("☑ ")
                if label in {text, button["text"]} or text in numbers:
                    return button
        return None


def _asks(text: str) -> bool:
    """Whether a message without buttons can be answered: it has not been said how it ended."""
    return not re.search(r"\n\n[✓✗] ", text)


def _person(user: str) -> Json:
    return {"id": int(user), "is_bot": False, "first_name": f"Person {user}"}


def _value(value: str) -> Any:
    """Objects and lists come as JSON in a field of a form, everything else as it is."""
    return json.loads(value) if value[:1] in {"{", "["} else value


def _yes(result: Any) -> web.Response:
    return web.json_response({"ok": True, "result": result})


def _no(status: int, description: str, **more: Any) -> web.Response:
    said = {"ok": False, "error_code": status, "description": description, **more}
    return web.json_response(said, status=status)
