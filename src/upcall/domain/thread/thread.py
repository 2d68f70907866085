"""A conversation between one agent and its people: an ordered list of items, with one prompt at a time.

Items are lines of the log. What else there is to know about a thread is one record, and every rule here looks at that
record as it is. A prompt is an inquiry that was asked in a thread: it waits in line until the one before is resolved.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal, cast

from upcall.domain.errors import InvalidRequest, PromptPending, QuestionNotAlone, UnknownThread
from upcall.domain.records import Effects, Happening, Record

THREAD = "thread"
ITEM = "thread_item"
"""The type of the event of a posted item."""

QUEUE = "thread_queue"
"""The kind of the records that tell which inquiries wait for their turn."""

KEYS_REMEMBERED = 50
CALLS_REMEMBERED = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")
_UNKEPT = re.compile("[\x00\ud800-\udfff]")


class ItemType(StrEnum):
    """The type of an item."""

    TEXT = "text"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    STATUS = "status"
    TURN_END = "turn_end"
    PENDING = "pending_prompt"
    RESOLVED = "pending_prompt_resolved"


POSTED_BY_AGENTS = (
    ItemType.TEXT,
    ItemType.TOOL_CALL,
    ItemType.TOOL_RESULT,
    ItemType.STATUS,
    ItemType.TURN_END,
)
"""What an agent may post itself; the rest follows from its prompts."""

Role = Literal["user", "agent", "worker"]
"""A person, the agent, or Upcall on its behalf."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRules:
    """The settings of threads that differ between installations.

    `capture` is what becomes of a message while a question is open: it answers it, is refused, or waits for the next
    turn. With `standalone` a question has to be the agent's only tool call under way, and its last one.
    """

    capture: Literal["answer", "gate", "ignore"] = "answer"
    standalone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something said or done in a thread. `queued` is a message that is for the agent's next turn.

    `key` recognises a message that is sent again.
    """

    id: str
    type: str
    role: Role
    by: str
    text: str = ""
    more: Mapping[str, object] | None = None
    queued: bool = False
    key: str = ""

    def happening(self, thread: str, agent: str, at: float) -> Happening:
        """The line of the log that this is."""
        data: dict[str, object] = {
            "thread": thread,
            "agent": agent,
            "id": self.id,
            "role": self.role,
            "by": self.by,
            "content": [{"type": "text", "text": self.text}] if self.text else [],
            "metadata": {"type": self.type, **(self.more or {})},
        }
        if self.queued:
            data["queued"] = True
        if self.key:
            data["key"] = self.key
        return Happening(type=ITEM, at=at, data=cast("dict[str, object]", _kept(data)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """The record of a thread, without its items.

    `active` is the inquiry that has the turn, or had it last. `calls` are the agent's tool calls that have no result yet,
    `taken` is the number of the last message that the agent has taken up, and `keys` recognise repeated messages.
    """

    id: str
    agent: str
    created_at: float
    session: str = ""
    title: str = ""
    permissions: Literal["", "approval", "autonomous"] = ""
    active: str = ""
    calls: tuple[str, ...] = ()
    taken: int = 0
    keys: tuple[tuple[str, str], ...] = ()

    @property
    def record(self) -> Record:
        """As it is kept; lists choose by the agent."""
        body = {
            "session": self.session,
            "title": self.title,
            "permissions": self.permissions,
            "active": self.active,
            "calls": list(self.calls),
            "taken": self.taken,
            "keys": [list(pair) for pair in self.keys],
        }
        return Record(kind=THREAD, key=self.id, state=self.agent, at=self.created_at, body=body)


def thread_in(record: Record) -> Thread:
    """The thread that a record keeps."""
    body = cast("Mapping[str, Any]", record.body)
    return Thread(
        id=record.key,
        agent=record.state,
        created_at=record.at,
        session=body["session"],
        title=body["title"],
        permissions=body["permissions"],
        active=body["active"],
        calls=tuple(body["calls"]),
        taken=body["taken"],
        keys=tuple((key, item) for key, item in body["keys"]),
    )


def check_name(name: str) -> str:
    """Check the name of a thread: it is part of addresses.

    Raises:
        InvalidRequest: if it cannot.
    """
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            f"thread: up to 100 letters, digits and . _ : -, got {name[:100]!r}",
            hint='for example {"thread": "shop-42"}',
        )
    return name


def begin(record: Record | None, thread: Thread) -> Effects | None:
    """Make a thread where there is none; what there is stays as it is."""
    if record is not None:
        return None
    data: dict[str, object] = {"thread": thread.id, "agent": thread.agent, "title": thread.title}
    happening = Happening(type="thread_begun", at=thread.created_at, data=data)
    return Effects(records=(thread.record,), happenings=(happening,))


def call_up(record: Record | None, inquiry: str, resolved: str) -> Effects | None:
    """Give the turn to an inquiry, if the last one that had it is the one that is known to be resolved."""
    thread = _there(record)
    if thread.active not in {"", resolved}:
        return None
    return Effects(records=(replace(thread, active=inquiry).record,))


def post(record: Record | None, item: Item, resolved: str, at: float) -> Effects:
    """The item that an agent posts.

    Raises:
        PromptPending: if a prompt of the thread is not resolved yet: until then its turn is halted.
    """
    thread = _there(record)
    if thread.active not in {"", resolved}:
        raise PromptPending(thread.id)
    calls = _calls_after(thread.calls, item)
    return Effects(
        records=() if calls == thread.calls else (replace(thread, calls=calls).record,),
        happenings=(item.happening(thread.id, thread.agent, at),),
    )


def leave(record: Record | None, item: Item, key: str, at: float) -> Effects | None:
    """Keep a person's message for the agent's next turn; one that was sent under the same key is that message."""
    thread = _there(record)
    if key and key in dict(thread.keys):
        return None
    keys = (*thread.keys, (key, item.id))[-KEYS_REMEMBERED:] if key else thread.keys
    return Effects(
        records=() if not key else (replace(thread, keys=keys).record,),
        happenings=(replace(item, queued=True).happening(thread.id, thread.agent, at),),
    )


def take_up(record: Record | None, upto: int) -> Effects | None:
    """Begin a turn with the messages up to that number."""
    thread = _there(record)
    return Effects(records=(replace(thread, taken=upto).record,)) if upto > thread.taken else None


def set_permissions(record: Record | None, mode: Literal["", "approval", "autonomous"]) -> Effects:
    """Choose what the agent may do in this thread without asking; nothing is what the agent may do elsewhere."""
    return Effects(records=(replace(_there(record), permissions=mode).record,))


def check_alone(thread: Thread, call: str | None) -> None:
    """Make sure that a question is the only tool call under way, so that nothing goes on beside it.

    Raises:
        QuestionNotAlone: if another one has no result yet.
    """
    others = [name for name in thread.calls if name != call]
    if others:
        raise QuestionNotAlone(others)


def _calls_after(calls: Sequence[str], item: Item) -> tuple[str, ...]:
    """The calls under way after an item, which names its own in `tool_call_id`."""
    call = str((item.more or {}).get("tool_call_id") or "")[:200]
    match item.type:
        case ItemType.TOOL_CALL if call:
            return (*[name for name in calls if name != call], call)[-CALLS_REMEMBERED:]
        case ItemType.TOOL_RESULT:
            return tuple(name for name in calls if name != call)
        case ItemType.TURN_END:
            return ()
        case _:
            return tuple(calls)


def _there(record: Record | None) -> Thread:
    if record is None:
        raise UnknownThread("")
    return thread_in(record)


def _kept(value: object) -> object:
    """JSON in which every text can be kept and searched by any database: no NUL, no half of a character."""
    match value:
        case str():
            return _UNKEPT.sub("\N{REPLACEMENT CHARACTER}", value)
        case dict():
            items = cast("Mapping[str, object]", value).items()
            return {str(_kept(name)): _kept(each) for name, each in items}
        case list() | tuple():
            return [_kept(each) for each in cast("Sequence[object]", value)]
        case _:
            return value
