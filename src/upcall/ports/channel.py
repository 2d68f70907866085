"""The seam to the places where people are: what the core needs of a channel, and what it offers to one.

A channel shows, updates and listens. It knows neither agents nor stores, never interprets words and never decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from upcall.domain.channel.showing import Capabilities, Finding, Heard, Inbound, Reference, SentFile, View


class Unavailable(Exception):
    """The channel cannot be reached, or says after how many seconds it wants to be asked again."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class SignedOut(Unavailable):
    """The vendor does not take our credential: nothing works before that is mended, and nothing is lost by then."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class Refused(Exception):
    """The channel will not take this, now or later: a wrong address, a missing right, a message that is gone."""


class FormRefused(Refused):
    """The channel will not take it with what there is to press or how it looks; in plain text it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something to be said to one person in reply to what they did.

    `id` is that of what they did, so the same line is not kept twice; `to` says where, and only the channel understands it.
    """

    id: str
    to: Mapping[str, str]
    text: str


class Inbox(Protocol):
    """Where a channel hands over what people do."""

    async def receive(self, inbound: Inbound) -> Heard:
        """Take what a person did. The line that comes back is for that person alone."""
        ...

    async def view(self, inquiry: str) -> View | None:
        """An inquiry as the channel would show it now, for a form that is opened; None if there is none."""
        ...

    async def knows(self, user: str) -> bool:
        """Whether a person may answer."""
        ...

    async def failed(self, message: str, reason: str) -> bool:
        """Take that a message did not arrive after all, though it was taken. False if there is no such message, or not yet.

        Raises:
            Unavailable: if it cannot be kept.
        """
        ...

    async def found(self, inquiry: str, place: str, message: str) -> None:
        """Take that a message shows an inquiry in a place, as the vendor says of a message that we may have no record of.

        Raises:
            Unavailable: if it cannot be kept.
        """
        ...

    async def bookmark(self) -> str:
        """Up to where the channel has read, by whichever daemon; empty before the first time."""
        ...

    async def say(self, line: Line) -> None:
        """Have a line said by the channel's own `say`: once, after the lines before it, and again until it is said.

        Raises:
            Unavailable: if it cannot be kept.
        """
        ...

    async def connected(self) -> None:
        """Say that the vendor has taken our connection, or takes it again: what was put off is tried at once."""
        ...

    async def keep(self, bookmark: str) -> None:
        """Remember up to where everything was handed over, for the next start.

        Raises:
            Unavailable: if it cannot be kept.
        """
        ...


class Stamps(Protocol):
    """Short signatures of this installation, for a channel with a vendor that vouches for no sender."""

    async def stamp(self, purpose: str, text: str) -> str:
        """Sixteen small letters and digits that only we can make, for this purpose and text."""
        ...

    async def has_stamped(self, purpose: str, text: str, stamp: str) -> bool:
        """Whether this is such a signature, and not too old."""
        ...


class Channel(Protocol):
    """One account with one vendor."""

    capabilities: Capabilities

    async def show(self, view: View, place: str) -> Reference:
        """Post a message.

        Raises:
            Unavailable: if it cannot be done now; `SignedOut` if the vendor does not take our credential.
            Refused: if it can never be done.
        """
        ...

    async def refresh(self, reference: Reference, view: View) -> None:
        """Make a message show this instead; one that it shows already is no error. Raises as `show` does."""
        ...

    async def tell(self, reference: Reference, line: str) -> None:
        """Say a line beside a message, so that people notice. Raises as `show` does."""
        ...

    async def listen(self, inbox: Inbox) -> None:
        """Hand over what people do, until cancelled.

        Raises:
            Unavailable: if it has lost the connection for good; it is called again after a pause.
            Refused: if it may not listen at all.
        """
        ...

    async def check(self) -> Sequence[Finding]:
        """Whether it can be used as it is set up; never raises for what the vendor says."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...


@runtime_checkable
class Says(Protocol):
    """A channel that says lines to people beside what it replies to a press or a call at once."""

    async def say(self, to: Mapping[str, str], line: str) -> None:
        """Say a line where `to` says, which is from a `Line` of this channel. Raises as `show` does."""
        ...


@runtime_checkable
class Fetches(Protocol):
    """A channel that can fetch the files that people send in it."""

    async def fetch(self, file: SentFile, most: int) -> bytes:
        """The content of a file; of one with more than `most` bytes, just more than that. Raises as `show` does."""
        ...


@runtime_checkable
class HasAccount(Protocol):
    """A channel with an app or an account that people write to."""

    async def account(self) -> str:
        """What the vendor calls it, such as `@upcall_bot`. Raises as `show` does."""
        ...


@runtime_checkable
class Finds(Protocol):
    """A channel that can look whether a question is shown already, where a crash left no record of that."""

    async def find(self, view: View, place: str) -> Reference | None:
        """The message that shows an inquiry in a place; None if there is none to be seen. Raises as `show` does."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """A request of a vendor's, as it came: nothing in it is trusted before the channel has checked its signature.

    Names of `headers` are in small letters; `url` is the whole address that was called, as people reach it.
    """

    method: str
    url: str
    body: bytes = b""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackReply:
    """What the vendor hears."""

    status: int = 200
    body: bytes = b""
    media_type: str = "text/plain; charset=utf-8"


@runtime_checkable
class Called(Protocol):
    """A channel that its vendor calls, at `/channels/NAME`. Its `listen` may have nothing to do but to wait."""

    async def called(self, callback: Callback, inbox: Inbox) -> CallbackReply:
        """Check over the raw bytes who it is from, hand over what it says, and only then reply; never raises."""
        ...
