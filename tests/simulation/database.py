"""What a store keeps, in memory: the state behind `MemoryStore`, changed one atomic step at a time."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from random import Random
from typing import NamedTuple

from upcall.domain.channel.delivery import BY_STATE, WAITING
from upcall.domain.errors import UnknownInquiry, UpcallError
from upcall.domain.inquiry import lifecycle, refs, searching
from upcall.domain.inquiry.inquiry import ANSWER_FILES, Inquiry, Origin
from upcall.domain.records import Effects, Happening, Job, Record
from upcall.domain.roles import Token
from upcall.domain.thread.thread import ITEM
from upcall.ports.store import Added, Decide, Event, Revise, Updated
from upcall.stores import codec
from upcall.stores.ref_lengths import RefLengths
from upcall.stores.several import update_all
from upcall.stores.sqlite.staged import Request, request_of
from upcall.stores.tail import EVENT_WEIGHT, Logged

DAY = 86400


class Kept(NamedTuple):
    """An inquiry, where it stands as lists see it, and when it is due and was closed."""

    number: int
    inquiry: Inquiry
    state: str
    due: float
    closed_at: float | None


class Step(NamedTuple):
    """A decision that was made and can be refused no more."""

    kept: Kept
    written: tuple[Happening, "Prepared", tuple[bytes, ...]] | None


class Prepared(NamedTuple):
    """Effects as they are kept: what is no JSON was refused by now."""

    records: list[Record]
    forgotten: Sequence[tuple[str, str]]
    jobs: list[Job]
    dropped: Sequence[str]
    happenings: list[tuple[Happening, str]]


class Database:
    """Everything that survives a crash. Each method is a transaction and returns with what it has logged."""

    def __init__(self, clock: Callable[[], float], random: Random) -> None:
        self.clock = clock
        self.inquiries: dict[str, Kept] = {}
        self.log: list[Logged] = []
        self.records: dict[tuple[str, str], Record] = {}
        self.jobs: dict[str, Job] = {}
        self.holders: dict[str, str] = {}
        self.tokens: dict[str, Token] = {}
        self.blobs: dict[tuple[str, int], bytes] = {}
        self.words: dict[str, list[str]] = {}
        self.unindexed: dict[str, None] = {}
        self.last_seq = 0
        self._last_number = 0
        self._fence = 0
        self._requests: dict[Request, str] = {}
        self._refs: dict[str, str] = {}
        self._lengths = RefLengths()
        self._random = random
        self._logged: list[Logged] = []

    def taken_log(self) -> list[Logged]:
        """The events of the latest transaction."""
        logged, self._logged = self._logged, []
        return logged

    def locate(self, name: str) -> Kept:
        """The inquiry with this id or ref."""
        found = self.inquiries.get(name) or self.inquiries.get(self._refs.get(name, ""))
        if found is None:
            raise UnknownInquiry(name)
        return found

    def requested(self, origin: Origin) -> Inquiry | None:
        """The latest inquiry of a request."""
        request = request_of(origin)
        found = None if request is None else self._requests.get(request)
        return None if found is None else self.inquiries[found].inquiry

    def add(self, inquiry: Inquiry, blobs: Sequence[bytes], effects: Effects) -> Added:
        """Keep a new inquiry, or find the one that it asks for again."""
        codec.refuse_broken_text(inquiry)
        request = request_of(inquiry.origin)
        if request is not None and request in self._requests:
            earlier = self.inquiries[self._requests[request]].inquiry
            if lifecycle.rejoins(earlier, inquiry, inquiry.asked_at):
                return Added(inquiry=earlier, created=False)
        prepared = _prepared(effects)
        inquiry = replace(inquiry, ref=self._free_ref())
        self._last_number += 1
        self._refs[inquiry.ref] = inquiry.id
        if request is not None:
            self._requests[request] = inquiry.id
        self._keep(self._last_number, inquiry, enumerate(blobs))
        self._say(lifecycle.asked(inquiry).happening, inquiry)
        self._write(prepared)
        return Added(inquiry=inquiry, created=True)

    def update(self, name: str, decide: Decide) -> Updated:
        """Decide on an inquiry as it is."""
        return self._apply(self._step(self.locate(name), decide))

    def update_all(self, names: Sequence[str], decide: Decide) -> list[Updated | UpcallError]:
        """Decide on several."""
        return update_all(names, self.locate, lambda kept: self._step(kept, decide), self._apply)

    def record(self, happening: Happening) -> Event:
        """Write an event about no inquiry."""
        return self._say(happening, None)

    def revise(self, kind: str, key: str, decide: Revise) -> Record | None:
        """Decide on a record as it is."""
        effects = decide(self.records.get((kind, key)))
        if effects is not None:
            self._write(_prepared(effects))
        return self.records.get((kind, key))

    def claim(
        self, holder: str, kinds: Sequence[str], runner: str, now: float, lease: float, limit: int
    ) -> list[Job]:
        """Claim due jobs for a process."""
        found = [job for job in self._of(kinds, runner) if job.due <= now]
        claimed: list[Job] = []
        for job in sorted(found, key=lambda job: (job.due, job.id))[:limit]:
            self._fence += 1
            self.jobs[job.id] = replace(job, due=now + lease, fence=self._fence)
            self.holders[job.id] = holder
            claimed.append(self.jobs[job.id])
        return claimed

    def settle(self, job: Job, effects: Effects) -> bool:
        """Settle a job that is still held."""
        prepared = _prepared(effects)
        if not self._holds(job):
            return False
        del self.jobs[job.id]
        self._write(prepared)
        return True

    def renew(self, holder: str, job: Job, until: float) -> bool:
        """Hold a job for longer."""
        if not self._holds(job):
            return False
        self.jobs[job.id] = replace(self.jobs[job.id], due=until)
        self.holders[job.id] = holder
        return True

    def release(self, gone: Callable[[str], bool], due: float) -> int:
        """End the leases of the processes that are gone."""
        ended = [name for name, holder in self.holders.items() if name in self.jobs and gone(holder)]
        for name in ended:
            self.jobs[name] = replace(self.jobs[name], due=min(self.jobs[name].due, due))
            del self.holders[name]
        return len(ended)

    def about(self, kind: str, subject: str) -> list[Job]:
        """The jobs about a subject."""
        found = [job for job in self.jobs.values() if (job.kind, job.subject) == (kind, subject)]
        return sorted(found, key=lambda job: (job.due, job.id))

    def hasten(self, kind: str, subject: str, due: float) -> int:
        """Make jobs due no later than that."""
        found = self.about(kind, subject)
        for job in found:
            self.jobs[job.id] = replace(job, due=min(job.due, due))
        return len(found)

    def next_due(self, kinds: Sequence[str], runner: str) -> float | None:
        """When there is the next job to claim."""
        return min((job.due for job in self._of(kinds, runner)), default=None)

    def index_words(self, limit: int) -> int:
        """Index the words of the latest changes."""
        names = list(islice(reversed(self.unindexed), limit))
        for name in names:
            del self.unindexed[name]
            self.words[name] = searching.words_of(self.inquiries[name].inquiry)
        return len(names)

    def prune(self, before: float, limit: int) -> tuple[list[str], int]:
        """Forget what is old: the ids of the inquiries, and how many events."""
        old = [
            kept for kept in self.inquiries.values() if kept.closed_at is not None and kept.closed_at < before
        ]
        names = [kept.inquiry.id for kept in sorted(old, key=lambda kept: kept.closed_at or 0.0)[:limit]]
        for name in names:
            self._forget(name)
        looked_at = self.log[: limit + 1]
        young = next((entry.event.seq for entry in looked_at if entry.event.at >= before), None)
        first = young if young is not None else (looked_at[-1].event.seq if looked_at else 0)
        left = [entry for entry in self.log if entry.event.seq >= first]
        pruned, self.log = len(self.log) - len(left), left
        return names, pruned

    def _forget(self, name: str) -> None:
        kept = self.inquiries.pop(name)
        self.words.pop(name, None)
        self.unindexed.pop(name, None)
        if self._refs.get(kept.inquiry.ref) == name:
            del self._refs[kept.inquiry.ref]
        if (request := request_of(kept.inquiry.origin)) is not None and self._requests.get(request) == name:
            del self._requests[request]
        self.blobs = {at: content for at, content in self.blobs.items() if at[0] != name}
        self.records = {
            at: record
            for at, record in self.records.items()
            if not (at[0] in BY_STATE and record.state == name)
            and not (at[0] == WAITING and at[1].startswith(f"{name}:"))
        }

    def _of(self, kinds: Sequence[str], runner: str) -> list[Job]:
        return [job for job in self.jobs.values() if job.kind in kinds and job.runner in {"", runner}]

    def _holds(self, job: Job) -> bool:
        known = self.jobs.get(job.id)
        return known is not None and known.fence == job.fence

    def _step(self, kept: Kept, decide: Decide) -> Step:
        change = decide(kept.inquiry)
        if change is None:
            return Step(kept, None)
        codec.dumps(change.happening.data)
        after = _kept(kept.number, change.inquiry)
        return Step(after, (change.happening, _prepared(change.effects), change.blobs))

    def _apply(self, step: Step) -> Updated:
        kept, written = step
        if written is None:
            return Updated(inquiry=kept.inquiry, applied=False)
        happening, prepared, blobs = written
        self._keep(kept.number, kept.inquiry, enumerate(blobs, ANSWER_FILES))
        self._say(happening, kept.inquiry)
        self._write(prepared)
        return Updated(inquiry=kept.inquiry, applied=True)

    def _keep(self, number: int, inquiry: Inquiry, blobs: "enumerate[bytes]") -> None:
        self.inquiries[inquiry.id] = _kept(number, inquiry)
        self.unindexed.pop(inquiry.id, None)
        self.unindexed[inquiry.id] = None
        self.blobs |= {(inquiry.id, at): content for at, content in blobs}

    def _write(self, prepared: Prepared) -> None:
        for name in prepared.forgotten:
            self.records.pop(name, None)
        for record in prepared.records:
            self.records[record.kind, record.key] = record
        for dropped in prepared.dropped:
            self.jobs.pop(dropped, None)
        for job in prepared.jobs:
            self._fence += 1
            self.jobs[job.id] = replace(job, fence=self._fence)
            self.holders.pop(job.id, None)
        for happening, _ in prepared.happenings:
            self._say(happening, None)

    def _say(self, happening: Happening, subject: Inquiry | None) -> Event:
        data = codec.dumps(happening.data)
        self.last_seq += 1
        event = Event(
            seq=self.last_seq,
            type=happening.type,
            inquiry=happening.inquiry if subject is None else subject.id,
            at=happening.at,
            data=happening.data,
            subject=subject,
        )
        logged = Logged(event, data, EVENT_WEIGHT + len(data))
        self.log.append(logged)
        self._logged.append(logged)
        return event

    def items(self, thread: str) -> list[Event]:
        """The items of a thread."""
        return [
            entry.event
            for entry in self.log
            if entry.event.type == ITEM and str(entry.event.data["thread"]) == thread
        ]

    def _free_ref(self) -> str:
        now = self.clock()
        while True:
            for ref in islice(refs.candidates(self._random, self._lengths.start(now)), 16):
                known = self.inquiries.get(self._refs.get(ref, ""))
                if known is None or (
                    known.closed_at is not None and known.closed_at <= now - refs.REF_REST_DAYS * DAY
                ):
                    return ref
            self._lengths.grow()


def _kept(number: int, inquiry: Inquiry) -> Kept:
    state, due, closed_at, _ = codec.state_columns(inquiry)
    return Kept(number, inquiry, state, due, closed_at)


def _prepared(effects: Effects) -> Prepared:
    return Prepared(
        [replace(record, body=_json(record.body)) for record in effects.records],
        effects.forgotten,
        [replace(job, body=_json(job.body)) for job in effects.jobs],
        effects.dropped,
        [(happening, codec.dumps(happening.data)) for happening in effects.happenings],
    )


def _json(body: Mapping[str, object]) -> Mapping[str, object]:
    read: Mapping[str, object] = json.loads(codec.dumps(body))
    return read
