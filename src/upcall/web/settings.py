"""What the HTTP edge is told about the place it runs in."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """Who may talk to us, and how much at once.

    `allowed_hosts` are names beside the loopback ones (`upcall.example`, any port, or `upcall.example:8443`, only
    that one); `allowed_origins` are whole origins (`https://upcall.example`) beside the one that was called.
    `public_url` is the address that people are given; without it, the one that they called. `card_label`
    is the name of a sentence that every open card shows; empty shows none. `undo` is for how many seconds the inbox holds a
    decision of one key, and several at once. `program` is how the reader of a page types our command.
    """

    version: str
    public_url: str = ""
    allowed_hosts: frozenset[str] = frozenset()
    allowed_origins: frozenset[str] = frozenset()
    body_limit: int = 6 * MIB
    answer_limit: int = 28 * MIB
    """The same of an answer: four files of 5 MiB, a third longer in base 64."""
    card_label: str = ""
    program: str = "upcall"
    undo: float = 4.0
    heartbeat: float = 15.0
    """Seconds after which a silent stream gets a comment, so that nothing on the way takes it for dead."""
