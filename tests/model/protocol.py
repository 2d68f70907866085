"""A model of one question: an agent's session asks, people answer, daemons on one store hand the answer over or resume the session.

Anything can be killed between two steps. Each step is one transaction of the store, or one thing that a process does alone. A
`Flaw` leaves out one of the rules that the code follows, to show that the rule is needed and that the exploration would notice.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

from tests.model.explorer import Step

EXPIRED = "expired"
PEOPLE = ("ana", "ben")


class Flaw(Enum):
    """A rule that is left out."""

    NONE = "nothing"
    KEY = "a request that is sent again is another question"
    FIRST = "a later answer replaces an earlier one"
    TOGETHER = "the resume job is written after the answer, in a transaction of its own"
    EVIDENCE = "what was written to the connection counts as received"
    LOCK = "a session is started without its lock"
    FENCE = "a session is started without a look at the fence"
    TIMEOUT = "an expired question counts as a yes"


class Daemon(NamedTuple):
    """What a daemon has in memory. `claim` is the fence of the resume job that it works on, `ready` that it has lock and fence."""

    up: bool = True
    waits: bool = False
    claim: int = 0
    ready: bool = False
    owes: bool = False


class State(NamedTuple):
    """The store, the session's process, its connection, the daemons, and how much may still go wrong."""

    # The store: the outcome of the question, and of which answer people were told that it stands.
    asked: int = 0
    outcome: str = ""
    accepted: tuple[str, ...] = ()
    collected: bool = False
    job: str = ""
    holder: int = -1
    fence: int = 0
    # The processes of the session: how many live, and what the latest knows. `used` is what it goes on with, and `again` says
    # that it was started with an answer that it had.
    alive: int = 1
    told: str = ""
    used: str = ""
    is_over: bool = False
    again: bool = False
    # The connection to a daemon, whether the request was sent on it, and the reply that is on its way.
    wire: int = -1
    sent: bool = False
    reply: str = ""
    daemons: tuple[Daemon, ...] = (Daemon(), Daemon())
    crashes: int = 0
    delays: int = 0

    def at(self, number: int, **changes: Any) -> "State":
        """With a daemon changed."""
        daemon = self.daemons[number]._replace(**changes)
        return self._replace(daemons=(*self.daemons[:number], daemon, *self.daemons[number + 1 :]))


class Model:
    """What can happen, with so many crashes and so many leases that end too early."""

    def __init__(self, flaw: Flaw = Flaw.NONE) -> None:
        self._flaw = flaw

    def start(self, crashes: int, delays: int, daemons: int = 2) -> State:
        """A session that is about to ask."""
        return State(crashes=crashes, delays=delays, daemons=(Daemon(),) * daemons)

    def steps(self, state: State) -> Iterator[Step[State]]:
        """What can happen next."""
        yield from self._agent(state)
        for number, daemon in enumerate(state.daemons):
            if daemon.up:
                yield from self._people(state, number)
                yield from self._delivery(state, number, daemon)
                yield from self._resume(state, number, daemon)
        yield from self._trouble(state)

    def _agent(self, it: State) -> Iterator[Step[State]]:
        if not it.alive:
            return
        if not it.told and it.wire < 0:
            for number, daemon in enumerate(it.daemons):
                if daemon.up:
                    yield Step(name=f"connect to {number}", after=it._replace(wire=number, sent=False))
        if not it.told and it.wire >= 0 and not it.sent:
            asked = it.asked + (it.asked == 0 or self._flaw is Flaw.KEY)
            yield Step(name="ask", after=it._replace(asked=asked, sent=True).at(it.wire, waits=True))
        if it.reply and not it.told:
            yield Step(name="read the reply", after=it._replace(told=it.reply, reply="", used=it.reply))
        is_heard = it.told == EXPIRED or any(daemon.up for daemon in it.daemons)
        if it.told and not it.is_over and is_heard:
            yield Step(name="say the next thing", after=self._heard(it)._replace(is_over=True))
        if it.is_over:
            gone = it._replace(alive=0, told="", wire=-1, sent=False, reply="", is_over=False)
            yield Step(name="the session ends", after=gone)

    def _heard(self, it: State) -> State:
        return it if it.told == EXPIRED else it._replace(collected=True, job="", holder=-1)

    def _people(self, it: State, number: int) -> Iterator[Step[State]]:
        if not it.asked:
            return
        for name in PEOPLE:
            if not it.outcome or (self._flaw is Flaw.FIRST and it.outcome != name and not it.collected):
                answered = it._replace(outcome=name, accepted=(*it.accepted, name))
                if self._flaw is Flaw.TOGETHER:
                    yield Step(name=f"{name} answers", after=answered.at(number, owes=True), certain=False)
                else:
                    yield Step(name=f"{name} answers", after=answered._replace(job="due"), certain=False)
        if not it.outcome:
            yield Step(name="expire", after=it._replace(outcome=EXPIRED))

    def _delivery(self, it: State, number: int, daemon: Daemon) -> Iterator[Step[State]]:
        if daemon.owes:
            yield Step(name="write the job", after=it._replace(job="due").at(number, owes=False))
        if daemon.waits and it.wire == number and it.outcome and it.alive:
            outcome = PEOPLE[0] if it.outcome == EXPIRED and self._flaw is Flaw.TIMEOUT else it.outcome
            handed = it._replace(reply=outcome).at(number, waits=False)
            if self._flaw is Flaw.EVIDENCE and it.outcome != EXPIRED:
                handed = handed._replace(collected=True, job="", holder=-1)
            yield Step(name="hand over", after=handed)

    def _resume(self, it: State, number: int, daemon: Daemon) -> Iterator[Step[State]]:
        if it.job == "due" and not it.alive and not daemon.claim:
            fence = it.fence + 1
            claimed = it._replace(job="claimed", holder=number, fence=fence)
            yield Step(name=f"{number} claims", after=claimed.at(number, claim=fence))
        if not daemon.claim:
            return
        if not daemon.ready:
            is_mine = (it.job == "claimed" and it.fence == daemon.claim) or self._flaw is Flaw.FENCE
            is_free = self._flaw is Flaw.LOCK or not (it.alive or any(each.ready for each in it.daemons))
            done = {"ready": True} if is_mine and is_free else {"claim": 0}
            yield Step(name=f"{number} takes the lock", after=it.at(number, **done))
        else:
            begun = it._replace(alive=it.alive + 1, told=it.outcome, used=it.outcome, again=it.collected)
            yield Step(name=f"{number} starts the session", after=begun.at(number, claim=0, ready=False))

    def _trouble(self, it: State) -> Iterator[Step[State]]:
        for number, daemon in enumerate(it.daemons):
            if not daemon.up:
                yield Step(name=f"{number} comes up", after=it.at(number, up=True))
            elif it.crashes:
                down = it._replace(crashes=it.crashes - 1)
                down = down._replace(wire=-1, sent=False) if it.wire == number else down
                down = down.at(number, up=False, waits=False, claim=0, ready=False, owes=False)
                yield Step(name=f"{number} is killed", after=down, certain=False)
                if it.reply and it.wire == number:
                    yield Step(
                        name=f"{number} is killed, its reply lost",
                        after=down._replace(reply=""),
                        certain=False,
                    )
        if it.alive and it.crashes and not it.is_over:
            dead = it._replace(alive=0, told="", wire=-1, sent=False, reply="", crashes=it.crashes - 1)
            yield Step(name="the agent is killed", after=dead, certain=False)
        if it.job == "claimed":
            holder = it.daemons[it.holder]
            works = holder.up and holder.claim == it.fence
            freed = it._replace(job="due", holder=-1)
            if not works and not it.alive and not any(daemon.ready for daemon in it.daemons):
                yield Step(name="the lease ends", after=freed)
            elif works and it.delays:
                slow = freed._replace(delays=it.delays - 1)
                yield Step(name="the lease ends too early", after=slow, certain=False)


def always(state: State) -> Iterator[str]:
    """The promises that a state breaks by itself."""
    if state.asked > 1:
        yield "nothing is asked twice"
    if len(state.accepted) > 1:
        yield "the first answer wins"
    if state.used and state.used != EXPIRED and state.used not in state.accepted:
        yield "silence is never consent"
    if state.alive > 1:
        yield "a session never has two processes"
    if state.again:
        yield "no session is started for an answer that it has"


def in_the_end(state: State) -> Iterator[str]:
    """The promise that is broken where nothing more is certain to happen."""
    is_answered = state.outcome in PEOPLE
    if is_answered and not (state.collected and state.used == state.outcome):
        yield "no answer is lost"
