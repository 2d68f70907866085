"""The connection under a conversation, as far as the conversation needs it."""

from collections.abc import Callable, Hashable
from typing import Protocol


class ClientLink(Protocol):
    """One connection to a client."""

    @property
    def key(self) -> Hashable:
        """The name under which evidence about this connection is gathered."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether this machine can resume the sessions at the other end."""
        ...

    def write(self, line: bytes) -> None:
        """Send a line."""
        ...

    def identify(self) -> object:
        """Check the token again.

        Raises:
            Unauthenticated: if it is not valid any more.
        """
        ...

    def hold(self, program: str, session: str) -> None:
        """Note that this connection serves a session."""
        ...

    def asked(self, inquiry: str) -> None:
        """Note that a call on this connection is about an inquiry."""
        ...

    def replied(self, inquiry: str) -> None:
        """Note that the answer to an inquiry was written: no call is about it any more."""
        ...

    def taken(self, inquiry: str) -> bool:
        """Note that the agent has taken an answer. False where the acknowledgement is evidence by itself."""
        ...

    async def handed(self, inquiry: str) -> None:
        """Note that the answer to a session that could be resumed was written."""
        ...


class PlainLink:
    """A connection to a client that this machine cannot resume: a pipe on another machine, or a container."""

    __slots__ = ("_identify", "_write", "key")

    is_local = False

    def __init__(
        self,
        key: Hashable,
        write: Callable[[bytes], None],
        identify: Callable[[], object] = lambda: None,
    ) -> None:
        self.key = key
        self._write = write
        self._identify = identify

    def write(self, line: bytes) -> None:
        """Send a line."""
        self._write(line)

    def identify(self) -> object:
        """Check the token again."""
        return self._identify()

    def hold(self, program: str, session: str) -> None:
        """Nothing: the session is not resumed here."""

    def asked(self, inquiry: str) -> None:
        """Nothing: who is connected matters only where a session can be resumed."""

    def replied(self, inquiry: str) -> None:
        """Nothing, as above."""

    def taken(self, inquiry: str) -> bool:
        """An acknowledgement is evidence."""
        return False

    async def handed(self, inquiry: str) -> None:
        """Nothing: there is no resume job."""
