"""The rules that are kept: found for an action, listed, made and revoked."""

import asyncio
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from upcall.broker.broker import Broker
from upcall.domain.approval import actions, rules
from upcall.domain.approval.places import is_inside
from upcall.domain.approval.rules import Remember, Rule
from upcall.domain.errors import InvalidRequest, UnknownRule
from upcall.domain.records import Effects, Record
from upcall.domain.roles import Caller, require_admin, require_person
from upcall.domain.run.program import Action
from upcall.ports.paging import each_record
from upcall.ports.unhurried import LIGHT, unhurried

MOST_LOOKED_AT = 1001
"""Paths of one action that are followed; an action that names more asks a person."""


class Rulebook:
    """The rules of one broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def allowing(self, action: Action, agent: str) -> Rule | None:
        """The newest rule that lets an agent do this."""
        now = self._broker.now()
        exact = await unhurried(actions.size(action, LIGHT), lambda: _exactly(action))
        async for record in each_record(self._broker.store, rules.KIND):
            rule = rules.rule_in(record)
            if rules.allows(rule, action, agent, now, exact) and await _leads_nowhere_else(rule, action):
                return rule
        return None

    async def page(self, cursor: str | None, limit: int) -> tuple[tuple[Rule, ...], str | None]:
        """A page of rules, the newest first, with the cursor of the next page. Expired rules are included."""
        found = await self._broker.store.records(rules.KIND, cursor=cursor, limit=limit)
        return tuple(rules.rule_in(record) for record in found.items), found.next

    async def get(self, name: str) -> Rule:
        """One rule.

        Raises:
            UnknownRule: if there is none of that id.
        """
        record = await self._broker.store.look_up(rules.KIND, name)
        if record is None:
            raise UnknownRule(name)
        return rules.rule_in(record)

    async def add(
        self,
        caller: Caller,
        *,
        agent: str | None = None,
        tool: str | None = None,
        directory: str | None = None,
        prefix: str | None = None,
        seconds: float = rules.DEFAULT_SECONDS,
    ) -> Rule:
        """Make a rule without an approval to make it from.

        Raises:
            NotAllowed: if the caller is an agent, or a person alone where approvals take more than that.
            InvalidRequest: if it cannot be one.
        """
        self._check_maker(caller)
        now = self._broker.now()
        rule = rules.checked(
            Rule(
                id=f"r{secrets.token_hex(4)}",
                by=caller.name,
                made_at=now,
                expires_at=now + seconds,
                agent=agent,
                tool=tool,
                directory=directory,
                prefix=() if prefix is None else rules.prefix_in(prefix),
            )
        )
        await self._broker.store.revise(rules.KIND, rule.id, lambda _: rules.made(rule, now))
        return rule

    async def add_from(self, name: str, wanted: Remember, caller: Caller) -> Rule:
        """Make a rule from an approval that was given before.

        Raises:
            UnknownInquiry: if there is none of that name.
            InvalidRequest: if it was not approved, or no such rule can be made of it.
            NotAllowed: as in `add`.
        """
        self._check_maker(caller)
        inquiry, now = await self._broker.get(name, caller), self._broker.now()
        if not inquiry.is_approved:
            raise InvalidRequest("only an approval can be remembered", hint="approve it first")
        rule_id = f"r{secrets.token_hex(4)}"
        rule = rules.rule_from(inquiry, wanted, name=rule_id, by=caller.name, now=now)
        await self._broker.store.revise(rules.KIND, rule.id, lambda _: rules.made(rule, now))
        return rule

    def _check_maker(self, caller: Caller) -> None:
        require_person(caller, "make rules")
        policy = self._broker.policy
        if policy.quorum > 1 or not policy.asker_may_approve:
            require_admin(caller, "make rules where one person alone cannot approve")

    async def revoke(self, name: str, caller: Caller) -> None:
        """Forget a rule, from now on.

        Raises:
            NotAllowed: if the caller is an agent.
            UnknownRule: if there is none of that id.
        """
        require_person(caller, "revoke rules")
        now = self._broker.now()

        def decide(record: Record | None) -> Effects:
            if record is None:
                raise UnknownRule(name)
            return rules.revoked(rules.rule_in(record), caller.name, now)

        await self._broker.store.revise(rules.KIND, name, decide)


def _exactly(action: Action) -> str:
    """The digest of an action; empty for one that is too large to be shown and so was never approved."""
    return "" if actions.size(action) > actions.MOST_SHOWN else actions.exactly(action)


async def _leads_nowhere_else(rule: Rule, action: Action) -> bool:
    """Whether no link in the file system takes an action out of the directory of a rule."""
    if rule.directory is None:
        return True
    named = rules.reached(rule, action)
    if len(named) > MOST_LOOKED_AT:
        return False
    # Looking takes as long as the file system wants.
    return await asyncio.to_thread(_stay_inside, named, action.cwd, rule.directory)


def _stay_inside(named: Iterable[str], cwd: str, directory: str) -> bool:
    if not Path(directory).is_dir():
        # The agent works on another machine: there is nothing to look at here.
        return True
    real = os.path.realpath(directory)
    return all(is_inside(os.path.realpath(Path(cwd, place)), real) for place in named)
