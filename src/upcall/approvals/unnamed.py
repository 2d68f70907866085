"""Keys for calls that Claude Code does not name: its `PermissionRequest` hook carries no `tool_use_id`.

A key is made of the session, the turn and the action. The number at its end tells calls of the same action apart: one
that was decided is over, so the same action later in the turn is another call and never gets the earlier decision.
"""

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from upcall.domain.inquiry.limits import weight
from upcall.domain.records import Effects, Record
from upcall.domain.roles import Caller
from upcall.ports.store import Ledger
from upcall.ports.unhurried import LIGHT, unhurried

KIND = "unnamed_call"
_KEY = "unnamed"
_NAMING = ("session_id", "prompt_id", "agent_id", "tool_name", "tool_input")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unnamed:
    """One call. `action` is what it has in common with every other call of the same action in the same turn."""

    action: str
    number: int

    @property
    def key(self) -> str:
        """The request key."""
        return f"{_KEY}:{self.action}:{self.number}"


class UnnamedCalls:
    """Gives each call its key. How many were decided is kept in the ledger, so that a restart forgets no decision."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._held: Counter[Unnamed] = Counter()

    @asynccontextmanager
    async def named(
        self, sent: Mapping[str, object], caller: Caller, key: str | None = None
    ) -> AsyncIterator[Unnamed]:
        """The call that a hook is about. When its connection is lost and the hook comes again, it is the same call.

        A hook that knows what it has asked comes again with the key of that, also after a decision.
        """
        call = _call_in(key) or await self._next(sent, caller)
        self._held[call] += 1
        try:
            yield call
        finally:
            self._held -= Counter((call,))

    async def _next(self, sent: Mapping[str, object], caller: Caller) -> Unnamed:
        action = await unhurried(weight(sent, LIGHT), lambda: _action(sent, caller))
        record = await self._ledger.look_up(KIND, action)
        number = 0 if record is None else _decided(record)
        # A connection that is still held is not lost, so this is a second call beside it.
        while (call := Unnamed(action=action, number=number)) in self._held:
            number += 1
        return call

    async def decided(self, call: Unnamed, now: float) -> None:
        """Note a decision before it is sent: one that is lost on its way is asked for again, and none is used twice."""

        def counted(record: Record | None) -> Effects:
            most = max(call.number + 1, 0 if record is None else _decided(record))
            return Effects(records=(Record(kind=KIND, key=call.action, at=now, body={"decided": most}),))

        await self._ledger.revise(KIND, call.action, counted)

    async def withdrawn(self, key: str | None, now: float) -> None:
        """Note that the call with this request key is over; a key of another kind is none of these."""
        if (call := _call_in(key)) is not None:
            await self.decided(call, now)


def _call_in(key: str | None) -> Unnamed | None:
    kind, _, rest = (key or "").partition(":")
    action, _, number = rest.partition(":")
    return Unnamed(action=action, number=int(number)) if kind == _KEY and number.isdecimal() else None


def _action(sent: Mapping[str, object], caller: Caller) -> str:
    parts = [caller.name, caller.run, *(sent.get(name) for name in _NAMING)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _decided(record: Record) -> int:
    return int(str(record.body["decided"]))
