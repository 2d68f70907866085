"""Correcting an answer that an agent has: it is told as a message, to its run or in its thread, and recorded."""

from dataclasses import dataclass

from upcall.broker.broker import Broker
from upcall.broker.threads import Threads, Words
from upcall.domain.answer import correction
from upcall.domain.answer.matching import well_formed
from upcall.domain.errors import EmptyAnswer, InvalidRequest, PromptPending, RunConflict, UnknownRun
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller, require_person
from upcall.ports.runs import Runs

THREAD, REPEATED = "thread", "repeated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """The inquiry, and how its agent hears of the correction: `live`, `queued` or `resumed` by its run, or in its `thread`.

    A request that was sent again tells nothing anew (`repeated`).
    """

    inquiry: Inquiry
    to: str
    run: int | None = None


class Corrections:
    """Tells agents corrections."""

    def __init__(self, broker: Broker, threads: Threads, runs: Runs) -> None:
        self._broker = broker
        self._threads = threads
        self._runs = runs

    async def correct(
        self, name: str, words: str, caller: Caller, *, via: str = "api", key: str = ""
    ) -> Corrected:
        """Tell the agent of an answered inquiry that the answer was wrong, and what is right.

        Raises:
            NotAllowed: if the caller is an agent.
            UnknownInquiry: if there is none of that id or ref.
            NotAnswered: if it has no answer.
            EmptyAnswer, InvalidRequest: if there is nothing in the correction, or too much.
            CannotTell: if the agent takes no messages.
            PromptPending: if another question of its thread is open, and comes first.
        """
        require_person(caller, "correct an answer")
        inquiry = await self._broker.get(name, caller)
        words = well_formed(words).replace("\0", "").strip()
        most = self._broker.policy.limits.reason
        if not words:
            raise EmptyAnswer
        if len(words) > most:
            raise InvalidRequest(f"text: at most {most} characters, got {len(words)}")
        correction.check(inquiry)
        told = await self._tell(inquiry, correction.message(inquiry, words, caller.name), caller, via, key)
        if told.to == REPEATED:
            return told
        now, to = self._broker.now(), told.to
        await self._broker.store.update(
            inquiry.id,
            lambda it: correction.corrected(it, words, by=caller.name, via=via, to=to, now=now),
        )
        return told

    async def _tell(self, inquiry: Inquiry, message: str, caller: Caller, via: str, key: str) -> Corrected:
        run = await self._run(inquiry)
        if run is not None:
            try:
                return Corrected(inquiry=inquiry, to=await self._runs.say(run, message, caller, key), run=run)
            except (RunConflict, UnknownRun):
                raise correction.cannot_tell(inquiry) from None
        if (thread := inquiry.origin.thread) is None:
            raise correction.cannot_tell(inquiry)
        # Words for this answer: they answer no other question that is open by now.
        posted = await self._threads.post(thread, caller, Words(text=message, seen="", key=key, via=via))
        if posted.item is None:
            raise PromptPending(thread)
        return Corrected(inquiry=inquiry, to=THREAD)

    async def _run(self, inquiry: Inquiry) -> int | None:
        """The run that asked, or the one that the session was brought back as."""
        if inquiry.origin.run is not None:
            return inquiry.origin.run
        resumed = (await self._runs.resume_state(inquiry.id) or {}).get("run")
        return resumed if isinstance(resumed, int) else None
