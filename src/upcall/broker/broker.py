"""Between those who ask and those who answer: ask, wait, receive, withdraw, expire.

The broker knows neither HTTP nor MCP nor SQL. It builds inquiries, hands the domain's decisions to the store,
and wakes the waiting calls when the store's log says that something was settled.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from upcall.broker.answer_files import AnswerFiles
from upcall.broker.asking_back import AskingBack
from upcall.broker.bulk import Bulk
from upcall.broker.decisions import Answering, declining, snoozing, undoing
from upcall.broker.edited_actions import edited
from upcall.broker.expiry import Expiry
from upcall.broker.heartbeat import Heartbeat, end_the_past
from upcall.broker.ids import Ids
from upcall.broker.pacing import Pacing
from upcall.broker.placing import Placing
from upcall.broker.plans import prepared
from upcall.broker.policy import DEFAULTS, Policy
from upcall.broker.repeats import Repeats, Scope
from upcall.broker.replies import Reply, Settled, settled
from upcall.broker.thread_queue import ThreadQueue
from upcall.broker.waiting import Waiters, is_asked, is_heard
from upcall.domain.approval import consent
from upcall.domain.consequences import FollowUp, both, nothing_more
from upcall.domain.errors import KeyConflict, NotAllowed, UnknownInquiry, UpcallError
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.asking import Draft
from upcall.domain.inquiry.inquiry import (
    Answered,
    Cancelled,
    Change,
    Closing,
    Failed,
    Inquiry,
    Origin,
    Rejected,
)
from upcall.domain.records import Happening
from upcall.domain.roles import Caller, Role, require_person
from upcall.domain.run.run import KIND as RUN
from upcall.domain.thread import prompts
from upcall.ports.store import Added, Decide, Event, Page, Query, Store, Updated

__all__ = ["Broker", "Policy", "Reply", "Settled"]


class Broker:
    """One per process. Start it with `start` before use and end it with `close`.

    Where other processes use the same store, `installation` is what this one is called among them. `copies` is where the
    files of an answer are written for the agent that waits for it.
    """

    def __init__(
        self,
        store: Store,
        policy: Policy = DEFAULTS,
        *,
        pacing: Pacing | None = None,
        follow_up: FollowUp = nothing_more,
        installation: str = "",
        copies: Callable[[Inquiry], Path] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.store = store
        self.policy = policy
        self.files = AnswerFiles(store, copies)
        self._pacing = pacing or Pacing()
        clock = self._clock = clock or store.now
        self._waiters = Waiters(store)
        self.repeats = Repeats(store, clock, self._waiters)
        self._follow_up = follow_up = both(prompts.consequences, follow_up)
        self._heartbeat: Heartbeat | None = None
        if installation:
            self._heartbeat = Heartbeat(store, self._update, installation, policy.on_restart)
            if policy.on_restart != "keep":
                self._follow_up = both(follow_up, self._heartbeat.follow_up)
        self._expiry = Expiry(store, clock, self._update)
        self.thread_queue = ThreadQueue(
            store,
            self._update,
            clock,
            self._expiry.expect,
            rules=policy.threads,
            permission=policy.permission,
        )
        self.bulk = Bulk(policy, clock, self._asker, self._update_all)
        self.back = AskingBack(store, self._update, self._waiters, policy, clock)
        self._placing = Placing()
        self.ids = Ids()
        self.closing = asyncio.Event()

    async def start(self) -> None:
        """Begin to listen to the log and to let inquiries expire."""
        if self._heartbeat is None:
            await end_the_past(self.store, self._update, self.policy.on_restart)
        else:
            await self._heartbeat.start()
        await self._waiters.start()
        await self._expiry.start()
        await self.thread_queue.start()

    async def close(self) -> None:
        """Settle every waiter with its inquiry as it stands, then stop. The store is not closed."""
        self.closing.set()
        await self._waiters.close()
        await self.thread_queue.close()
        await self._expiry.close()
        if self._heartbeat is not None:
            await self._heartbeat.close()

    async def ask(
        self, draft: Draft, origin: Origin, *, named_session: bool = False, scope: Scope | None = None
    ) -> Added:
        """Put a question, or rejoin the same one asked before under the same key, or in the same scope.

        Raises:
            KeyConflict: if the key was used for another question.
            RateLimited: if this agent asks too much.
            UnknownThread, QuestionNotAlone, NoApprovalNeeded: see `ThreadQueue.enter`.
        """
        now = self._clock()
        self._pacing.spend(origin.agent, now)
        draft = await prepared(draft, origin, self.store, self.policy)
        origin = await self._placing.placed(origin)
        if scope and (earlier := await self.repeats.standing_for(origin, scope, draft.digest)):
            return Added(inquiry=earlier, created=False)
        self._pacing.attach(origin.agent, sum(len(upload.content) for upload in draft.uploads), now)
        if origin.thread is not None:
            await self.thread_queue.enter(origin, draft.kind)
        if named_session:
            looping = self._pacing.repeated(origin, draft.digest, now, approval=draft.kind.is_consent)
            if looping is not None:
                return Added(inquiry=await self.store.get(looping), created=False)
        inquiry = self.policy.inquiry(self.ids.next(int(now * 1000)), draft, origin, now)
        effects = self._follow_up(lifecycle.asked(inquiry)) + self.repeats.remembered(inquiry, scope)
        added = await self.store.add(inquiry, [upload.content for upload in draft.uploads], effects)
        if added.inquiry.origin.run != origin.run:
            raise KeyConflict(str(origin.request_key))  # used by another run: that question is not ours
        if added.created:
            if named_session:
                self._pacing.asked(origin, draft.digest, added.inquiry.id, now)
            self._expiry.expect(added.inquiry.expires_at)
        if origin.thread is not None:
            await self.thread_queue.go_on(origin.thread)
            return replace(added, inquiry=await self.store.get(added.inquiry.id))
        return added

    async def wait(self, inquiry: Inquiry, timeout: float | None = None, *, hears: bool = False) -> Inquiry:
        """The inquiry once it is settled, or as it stands after `timeout` seconds or when the broker closes.

        A call that `hears` returns as well when a person asks back.
        """
        if hears:
            return await self.files.laid_out(await self._waiters.wait(inquiry, timeout, is_heard))
        return await self.files.laid_out(await self._waiters.wait(inquiry, timeout))

    async def wait_in_line(self, inquiry: Inquiry, timeout: float | None = None) -> Inquiry:
        """The inquiry once it is its turn in its thread, or settled, or as it stands after `timeout` seconds."""
        return await self._waiters.wait(inquiry, timeout, is_asked)

    def is_awaited(self, inquiry: str) -> bool:
        """Whether a call waits for the inquiry of this id at this daemon."""
        return inquiry in self._waiters

    async def get(self, name: str, caller: Caller) -> Inquiry:
        """An inquiry by id or ref, if the caller may see it.

        Raises:
            UnknownInquiry: if there is none, or it is another agent's.
        """
        inquiry = await self.store.get(name)
        if not caller.may_see(inquiry):
            raise UnknownInquiry(name)
        return inquiry

    async def count_waiting(self) -> int:
        """How many open inquiries wait for a person now: a snoozed one does not."""
        return await self.store.count_open(self.now())

    async def find(self, query: Query, caller: Caller) -> Page:
        """A page of the inquiries that the caller may see; a run has its own, whichever it asks for."""
        own = replace(query, agent=caller.name, run=caller.run or query.run)
        return await self.store.find(query if caller.is_person else own)

    async def receive(self, name: str, reply: Reply, caller: Caller) -> Settled:
        """Take a person's answer. The first one wins; any other is told the one that stands.

        Raises:
            NotAllowed: if the caller is an agent.
            UnknownInquiry: if there is none of that id or ref.
            EmptyAnswer: if there is nothing in it.
            UnreadableAnswer: if it is none of the choices and free text is not allowed.
            NotItsTurn: if another question of its thread comes first.
            NotEditable: if its action is edited, and cannot be, or not like this.
            EditDenied: if a person has denied the edited action before.
        """
        require_person(caller, "answer")
        edit, now = await edited(self.store, name, reply.input, self._clock()), self._clock()
        closing = Closing(by=caller.name, via=reply.via, at=now, key=reply.key)
        closing = closing if edit is None else replace(closing, edited=edit.digest)
        barred = None if self.policy.asker_may_approve else (await self._asker(name))[1]
        decide = Answering(
            reply=reply,
            caller=caller,
            closing=closing,
            policy=self.policy,
            barred=lambda _: barred,
            rule="" if reply.remember is None else f"r{secrets.token_hex(4)}",
            edit=edit,
        )
        return settled(await self._update(name, decide), closing, Answered)

    async def reject(
        self,
        name: str,
        caller: Caller,
        *,
        reason: str | None = None,
        via: str = "api",
        key: str | None = None,
        hold: float = 0.0,
    ) -> Settled:
        """Decline to answer, on a person's behalf; with `hold`, it can be undone for so many seconds.

        Raises:
            NotAllowed: if the caller is an agent.
            UnknownInquiry: if there is none of that id or ref.
        """
        require_person(caller, "reject")
        closing = Closing(
            by=caller.name, via=via, at=self._clock(), reason=self.policy.reason(reason), key=key
        )

        return settled(await self._update(name, declining(closing, hold)), closing, Rejected)

    async def undo(self, name: str, caller: Caller) -> Settled:
        """Take back a decision that is held: the person who made it, or an admin. The question is open again.

        Raises:
            NotAllowed: if the caller is an agent, or another person.
            UnknownInquiry: if there is none of that id or ref.
        """
        require_person(caller, "undo")
        undone = await self._adjust(name, undoing(caller, self._clock()))
        # It may have come too late, and told the asker instead.
        return replace(undone, accepted=undone.accepted and undone.inquiry.is_open)

    async def cancel(
        self,
        name: str,
        caller: Caller,
        *,
        key: str | None = None,
        via: str = "api",
        reason: str | None = None,
    ) -> Settled:
        """Withdraw a question: the asker its own, an admin any.

        Raises:
            NotAllowed: if the caller is a person; people reject.
            UnknownInquiry: if there is none, or it is another agent's.
        """
        if caller.role is Role.PERSON:
            raise NotAllowed("only the asker or an admin can cancel", hint="use reject to decline a question")
        closing = Closing(
            by=caller.name, via=via, at=self._clock(), reason=self.policy.reason(reason), key=key
        )

        def decide(inquiry: Inquiry) -> Change | None:
            if not caller.may_see(inquiry):
                raise UnknownInquiry(name)
            return lifecycle.cancel(inquiry, closing)

        return settled(await self._update(name, decide), closing, Cancelled)

    async def deny(self, name: str, *, via: str, reason: str) -> Settled:
        """Deny an approval by policy, because nothing could come of a yes any more."""
        closing = Closing(by=lifecycle.POLICY, via=via, at=self._clock(), reason=reason)
        return settled(await self._update(name, partial(lifecycle.deny, closing=closing)), closing, Answered)

    async def fail(self, name: str, *, via: str, reason: str) -> Settled:
        """End a question that no person can be asked."""
        closing = Closing(by=lifecycle.POLICY, via=via, at=self._clock(), reason=reason)
        return settled(await self._update(name, partial(lifecycle.fail, closing=closing)), closing, Failed)

    async def snooze(self, name: str, caller: Caller, seconds: float) -> Settled:
        """Keep quiet about an open question for a while."""
        require_person(caller, "snooze")
        return await self._adjust(name, snoozing(caller, self._clock(), seconds))

    async def extend(self, name: str, caller: Caller, seconds: float) -> Settled:
        """Give an open question more time."""
        require_person(caller, "extend")
        now = self._clock()
        settled = await self._adjust(
            name, lambda inquiry: lifecycle.extend(inquiry, seconds, by=caller.name, now=now)
        )
        # It may have come too late, and ended the inquiry instead.
        return replace(settled, accepted=settled.accepted and settled.inquiry.is_open)

    async def collect(self, name: str, caller: Caller, evidence: str) -> Settled:
        """Record evidence that the asker has its answer; only its own credentials can.

        Raises:
            UnknownInquiry: if there is none, or the caller is not the asker.
        """
        now = self._clock()

        def decide(inquiry: Inquiry) -> Change | None:
            if not caller.asked(inquiry):
                raise UnknownInquiry(name)
            return lifecycle.collect(inquiry, evidence, now)

        return await self._adjust(name, decide)

    def spend(self, name: str) -> None:
        """Count what an agent or a person wrote against its rate, as a question is counted.

        Raises:
            RateLimited: if there is too much of it.
        """
        self._pacing.spend(name, self._clock())

    async def notify(self, message: str, origin: Origin) -> Event:
        """Tell people something without waiting for them."""
        self._pacing.spend(origin.agent, self._clock())
        data: dict[str, object] = {"agent": origin.agent, "session": origin.session, "message": message}
        data |= {} if origin.run is None else {"run": origin.run}
        return await self.store.record(Happening(type="notified", at=self._clock(), data=data))

    async def _asker(self, name: str) -> tuple[str, str]:
        """The id of a question and the name behind it: the person who started the run, or else the agent that asked."""
        inquiry = await self.store.get(name)
        origin = inquiry.origin
        if origin.run is not None:
            record = await self.store.look_up(RUN, str(origin.run))
            return inquiry.id, origin.agent if record is None else str(record.body["by"])
        return inquiry.id, origin.agent

    def now(self) -> float:
        """The time that everything here is measured by."""
        return self._clock()

    @property
    def waiting(self) -> int:
        """How many callers are blocked right now."""
        return len(self._waiters)

    async def _update(self, name: str, decide: Decide) -> Updated:
        """Take a step with everything that follows from it."""
        updated = await self.store.update(name, self._with_consequences(decide))
        await self._heed(updated)
        return updated

    async def _update_all(self, names: Sequence[str], decide: Decide) -> Sequence[Updated | UpcallError]:
        """Take a step of several inquiries, each with everything that follows from it."""
        done = await self.store.update_all(names, self._with_consequences(decide))
        for updated in done:
            if isinstance(updated, Updated):
                await self._heed(updated)
        return done

    def _with_consequences(self, decide: Decide) -> Decide:
        def decided(inquiry: Inquiry) -> Change | None:
            change = decide(inquiry)
            if change is not None and inquiry.held and not change.inquiry.is_open:
                # What is remembered of a decision is written when the asker is told, not while it can be undone.
                change = consent.consequences(change)
            # Most steps have no consequences, and nothing is to be copied for their sake.
            if change is None or not (more := self._follow_up(change)):
                return change
            return replace(change, effects=change.effects + more)

        return decided

    async def _heed(self, updated: Updated) -> None:
        """What this process has to do after a step."""
        inquiry = updated.inquiry
        if not updated.applied:
            return
        if inquiry.held is not None:
            self._expiry.expect(inquiry.held.until)
        elif inquiry.is_open:
            self._expiry.expect(inquiry.expires_at)
        if inquiry.origin.thread is not None and prompts.is_resolved(inquiry):
            await self.thread_queue.go_on(inquiry.origin.thread)

    async def _adjust(self, name: str, decide: Decide) -> Settled:
        updated = await self._update(name, decide)
        return Settled(accepted=updated.applied, inquiry=updated.inquiry)
