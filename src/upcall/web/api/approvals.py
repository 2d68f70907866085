"""Actions over HTTP that a program wants to do: allowed at once by what stands already, or put to a person."""

from starlette.responses import Response

from upcall.approvals.standing import Allowance, allowance
from upcall.broker.broker import Broker
from upcall.domain.approval.actions import action_in
from upcall.domain.inquiry.inquiry import Origin
from upcall.domain.inquiry.limits import weight
from upcall.http.body import Json
from upcall.ports.unhurried import LIGHT, unhurried
from upcall.web.api.documents import Documents
from upcall.web.api.inquiries import InquiryHandlers, origin_in
from upcall.web.call import Call


class ApprovalHandlers:
    """The handler of `/v1/approvals`."""

    def __init__(self, broker: Broker, inquiries: InquiryHandlers, documents: Documents) -> None:
        self._broker = broker
        self._inquiries = inquiries
        self._documents = documents

    async def approve(self, call: Call) -> Response:
        """Have an action allowed: by a remembered rule or the mode at once, or by a person who is asked."""
        body = await call.body()
        origin = origin_in(body, call.caller)
        action = await unhurried(weight(body, LIGHT), lambda: action_in(body.get("action")))
        if not await self._was_asked(origin):
            # In a thread, an agent that may act freely is refused when it asks for approval.
            by_setting = origin.thread and self._broker.thread_queue.setting_of(origin.agent)
            autonomous = call.caller.autonomous or by_setting == "autonomous"
            allowed = await allowance(self._broker, action, origin, autonomous=autonomous)
            if allowed is not None:
                return Json({"allowed_by": _document(allowed), "inquiry": None})
        added = await self._inquiries.put(body, origin, call.caller)
        return await self._documents.undecided(added.inquiry, 201 if added.created else 200)

    async def _was_asked(self, origin: Origin) -> bool:
        """Whether a person was asked under this key: then what they say counts, and no rule that came later."""
        earlier = await self._broker.store.requested(origin)
        return earlier is not None and self._broker.now() < earlier.expires_at


def _document(allowed: Allowance) -> dict[str, object]:
    rule = allowed.rule
    return {
        "rule": None if rule is None else rule.id,
        "by": None if rule is None else rule.by,
        "reason": allowed.reason,
    }
