"""The rules that are kept: found for an action, listed, made and revoked."""

from collections.abc import AsyncIterator

from upcall.domain import rules
from upcall.domain.program import Action
from upcall.domain.rules import Rule
from upcall.ports import Ledger

PAGE = 200


async def allowing(ledger: Ledger, action: Action, agent: str, now: float) -> Rule | None:
    """The newest rule that lets an agent do this."""
    async for rule in _all(ledger):
        if rules.allows(rule, action, agent, now):
            return rule
    return None


async def _all(ledger: Ledger) -> AsyncIterator[Rule]:
    cursor: str | None = None
    while True:
        page = await ledger.records(rules.KIND, cursor=cursor, limit=PAGE)
        for record in page.items:
            yield rules.rule_in(record)
        if page.next is None:
            return
        cursor = page.next
