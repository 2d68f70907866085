"""Agents and people of a simulated world: they outlive daemons, try again when one is lost, and note what really happened."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from tests.simulation.daemon import CHANNEL, Daemon, Lost
from tests.simulation.facts import Acknowledged, Facts
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.machine import Keeper
from tests.simulation.vendor import PLACE, Vendor
from upcall.access.connected import session_name
from upcall.broker.broker import Reply
from upcall.domain.answer.outcome import outcome
from upcall.domain.channel.showing import Heard, Inbound
from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Answered, Inquiry, Origin
from upcall.domain.inquiry.limits import Limits
from upcall.domain.roles import Caller, Role
from upcall.ports.store import Query

OPTIONS = ["Red", "Blue", "Green"]
PROGRAM = "claude"


class Home:
    """A machine's daemon, whichever process that is now."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.daemon: Daemon | None = None

    async def reached(self) -> Daemon:
        """The daemon, as soon as there is one that replies."""
        while True:
            daemon = self.daemon
            if daemon is not None and daemon.alive and daemon.ready:
                return daemon
            await asyncio.sleep(0.2)


class Session:
    """An agent's session: what its model knows outlives its processes."""

    def __init__(self, name: str, home: Home, questions: int, facts: Facts, random: Random) -> None:
        self.name = name
        self.home = home
        self.questions = questions
        self.known: dict[int, str] = {}
        self.pending: dict[int, str] = {}
        self.is_done = False
        self.leave: Callable[[], None] = lambda: None
        self._facts = facts
        self._random = random

    def supervised(self, keeper: Keeper, told: Mapping[str, Any], loop: VirtualLoop) -> None:
        """Begin a process of a run of this session."""
        loop.let(keeper.process, self._supervised(keeper, told))

    async def _supervised(self, keeper: Keeper, told: Mapping[str, Any]) -> None:
        number, start = keeper.start.run, keeper.start.number
        await self._think()
        keeper.write({"session": self.name})
        await self._think()
        if told["delivers"]:
            # The model reads what it was started with, and speaks.
            keeper.write({"turn": 1})
            self._take_in(told["delivers"], keeper.process.name, str(told["message"]))
        origin = Origin(
            agent=PROGRAM,
            session=self.name,
            door="mcp-pipe",
            run=number,
            runner=f"machine {self.home.number}",
        )
        for at in range(self.questions):
            if at in self.known:
                continue
            inquiry = await self._ask(at, origin, f"{number}.{start}:{at}")
            if inquiry is None:
                # It ends its turn with the question open; the answer resumes it.
                keeper.write({"result": "parked"})
                keeper.end(0)
                return
            keeper.write({"returned": outcome(inquiry).text, "call": ""})
            await self._think()
            keeper.write({"turn": 1})
            self._take_in([inquiry.id], keeper.process.name, outcome(inquiry).text)
            await self._think()
        self.is_done = True
        keeper.write({"result": "done"})
        keeper.end(0)

    async def on_its_own(self, process: Process, loop: VirtualLoop) -> None:
        """A process that a person started: its pipe speaks for its session, and takes answers with an acknowledgement."""
        origin = Origin(
            agent="bot",
            session=self.name,
            door="mcp-pipe",
            program=PROGRAM,
            runner=f"machine {self.home.number}",
            workspace="/",
        )
        loop.let(process, self._stay_connected())
        for at in range(self.questions):
            inquiry = await self._ask(at, origin, f"{process.name}:{at}")
            if inquiry is None:
                continue
            await self._think()
            self._take_in([inquiry.id], process.name, outcome(inquiry).text)
            if isinstance(inquiry.state, Answered):
                await self._acknowledge(inquiry)
        self.is_done = True
        self.leave()

    async def _stay_connected(self) -> None:
        while True:
            daemon = await self.home.reached()
            daemon.held.connect(session_name(PROGRAM, self.name))
            await daemon.gone()

    async def _acknowledge(self, inquiry: Inquiry) -> None:
        while True:
            daemon = await self.home.reached()
            try:
                caller = Caller(name="bot", role=Role.AGENT)
                await daemon.call(daemon.broker.collect(inquiry.id, caller, "acknowledged"))
            except (Lost, UpcallError):
                await asyncio.sleep(0.5)
            else:
                return

    async def _ask(self, at: int, origin: Origin, key: str) -> Inquiry | None:
        """The end of a question: asked again under its key after a crash, or waited for if an earlier process asked it."""
        patience = self._random.choice((1, 1, 1, 3))
        while True:
            daemon = await self.home.reached()
            try:
                if at in self.pending:
                    inquiry = await daemon.call(daemon.store.get(self.pending[at]))
                else:
                    fields: dict[str, object] = {"question": f"{self.name}, {at}?", "options": OPTIONS}
                    keyed = replace(origin, request_key=key)
                    inquiry = (await daemon.call(daemon.broker.ask(draft(fields, Limits()), keyed))).inquiry
                    self.pending[at] = inquiry.id
                    self._facts.asked[f"{self.name}, {at}?"] = inquiry.id
                timeout = self._random.choice((20.0, 300.0))
                inquiry = await daemon.call(daemon.broker.wait(inquiry, timeout))
            except (Lost, UpcallError):
                await asyncio.sleep(0.3)
                continue
            if not inquiry.is_open:
                return inquiry
            patience -= 1
            if patience <= 0:
                return None

    def _take_in(self, inquiries: list[str], process: str, words: str) -> None:
        for name in inquiries:
            self._facts.told[name].append((process, words))
            for at in range(self.questions):
                # A process that was killed as soon as it had asked left no note of that, but the message says it.
                if self.pending.get(at) == name or f"{self.name}, {at}?" in words:
                    self.known[at] = words

    async def _think(self) -> None:
        await asyncio.sleep(self._random.choice((0.01, 0.2, 3.0)))


class Human:
    """Answers what is open: in the inbox of any daemon, or in the channel. Tries again until a reply is certain."""

    def __init__(self, name: str, homes: list[Home], vendor: Vendor, facts: Facts, random: Random) -> None:
        self.name = name
        self._homes = homes
        self._vendor = vendor
        self._facts = facts
        self._random = random
        self._answered: set[str] = set()
        self._count = 0

    async def live(self) -> None:
        """Look, answer, and look again."""
        while True:
            await asyncio.sleep(self._random.expovariate(1 / 15))
            home = self._random.choice(self._homes)
            daemon = home.daemon
            if daemon is None or not daemon.ready:
                continue
            try:
                page = await daemon.call(daemon.store.find(Query(state="open")), within=10.0)
            except (Lost, UpcallError):
                continue
            waiting = [inquiry for inquiry in page.items if inquiry.id not in self._answered]
            if waiting:
                await self._answer(self._random.choice(waiting))

    async def _answer(self, inquiry: Inquiry) -> None:
        self._answered.add(inquiry.id)
        choice = self._random.choice(OPTIONS)
        self._count += 1
        self._facts.given[inquiry.id].add(((choice,),))
        shown = self._facts.posted.get(inquiry.id)
        if shown and self._random.random() < 0.4:
            self._press(inquiry, shown[-1], choice)
            return
        reply = Reply(text=choice, via="web", key=f"{self.name}-{self._count}")
        caller = Caller(name=self.name, role=Role.PERSON)
        while True:
            daemon = self._random.choice(self._homes).daemon
            if daemon is not None and daemon.ready:
                try:
                    settled = await daemon.call(daemon.broker.receive(inquiry.id, reply, caller), within=10.0)
                except (Lost, UpcallError):
                    pass
                else:
                    self._hear(inquiry.id, settled.inquiry, accepted=settled.accepted)
                    return
            await asyncio.sleep(1.0)

    def _press(self, inquiry: Inquiry, message: str, choice: str) -> None:
        async def heard(heard: Heard) -> None:
            if heard.accepted:
                told = Acknowledged(by=self.name, accepted=True, values=((choice,),))
                self._facts.acknowledged[inquiry.id].append(told)
            else:
                # Told that it does not count: if the question is open, it is answered once more.
                self._answered.discard(inquiry.id)

        inbound = Inbound(
            id=f"{self.name}-{self._count}",
            user=f"U{self.name}",
            place=PLACE,
            message=message,
            words=str(OPTIONS.index(choice) + 1),
        )
        self._vendor.done_by(inbound, heard)

    def _hear(self, name: str, after: Inquiry, *, accepted: bool) -> None:
        values = after.state.answer.values if isinstance(after.state, Answered) else None
        told = Acknowledged(by=self.name, accepted=accepted, values=values)
        self._facts.acknowledged[name].append(told)

    @property
    def identity(self) -> tuple[str, str]:
        """How the channel knows this person."""
        return CHANNEL, f"U{self.name}"
