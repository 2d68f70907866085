"""The other side of e-mail: a mail server that takes our letters, and people who reply into a real mailbox."""

import asyncio
import email
import hashlib
import hmac
import re
import ssl
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP, default
from email.utils import getaddresses, make_msgid
from pathlib import Path
from typing import Any, Literal

from aiosmtpd import smtp
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword, Session

from tests.channels.mail_server import PASSWORD, Dovecot
from upcall.channels.email.channel import Email
from upcall.channels.email.mailbox import Server
from upcall.testing.channel_house import SECONDS, Message

LONGEST_LINE = 998
NEEDED = ("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted")
QUOTED = "On Sun, 15 Nov 2026 at 18:00, Upcall <{own}> wrote:\n\n{lines}\n"


class Stamps:
    """Stamps by the newest of some keys, which are not stored."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys or ("key",)

    async def stamp(self, purpose: str, text: str) -> str:
        return self._stamp(self._keys[-1], purpose, text)

    async def has_stamped(self, purpose: str, text: str, stamp: str) -> bool:
        return stamp in {self._stamp(key, purpose, text) for key in self._keys}

    def _stamp(self, key: str, purpose: str, text: str) -> str:
        mac = hmac.digest(key.encode(), f"{purpose}:{text}".encode(), hashlib.sha256)
        return "".join("abcdefghijklmnopqrstuvwxyz234567"[byte % 32] for byte in mac[:16])


@dataclass
class PostOffice:
    """A vendor for the channel's contract. What it takes is held against the standards of mail."""

    dovecot: Dovecot
    security: str = "none"
    ca_file: str = ""
    password: str = PASSWORD
    place: str = "ana@example.test"
    known: str = "ana@example.test"
    stranger: str = "bo@example.test"
    port: int = 0
    stamps: Stamps = field(default_factory=Stamps)
    letters: list[EmailMessage] = field(default_factory=list)
    own: str = ""
    _failing: Literal["unavailable", "refused", "signed_out"] | None = None
    _last: tuple[bytes, str] = (b"", "")
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        self.own = f"u{uuid.uuid4().hex[:12]}@upcall.test"

    def channel(self) -> Email:
        """The channel as it is after a start of the daemon."""
        secured = self.security != "none"
        username = self.own.partition("@")[0]
        imap = Server(
            host="127.0.0.1",
            port=self.dovecot.imaps if secured else self.dovecot.imap,
            security="tls" if secured else "none",
            username=username,
            password=self.password,
            ca_file=self.ca_file,
        )
        sending = Server(
            host="127.0.0.1",
            port=self.port,
            security=self.security,
            username=username if secured else "",
            password=self.password if secured else "",
            ca_file=self.ca_file,
        )
        return Email(address=self.own, smtp=sending, imap=imap, stamps=self.stamps)

    async def until(self, seen: Callable[[], bool]) -> None:
        """Wait until this holds."""
        async with asyncio.timeout(SECONDS), self._changed:
            await self._changed.wait_for(seen)

    def messages(self) -> Sequence[Message]:
        """Each question with everything that was said about it in its thread."""
        asked = [letter for letter in self.letters if letter["Reply-To"] and not letter["In-Reply-To"]]
        shown: dict[str, Message] = {}
        for letter in asked:
            name = letter["Message-ID"]
            ends = [other for other in self.letters if other["In-Reply-To"] == name and not other["Reply-To"]]
            text = "\n".join(_content(each) for each in (letter, *ends))
            shown[name] = Message(name=name, text=text, answerable=not ends)
        return list(shown.values())

    async def answer(self, user: str, message: str, answers: Sequence[Sequence[str]]) -> None:
        """Reply as the letter says: with numbers where there are any, one line for each question."""
        letter = self.letter(message)
        sections = re.split(r"^│ (?=\d\) )", _content(letter), flags=re.MULTILINE)[1:] or [_content(letter)]
        given = [
            ", ".join(_number(section, value) for value in values)
            for section, values in zip(sections, answers, strict=True)
        ]
        several = len(given) > 1
        words = "\n".join(f"{number}) {each}" if several else each for number, each in enumerate(given, 1))
        await self.reply(user, message, words)

    async def reply(self, user: str, message: str, words: str) -> None:
        """Reply above what was written, as most programs have it."""
        letter = self.letter(message)
        lines = "\n".join(f"> {line}" for line in _content(letter).splitlines())
        text = f"{words}\n\n{QUOTED.format(own=self.own, lines=lines)}"
        await self.post(user, letter["Reply-To"], text, thread=message, subject=f"Re: {letter['Subject']}")

    async def send_files(self, user: str, message: str, words: str, files: Mapping[str, bytes]) -> None:
        """Reply with attachments, beside what mail programs attach by themselves and the picture of a signature."""
        letter = self.letter(message)
        reply = EmailMessage(policy=SMTP)
        reply["From"], reply["To"], reply["Subject"] = user, letter["Reply-To"], f"Re: {letter['Subject']}"
        reply["Message-ID"], reply["In-Reply-To"] = make_msgid(domain="example.test"), message
        reply.set_content(f"{words}\n\n{QUOTED.format(own=self.own, lines='> Which?')}")
        reply.add_alternative("<p>See the plain text.</p><img src='cid:logo'>", subtype="html")
        page = list(reply.iter_parts())[-1]
        assert isinstance(page, EmailMessage)
        page.add_related(b"\x89PNG\r\n\x1a\nlogo", "image", "png", cid="<logo>", filename="logo.png")
        for name, content in files.items():
            reply.add_attachment(content, "application", "octet-stream", filename=name)
        reply.add_attachment(b"signed", "application", "pgp-signature", filename="signature.asc")
        self._last = (reply.as_bytes(), letter["Reply-To"])
        await self.repeat()

    async def write(self, user: str, words: str) -> None:
        """Write to the app itself."""
        await self.post(user, self.own, words)

    async def post(
        self, sender: str, to: str, text: str, *, thread: str = "", subject: str = "hello", **headers: str
    ) -> None:
        """Put a letter into the mailbox."""
        message = EmailMessage(policy=SMTP)
        message["From"], message["To"], message["Subject"] = sender, to, subject
        message["Message-ID"] = make_msgid(domain="example.test")
        if thread:
            message["In-Reply-To"] = thread
        for name, value in headers.items():
            message[name.replace("_", "-")] = value
        message.set_content(text)
        self._last = (message.as_bytes(), to)
        await self.repeat()

    async def put(self, raw: bytes) -> None:
        """Put something into the mailbox that hardly is a letter."""
        self._last = (raw, self.own)
        await self.repeat()

    async def repeat(self) -> None:
        """Deliver the last letter once more."""
        await asyncio.to_thread(self.dovecot.deliver, *self._last)

    def told(self, user: str) -> Sequence[str]:
        """The replies to the letters of a person."""
        replies = [letter for letter in self.letters if letter["Auto-Submitted"] == "auto-replied"]
        return [_content(letter).strip() for letter in replies if letter["To"] == user]

    def fail(self, how: Literal["unavailable", "refused", "signed_out"] | None) -> None:
        """Take no letters from now on, for that reason."""
        self._failing = how

    def listening(self) -> bool:
        """Always: letters wait in the mailbox."""
        return True

    def letter(self, message: str) -> EmailMessage:
        """A letter of that name."""
        return next(letter for letter in self.letters if letter["Message-ID"] == message)

    async def handle_DATA(self, server: smtp.SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        """Take a letter, or not."""
        if self._failing is not None:
            return {
                "unavailable": "451 try again later",
                "refused": "550 no such mailbox",
                "signed_out": "535 5.7.8 authentication failed",
            }[self._failing]
        raw = envelope.content
        assert isinstance(raw, bytes)
        problem = _problem(raw, envelope)
        if problem:
            return f"554 {problem}"
        message = email.message_from_bytes(raw, policy=default)
        assert isinstance(message, EmailMessage)
        async with self._changed:
            self.letters.append(message)
            self._changed.notify_all()
        return "250 OK"


@asynccontextmanager
async def opened(
    dovecot: Dovecot,
    *,
    security: str = "none",
    certified: Path | None = None,
    lenient: bool = False,
    **more: Any,
) -> AsyncIterator[PostOffice]:
    """A post office at work, in the test's own loop."""
    office = PostOffice(dovecot=dovecot, security=security, **more)
    context = None
    if certified is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certified / "cert.pem", certified / "key.pem")

    def authenticate(*seen: Any) -> AuthResult:
        given = seen[-1]
        assert isinstance(given, LoginPassword)
        return AuthResult(success=given.password == PASSWORD.encode(), handled=False)

    def factory() -> smtp.SMTP:
        return smtp.SMTP(
            office,
            hostname="mail.example.test",
            tls_context=context if security == "starttls" else None,
            require_starttls=security == "starttls",
            authenticator=authenticate if security != "none" or lenient else None,
            auth_required=security == "starttls",
            auth_require_tls=security == "starttls",
        )

    server = await asyncio.get_running_loop().create_server(
        factory, "127.0.0.1", 0, ssl=context if security == "tls" else None
    )
    office.port = server.sockets[0].getsockname()[1]
    try:
        yield office
    finally:
        server.close()
        await server.wait_closed()


def _content(letter: EmailMessage) -> str:
    content = letter.get_content()
    assert isinstance(content, str)
    return content.replace("\r\n", "\n")


def _number(section: str, value: str) -> str:
    found = re.search(rf"^│   (\d+)\. {re.escape(value)}(?: — .*)?$", section, flags=re.MULTILINE)
    return value if found is None else found[1]


def _problem(raw: bytes, envelope: Envelope) -> str:
    """What a strict server would have against a letter."""
    head, _, _ = raw.partition(b"\r\n\r\n")
    message = email.message_from_bytes(raw, policy=default)
    if any(len(line) > LONGEST_LINE for line in raw.split(b"\r\n")):
        return "a line is too long"
    if not head.isascii():
        return "a header is not ASCII"
    if message.get_content_type() != "text/plain":
        return "not plain text"
    for name in NEEDED:
        if len(message.get_all(name, [])) != 1:
            return f"{name} has to be there once"
    addressed = [address for _, address in getaddresses([message["To"]])]
    return "" if addressed == envelope.rcpt_tos else "the envelope names another recipient"
