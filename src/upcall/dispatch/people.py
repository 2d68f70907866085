"""Who may answer in channels. A person is known by ids that a channel never changes, and joins by a one-time code."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from upcall.access.tokens import NAME, digest
from upcall.domain.errors import InvalidRequest, UnknownPerson
from upcall.domain.records import Effects, Record
from upcall.ports.paging import each_record
from upcall.ports.store import Store

PERSON = "person"
IDENTITY = "identity"
CODE = "enrolment"
FAILURES = "enrolment-failures"
CODE_SECONDS = 600.0
MOST_FAILURES = 5
ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without the letters and digits that look like each other."""

CODE_LENGTH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person who may answer; identities are (channel, id there)."""

    name: str
    added_at: float
    identities: tuple[tuple[str, str], ...] = ()


class WrongCode(Exception):
    """No such code, or no longer."""


class Locked(Exception):
    """Too many wrong codes from the same identity."""


class People:
    """The people of one installation."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    async def add(self, name: str, identities: Sequence[tuple[str, str]] = ()) -> str:
        """Let a person answer, or add identities to them, and return a code with which they can add another.

        Raises:
            InvalidRequest: if the name cannot be one, or an identity belongs to another person.
        """
        if not NAME.fullmatch(name):
            raise InvalidRequest(
                f"{name!r} cannot be a person's name", hint="use up to 64 letters, digits and . _ - @"
            )
        for channel, user in identities:
            holder = await self.holder(channel, user)
            if holder not in {None, name}:
                raise InvalidRequest(f"{channel} {user!r} is {holder!r} already")
        code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
        now = self._clock()
        issued = Record(kind=CODE, key=digest(code), at=now, body={"person": name})

        def decide(kept: Record | None) -> Effects:
            person = Person(name=name, added_at=now) if kept is None else _person(kept)
            effects = Effects(records=(issued, _kept(person)))
            for channel, user in identities:
                person = _with(person, channel, user)
                effects += _identified(person, channel, user, now)
            return effects

        await self._store.revise(PERSON, name, decide)
        return code

    async def all(self) -> Sequence[Person]:
        """Every person, by name."""
        people = [_person(record) async for record in each_record(self._store, PERSON)]
        return sorted(people, key=lambda person: person.name)

    async def find(self, name: str) -> Person | None:
        """A person by their name."""
        kept = await self._store.look_up(PERSON, name)
        return None if kept is None else _person(kept)

    async def remove(self, name: str) -> None:
        """Let a person answer no more, at once.

        Raises:
            UnknownPerson: if there is no person of that name.
        """

        def decide(kept: Record | None) -> Effects:
            if kept is None:
                raise UnknownPerson(name)
            theirs = tuple((IDENTITY, _identity(*each)) for each in _person(kept).identities)
            return Effects(forgotten=((PERSON, name), *theirs))

        await self._store.revise(PERSON, name, decide)

    async def holder(self, channel: str, user: str) -> str | None:
        """The name of the person who has this id in a channel."""
        found = await self._store.look_up(IDENTITY, _identity(channel, user))
        return None if found is None else str(found.body["person"])

    async def is_code(self, words: str) -> bool:
        """Whether words are a code that is still good."""
        issued = await self._store.look_up(CODE, digest(words.strip().upper()))
        return issued is not None and self._clock() - issued.at < CODE_SECONDS

    async def enrol(self, code: str, channel: str, user: str) -> str:
        """Add this id in a channel to the person who has the code, and return their name.

        Raises:
            WrongCode: if there is no such code any more.
            Locked: if this id has sent too many wrong ones.
        """
        now = self._clock()
        failures = await self._store.look_up(FAILURES, _identity(channel, user))
        if failures is not None and now - failures.at < CODE_SECONDS and _count(failures) >= MOST_FAILURES:
            raise Locked
        key = digest(code.strip().upper())
        issued = await self._store.look_up(CODE, key)
        name = "" if issued is None else str(issued.body["person"])
        joined = False

        def redeem(kept: Record | None) -> Effects | None:
            nonlocal joined
            joined = kept is not None and now - kept.at < CODE_SECONDS
            return None if kept is None else Effects(forgotten=((CODE, key),))

        await self._store.revise(CODE, key, redeem)
        if not joined or not await self._join(name, channel, user, now):
            await self._store.revise(
                FAILURES, _identity(channel, user), lambda kept: _failed(kept, channel, user, now)
            )
            raise WrongCode
        return name

    async def _join(self, name: str, channel: str, user: str, now: float) -> bool:
        """Whether the person has this identity now: not if they were removed since they got their code."""
        joined = False
        earlier = await self.holder(channel, user)

        def decide(kept: Record | None) -> Effects | None:
            nonlocal joined
            joined = kept is not None
            return (
                None if kept is None else _identified(_with(_person(kept), channel, user), channel, user, now)
            )

        await self._store.revise(PERSON, name, decide)
        if joined and earlier not in {None, name}:
            # In this order an identity always has a holder, and goes with the holder's removal.
            await self._store.revise(PERSON, str(earlier), lambda kept: _without(kept, channel, user))
        return joined


def _identity(channel: str, user: str) -> str:
    return f"{channel}:{user}"


def _with(person: Person, channel: str, user: str) -> Person:
    identities = tuple(dict.fromkeys((*person.identities, (channel, user))))
    return Person(name=person.name, added_at=person.added_at, identities=identities)


def _without(kept: Record | None, channel: str, user: str) -> Effects | None:
    """A person who has lost an identity to another."""
    if kept is None:
        return None
    person = _person(kept)
    left = tuple(each for each in person.identities if each != (channel, user))
    return Effects(records=(_kept(replace(person, identities=left)),))


def _identified(person: Person, channel: str, user: str, now: float) -> Effects:
    known = Record(kind=IDENTITY, key=_identity(channel, user), at=now, body={"person": person.name})
    return Effects(records=(_kept(person), known))


def _kept(person: Person) -> Record:
    body = {"identities": [list(each) for each in person.identities]}
    return Record(kind=PERSON, key=person.name, at=person.added_at, body=body)


def _person(record: Record) -> Person:
    identities = record.body["identities"]
    assert isinstance(identities, list)
    return Person(
        name=record.key,
        added_at=record.at,
        identities=tuple((str(channel), str(user)) for channel, user in identities),
    )


def _failed(kept: Record | None, channel: str, user: str, now: float) -> Effects:
    recent = kept is not None and now - kept.at < CODE_SECONDS
    count = _count(kept) + 1 if kept is not None and recent else 1
    return Effects(
        records=(Record(kind=FAILURES, key=_identity(channel, user), at=now, body={"count": count}),)
    )


def _count(record: Record) -> int:
    return int(str(record.body["count"]))
