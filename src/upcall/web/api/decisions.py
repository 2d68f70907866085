"""One decision about several inquiries over HTTP: approve, deny, decline, snooze or undo exactly those that are named."""

from starlette.responses import Response

from upcall.broker.broker import Broker
from upcall.broker.bulk import MOST_AT_ONCE, VERDICTS, Decision, Verdict
from upcall.domain.errors import InvalidRequest
from upcall.web import fields
from upcall.web.api.answer_forms import LONGEST_NOTE, hold_in
from upcall.web.api.documents import Documents
from upcall.web.call import Body, Call

BY_NAME: dict[str, Verdict] = {verdict: verdict for verdict in VERDICTS}
EXAMPLE = '{"inquiries": ["a7", "c4"], "decision": "approve"}'


class DecisionHandlers:
    """The handler of `/v1/decisions`."""

    def __init__(self, broker: Broker, documents: Documents, *, undo: float) -> None:
        self._broker = broker
        self._documents = documents
        self._undo = undo

    async def decide(self, call: Call) -> Response:
        """Decide about several at once."""
        body = await call.body()
        names, decision = _names(body), _decision(body, self._undo)
        return await self._documents.decided(
            names, await self._broker.bulk.decide(names, decision, call.caller)
        )


def _names(body: Body) -> list[str]:
    if body.get("inquiries") is None:
        raise InvalidRequest("inquiries: missing", hint=f"for example {EXAMPLE}")
    names = list(fields.strings(body["inquiries"], "inquiries", example=EXAMPLE))
    if not 0 < len(names) <= MOST_AT_ONCE:
        raise InvalidRequest(f"inquiries: 1 to {MOST_AT_ONCE} ids or refs, got {len(names)}", hint=EXAMPLE)
    return names


def _decision(body: Body, undo: float) -> Decision:
    named = fields.required_text(body, "decision", example=EXAMPLE)
    verdict = BY_NAME.get(named)
    if verdict is None:
        raise InvalidRequest(
            f"decision: one of {', '.join(VERDICTS)}, got {named[:40]!r}", hint=f"for example {EXAMPLE}"
        )
    seconds = 0.0
    if verdict == "snooze":
        if body.get("for") is None:
            raise InvalidRequest("for: missing", hint='for example {"decision": "snooze", "for": "1h", …}')
        seconds = fields.seconds(body["for"], "for")
    return Decision(
        verdict=verdict,
        words=fields.text(body, "note", most=LONGEST_NOTE) or "",
        seconds=seconds,
        hold=hold_in(body, undo),
        via=fields.via(body),
        key=fields.text(body, "key"),
    )
