"""A small desk: questions and actions become inquiries, and nothing is remembered."""

import json
from collections.abc import Mapping
from dataclasses import replace

from upcall.broker import Broker
from upcall.domain.asking import draft
from upcall.domain.errors import UpcallError
from upcall.domain.inquiry import APPROVE, Answered, Origin
from upcall.domain.limits import Limits
from upcall.domain.outcome import Outcome, outcome
from upcall.domain.program import Action, Verdict
from upcall.domain.roles import Caller

ENDLESS = 10**9
UNBOUNDED = Limits(header=ENDLESS, question=ENDLESS, label=ENDLESS, description=ENDLESS, preview=ENDLESS)


class SmallDesk:
    def __init__(
        self, broker: Broker, *, caller: Caller, session: str, door: str, workspace: str | None
    ) -> None:
        self._broker = broker
        self._origin = Origin(
            agent=caller.name, session=session, door=door, workspace=workspace, run=caller.run
        )

    async def ask(self, fields: Mapping[str, object], key: str, *, wait: float | None = None) -> Outcome:
        try:
            added = await self._broker.ask(draft(fields, UNBOUNDED), replace(self._origin, request_key=key))
        except UpcallError as error:
            return Outcome(status="failed", id="", ref="", text=error.message)
        return outcome(await self._broker.wait(added.inquiry, wait))

    async def approve(self, action: Action, key: str, *, wait: float | None = None) -> Verdict:
        shown = f"{action.tool}\n{json.dumps(dict(action.input), indent=2)}"
        origin = replace(self._origin, purpose="permission", request_key=key)
        added = await self._broker.ask(draft({"kind": "approval", "question": shown}, UNBOUNDED), origin)
        inquiry = await self._broker.wait(added.inquiry, wait)
        match inquiry.state:
            case Answered(answer=answer) if answer.values == ((APPROVE,),):
                return Verdict(allowed=True)
            case _:
                return Verdict(allowed=False, reason=outcome(inquiry).text, open=inquiry.is_open)
