"""What is found for some words: questions, runs and commands, as a list of links."""

from starlette.responses import HTMLResponse, Response

from upcall.domain.run.run import Run
from upcall.ports.runs import Runs
from upcall.ports.store import Query
from upcall.web.pages.filters import LONGEST
from upcall.web.pages.locales import Words
from upcall.web.pages.run_views import run_view
from upcall.web.pages.site import Site
from upcall.web.pages.visit import Visit

MOST = 6
"""How many of each are listed."""

RUNS_AT_ONCE = 200
PLACES = {
    "/": "nav.inbox",
    "/runs": "nav.runs",
    "/threads": "nav.threads",
    "/history": "nav.history",
    "/rules": "nav.rules",
    "/sessions": "nav.sessions",
    "/help": "help.title",
}
KEYS = {"u": "help.undo", "r": "help.reject", "s": "help.snooze", "e": "help.extend", "/": "help.search"}
"""Keys that act on the question in view; those that answer it are pressed by a person who looks at it."""


class Finding:
    """The handler of `/find`."""

    def __init__(self, site: Site, runs: Runs) -> None:
        self._site = site
        self._store = site.broker.store
        self._runs = runs

    async def find(self, visit: Visit) -> Response:
        """What matches the words: open questions before settled ones, then runs, then commands."""
        # What draws pages is loaded with the first of them.
        from upcall.web.pages.rows import row  # noqa: PLC0415

        text = visit.query("q").strip()[:LONGEST]
        now, sought = self._site.broker.now(), text.casefold().split()
        inquiries = (await self._store.find(Query(state="open", text=text, limit=MOST))).items
        if sought:
            inquiries += (await self._store.find(Query(state="closed", text=text, limit=MOST))).items
        values: dict[str, object] = {
            "text": text,
            "questions": [row(inquiry, visit.words, now) for inquiry in inquiries],
            "runs": [run_view(run) for run in await self._found_runs(sought)],
            "places": _named(PLACES, sought, visit.words),
            "keys": _named(KEYS, sought, visit.words),
        }
        if visit.wants_fragment:
            return HTMLResponse(self._site.part(visit, "found.html", **values))
        return self._site.render(
            visit, "find.html", 200, count=await self._site.broker.count_waiting(), **values
        )

    async def _found_runs(self, sought: list[str]) -> list[Run]:
        found: list[Run] = []
        cursor: str | None = None
        while sought and len(found) < MOST:
            page = await self._runs.find(cursor=cursor, limit=RUNS_AT_ONCE)
            found += [
                run for run in page.items if _fits(sought, f"#{run.number} {run.agent} {run.cwd} {run.task}")
            ]
            cursor = page.next
            if cursor is None:
                break
        return found[:MOST]


def _fits(sought: list[str], text: str) -> bool:
    return all(word in text.casefold() for word in sought)


def _named(names: dict[str, str], sought: list[str], words: Words) -> dict[str, str]:
    said = {key: words.say(name) for key, name in names.items()}
    return {key: name for key, name in said.items() if _fits(sought, name)}
