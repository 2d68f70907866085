"""What the picker looks up at the daemon: runs, the history, what is found for some words, and one of them in full."""

import time
from typing import Any

from upcall.cli.client import Client, inquiry_path, run_path, with_query
from upcall.cli.picker.actions import Entry, Look, Read
from upcall.cli.picker.browsing import FIND, HISTORY, QUESTION, RUN, SETTLED, Browsing
from upcall.cli.picker.finding import MOST, entry_text, fits
from upcall.cli.picker.picker import Picker
from upcall.cli.render.details import detail_lines, run_lines
from upcall.cli.render.drawing import drawing_for
from upcall.cli.render.inquiries import resolution, without_secrets
from upcall.cli.render.runs import OVER, ended_line, run_line
from upcall.cli.render.terminal import Paint

LATEST = 50
"""How many rows a list of runs or of the history has."""

RUNS_SEARCHED = 200
PLAIN = Paint(on=False)


def look(client: Client, picker: Picker, wanted: Look | Read, columns: int) -> None:
    """Fetch what is wanted and put it into the list that is open."""
    browsing = picker.browsing
    if browsing is None:
        return
    match wanted:
        case Look(place=place, words=words):
            _fill(client, picker, browsing, place, words.strip())
        case Read(entry=entry):
            browsing.read(_text(client, entry, columns))


def _fill(client: Client, picker: Picker, browsing: Browsing, place: str, words: str) -> None:
    if place == FIND:
        browsing.take(picker.found(words) if not words else _found(client, picker, words))
    elif place == HISTORY:
        page = client.get("/v1/inquiries", state="closed", limit=LATEST)
        browsing.take([_settled(inquiry) for inquiry in page["items"]])
    else:
        browsing.take([_run(run) for run in client.get("/v1/runs", limit=LATEST)["items"]])


def _found(client: Client, picker: Picker, words: str) -> list[Entry]:
    """Questions that wait, as they are known here and as the daemon finds them, settled ones, runs, commands."""
    here = picker.found(words)
    waiting, settled, runs = client.get_each(
        with_query("/v1/inquiries", state="open", q=words, limit=MOST),
        with_query("/v1/inquiries", state="closed", q=words, limit=MOST),
        with_query("/v1/runs", limit=RUNS_SEARCHED),
    )
    questions = [entry for entry in here if entry.kind == QUESTION]
    more = [
        Entry(QUESTION, inquiry["id"], entry_text(inquiry))
        for inquiry in waiting["items"]
        if not inquiry.get("held")
    ]
    questions += [entry for entry in more if entry not in questions]
    fitting = [
        run
        for run in runs["items"]
        if fits(words, f"#{run['number']} {run['agent']} {run['cwd']} {run['task']}")
    ]
    return [
        *questions[:MOST],
        *(_settled(inquiry) for inquiry in settled["items"]),
        *(_run(run) for run in fitting[:MOST]),
        *(entry for entry in here if entry.kind != QUESTION),
    ]


def _settled(inquiry: dict[str, Any]) -> Entry:
    how = resolution(without_secrets(inquiry), time.time())
    return Entry(SETTLED, inquiry["id"], f"{entry_text(inquiry)} ({how})")


def _run(run: dict[str, Any]) -> Entry:
    line = ended_line if run["state"] in OVER else run_line
    return Entry(RUN, str(run["number"]), line(run, time.time(), PLAIN, None).strip())


def _text(client: Client, entry: Entry, columns: int) -> list[str]:
    if entry.kind == SETTLED:
        inquiry = without_secrets(client.get(inquiry_path(entry.name)))
        return detail_lines(inquiry, time.time(), PLAIN, columns)
    run = client.get(run_path(entry.name))
    asked = [client.get(inquiry_path(ref)) for ref in run["inquiries"]]
    return run_lines(run, asked, time.time(), PLAIN, columns, drawing_for(client))
