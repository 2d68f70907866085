"""Routes: which places an inquiry is sent to, in which order and when.

The first route that fits is taken. The next one is taken as well when a place of the one before refuses or cannot be
reached, or after a while without an answer. The web inbox is a route of its own unless it is switched off; then a
question that every place has refused fails, so that its asker does not wait for an answer that cannot come.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo
from fnmatch import fnmatchcase

from upcall.domain.inquiry.inquiry import STATE_NAMES, Change, Inquiry, Open
from upcall.domain.inquiry.lifecycle import ACTIVATED
from upcall.domain.records import NOTHING, Effects, Job

ESCALATE = "escalate"
"""The kind of a job that takes the next route too."""

DEAL = "deal"
"""The kind of a job that chooses the next place of a route that takes turns."""

DESPAIR = "despair"
"""The kind of a job that checks whether any place is left to ask in."""

TEST_DOOR = "channels"
"""The door of questions that try a channel out: they go to the place that is tried, and take no route."""

_CLOSED = {name for state, name in STATE_NAMES.items() if state is not Open}
_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An address in a channel."""

    channel: str
    address: str

    @property
    def name(self) -> str:
        """As it is written in the settings."""
        return f"{self.channel}:{self.address}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """Hours of the day without messages, in minutes after midnight; they may go over midnight."""

    begin: int
    end: int
    zone: tzinfo | None = None
    """The time zone; None is the machine's own."""

    def until(self, now: float) -> float:
        """When it is over, or `now` if it is not quiet."""
        here = datetime.fromtimestamp(now, self.zone)
        minute = here.hour * 60 + here.minute
        if (minute - self.begin) % _MINUTES >= (self.end - self.begin) % _MINUTES:
            return now
        over = datetime.combine(here.date(), time(self.end // 60, self.end % 60), here.tzinfo)
        return (over if over > here else over + timedelta(days=1)).timestamp()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Places that are shown what fits the conditions: all of them at once, or one at a time `in_turn`.

    An empty condition fits everything; `agent`, `workspace` and `label` may hold `*`. Reminders come every `remind` seconds, `remind_most` times; after
    `escalate_after` seconds without an answer (0 is never) the next route is taken too.
    """

    places: tuple[Place, ...]
    agent: str = ""
    workspace: str = ""
    kind: str = ""
    label: str = ""
    in_turn: bool = False
    remind: float = 600.0
    remind_most: int = 3
    escalate_after: float = 0.0
    quiet: Quiet | None = None

    def fits(self, inquiry: Inquiry) -> bool:
        """Whether an inquiry takes this route."""
        origin = inquiry.origin
        return (
            (not self.agent or fnmatchcase(origin.agent, self.agent))
            and (not self.workspace or fnmatchcase(origin.workspace or "", self.workspace))
            and (not self.kind or inquiry.kind.value == self.kind)
            and (not self.label or any(fnmatchcase(label, self.label) for label in inquiry.labels))
        )

    @property
    def turns(self) -> str:
        """The key of the record that says which place has the next turn."""
        return " ".join(place.name for place in self.places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """All routes of an installation, and all its channels, with those that no route leads to any more.

    `inbox` is whether the web inbox counts as a place where people see what is asked.
    """

    routes: tuple[Route, ...]
    channels: tuple[str, ...]
    inbox: bool = True

    def of(self, inquiry: Inquiry) -> Sequence[Route]:
        """The routes of an inquiry, in their order."""
        return [route for route in self.routes if route.fits(inquiry)]

    def consequences(self, change: Change) -> Effects:
        """The jobs for channels after a step of an inquiry, written in the same transaction."""
        inquiry, at = change.inquiry, change.happening.at
        if inquiry.is_queued:
            return NOTHING
        if change.happening.type in {"asked", ACTIVATED}:
            return NOTHING if inquiry.origin.door == TEST_DOOR else self._first(inquiry, at)
        if change.happening.type not in _CLOSED and change.happening.type != "voted":
            return NOTHING
        return Effects(jobs=tuple(refresh_job(inquiry.id, channel, at) for channel in self.channels))

    def _first(self, inquiry: Inquiry, now: float) -> Effects:
        return self.take(inquiry, 0, now) or self.despair(inquiry, now)

    def despair(self, inquiry: Inquiry, now: float) -> Effects:
        """Where the inbox does not count: a job that checks, after this transaction, whether any place is left to ask in."""
        if self.inbox:
            return NOTHING
        job = Job(id=f"{DESPAIR}:{inquiry.id}", kind=DESPAIR, subject=inquiry.id, due=now)
        return Effects(jobs=(job,))

    def take(self, inquiry: Inquiry, number: int, now: float) -> Effects:
        """Show an inquiry on its route of that number, if there is one."""
        routes = self.of(inquiry)
        if number >= len(routes):
            return NOTHING
        route = routes[number]
        due = self.awake(route, now)
        if route.in_turn:
            jobs = [_route_job(DEAL, inquiry, number, due)]
        else:
            jobs = [show_job(inquiry.id, place, number, due) for place in route.places]
        if route.escalate_after and number + 1 < len(routes):
            jobs.append(_route_job(ESCALATE, inquiry, number, now + route.escalate_after))
        return Effects(jobs=tuple(jobs))

    def awake(self, route: Route, now: float) -> float:
        """The next moment in which the people of a route may be disturbed."""
        return now if route.quiet is None else route.quiet.until(now)

    def showable(self, inquiry: Inquiry, number: int, now: float) -> float:
        """The next moment at which an inquiry may be shown on its route of that number."""
        routes, at = self.of(inquiry), rested(inquiry, now)
        return self.awake(routes[number], at) if number < len(routes) else at

    def reminder(self, inquiry: Inquiry, number: int, sent: int, now: float) -> float | None:
        """When the people of a route are reminded after `sent` reminders; None for never again."""
        routes = self.of(inquiry)
        if number >= len(routes):
            return None
        route = routes[number]
        if sent >= route.remind_most or not route.remind:
            return None
        return self.awake(route, rested(inquiry, now + route.remind))


def _route_job(kind: str, inquiry: Inquiry, route: int, due: float) -> Job:
    name = f"{kind}:{inquiry.id}:{route}"
    return Job(id=name, kind=kind, subject=inquiry.id, due=due, body={"route": route})


def route_of(job: Job) -> int:
    """The number of the route that a job is about."""
    return int(str(job.body["route"]))


def rested(inquiry: Inquiry, at: float) -> float:
    """A moment, or the end of the snooze that it would fall into."""
    match inquiry.state:
        case Open(snoozed_until=float() as until):
            return max(at, until)
        case _:
            return at


def show_job(inquiry: str, place: Place, route: int, due: float) -> Job:
    """Show an inquiry in a place."""
    return Job(
        id=f"show:{inquiry}:{place.name}",
        kind=f"show:{place.channel}",
        subject=inquiry,
        due=due,
        body={"address": place.address, "route": route},
    )


def refresh_job(inquiry: str, channel: str, due: float) -> Job:
    """Bring the messages of a channel about an inquiry up to date, with the inquiry as it is when the job runs."""
    return Job(id=f"refresh:{inquiry}:{channel}", kind=f"refresh:{channel}", subject=inquiry, due=due)


def remind_job(inquiry: str, place: Place, route: int, sent: int, due: float) -> Job:
    """Remind the people in a place that an inquiry is waiting."""
    return Job(
        id=f"remind:{inquiry}:{place.name}",
        kind=f"remind:{place.channel}",
        subject=inquiry,
        due=due,
        body={"address": place.address, "route": route, "sent": sent},
    )
