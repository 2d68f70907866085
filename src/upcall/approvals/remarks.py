"""Words of a person beside a yes, for a model whose program has no place for them in a permission prompt.

They are kept until a hook reports that the tool has run, and are told then, once. The report and the prompt have in common what
runs: the tool and its input.
"""

import hashlib
import json
from collections.abc import Callable, Mapping

from upcall.domain.inquiry.limits import weight
from upcall.domain.records import Effects, Record
from upcall.domain.run.program import Action
from upcall.ports.store import Ledger
from upcall.ports.unhurried import LIGHT, unhurried

KIND = "remark"
KEPT = 24 * 3600.0
"""Seconds after which a remark is not told any more: its tool has not run, or has ended in another way."""


class Remarks:
    """Those of one session."""

    def __init__(self, ledger: Ledger, agent: str, session: str, clock: Callable[[], float]) -> None:
        self._ledger = ledger
        self._session = (agent, session)
        self._clock = clock

    async def keep(self, action: Action, words: str) -> None:
        """Keep words until the action has run."""
        key = await self._key(action.tool, action.input)
        record = Record(kind=KIND, key=key, at=self._clock(), body={"words": words})
        await self._ledger.revise(KIND, key, lambda _: Effects(records=(record,)))

    async def take(self, tool: str, given: Mapping[str, object]) -> str:
        """The words that were kept for a tool with this input; empty where there are none."""
        key = await self._key(tool, given)
        if await self._ledger.look_up(KIND, key) is None:
            return ""
        words, now = "", self._clock()

        def told(record: Record | None) -> Effects | None:
            nonlocal words
            words = str(record.body["words"]) if record is not None and now < record.at + KEPT else ""
            return None if record is None else Effects(forgotten=((KIND, key),))

        await self._ledger.revise(KIND, key, told)
        return words

    async def _key(self, tool: str, given: Mapping[str, object]) -> str:
        return await unhurried(weight(given, LIGHT), lambda: _hash([*self._session, tool, given]))


def _hash(parts: list[object]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
