"""A desk of a broker on a real store, with a clock that tests move."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from upcall.approvals.desk import ApprovalDesk
from upcall.broker.broker import Broker, Policy
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller, Role
from upcall.domain.run.program import Action
from upcall.ports.store import Event, Query
from upcall.stores.sqlite.store import SqliteStore

AGENT = Caller(name="claude", role=Role.AGENT, run=7)
ANA = Caller(name="ana", role=Role.PERSON)
BEN = Caller(name="ben", role=Role.PERSON)
CWD = "/home/ana/project"


def a_command(command: object = "git push --force", **more: object) -> Action:
    return Action(tool="Bash", input={"command": command, **more}, cwd=CWD)


class Office:
    """A broker with its desks, and people who see what is put to them."""

    def __init__(self, store: SqliteStore, policy: Policy) -> None:
        self.now = 1_800_000_000.0
        self.store = store
        self.broker = Broker(store, policy, clock=lambda: self.now)

    def desk(self, **changes: Any) -> ApprovalDesk:
        """A desk of a session."""
        known: dict[str, Any] = {"caller": AGENT, "session": "s1", "door": "codex", "workspace": CWD}
        return ApprovalDesk(self.broker, **(known | changes))

    async def waiting(self, count: int = 1) -> list[Inquiry]:
        """What is open, once there is so much of it."""
        after = 0
        async with asyncio.timeout(10):
            while True:
                found = (await self.store.find(Query(state="open"))).items
                if len(found) >= count:
                    return list(found)
                events = await self.store.events(after, wait=5)
                after = events[-1].seq if events else after

    async def events(self, kind: str) -> list[Event]:
        """What the log says of a kind."""
        return [event for event in await self.store.events(0) if event.type == kind]


@pytest.fixture
async def open_office(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Opens offices with policies of their own."""
    opened: list[Office] = []

    async def opening(**policy: Any) -> Office:
        store = await SqliteStore.open(tmp_path / f"{len(opened)}.db")
        office = Office(store, Policy(**policy))
        await office.broker.start()
        opened.append(office)
        return office

    yield opening
    for office in opened:
        await office.broker.close()
        await office.store.close()


@pytest.fixture
async def office(open_office: Callable[..., Any]) -> Office:
    """An office with everything as it comes."""
    made: Office = await open_office()
    return made
