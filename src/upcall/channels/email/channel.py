"""E-mail: a letter for each question, answered by reply or behind its link, and a letter when it is over.

A name in From proves nothing. A reply counts because it comes to an address that we made for this question and this
person alone, and says that it is from them; any other letter can only bring a person's one-time code.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from email.utils import make_msgid
from functools import partial
from typing import TypeVar

import aiosmtplib

from upcall.channels.email import letters
from upcall.channels.email.letters import Tag
from upcall.channels.email.mailbox import LARGEST, LARGEST_WHOLE, Mailbox, Server
from upcall.channels.email.reading import Letter, files_in, letter_in
from upcall.channels.words import sentences
from upcall.domain.channel.showing import Capabilities, Finding, Inbound, Reference, SentFile, View
from upcall.ports.channel import Inbox, Line, Refused, SignedOut, Stamps, Unavailable

SECONDS = 20.0
REPLY = "mail-reply"
"""The purpose of stamps on reply addresses."""

TOLD_MOST = 20
TOLD_WITHIN = 600.0
"""How often one address gets a reply within that time, so that two programs do not answer each other for ever."""

LOGIN_CODES = {530, 534, 535, 538}
NOT_LET_IN = (aiosmtplib.SMTPAuthenticationError, aiosmtplib.SMTPSenderRefused)
"""Errors about our account, and not about a letter or its recipient."""

T = TypeVar("T")

log = logging.getLogger("upcall.channels.email")


class Email:
    """One mailbox that is Upcall's own."""

    capabilities: Capabilities = letters.CAPABILITIES

    def __init__(
        self,
        *,
        address: str,
        smtp: Server,
        imap: Server,
        stamps: Stamps,
        folder: str = "INBOX",
        language: str = "en",
    ) -> None:
        self._address = address
        self._smtp = smtp
        self._imap = imap
        self._stamps = stamps
        self._folder = folder
        self._words: Mapping[str, str] = sentences(language)
        self._told: dict[str, deque[float]] = {}
        self._on_their_way: set[asyncio.Task[None]] = set()

    async def show(self, view: View, place: str) -> Reference:
        """Send a letter. Its Message-ID depends only on the question and the address, so a repetition has the same one."""
        if not letters.ADDRESS.fullmatch(place):
            raise Refused(f"{place!r} is not an e-mail address")
        name = letters.letter_name(view.inquiry, place, self._domain)
        text = letters.question(view, self._words)
        message = letters.letter(self._address, place, view.heading, text, name=name)
        await self._send(await self._answerable(message, view.inquiry, place))
        return Reference(place=place, message=name)

    async def refresh(self, reference: Reference, view: View) -> None:
        """Send the outcome, in the thread of the question. Other changes are not sent."""
        if view.outcome is None:
            return
        state = view.stage.partition(":")[0]
        name = reference.message.replace("@", f".{state}@", 1)
        message = letters.letter(
            self._address, reference.place, f"Re: {view.heading}", letters.outcome(view), name=name
        )
        await self._send(letters.in_thread(message, reference.message))

    async def tell(self, reference: Reference, line: str) -> None:
        """Say a line in the thread of a letter, which can be replied to as well."""
        inquiry = reference.message.strip("<>").partition(".")[0]
        message = letters.letter(self._address, reference.place, line, f"{line}\n", name=self._fresh())
        await self._send(
            await self._answerable(letters.in_thread(message, reference.message), inquiry, reference.place)
        )

    async def listen(self, inbox: Inbox) -> None:
        """Read unread letters, mark each as read once it is kept, and wait for more."""
        mailbox = Mailbox(self._imap, self._folder)
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="upcall-mail") as thread:
            try:
                await _in(thread, mailbox, mailbox.open)
                await inbox.connected()
                while True:
                    letters_there = await _in(thread, mailbox, mailbox.unread)
                    for uid, raw in letters_there:
                        letter = self._read(raw, uid)
                        if letter is not None:
                            attached = partial(_in, thread, mailbox, partial(_attached, mailbox, uid, raw))
                            await self._take(letter, inbox, attached)
                        await _in(thread, mailbox, partial(mailbox.done, uid))
                    if not letters_there:
                        await _in(thread, mailbox, mailbox.wait)
            finally:
                mailbox.hang_up()
                await asyncio.get_running_loop().run_in_executor(thread, mailbox.close)

    async def account(self) -> str:
        """The address of the mailbox."""
        return self._address

    async def check(self) -> Sequence[Finding]:
        """Whether SMTP and IMAP accept our credentials."""
        findings: list[Finding] = []
        try:
            async with self._sending() as smtp:
                await smtp.noop()
            findings.append(Finding(ok=True, text=f"{self._smtp.host} takes letters from {self._address}"))
        except (aiosmtplib.SMTPException, OSError) as error:
            problem = _failure(error)
            findings.append(
                Finding(ok=False, text=f"smtp: {problem}", hint="see smtp_host, username, password")
            )
        mailbox = Mailbox(self._imap, self._folder)
        try:
            await asyncio.to_thread(mailbox.open)
            findings.append(Finding(ok=True, text=f"{self._imap.host} shows us {self._folder}"))
        except (Refused, Unavailable) as problem:
            findings.append(
                Finding(ok=False, text=f"imap: {problem}", hint="see imap_host, username, password")
            )
        finally:
            await asyncio.to_thread(mailbox.close)
        return findings

    async def close(self) -> None:
        """Wait for letters that are on their way; the listener closes its own connection."""
        await asyncio.gather(*self._on_their_way, return_exceptions=True)

    def _read(self, raw: bytes, uid: str) -> Letter | None:
        """A letter; None for one that cannot be read, so that it does not hold up the others."""
        try:
            return letter_in(raw, self._address, uid)
        except Exception:
            log.exception("the letter %s cannot be read, and is left alone", uid)
            return None

    async def _take(
        self, letter: Letter, inbox: Inbox, attached: Callable[[], Awaitable[tuple[SentFile, ...]]]
    ) -> None:
        if letter.automatic or not letter.sender:
            log.info("a letter that a program wrote is left alone")
            return
        tag = letter.tag
        proven = tag is not None and await self._stamps.has_stamped(
            REPLY, letters.bound(tag.inquiry, letter.sender), tag.stamp
        )
        heard = await inbox.receive(
            Inbound(
                id=letter.name,
                user=letter.sender,
                place=letter.sender,
                inquiry=tag.inquiry if tag is not None and proven else None,
                message=letters.letter_name(tag.inquiry, letter.sender, self._domain)
                if tag is not None and proven
                else None,
                words=letter.words,
                rest=letter.rest,
                # Only a person whom we have written to makes us read a large letter.
                files=await attached() if proven else (),
                proven=proven,
            )
        )
        if heard.again:
            # It stays unread, and is read again.
            raise Unavailable("what was written could not be kept")
        if heard.line and self._may_tell(letter.sender):
            to = {
                "sender": letter.sender,
                "subject": letter.subject,
                "letter": letter.message_id,
                "inquiry": tag.inquiry if tag is not None and proven else "",
            }
            await inbox.say(Line(id=letter.name, to=to, text=heard.line))

    async def say(self, to: Mapping[str, str], line: str) -> None:
        """Answer a letter. A reply to that answer is about the same question."""
        message = letters.letter(
            self._address,
            to["sender"],
            f"Re: {to['subject']}",
            f"{line}\n",
            name=self._fresh(),
            automatic="auto-replied",
        )
        if to["letter"]:
            letters.in_thread(message, to["letter"])
        if to["inquiry"]:
            message = await self._answerable(message, to["inquiry"], to["sender"])
        await self._send(message)

    def _may_tell(self, address: str) -> bool:
        now = time.monotonic()
        self._told = {each: times for each, times in self._told.items() if now - times[-1] < TOLD_WITHIN}
        times = self._told.setdefault(address, deque(maxlen=TOLD_MOST))
        if len(times) == TOLD_MOST and now - times[0] < TOLD_WITHIN:
            return False
        times.append(now)
        return True

    async def _answerable(self, message: EmailMessage, inquiry: str, place: str) -> EmailMessage:
        stamp = await self._stamps.stamp(REPLY, letters.bound(inquiry, place))
        message["Reply-To"] = letters.reply_address(self._address, Tag(inquiry=inquiry, stamp=stamp))
        return message

    def _fresh(self) -> str:
        return make_msgid(domain=self._domain)

    @property
    def _domain(self) -> str:
        return self._address.rpartition("@")[2]

    def _sending(self) -> aiosmtplib.SMTP:
        server = self._smtp
        return aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            use_tls=server.security == "tls",
            start_tls=server.security == "starttls",
            username=server.username or None,
            password=server.password or None,
            tls_context=None if server.security == "none" else server.trust,
            timeout=SECONDS,
        )

    async def _send(self, message: EmailMessage) -> None:
        # The library may swallow a cancellation, and the caller must not wait for it. A letter that is being sent is finished.
        sending = asyncio.create_task(self._sent(message))
        self._on_their_way.add(sending)
        sending.add_done_callback(self._on_their_way.discard)
        await asyncio.shield(sending)

    async def _sent(self, message: EmailMessage) -> None:
        try:
            async with self._sending() as smtp:
                await smtp.send_message(message, sender=self._address)
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _failure(error) from error


def _failure(error: Exception) -> Refused | Unavailable:
    """The exception of the port for an SMTP error: a code of 500 or more is final."""
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused) and error.recipients:
        error = error.recipients[0]
    if isinstance(error, aiosmtplib.SMTPResponseException):
        said = " ".join(str(error.message).split())[:200]
        if isinstance(error, NOT_LET_IN) or error.code in LOGIN_CODES:
            return SignedOut(f"the mail server says {error.code} {said}: check username and password")
        if error.code >= 500:
            return Refused(f"the mail server says {error.code} {said}")
        return Unavailable(f"the mail server says {error.code} {said}")
    said = " ".join(str(error).split())[:200]
    return Unavailable(f"the mail server cannot be reached: {said or type(error).__name__}")


def _attached(mailbox: Mailbox, uid: str, raw: bytes) -> tuple[SentFile, ...]:
    """The files of a letter, which is read to its end for that; none of one that cannot be read."""
    whole = mailbox.whole(uid) if len(raw) >= LARGEST else raw
    try:
        files = files_in(whole)
        if files and len(whole) >= LARGEST_WHOLE:
            # The last one is cut, so it counts as too large.
            files = (*files[:-1], SentFile(name=files[-1].name, size=LARGEST_WHOLE))
        return files
    except Exception:
        log.exception("what is attached to the letter %s cannot be read, and is left alone", uid)
        return ()


async def _in(thread: ThreadPoolExecutor, mailbox: Mailbox, act: Callable[[], T]) -> T:
    """Run something in the thread. A cancellation cuts the mailbox's connection and waits until the thread is free."""
    doing = asyncio.get_running_loop().run_in_executor(thread, act)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        mailbox.hang_up()
        await asyncio.gather(doing, return_exceptions=True)
        raise
