"""Letters as they arrive: the sender that they name, the question that they are about, and what the person wrote.

Nothing here is trusted. Any program on the internet can send a letter, so malformed headers are read as far as possible.
"""

import email
import hashlib
import re
from dataclasses import dataclass
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from html.parser import HTMLParser

from typing_extensions import override

from upcall.channels.email.letters import ADDRESS, Tag, tag_in
from upcall.channels.email.quoting import LONGEST, written
from upcall.domain.channel.showing import SentFile

TO = ("to", "cc", "delivered-to", "x-original-to", "envelope-to")
SYSTEM_SENDERS = ("mailer-daemon", "postmaster", "noreply", "no-reply", "bounce", "bounces")
OF_PROGRAMS = {
    "application/pgp-keys",
    "application/pgp-signature",
    "application/pkcs7-signature",
    "application/x-pkcs7-signature",
    "text/calendar",
    "text/vcard",
}
"""What mail programs attach by themselves."""

PLAIN, HTML = "text/plain", "text/html"
_POINTED = re.compile(r"<([^<>]*)>")
_BREAKS = {"br", "p", "div", "li", "tr", "h1", "h2", "h3", "pre"}
_UNSEEN = {"blockquote", "style", "script", "head", "title"}
_QUOTED = "\n>\n"
"""Stands for a quotation in the text of a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A letter that arrived. `name` is the same when it is delivered twice."""

    name: str
    sender: str
    subject: str
    message_id: str
    tag: Tag | None
    automatic: bool
    words: str
    rest: str = ""
    """Text that stands below the quotation, apart from the reply above it."""


def letter_in(raw: bytes, own: str, uid: str) -> Letter:
    """Reads a letter; `uid` is its number in the mailbox."""
    message = email.message_from_bytes(raw)
    said = written(_text(message), own)
    sender = _sender(message)
    message_id = _header(message, "message-id").strip()[:900]
    tags = (tag_in(address, own) for name in TO for address in _addresses(message, name))
    return Letter(
        name=hashlib.sha256(f"{sender} {message_id or uid}".encode("utf-8", "replace")).hexdigest()[:32],
        sender=sender,
        subject=_header(message, "subject"),
        message_id=message_id,
        tag=next((tag for tag in tags if tag is not None), None),
        automatic=_is_automatic(message, sender, own),
        words=said.words,
        rest=said.rest,
    )


def _is_automatic(message: Message, sender: str, own: str) -> bool:
    """Whether a program wrote a letter, or Upcall itself: such a letter is no answer and gets no reply."""
    local = sender.partition("@")[0]
    submitted = _header(message, "auto-submitted").strip().casefold() or "no"
    return (
        submitted != "no"
        or _header(message, "precedence").strip().casefold() in {"bulk", "junk", "list", "auto_reply"}
        or _header(message, "return-path").strip() == "<>"
        or any(message[name] is not None for name in ("x-autoreply", "x-autorespond", "list-id"))
        or message.get_content_type() in {"multipart/report", "message/delivery-status"}
        or local in SYSTEM_SENDERS
        or sender == own.casefold()
        or tag_in(sender, own) is not None
    )


def _sender(message: Message) -> str:
    """The address in From; empty if there is none, or more than one."""
    (said,) = [_header(message, "from")] if len(message.get_all("from", [])) == 1 else [""]
    pointed = _POINTED.findall(said)
    address = str(pointed[0] if len(pointed) == 1 else "" if pointed else said.strip()).casefold()
    return address if ADDRESS.fullmatch(address) else ""


def _addresses(message: Message, name: str) -> list[str]:
    # The address parser of the standard library recurses without a limit.
    return [found for value in message.get_all(name, []) for found in ADDRESS.findall(str(value)[:LONGEST])]


def _header(message: Message, name: str) -> str:
    value = message[name]
    if value is None:
        return ""
    try:
        return str(make_header(decode_header(str(value)[:2000])))
    except (ValueError, LookupError, MessageError):
        return str(value)[:2000]


def files_in(raw: bytes) -> tuple[SentFile, ...]:
    """The files that are attached to a letter. A picture within the text is none: most of these belong to signatures."""
    return tuple(_file(part) for part in _attached(email.message_from_bytes(raw)))


def _attached(part: Message) -> list[Message]:
    if part.get_content_type() == "multipart/related":
        return []
    if part.is_multipart() and part.get_content_maintype() == "multipart":
        return [file for each in _parts(part) for file in _attached(each)]
    return [part] if _is_file(part) and part.get_content_type() not in OF_PROGRAMS else []


def _file(part: Message) -> SentFile:
    try:
        name = str(make_header(decode_header(part.get_filename() or "")))
    except (ValueError, LookupError, MessageError):
        name = ""
    payload = part.get_payload(decode=True)
    return SentFile(name=name or "file", content=payload if isinstance(payload, bytes) else b"")


def _text(message: Message) -> str:
    """The text of a letter: its first part that has any, HTML without its markup.

    What follows that part was added by a mail server, or is attached.
    """
    part = _text_part(message)
    if part is None:
        return ""
    text = _decoded(part)
    return text if part.get_content_type() == PLAIN else _without_markup(text)


def _text_part(part: Message) -> Message | None:
    kind = part.get_content_type()
    if not part.is_multipart():
        return part if kind in {PLAIN, HTML} and not _is_file(part) else None
    if part.get_content_maintype() != "multipart":
        # An attached letter was written by its own sender.
        return None
    found = [text for each in _parts(part) if (text := _text_part(each)) is not None]
    if kind == "multipart/alternative":
        found.sort(key=lambda text: text.get_content_type() != PLAIN)
    return found[0] if found else None


def _parts(message: Message) -> list[Message]:
    payload = message.get_payload()
    return [part for part in payload if isinstance(part, Message)] if isinstance(payload, list) else []


def _is_file(part: Message) -> bool:
    try:
        return bool(part.get_filename()) or part.get_content_disposition() == "attachment"
    except (ValueError, LookupError):
        # It has a file name, in an unknown character set.
        return True


def _decoded(part: Message) -> str:
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    try:
        return content.decode(part.get_content_charset("utf-8"), "replace")
    except (ValueError, LookupError):
        return content.decode("utf-8", "replace")


class _Words(HTMLParser):
    """The words of a page, without those that are quoted or not shown."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._unseen = 0

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "blockquote" and not self._unseen:
            self.found.append(_QUOTED)
        self._unseen += tag in _UNSEEN
        self.found += ["\n"] if tag in _BREAKS else []

    @override
    def handle_endtag(self, tag: str) -> None:
        self._unseen = max(self._unseen - (tag in _UNSEEN), 0)
        self.found += ["\n"] if tag in _BREAKS - {"br"} else []

    @override
    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.found.append(" ".join(data.split()) if data.strip() else " ")

    @override
    def parse_marked_section(self, i: int, report: bool = True) -> int:
        # The standard library stops reading at a section with an unknown name.
        return self.parse_bogus_comment(i)


def _without_markup(text: str) -> str:
    words = _Words()
    words.feed(text[:LONGEST])
    words.close()
    return re.sub(r"\n{3,}", "\n\n", "".join(words.found)).strip()
