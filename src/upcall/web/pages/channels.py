"""Channels and the people who answer in them: how each stands, a test message, and a code to join with."""

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.people import People
from upcall.dispatch.trial import Trial, tried
from upcall.domain.errors import InvalidRequest, UnknownChannel
from upcall.domain.roles import Role, require_admin
from upcall.domain.text.display import one_line
from upcall.web.pages.arriving import drawn
from upcall.web.pages.channel_faults import LONGEST_PROBLEM
from upcall.web.pages.forms import UnusableForm, value
from upcall.web.pages.site import Site
from upcall.web.pages.visit import Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRow:
    """A channel as it stands: `on`, `failing` or `off`, since when, and why."""

    name: str
    state: str
    since: float | None
    problem: str
    places: str


class ChannelPages:
    """The handlers of `/channels`. All people see how channels stand; who may answer is for administrators."""

    def __init__(self, site: Site, dispatch: Dispatch | None) -> None:
        self._site = site
        self._dispatch = dispatch
        self._people = People(site.broker.store, site.broker.now)

    async def all(self, visit: Visit) -> Response:
        """Every channel and every person."""
        return await self._page(visit)

    async def test(self, visit: Visit) -> Response:
        """Check a channel and ask a test question there."""
        require_admin(visit.caller, "test channels")
        if self._dispatch is None:
            raise UnknownChannel(visit.name)
        trial = await tried(self._dispatch, visit.name, visit.caller.name)
        return await self._page(visit, tested=one_line(visit.name, 60), trial=trial)

    async def join(self, visit: Visit) -> Response:
        """Let a person answer, and draw the code with which they join."""
        require_admin(visit.caller, "add people")
        name = value(visit.form, "name").strip()
        try:
            code = await self._people.add(name)
        except InvalidRequest:
            raise UnusableForm("problem.person") from None
        accounts = {} if self._dispatch is None else await self._dispatch.accounts()
        apps = [(one_line(channel, 60), one_line(account, 80)) for channel, account in accounts.items()]
        return await self._page(visit, joins=name, code=code, picture=drawn(code), apps=apps)

    async def _page(self, visit: Visit, trial: Trial | None = None, **more: Any) -> Response:
        people = await self._people.all() if visit.caller.role is Role.ADMIN else []
        dispatch = self._dispatch
        rows = [] if dispatch is None else [await _row(dispatch, name) for name in dispatch.names]
        shown: dict[str, Any] = {"joins": "", "code": "", "picture": "", "apps": [], "tested": ""}
        return self._site.render(
            visit,
            "channels.html",
            channels=rows,
            people=[
                (each.name, ", ".join(one_line(":".join(of), 80) for of in each.identities))
                for each in people
            ],
            decides=visit.caller.role is Role.ADMIN,
            trial=trial,
            count=await self._site.broker.count_waiting(),
            **(shown | more),
        )


async def _row(dispatch: Dispatch, name: str) -> ChannelRow:
    faults = await dispatch.faults(name)
    return ChannelRow(
        name=one_line(name, 60),
        state="off" if name in dispatch.off else "failing" if faults else "on",
        since=min((fault.since for fault in faults), default=None),
        problem="; ".join(one_line(fault.problem, LONGEST_PROBLEM) for fault in faults),
        places=", ".join(one_line(place, 60) for place in dispatch.places(name)),
    )
