"""What allows an action before a person is asked: the mode of its asker, or a remembered rule. Each leaves a trace in the log."""

from dataclasses import dataclass

from upcall.approvals.rulebook import Rulebook
from upcall.broker.broker import Broker
from upcall.domain.approval import actions
from upcall.domain.approval.rules import Rule
from upcall.domain.inquiry.inquiry import Origin
from upcall.domain.records import Happening
from upcall.domain.run.program import Action
from upcall.ports.unhurried import LIGHT, unhurried


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Why an action needs no person; without a rule it is the mode of its asker."""

    reason: str
    rule: Rule | None = None


async def allowance(broker: Broker, action: Action, origin: Origin, *, autonomous: bool) -> Allowance | None:
    """What allows this action to its asker at once; None where a person has to be asked.

    `autonomous` is the mode of the asker where its thread has none.
    """
    if await _acts_freely(broker, origin, autonomous=autonomous):
        await _note(broker, "allowed_by_mode", action, origin)
        return Allowance(reason="This run may act without asking.")
    rule = await Rulebook(broker).allowing(action, origin.agent)
    if rule is None:
        return None
    await _note(broker, "allowed_by_rule", action, origin, rule=rule.id)
    return Allowance(reason=f"Allowed by the remembered rule {rule.id}.", rule=rule)


async def _acts_freely(broker: Broker, origin: Origin, *, autonomous: bool) -> bool:
    """Whether the asker may act without asking: by its thread's permissions, or by its own where the thread has none."""
    thread = origin.thread
    own = "" if thread is None else await broker.thread_queue.own_permissions(thread, origin.agent)
    return own == "autonomous" or (not own and autonomous)


async def _note(broker: Broker, event: str, action: Action, origin: Origin, **more: object) -> None:
    """Log that an action was allowed without a person."""
    size = actions.size(action, LIGHT)
    data: dict[str, object] = {
        "agent": origin.agent,
        "session": origin.session,
        "run": origin.run,
        "tool": action.tool,
        "action": await unhurried(size, lambda: actions.summary(action)),
        "sha256": await unhurried(size, lambda: actions.digest(action)),
        **more,
    }
    await broker.store.record(Happening(type=event, at=broker.now(), data=data))
