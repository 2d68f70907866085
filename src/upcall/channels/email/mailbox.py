"""A mailbox over IMAP: what has not been read yet, and the wait for more. It blocks, so it is used in a thread."""

import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from imaplib import IMAP4
from io import BufferedReader
from typing import cast

from imap_tools.consts import MailMessageFlags
from imap_tools.errors import ImapToolsError, MailboxLoginError
from imap_tools.mailbox import BaseMailBox, MailBox, MailBoxStartTls, MailBoxUnencrypted

from upcall.ports.channel import Refused, SignedOut, Unavailable

SECONDS = 15.0
IDLE_SECONDS = 60.0
"""How long an IDLE lasts before the mailbox is read again: some servers do not report what arrived between two IDLEs."""

MOST = 50
LARGEST = 256 * 1024
"""How many bytes of a letter are read; the words of its sender stand at its beginning."""

LARGEST_WHOLE = 32 * 1024 * 1024
"""How many bytes are read of a letter that may bring files: the largest files of an answer, as they are written in a letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where a mail server is, and how it is spoken to."""

    host: str
    port: int
    security: str
    username: str
    password: str
    ca_file: str = ""

    @property
    def trust(self) -> ssl.SSLContext:
        """The certificates by which the server is verified."""
        return ssl.create_default_context(cafile=self.ca_file or None)


class Mailbox:
    """One connection to one folder. `hang_up` may be called from another thread, and ends a call that waits here."""

    def __init__(self, server: Server, folder: str) -> None:
        self._server = server
        self._folder = folder
        self._box: BaseMailBox | None = None

    def open(self) -> None:
        """Connect and sign in.

        Raises:
            Unavailable: if the server cannot be reached, or does not let us in (`SignedOut`).
            Refused: if there is no such folder, or it cannot tell us of new letters.
        """
        server = self._server
        try:
            match server.security:
                case "tls":
                    box: BaseMailBox = MailBox(server.host, server.port, SECONDS, ssl_context=server.trust)
                case "starttls":
                    box = MailBoxStartTls(server.host, server.port, SECONDS, ssl_context=server.trust)
                case _:
                    box = MailBoxUnencrypted(server.host, server.port, SECONDS)
            self._box = box
            box.login(server.username, server.password, initial_folder=None)
        except MailboxLoginError as error:
            raise SignedOut("the IMAP server does not let us in: username or password is wrong") from error
        except (OSError, IMAP4.error, ImapToolsError) as error:
            raise Unavailable(f"the IMAP server cannot be reached: {_said(error)}") from error
        try:
            box.folder.set(self._folder)
        except (IMAP4.error, ImapToolsError) as error:
            raise Refused(f"there is no folder {self._folder!r} that we may read: {_said(error)}") from error
        if "IDLE" not in box.client.capabilities:
            raise Refused("the IMAP server has no IDLE, so it cannot tell us of new letters")

    def unread(self) -> list[tuple[str, bytes]]:
        """The oldest letters that were not read yet, each by its number."""
        box = self._connected()
        try:
            uids = [uid for uid in box.uids("UNSEEN") if uid][:MOST]
            return [(uid, self._fetched(box, uid, LARGEST)) for uid in uids]
        except (OSError, IMAP4.error, ImapToolsError) as error:
            raise Unavailable(f"the mailbox cannot be read: {_said(error)}") from error

    def whole(self, uid: str) -> bytes:
        """A letter to its end, with what is attached."""
        try:
            return self._fetched(self._connected(), uid, LARGEST_WHOLE)
        except (OSError, IMAP4.error, ImapToolsError) as error:
            raise Unavailable(f"a letter cannot be read: {_said(error)}") from error

    def done(self, uid: str) -> None:
        """Mark a letter as read: it is not to come again."""
        try:
            self._connected().flag(uid, MailMessageFlags.SEEN, True)
        except (OSError, IMAP4.error, ImapToolsError) as error:
            raise Unavailable(f"a letter cannot be marked as read: {_said(error)}") from error

    def wait(self) -> None:
        """Wait until there may be something new."""
        box = self._connected()
        try:
            with box.idle as idle:
                if not _has_said_something(box):
                    idle.poll(timeout=IDLE_SECONDS)
        except (OSError, IMAP4.error, ImapToolsError) as error:
            raise Unavailable(f"the IMAP server has hung up: {_said(error)}") from error

    def hang_up(self) -> None:
        """Cut the connection; a call that waits on it returns."""
        if self._box is not None:
            with suppress(OSError):  # it may be gone already
                self._box.client.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of it."""
        if self._box is not None:
            with suppress(OSError, IMAP4.error, ImapToolsError):  # there is nothing left to lose
                self._box.client.shutdown()

    def _connected(self) -> BaseMailBox:
        assert self._box is not None
        return self._box

    def _fetched(self, box: BaseMailBox, uid: str, most: int) -> bytes:
        _, parts = box.client.uid("fetch", uid, f"(BODY.PEEK[]<0.{most}>)")
        # A letter that was deleted meanwhile has none.
        return next((part[1] for part in parts if isinstance(part, tuple)), b"")


def _has_said_something(box: BaseMailBox) -> bool:
    """Whether the server's report of a new letter is in the buffer already, where a poll does not see it."""
    sock, before = box.client.sock, box.client.sock.gettimeout()
    sock.settimeout(0)
    try:
        return bool(cast("BufferedReader", box.client.file).peek(1))
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    finally:
        sock.settimeout(before)


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
