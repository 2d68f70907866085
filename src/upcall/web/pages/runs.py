"""Agents at work: which there are, how far one is, what it asked, and what a person does about it."""

import secrets

from starlette.responses import Response

from upcall.domain.errors import InvalidRequest, RunConflict, UnknownRun
from upcall.http.errors import STATUSES
from upcall.ports.runs import LONGEST_KEY, Runs
from upcall.ports.store import Query
from upcall.web.pages.forms import value
from upcall.web.pages.run_views import log_tail, run_view
from upcall.web.pages.site import Site, problem
from upcall.web.pages.visit import Visit

PAGE = 30
MOST_INQUIRIES = 200
SAID = ("cancel", "retry", "say")


class RunPages:
    """The handlers of `/runs` and everything under it that answers at once."""

    def __init__(self, site: Site, runs: Runs) -> None:
        self._site = site
        self._broker = site.broker
        self._runs = runs

    async def all(self, visit: Visit) -> Response:
        """Runs, the latest first."""
        seq = await self._broker.store.last_seq()
        cursor = visit.query("cursor") or None
        page = await self._runs.find(cursor=cursor, limit=PAGE)
        return self._site.render(
            visit,
            "runs.html",
            view="runs",
            seq=seq,
            runs=[run_view(run) for run in page.items],
            next=page.next,
            first=cursor is None,
            stream="/runs/stream",
            count=await self._broker.count_waiting(),
        )

    async def one(self, visit: Visit) -> Response:
        """One run: how far it is, what it asks, and the end of its log."""
        return await self._alone(visit)

    async def cancel(self, visit: Visit) -> Response:
        """End it."""
        number = run_number(visit)
        try:
            await self._runs.cancel(number, visit.caller)
        except RunConflict as error:
            return await self._refused(visit, error)
        return visit.redirect(f"/runs/{number}", said="cancel")

    async def retry(self, visit: Visit) -> Response:
        """Try it again, and go to the run that now works on it."""
        try:
            run = await self._runs.retry(run_number(visit), visit.caller, _key(visit))
        except (RunConflict, InvalidRequest) as error:
            return await self._refused(visit, error)
        return visit.redirect(f"/runs/{run.number}", said="retry")

    async def say(self, visit: Visit) -> Response:
        """Tell the agent something."""
        number, text = run_number(visit), value(visit.form, "text").replace("\r\n", "\n").replace("\0", "")
        try:
            await self._runs.say(number, text, visit.caller, _key(visit))
        except (RunConflict, InvalidRequest) as error:
            return await self._refused(visit, error)
        return visit.redirect(f"/runs/{number}", said="say")

    async def _refused(self, visit: Visit, error: RunConflict | InvalidRequest) -> Response:
        return await self._alone(
            visit, status=STATUSES.get(error.code, 400), trouble=problem(error, visit.words)
        )

    async def _alone(self, visit: Visit, *, status: int = 200, trouble: str = "") -> Response:
        # Read first: what happens from here on comes over the stream, twice rather than never.
        seq = await self._broker.store.last_seq()
        number = run_number(visit)
        run = await self._runs.get(number)
        asked = (await self._broker.store.find(Query(run=number, limit=MOST_INQUIRIES))).items
        cards = [
            (
                inquiry.is_open,
                await self._site.card(visit, inquiry, view="inbox" if inquiry.is_open else "history"),
            )
            for inquiry in asked
        ]
        said = visit.query("said")
        return self._site.render(
            visit,
            "run.html",
            status,
            view="run",
            stream=f"/runs/{number}/stream",
            seq=seq,
            run=run_view(run),
            log=log_tail(await self._runs.tail(number)),
            open=[card for is_open, card in reversed(cards) if is_open],
            settled=[card for is_open, card in cards if not is_open],
            flash=visit.words.say(f"said.run_{said}") if said in SAID else "",
            trouble=trouble,
            written=value(visit.form, "text"),
            key=secrets.token_urlsafe(16),
            count=await self._broker.count_waiting(),
        )


def _key(visit: Visit) -> str:
    """The key of the form: a browser without scripts sends it twice after a double click."""
    return value(visit.form, "key")[:LONGEST_KEY]


def run_number(visit: Visit) -> int:
    """The run that a path names.

    Raises:
        UnknownRun: if that cannot be one.
    """
    written = visit.params["number"]
    if not (written.isascii() and written.isdigit() and len(written) < 16):
        raise UnknownRun(repr(written[:40]))
    return int(written)
