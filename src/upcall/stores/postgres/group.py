"""One transaction in memory: decisions are made here, between its two round trips.

Members of a group are run in the order in which they were asked for and see what those before them did. Each asks
everything that can refuse it before it changes anything, so one that raises costs the others nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from upcall.domain.errors import UnknownInquiry
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import ANSWER_FILES, Inquiry
from upcall.domain.records import Happening
from upcall.domain.roles import Token
from upcall.ports.store import Added, Decide, Event, Updated
from upcall.stores import codec
from upcall.stores.damage import readable
from upcall.stores.postgres.rows import Found, Row, decode
from upcall.stores.postgres.staged_ledger import Prepared, StagedLedger, prepared
from upcall.stores.postgres.work import (
    Adding,
    Claiming,
    Hastening,
    Issuing,
    Key,
    Outright,
    Pruning,
    Recording,
    Releasing,
    Renewing,
    Revising,
    Revoking,
    Settling,
    Updating,
    UpdatingAll,
    Work,
)
from upcall.stores.several import update_all
from upcall.stores.tail import EVENT_WEIGHT, Logged


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The rows that were read for a group, under the lock that every writer takes first."""

    last_seq: int
    last_number: int
    named: Iterable[Sequence[Any]] = ()
    asked_before: Iterable[Sequence[Any]] = ()
    tokens: Iterable[str] = ()
    records: Iterable[Sequence[Any]] = ()
    done: Mapping[Outright, Any] = field(default_factory=dict)
    wrote: bool = False
    """Whether what was done outright has changed anything."""


class _Step(NamedTuple):
    """An inquiry after a decision, and what is to be written of that; None if nothing is."""

    row: Row
    written: tuple[Happening, str, Prepared, tuple[bytes, ...]] | None = None


class Group:
    """One transaction in memory. `refs` are free refs, one for each inquiry that is added."""

    def __init__(self, known: Known, refs: dict[Adding, str]) -> None:
        self.before = known.last_seq
        self.last_number = known.last_number
        self.log: list[Logged] = []
        self.added: dict[int, tuple[Inquiry, str]] = {}
        self.changed: dict[int, Inquiry] = {}
        self.blobs: list[tuple[str, int, bytes]] = []
        self.tokens: dict[str, Token | None] = {}
        self.ledger = StagedLedger(known.records)
        self._done = known.done
        self._wrote = known.wrote
        self._refs = refs
        self._found = Found(known.named)
        self._keys: dict[Key, str] = {}
        for row in readable(known.asked_before, lambda row: Row(row[0], decode(row[1:]), len(row[-1]))):
            self._remember(row)
        self._token_names = set(known.tokens)

    @property
    def last_seq(self) -> int:
        """The number of the latest event, once this is committed."""
        return self.before + len(self.log)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return self.ledger.is_empty and not (self.log or self.tokens or self._wrote)

    def run(self, work: Work) -> object:
        """Do one piece of work and return what its caller gets; what it raises changes nothing."""
        match work:
            case Adding():
                return self._add(work)
            case Updating(name, decide):
                return self._update(name, decide)
            case UpdatingAll():
                several, rule = work.names, work.decide
                return update_all(several, self._row, lambda row: self._step(row, rule), self._apply)
            case Recording(happening):
                return self._append(happening, codec.dumps(happening.data), None, 0)
            case Revising(kind, key, decide):
                effects = decide(self.ledger.look_up(kind, key))
                if effects is not None:
                    self._write(prepared(effects))
                return self.ledger.look_up(kind, key)
            case Settling(_, effects):
                held = self._done[work]
                if held:
                    self._write(effects)
                return held
            case Pruning() | Hastening() | Releasing() | Claiming() | Renewing():
                return self._done[work]
            case Issuing(token):
                self.tokens[token.name] = token
                self._token_names.add(token.name)
                return None
            case Revoking(name):
                there = name in self._token_names
                if there:
                    self.tokens[name] = None
                    self._token_names.discard(name)
                return there

    def _add(self, work: Adding) -> Added:
        name = None if work.key is None else self._keys.get(work.key)
        earlier = None if name is None else self._found.get(name)
        if earlier is not None and lifecycle.rejoins(earlier.inquiry, work.inquiry, work.inquiry.asked_at):
            return Added(inquiry=earlier.inquiry, created=False)
        inquiry = replace(work.inquiry, ref=self._refs[work])
        happening = lifecycle.asked(inquiry).happening
        data = codec.dumps(happening.data)
        self.last_number += 1
        self.added[self.last_number] = inquiry, work.body
        self.blobs += [(inquiry.id, position, content) for position, content in enumerate(work.blobs)]
        self._remember(Row(self.last_number, inquiry, len(work.body)))
        self._append(happening, data, inquiry, len(work.body))
        self._write(work.effects)
        return Added(inquiry=inquiry, created=True)

    def _update(self, name: str, decide: Decide) -> Updated:
        return self._apply(self._step(self._row(name), decide))

    def _row(self, name: str) -> Row:
        row = self._found.get(name)
        if row is None:
            raise UnknownInquiry(name)
        return row

    def _step(self, row: Row, decide: Decide) -> _Step:
        step = decide(row.inquiry)
        if step is None:
            return _Step(row)
        written = step.happening, codec.dumps(step.happening.data), prepared(step.effects), step.blobs
        return _Step(Row(row.number, step.inquiry, row.size), written)

    def _apply(self, step: _Step) -> Updated:
        row = step.row
        if step.written is None:
            return Updated(inquiry=row.inquiry, applied=False)
        happening, data, effects, blobs = step.written
        if row.number in self.added:
            self.added[row.number] = row.inquiry, self.added[row.number][1]
        else:
            self.changed[row.number] = row.inquiry
        self.blobs += [(row.inquiry.id, at, content) for at, content in enumerate(blobs, ANSWER_FILES)]
        self._found.put(row)
        self._append(happening, data, row.inquiry, row.size)
        self._write(effects)
        return Updated(inquiry=row.inquiry, applied=True)

    def _remember(self, row: Row) -> None:
        self._found.put(row)
        origin = row.inquiry.origin
        if origin.request_key is not None:
            key = (origin.session, origin.purpose, origin.request_key, origin.agent)
            self._keys[key] = row.inquiry.id

    def _write(self, effects: Prepared) -> None:
        self.ledger.write(effects)
        for happening, data in effects.happenings:
            self._append(happening, data, None, 0)

    def _append(self, happening: Happening, data: str, subject: Inquiry | None, size: int) -> Event:
        event = Event(
            seq=self.last_seq + 1,
            type=happening.type,
            inquiry=happening.inquiry if subject is None else subject.id,
            at=happening.at,
            data=happening.data,
            subject=subject,
        )
        self.log.append(Logged(event, data, EVENT_WEIGHT + len(data) + size))
        return event


def _row(values: Sequence[Any]) -> Row:
    return Row(values[0], decode(values[1:]), len(values[-1]))
