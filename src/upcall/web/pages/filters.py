"""What a list is narrowed to, as it stands in the address: words, an agent, a workspace, a kind."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from upcall.domain.inquiry.inquiry import Inquiry, Kind
from upcall.domain.text.display import one_line
from upcall.ports.store import Query
from upcall.web.pages.visit import Visit

LONGEST = 500
KINDS = {kind.value: kind for kind in Kind}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The filters in an address. An unknown one filters nothing."""

    text: str = ""
    agent: str = ""
    workspace: str = ""
    kind: str = ""

    def __bool__(self) -> bool:
        return bool(self.text or self.agent or self.workspace or self.kind)

    def query(self, state: str, limit: int, cursor: str | None = None, since: float | None = None) -> Query:
        """What a store is asked for."""
        return Query(
            state=state,
            agent=self.agent or None,
            workspace=self.workspace or None,
            kind=KINDS.get(self.kind),
            text=self.text,
            closed_since=since,
            limit=limit,
            cursor=cursor,
        )

    def address(self, path: str, cursor: str = "") -> str:
        """Where the same is wanted, on another page of the list."""
        given = {
            "q": self.text,
            "agent": self.agent,
            "workspace": self.workspace,
            "kind": self.kind,
            "cursor": cursor,
        }
        words = urlencode({name: value for name, value in given.items() if value}, errors="replace")
        return f"{path}?{words}" if words else path


def filters(visit: Visit) -> Filters:
    """What an address asks for."""
    kind = visit.query("kind")
    return Filters(
        text=visit.query("q").strip()[:LONGEST],
        agent=visit.query("agent"),
        workspace=visit.query("workspace"),
        kind=kind if kind in KINDS else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What can be chosen among: agents, and workspaces each with how it is shown."""

    agents: tuple[str, ...]
    workspaces: tuple[tuple[str, str], ...]
    kinds: tuple[str, ...] = tuple(KINDS)


def offered(inquiries: Iterable[Inquiry], chosen: Filters) -> Offered:
    """The agents and workspaces that there are, and those that are chosen already."""
    agents, workspaces = {chosen.agent}, {chosen.workspace}
    for inquiry in inquiries:
        agents.add(inquiry.origin.agent)
        workspaces.add(inquiry.origin.workspace or "")
    return Offered(
        agents=tuple(sorted(agents - {""})),
        workspaces=tuple((workspace, one_line(workspace, 60)) for workspace in sorted(workspaces - {""})),
    )
