"""Starting a run once for each key: a request that is sent again, because its reply was lost, gets the same run."""

import hashlib
import json
from typing import NamedTuple

from upcall.domain.errors import KeyConflict, UnknownRun
from upcall.domain.records import Effects, Record
from upcall.domain.roles import Caller
from upcall.domain.run.run import Order, Run, became
from upcall.ports.store import Ledger
from upcall.runs.book import Book

KIND = "run_key"
LONGEST_KEY = 200


class Begun(NamedTuple):
    """A run, and whether this request has started it: a request that is sent again has not."""

    run: Run
    created: bool


def key_of(by: Caller, request_key: str) -> str:
    """What a key is called in the ledger: two people may use the same one."""
    return f"{by.name}:{request_key}"


async def run_under(ledger: Ledger, book: Book, by: Caller, order: Order) -> Run | None:
    """The run that was started under the key of this order; None if there is none, or it is forgotten.

    Raises:
        KeyConflict: if the key was used for something else.
    """
    if not order.request_key:
        return None
    kept = await ledger.look_up(KIND, key_of(by, order.request_key))
    if kept is None:
        return None
    if kept.body["digest"] != _digest(order):
        raise KeyConflict(order.request_key)
    try:
        return await book.get(int(str(kept.body["run"])))
    except UnknownRun:
        return None


async def enter_once(ledger: Ledger, book: Book, run: Run, by: Caller, order: Order) -> bool:
    """Keep a new run and its key in one step; False if another request with that key came first."""
    if not order.request_key:
        await book.enter(run)
        return True
    name, at = key_of(by, order.request_key), run.created_at
    known = Record(
        kind=KIND, key=name, state=str(run.number), at=at, body={"run": run.number, "digest": _digest(order)}
    )
    forgotten = await run_under(ledger, book, by, order) is None
    before = await ledger.look_up(KIND, name) if forgotten else None

    def decide(kept: Record | None) -> Effects | None:
        if kept is not None and (before is None or kept.body != before.body):
            return None
        return became(run, f"run_{run.state.value}", at) + Effects(records=(known,))

    kept = await ledger.revise(KIND, name, decide)
    return kept is not None and kept.body["run"] == run.number


def _digest(order: Order) -> str:
    """What must be the same when a key is used again. The environment may differ from one shell to the next."""
    said = [order.agent, order.task.strip(), order.cwd, order.permission, order.arguments]
    return hashlib.sha256(json.dumps(said).encode("utf-8", "replace")).hexdigest()
