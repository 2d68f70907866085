"""Threads as people and agents use them: begin one, post, read along, take up what was left, settle its question."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast
from uuid import uuid4

from upcall.broker.broker import Broker, Reply, Settled
from upcall.domain.errors import (
    DamagedRow,
    InvalidRequest,
    PromptPending,
    RateLimited,
    UnknownAgent,
    UnknownInquiry,
    UnknownThread,
    UpcallError,
)
from upcall.domain.inquiry.inquiry import Answered, Inquiry, Origin
from upcall.domain.roles import Caller, require_admin, require_person
from upcall.domain.text.redaction import redact
from upcall.domain.thread import prompts, thread
from upcall.domain.thread.thread import ITEM, THREAD, Item, ItemType, Thread, thread_in
from upcall.ports.following import follow
from upcall.ports.store import Event

VIA = "thread"
DOOR = "http"
"""The door of those who have no connection that could tell whether they have their answer."""
LOOK_BACK = 50
PAGE = 200

Permissions = Literal["", "approval", "autonomous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What an agent or a person posts. A person may name the prompt that they answer, and give `answers` as they stand.

    `seen` is the prompt that was open before their eyes, empty if there was none: another prompt that is open by now was not
    what they meant. Where it is not known what they saw, it is None.
    """

    type: str = ItemType.TEXT
    text: str = ""
    metadata: Mapping[str, object] | None = None
    prompt: str = ""
    seen: str | None = None
    answers: Sequence[Sequence[str]] | None = None
    key: str = ""
    via: str = VIA


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """What became of it: the item that it is now, and the prompt that it answered. Nothing, if it was stale."""

    item: Event | None = None
    answered: str = ""


class Threads:
    """All threads of a broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._store = broker.store

    async def begin(
        self,
        caller: Caller,
        *,
        name: str = "",
        agent: str = "",
        session: str = "",
        title: str = "",
        permissions: Permissions = "",
    ) -> tuple[Thread, bool]:
        """A new thread of an agent, or the one of that name as it is; and whether it is new.

        Raises:
            UnknownAgent: if an agent names another one, or a person none.
            UnknownThread: if the name is taken by another agent's.
            RateLimited: if this caller begins too many.
        """
        agent = agent or (caller.name if caller.is_agent else "")
        if not agent or (caller.is_agent and agent != caller.name):
            raise UnknownAgent(agent)
        if permissions:
            _check_choice(caller, permissions)
        self._broker.spend(caller.name)
        name = thread.check_name(name or f"thr_{uuid4().hex[:20]}")
        made = Thread(
            id=name,
            agent=agent,
            created_at=self._broker.now(),
            session=session,
            title=redact(title).text,
            permissions=permissions,
        )
        earlier = await self._store.look_up(THREAD, name)
        if earlier is None:
            await self._store.revise(THREAD, name, partial(thread.begin, thread=made))
        found = await self.get(name, caller)
        if found.agent != agent:
            raise UnknownThread(name)
        return found, earlier is None

    async def get(self, name: str, caller: Caller) -> Thread:
        """A thread, if the caller may see it.

        Raises:
            UnknownThread: if there is none, or it is another agent's.
        """
        record = await self._store.look_up(THREAD, name)
        if record is None or (caller.is_agent and record.state != caller.name):
            raise UnknownThread(name)
        return thread_in(record)

    async def page(self, caller: Caller, cursor: str | None, limit: int) -> tuple[list[Thread], str | None]:
        """Some threads, the newest first, and where the next ones begin."""
        agent = caller.name if caller.is_agent else None
        found = await self._store.records(THREAD, state=agent, cursor=cursor, limit=limit)
        return [thread_in(record) for record in found.items], found.next

    async def choose(self, name: str, caller: Caller, permissions: Permissions) -> Thread:
        """Set what the agent may do in a thread without asking.

        Raises:
            NotAllowed: if the caller is an agent, or is no admin and nothing would be asked any more.
        """
        require_person(caller, "choose permissions")
        known = await self.get(name, caller)
        _check_choice(
            caller, self._broker.thread_queue.permission_in(replace(known, permissions=permissions))
        )
        decide = partial(thread.set_permissions, mode=permissions)
        record = await self._store.revise(THREAD, known.id, decide)
        return known if record is None else thread_in(record)

    async def prompt(self, known: Thread) -> Inquiry | None:
        """The prompt that has the turn, until it is resolved."""
        inquiry = await self._last_prompt(known)
        return None if inquiry is None or prompts.is_resolved(inquiry) else inquiry

    async def items(
        self, name: str, *, after: int = 0, limit: int = PAGE, wait: float = 0
    ) -> Sequence[Event]:
        """The items with a higher number; none only after `wait` seconds."""
        seen = await self._store.last_seq()
        found = await self._store.thread_items(name, after=after, limit=limit)
        if found or not wait:
            return found
        async for events in follow(self._store, seen, wait):
            if any(event.type == ITEM and event.data.get("thread") == name for event in events):
                found = await self._store.thread_items(name, after=after, limit=limit)
            if found:
                break
        return found

    async def post(self, name: str, caller: Caller, words: Words) -> Posted:
        """Say something in a thread: what an agent does, or a person's message.

        Raises:
            UnknownThread: if there is none, or it is another agent's.
            PromptPending: if a question is open, and comes first.
            InvalidRequest: if it is too long.
            RateLimited: if this caller posts too much.
        """
        known = await self.get(name, caller)
        limit = self._broker.policy.limits.answer
        if len(words.text) > limit:
            raise InvalidRequest(f"text: at most {limit} characters, got {len(words.text)}")
        self._broker.spend(caller.name)
        return await (self._act(known, caller, words) if caller.is_agent else self._say(known, caller, words))

    async def turn(self, name: str, caller: Caller, *, after: int = 0, wait: float = 0) -> Sequence[Event]:
        """The messages that were left for the agent's next turn, which begins with them.

        They come again until the agent has told by `after` up to which number it has them.

        Raises:
            UnknownThread: if it is not the agent's own.
            PromptPending: if its turn is halted by an open question.
        """
        known = await self.get(name, caller)
        if known.agent != caller.name:
            raise UnknownThread(name)
        # An item that is not there yet cannot have been received.
        taken = max(known.taken, min(after, await self._store.last_seq()))
        if taken > known.taken:
            await self._store.revise(THREAD, name, partial(thread.take_up, upto=taken))
        if await self._resolved(known, caller) != known.active:
            raise PromptPending(name)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait
        left: list[Event] = []
        while found := await self.items(name, after=taken, wait=0 if left else deadline - loop.time()):
            left += [event for event in found if event.data.get("queued")]
            taken = found[-1].seq
            if left and len(found) < PAGE:
                break
        return left

    async def resolve(self, name: str, caller: Caller, prompt: str, reply: Reply) -> Settled | None:
        """Answer the prompt that has the turn; None if that is not the one meant, which is then left alone.

        `prompt` is its id, or the id of the tool call that asked it.
        """
        require_person(caller, "answer")
        inquiry = await self._meant(await self.get(name, caller), prompt)
        return None if inquiry is None else await self._broker.receive(inquiry.id, reply, caller)

    async def reject(
        self, name: str, caller: Caller, prompt: str, *, reason: str | None = None, key: str | None = None
    ) -> Settled | None:
        """Decline to answer the prompt that has the turn; None if that is not the one meant."""
        require_person(caller, "reject")
        inquiry = await self._meant(await self.get(name, caller), prompt)
        if inquiry is None:
            return None
        return await self._broker.reject(inquiry.id, caller, reason=reason, via=VIA, key=key)

    async def go_on(self, name: str, caller: Caller) -> None:
        """Take note that an agent goes on in a thread."""
        record = await self._store.look_up(THREAD, name)
        if record is not None and record.state == caller.name:
            await self._resolved(thread_in(record), caller)

    async def refused(self, origin: Origin, error: UpcallError) -> None:
        """Show in a thread that a question could not be asked; not every time, if that happens all the time."""
        with suppress(RateLimited):
            self._broker.spend(origin.agent)
            await self._refused(origin, error)

    async def _refused(self, origin: Origin, error: UpcallError) -> None:
        record = await self._store.look_up(THREAD, origin.thread or "")
        if record is not None and record.state == origin.agent:
            item = prompts.refusal(error.code, error.message, error.hint, id_=_new_id())
            await self._store.record(item.happening(record.key, record.state, self._broker.now()))

    async def _act(self, known: Thread, caller: Caller, words: Words) -> Posted:
        item = Item(
            id=_new_id(),
            type=words.type,
            role="agent",
            by=caller.name,
            text=redact(words.text).text,
            more=cast("Mapping[str, object]", _masked(words.metadata or {})),
        )
        resolved = await self._resolved(known, caller, words.prompt)
        now = self._broker.now()
        await self._store.revise(THREAD, known.id, lambda record: thread.post(record, item, resolved, now))
        return Posted(item=await self._find(known.id, item.id))

    async def _say(self, known: Thread, caller: Caller, words: Words) -> Posted:
        if words.key and (repeated := await self._repeated(known.id, caller, words.key)) is not None:
            return repeated
        inquiry = await self._last_prompt(known)
        if inquiry is not None and self._is_meant(inquiry, words):
            reply = Reply(
                text=words.text if words.answers is None else None,
                answers=words.answers,
                via=words.via,
                key=words.key or None,
            )
            settled = await self._broker.receive(inquiry.id, reply, caller)
            if settled.accepted:
                item = await self._find(known.id, prompts.message_id(settled.inquiry))
                return Posted(item=item, answered=prompts.prompt_id(inquiry))
            # Another person was first, or this one has approved already and others still have to. It is a message then:
            # the words were not written for the next question.
            inquiry = settled.inquiry
        return await self._leave(known, caller, words, inquiry)

    def _is_meant(self, inquiry: Inquiry, words: Words) -> bool:
        """Whether words answer a prompt; one that is only about to be shown was not what they are about."""
        if not inquiry.is_open or inquiry.is_queued or inquiry.held:
            return False
        name = prompts.prompt_id(inquiry)
        if words.prompt:
            return words.prompt == name
        return self._broker.policy.threads.capture == "answer" and words.seen in {None, name}

    async def _leave(self, known: Thread, caller: Caller, words: Words, last: Inquiry | None) -> Posted:
        """Keep a message for the next turn, unless it was about a prompt that is over or a prompt comes first."""
        if words.prompt:
            return Posted()
        if last is not None and last.is_open and self._broker.policy.threads.capture == "gate":
            raise PromptPending(known.id, hint=f"answer or reject {last.ref!r} first")
        item = Item(
            id=_new_id("msg_"),
            type=ItemType.TEXT,
            role="user",
            by=caller.name,
            text=words.text,
            more=words.metadata,
            key=words.key,
        )
        now = self._broker.now()
        record = await self._store.revise(
            THREAD, known.id, lambda record: thread.leave(record, item, words.key, now)
        )
        kept = item.id if record is None else dict(thread_in(record).keys).get(words.key, item.id)
        return Posted(item=await self._find(known.id, kept))

    async def _repeated(self, name: str, caller: Caller, key: str) -> Posted | None:
        for event in await self._store.thread_items(name, before=2**62, limit=LOOK_BACK):
            if (event.data.get("key"), event.data.get("by")) == (key, caller.name):
                about = cast("Mapping[str, Mapping[str, str]]", event.data["metadata"]).get("prompt", {})
                return Posted(item=event, answered=about.get("prompt_id", ""))
        return None

    async def _resolved(self, known: Thread, caller: Caller, prompt: str = "") -> str:
        """The last prompt, if it is resolved. What the asker does after the answer is evidence that it has it."""
        inquiry = await self._last_prompt(known)
        if inquiry is None:
            return known.active
        match inquiry.state:
            case Answered(collected_at=None) if (
                (inquiry.origin.door == DOOR or prompt == prompts.prompt_id(inquiry))
                and caller.name == known.agent
                and caller.asked(inquiry)
            ):
                inquiry = (await self._broker.collect(inquiry.id, caller, VIA)).inquiry
            case _:
                pass
        return known.active if prompts.is_resolved(inquiry) else ""

    async def _meant(self, known: Thread, prompt: str) -> Inquiry | None:
        inquiry = await self._last_prompt(known)
        names = () if inquiry is None else (prompts.prompt_id(inquiry), inquiry.origin.request_key)
        return inquiry if prompt in names else None

    async def _last_prompt(self, known: Thread) -> Inquiry | None:
        if not known.active:
            return None
        try:
            return await self._store.get(known.active)
        except (UnknownInquiry, DamagedRow):
            return None

    async def _find(self, name: str, item: str) -> Event | None:
        for event in reversed(await self._store.thread_items(name, before=2**62, limit=LOOK_BACK)):
            if event.data.get("id") == item:
                return event
        return None


def _check_choice(caller: Caller, permissions: str) -> None:
    require_person(caller, "choose permissions")
    if permissions == "autonomous":
        # One person alone would decide what otherwise takes a quorum.
        require_admin(caller, "let an agent act without asking")


def _masked(value: object) -> object:
    """What an agent wrote, without the secrets in it."""
    match value:
        case str():
            return redact(value).text
        case dict():
            return {name: _masked(each) for name, each in cast("Mapping[str, object]", value).items()}
        case list():
            return [_masked(each) for each in cast("Sequence[object]", value)]
        case _:
            return value


def _new_id(prefix: str = "itm_") -> str:
    return f"{prefix}{uuid4().hex}"
