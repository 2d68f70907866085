"""Asking back: a person's words reach the call that waits for an answer, and the question stays open."""

from collections.abc import Awaitable, Callable
from functools import partial

from upcall.broker.policy import Policy
from upcall.broker.replies import Settled
from upcall.broker.waiting import Waiters
from upcall.domain.answer.matching import well_formed
from upcall.domain.errors import CannotTell, EmptyAnswer, InvalidRequest
from upcall.domain.inquiry import asking_back
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller, require_person
from upcall.ports.store import Decide, Store, Updated

Update = Callable[[str, Decide], Awaitable[Updated]]


class AskingBack:
    """Takes questions of people to askers, and what those say to them."""

    def __init__(
        self, store: Store, update: Update, waiters: Waiters, policy: Policy, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._update = update
        self._waiters = waiters
        self._policy = policy
        self._clock = clock

    async def ask(self, name: str, words: str, caller: Caller, *, via: str = "api") -> Settled:
        """Ask the asker of an open inquiry something; not accepted if it is settled, or waits for its turn.

        Raises:
            NotAllowed: if the caller is an agent.
            UnknownInquiry: if there is none of that id or ref.
            EmptyAnswer, InvalidRequest: if there is nothing in the words, or too much.
            CannotTell: if the call that waits takes an answer and nothing else.
        """
        require_person(caller, "ask back")
        words = well_formed(words).strip()
        if not words:
            raise EmptyAnswer
        if len(words) > (most := self._policy.limits.reason):
            raise InvalidRequest(f"text: at most {most} characters, got {len(words)}")
        inquiry = await self._store.get(name)
        if self._takes_answers_alone(inquiry):
            raise CannotTell(
                f"the program that asked {inquiry.ref} takes an answer and nothing else",
                hint="answer it, or deny or decline it with your words",
            )
        step = partial(asking_back.ask_back, words=words, by=caller.name, via=via, now=self._clock())
        updated = await self._update(inquiry.id, step)
        return Settled(accepted=updated.applied, inquiry=updated.inquiry)

    async def hear(self, inquiry: Inquiry) -> None:
        """Record that the asker was told."""
        await self._update(inquiry.id, partial(asking_back.hear, now=self._clock()))

    async def reply(self, inquiry: Inquiry, words: str) -> Inquiry:
        """Put what the asker says beside the question."""
        step = partial(asking_back.reply, words=words, now=self._clock())
        return (await self._update(inquiry.id, step)).inquiry

    def _takes_answers_alone(self, inquiry: Inquiry) -> bool:
        if not inquiry.is_open:
            return False
        waits = inquiry.id in self._waiters and not self._waiters.hears(inquiry.id)
        return inquiry.origin.purpose == "permission" or waits
