"""Questions as an application that knows agents and no inquiries wants them: by whom, and a reply to them.

`agent-question` events on a stream, and an answer to the question that an agent has been asking for longest.
"""

from collections.abc import Sequence

from starlette.responses import Response
from starlette.types import ASGIApp

from upcall.broker.broker import Broker, Reply
from upcall.domain.errors import DamagedRow, InvalidRequest, UnknownAgent, UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry, Open
from upcall.domain.roles import Caller
from upcall.http.body import encode
from upcall.ports.store import Event, Query
from upcall.web import fields
from upcall.web.api.documents import Documents
from upcall.web.api.stream import EventHandlers, EventStream
from upcall.web.call import Call

LOOK_BACK = 50
"""Among how many of an agent's latest questions a reply is recognised by its key."""

EXAMPLE = '{"agent_id": "claude", "reply": "Redis"}'


class AgentQuestionHandlers:
    """The handlers of the two routes."""

    def __init__(self, broker: Broker, live: EventHandlers, documents: Documents) -> None:
        self._broker = broker
        self._live = live
        self._documents = documents

    async def stream(self, call: Call) -> ASGIApp:
        """Follow what agents ask, from `Last-Event-ID`, from `after`, or from now on."""
        return EventStream(self._live, call.caller, await self._live.begin(call), self._frames)

    async def answer(self, call: Call) -> Response:
        """Answer what an agent has been asking for longest."""
        body = await call.body()
        agent, reply = body.get("agent_id"), body.get("reply")
        if not isinstance(agent, str) or not isinstance(reply, str):
            raise InvalidRequest("agent_id and reply: text, both of them", hint=f"for example {EXAMPLE}")
        name, key = fields.text(body, "id"), fields.text(body, "key")
        inquiry = await self._meant(agent, name, key, call.caller)
        settled = await self._broker.receive(inquiry.id, Reply(text=reply, via="api", key=key), call.caller)
        return await self._documents.settled(settled)

    async def _meant(self, agent: str, name: str | None, key: str | None, caller: Caller) -> Inquiry:
        if name is not None:
            named = await self._broker.get(name, caller)
            if named.origin.agent != agent:
                raise UnknownInquiry(name)
            return named
        if key is not None:
            # Sent again because the reply was lost: what is asked by now was not meant.
            before = await self._broker.find(Query(agent=agent, limit=LOOK_BACK), caller)
            for each in before.items:
                if _has_heard(each, caller.name, key):
                    return each
        page = await self._broker.find(Query(state="open", agent=agent, limit=1), caller)
        if not page.items:
            raise UnknownAgent(agent[:100])
        return page.items[0]

    async def _frames(self, events: Sequence[Event], caller: Caller) -> bytes:
        return b"".join([await self._frame(event) for event in events if event.type == "asked"])

    async def _frame(self, event: Event) -> bytes:
        try:
            inquiry = event.subject or await self._broker.store.get(str(event.inquiry))
        except (UnknownInquiry, DamagedRow):
            return b""
        question = "\n".join(each.text for each in inquiry.questions)
        told = {"agent_id": inquiry.origin.agent, "question": question, "id": inquiry.id}
        return b"id: %d\nevent: agent-question\ndata: %b\n\n" % (event.seq, encode(told))


def _has_heard(inquiry: Inquiry, by: str, key: str) -> bool:
    """Whether this person has answered it under this key before."""
    state = inquiry.state
    given = state.votes if isinstance(state, Open) else (state.closing, *inquiry.votes)
    return any((each.by, each.key) == (by, key) for each in given)
