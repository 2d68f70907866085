"""What is fuzzed: everything that reads what others wrote, as functions of bytes. Nothing but a refusal of ours may come out of one.

Each target has the words that its input is made of, since random bytes alone get no further than the first check.
"""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tests.channels.fake_telegram import telegram_channel
from tests.channels.inboxes import BareInbox
from tests.domain.test_degrading import an_inquiry
from tests.silence import silent
from upcall.agents.acp.reading import AcpReader
from upcall.agents.claude.stream import ClaudeReader
from upcall.agents.opencode.parts import Parts, loaded, mapping
from upcall.channels.discord import reading as discord_reading
from upcall.channels.email import reading as email_reading
from upcall.channels.matrix import reading as matrix_reading
from upcall.channels.slack.channel import Slack
from upcall.channels.webhook import signing
from upcall.channels.webhook.channel import Webhook
from upcall.channels.whatsapp.channel import WhatsApp
from upcall.cli.picker.keys import edited, keys
from upcall.config.settings import load
from upcall.domain.answer.reading import read
from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller, Role
from upcall.domain.run.markers import Marked, MarkedBadly, Markers
from upcall.doors.files.documents import check_task, name_in, tool_of
from upcall.doors.files.exchange import InvalidFile
from upcall.doors.mcp.broken_line import id_in
from upcall.doors.mcp.checks import ProtocolError
from upcall.doors.mcp.message_body import check_message
from upcall.doors.mcp.meta import (
    client_in,
    meta_of,
    progress_token_of,
    request_key_of,
    session_of,
    thread_of,
    wait_of,
)
from upcall.doors.pipe.hello import acknowledges, asker_in, hello_of
from upcall.home.files import Home
from upcall.ports.channel import Callback, CallbackReply
from upcall.ports.json_reading import read_json, writable
from upcall.ports.store import Query
from upcall.stores import listing
from upcall.stores.sqlite import ledger

if TYPE_CHECKING:
    from upcall.channels.telegram.channel import Telegram

T = TypeVar("T")
AGENT = Caller(name="builder", role=Role.AGENT)
SECRET = "a secret that only the vendor has"
NUMBER = "15550000501"
TOKEN = "123456789:AAEhBP0av28s-xyz_0123456789abcdefgh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A reader. `words` are what its input is made of; `is_json` says that these are the keys and values of a document."""

    run: Callable[[bytes], object]
    words: tuple[str, ...]
    is_json: bool = False


def text_of(data: bytes) -> str:
    """The text that bytes are, as every door decodes it."""
    return data.decode("utf-8", "replace")


def document_in(data: bytes) -> dict[str, Any]:
    """The object that bytes are; empty where they are none."""
    with suppress(UpcallError):
        found = read_json(data)
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    return {}


ASKED: tuple[Inquiry, ...] = (
    an_inquiry(options=["Redis", "Memcached", "1", "none"]),
    an_inquiry(options=["lint", "tests", "a, b"], multiSelect=True, custom=False),
    an_inquiry(kind="approval"),
    an_inquiry(kind="text"),
    an_inquiry(questions=[{"question": "a", "options": ["x", "y"]}, {"question": "b"}]),
    an_inquiry(
        response_schema={
            "type": "object",
            "properties": {
                "n": {"type": "integer", "minimum": 1},
                "on": {"type": "boolean"},
                "day": {"type": "string", "format": "date"},
                "of": {"type": "array", "items": {"enum": ["a", "b"]}},
            },
        }
    ),
)


def replies(data: bytes) -> None:
    """A person's words: an answer has a value for each question, and an approval is never given by accident."""
    text = text_of(data)
    for inquiry in ASKED:
        with suppress(UpcallError):
            answer = read(inquiry, text)
            assert len(answer.values) == len(inquiry.questions)
            for question, values in zip(inquiry.questions, answer.values, strict=True):
                if not question.custom:
                    assert set(values) <= set(question.labels)


def markers(data: bytes) -> None:
    """A program's text, in two pieces or in one: the same is found."""
    text = text_of(data)
    at = len(text) // 2
    found: list[Marked | MarkedBadly] = []
    for pieces in ((text,), (text[:at], text[at:])):
        reader = Markers("UPCALL_QUESTION")
        seen = [each for each in map(reader.read, pieces) if each is not None]
        assert len(seen) <= 1
        found += seen
    assert len(found) in {0, 2}
    for each in found:
        if isinstance(each, Marked):
            with suppress(UpcallError):
                draft(each.fields)


def asking(data: bytes) -> None:
    """What an agent asks, in any of the forms."""
    with suppress(UpcallError):
        asked = draft(read_json(data))
        assert asked.questions


def mcp_lines(data: bytes) -> None:
    """A line of a pipe: its hello, or a message of MCP."""
    with suppress(UpcallError):
        hello = hello_of(data)
        asker_in(hello, AGENT, "here")
        acknowledges(hello)
    with suppress(ProtocolError):
        check_message(data)
    found = id_in(data)
    assert found is None or isinstance(found, str | int)
    message = document_in(data)
    meta = meta_of(message.get("params"))
    for about in (session_of, thread_of, request_key_of, progress_token_of):
        about(meta)
    client_in(message.get("clientInfo"))
    wait_of(message.get("wait"))
    json.dumps(writable(message))


def ipc_files(data: bytes) -> None:
    """A task of the file door."""
    task = document_in(data)
    with suppress(UpcallError, InvalidFile):
        check_task(task, "r1")
        for name in ("session", "workspace", "request_key"):
            name_in(task, name)
        tool, fields = tool_of(task)
        assert tool
        draft(fields)


def cursors(data: bytes) -> None:
    """The cursor of a list, which a client sends back."""
    text = text_of(data)
    for state in (None, "open", "closed", "answered"):
        with suppress(UpcallError):
            number = listing.position(Query(state=state, cursor=text))
            assert 0 < number < 2**63
            again = listing.cursor(Query(state=state), number, 1.5)
            assert listing.position(Query(state=state, cursor=again)) == number
    with suppress(UpcallError):
        at, key = ledger.position(text)
        assert isinstance(at, float | int)
        assert isinstance(key, str)


_homes: list[Home] = []


def settings(data: bytes) -> None:
    """`upcall.toml`: loaded, or refused with a line for each problem."""
    if not _homes:
        _homes.append(Home(Path(mkdtemp(prefix="upcall-fuzz-"))))
        _homes[0].create()
    home = _homes[0]
    home.config_file.write_bytes(data)
    with suppress(UpcallError):
        load(home, {})


def keyboard(data: bytes) -> None:
    """What a terminal sends to the picker."""
    pressed, left = keys(data)
    assert len(left) <= len(data)
    text = ""
    for key in pressed:
        text = edited(text, key)


def agent_lines(data: bytes) -> None:
    """What the programs of agents write, line by line."""
    text = text_of(data)
    claude, acp, parts = ClaudeReader(), AcpReader(), Parts()
    for line in text.split("\n"):
        list(claude.notice(line))
        list(acp.notice(line))
        found = loaded(line)
        if found is not None:
            list(parts.notice(mapping(found.get("part"))))


def letters(data: bytes) -> None:
    """A letter as a mailbox has it."""
    letter = email_reading.letter_in(data, "upcall@example.org", "1")
    letter.words.encode("utf-8", "replace")
    email_reading.files_in(data)


_loops: list[asyncio.AbstractEventLoop] = []


def waited(work: Coroutine[Any, Any, T]) -> T:
    """What comes of it, in one loop for all inputs."""
    if not _loops:
        _loops.append(asyncio.new_event_loop())
    with silent():
        return _loops[0].run_until_complete(work)


_channels: dict[str, "Slack | Telegram | WhatsApp | Webhook"] = {}


async def called(name: str, headers: Mapping[str, str], data: bytes) -> CallbackReply:
    """What a channel replies to a call that is signed as its vendor signs."""
    if not _channels:
        _channels["slack"] = Slack(bot_token="xoxb-1", signing_secret=SECRET)
        _channels["telegram"] = telegram_channel(
            bot_token=TOKEN, webhook_secret=SECRET, url="https://upcall.example"
        )
        _channels["whatsapp"] = WhatsApp(
            access_token="t", phone_number_id=NUMBER, app_secret=SECRET, verify_token="v"
        )
        _channels["webhook"] = Webhook(url="https://program.example", secret=SECRET)
    callback = Callback(
        method="POST", url="https://upcall.example/channels/x", body=data, query={}, headers=headers
    )
    return await _channels[name].called(callback, BareInbox())


def replied(reply: CallbackReply) -> None:
    assert reply.status in {200, 400, 503}, reply


def slack(data: bytes) -> None:
    """What Slack calls with: events and presses, as JSON and as a form."""
    for kind in ("application/json", "application/x-www-form-urlencoded"):
        at = str(int(time.time()))
        mac = hmac.new(SECRET.encode(), f"v0:{at}:".encode() + data, hashlib.sha256).hexdigest()
        headers = {"x-slack-request-timestamp": at, "x-slack-signature": f"v0={mac}", "content-type": kind}
        replied(waited(called("slack", headers, data)))


def telegram(data: bytes) -> None:
    """An update of Telegram."""
    replied(waited(called("telegram", {"x-telegram-bot-api-secret-token": SECRET}, data)))


def whatsapp(data: bytes) -> None:
    """What Meta calls with."""
    mac = hmac.new(SECRET.encode(), data, hashlib.sha256).hexdigest()
    replied(waited(called("whatsapp", {"x-hub-signature-256": f"sha256={mac}"}, data)))


def webhook(data: bytes) -> None:
    """An answer from a program."""
    headers = signing.headers(signing.key_in(SECRET), "msg_1", time.time(), data)
    replied(waited(called("webhook", headers, data)))


def discord(data: bytes) -> None:
    """The data of an interaction, as the library hands it over: an object."""
    document = document_in(data)
    for reader in (discord_reading.pressed, discord_reading.submitted):
        what = reader(document)
        if what is not None:
            discord_reading.inbound(what, interaction="1", user="2", message="3/4")


def matrix(data: bytes) -> None:
    """An event of a room."""
    event = document_in(data)
    mark = matrix_reading.mark(event, "@upcall:example.org")
    done = matrix_reading.done(event, "!room:example.org")
    if done is None:
        return
    matrix_reading.addressed(done, "@upcall:example.org", ["Upcall"])
    if mark is not None:
        matrix_reading.inbound(done, done.id, mark)


TARGETS: Mapping[str, Target] = {
    "replies": Target(
        run=replies,
        words=(
            "yes",
            "no",
            "Approve",
            "deny",
            "1",
            "2",
            ",",
            "\n",
            "1) ",
            "2) ",
            "> ",
            "Redis",
            "other",
            "a, b",
            ":",
            "1.",
            " and ",
            "true",
            "①",
        ),
    ),
    "markers": Target(
        run=markers,
        words=(
            "<<UPCALL_QUESTION>>",
            "<</UPCALL_QUESTION>>",
            "{",
            "}",
            '"question"',
            ":",
            '"a"',
            "```json",
            "\n",
            "<<",
            "\\",
        ),
    ),
    "asking": Target(
        run=asking,
        is_json=True,
        words=(
            "question",
            "questions",
            "options",
            "label",
            "description",
            "kind",
            "approval",
            "header",
            "multiSelect",
            "custom",
            "context",
            "ttl",
            "10m",
            "on_expiry",
            "default",
            "response_schema",
            "type",
            "object",
            "properties",
            "enum",
            "attachments",
            "data",
            "recommended",
            "secret",
        ),
    ),
    "mcp-lines": Target(
        run=mcp_lines,
        is_json=True,
        words=(
            "upcall",
            "pipe",
            "protocol",
            "token",
            "session",
            "wait",
            "block",
            "client",
            "jsonrpc",
            "2.0",
            "id",
            "method",
            "params",
            "_meta",
            "progressToken",
            "upcall/requestKey",
            "clientInfo",
            "name",
            "arguments",
            "x-codex-turn-metadata",
            "thread_id",
        ),
    ),
    "ipc-files": Target(
        run=ipc_files,
        is_json=True,
        words=(
            "type",
            "ask_user",
            "wait",
            "notify",
            "collected",
            "request_id",
            "r1",
            "questions",
            "question",
            "session",
            "workspace",
            "request_key",
            "timeout",
            "id",
            "evidence",
            "message",
            "agent_id",
        ),
    ),
    "cursors": Target(
        run=cursors,
        words=(
            "open",
            "closed",
            "asked",
            "queued",
            "-",
            "1",
            "9223372036854775807",
            "1e308",
            "nan",
            "inf",
            "[",
            "]",
            ",",
            '"k"',
            "1.5",
            "null",
        ),
    ),
    "settings": Target(
        run=settings,
        words=(
            "[channels.slack]",
            "[agents.claude]",
            "[[routes]]",
            "to = ",
            "kind = ",
            '"slack"',
            "bot_token = ",
            "port = ",
            "8080",
            "\n",
            "undo = ",
            "[rates]",
            "per_second = ",
            "inf",
            "nan",
            "true",
            "preset = ",
            '"gza"',
            "replica = ",
            "tool_aliases = ",
            '["ask_user"]',
            "[notifications]",
            "webhook_url = ",
            "[",
            "]",
            "=",
            "retention = ",
            "{env = 'X'}",
            "[limits]",
            "2030-01-01",
        ),
    ),
    "keyboard": Target(
        run=keyboard,
        words=(
            "\x1b[A",
            "\x1b[200~",
            "\x1b[201~",
            "\x1b",
            "\x1bO",
            "\x7f",
            "\r",
            "\t",
            "\x15",
            "\x1b[",
            ";5",
            "é",
            "a",
            "\x00",
            "\x1b[5~",
        ),
    ),
    "agent-lines": Target(
        run=agent_lines,
        is_json=True,
        words=(
            "type",
            "assistant",
            "user",
            "system",
            "result",
            "message",
            "content",
            "tool_use",
            "tool_result",
            "text",
            "session_id",
            "subtype",
            "init",
            "jsonrpc",
            "method",
            "session/update",
            "params",
            "update",
            "sessionUpdate",
            "agent_message_chunk",
            "part",
            "tool",
            "state",
            "status",
            "input",
            "output",
            "usage",
            "total_cost_usd",
            "is_error",
            "name",
            "id",
        ),
    ),
    "slack": Target(
        run=slack,
        is_json=True,
        words=(
            "type",
            "block_actions",
            "view_submission",
            "event_callback",
            "url_verification",
            "challenge",
            "actions",
            "action_id",
            "pick:0",
            "send:0",
            "form:0",
            "block_id",
            "value",
            "user",
            "id",
            "container",
            "message_ts",
            "channel_id",
            "channel",
            "message",
            "ts",
            "state",
            "values",
            "view",
            "private_metadata",
            "i1 C1/1",
            "event",
            "message",
            "text",
            "thread_ts",
            "reaction_added",
            "item",
            "files",
            "payload",
            "selected_option",
            "trigger_id",
        ),
    ),
    "telegram": Target(
        run=telegram,
        is_json=True,
        words=(
            "update_id",
            "message",
            "callback_query",
            "message_reaction",
            "id",
            "from",
            "chat",
            "type",
            "private",
            "text",
            "data",
            "reply_to_message",
            "message_id",
            "entities",
            "offset",
            "length",
            "pre",
            "date",
            "document",
            "file_id",
            "photo",
            "voice",
            "caption",
            "/start",
            "media_group_id",
            "new_reaction",
            "emoji",
            "reply_markup",
            "inline_keyboard",
            "bot_command",
        ),
    ),
    "whatsapp": Target(
        run=whatsapp,
        is_json=True,
        words=(
            "entry",
            "changes",
            "field",
            "messages",
            "value",
            "metadata",
            "phone_number_id",
            NUMBER,
            "statuses",
            "status",
            "failed",
            "errors",
            "code",
            "error_data",
            "details",
            "timestamp",
            "id",
            "from",
            "contacts",
            "wa_id",
            "user_id",
            "interactive",
            "button_reply",
            "list_reply",
            "i1:0",
            "text",
            "body",
            "reaction",
            "message_id",
            "emoji",
            "context",
            "type",
            "image",
            "biz_opaque_callback_data",
        ),
    ),
    "webhook": Target(
        run=webhook,
        is_json=True,
        words=("inquiry", "i1", "answers", "text", "user", "U1"),
    ),
    "discord": Target(
        run=discord,
        is_json=True,
        words=(
            "custom_id",
            "pick:i1:0",
            "list:i1",
            "form:i1",
            "own:i1",
            "send:i1:2",
            "send:i1:99999999999",
            "values",
            "components",
            "component",
            "value",
            "w0",
            "0",
            "1",
            "٣",
            "²",
        ),
    ),
    "matrix": Target(
        run=matrix,
        is_json=True,
        words=(
            "content",
            "event_id",
            "$1",
            "sender",
            "@ana:example.org",
            "@upcall:example.org",
            "type",
            "m.room.message",
            "m.reaction",
            "m.relates_to",
            "rel_type",
            "m.annotation",
            "m.thread",
            "key",
            "body",
            "msgtype",
            "m.text",
            "m.mentions",
            "user_ids",
            "origin_server_ts",
            "upcall",
            "inquiry",
            "keys",
            "about",
            "m.in_reply_to",
            "is_falling_back",
        ),
    ),
    "letters": Target(
        run=letters,
        words=(
            "From: ana@example.org\n",
            "To: upcall+01k0000000000000000000000a-aaaaaaaaaaaaaaaa@example.org\n",
            "Subject: ",
            "Content-Type: multipart/mixed; boundary=b\n",
            "Content-Type: text/html; charset=",
            "utf-7",
            "--b\n",
            "--b--\n",
            "\n",
            "yes\n",
            "> quoted\n",
            "=?utf-8?q?x?=",
            "Content-Transfer-Encoding: base64\n",
            "Content-Disposition: attachment; filename=",
            "Auto-Submitted: auto-replied\n",
            "<p>yes</p>",
            "<!",
            "<![CDATA[",
            "On Monday, ana wrote:\n",
            "-- \n",
            "Message-ID: <1@x>\n",
            "=\n",
            "=E2",
            "\x00",
        ),
    ),
}
"""Every reader of what others write, by what it reads."""
