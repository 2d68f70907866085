"""Who a caller is and what it may do. An agent asks and waits for its own; only people answer; a monitor reads numbers."""

from dataclasses import dataclass
from enum import StrEnum

from upcall.domain.errors import NotAllowed
from upcall.domain.inquiry.inquiry import Inquiry


class Role(StrEnum):
    """The role of a token."""

    MONITOR = "monitor"
    AGENT = "agent"
    PERSON = "person"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The holder of a valid token; an agent that Upcall started holds the token of its run."""

    name: str
    role: Role
    run: int | None = None
    runner: str = ""
    autonomous: bool = False

    @property
    def is_agent(self) -> bool:
        """Whether this caller only ever sees its own inquiries."""
        return self.role is Role.AGENT

    @property
    def is_person(self) -> bool:
        """Whether this caller may answer."""
        return self.role in {Role.PERSON, Role.ADMIN}

    def may_see(self, inquiry: Inquiry) -> bool:
        """People see everything; an agent what it asked itself."""
        return self.is_person or self.asked(inquiry)

    def asked(self, inquiry: Inquiry) -> bool:
        """Whether this caller put that question: two runs of the same agent are two askers."""
        origin = inquiry.origin
        return origin.agent == self.name and self.run in {None, origin.run}


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A credential as it is kept: never the secret itself, only its SHA-256."""

    name: str
    role: Role
    digest: str
    created_at: float


def require_person(caller: Caller, action: str) -> None:
    """Refuse agents and monitors.

    Raises:
        NotAllowed: if the caller is one.
    """
    if not caller.is_person:
        article = "an" if caller.is_agent else "a"
        raise NotAllowed(
            f"{article} {caller.role} token cannot {action}",
            hint="use a person's token: agents never answer for people",
        )


def require_admin(caller: Caller, action: str) -> None:
    """Refuse all but administrators.

    Raises:
        NotAllowed: if the caller is not one.
    """
    if caller.role is not Role.ADMIN:
        article = "an" if caller.is_agent else "a"
        raise NotAllowed(f"{article} {caller.role}'s token cannot {action}", hint="use an admin's token")
