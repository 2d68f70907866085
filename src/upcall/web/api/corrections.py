"""Corrections and questions back over HTTP."""

from starlette.responses import Response

from upcall.broker.broker import Broker
from upcall.broker.corrections import Corrections
from upcall.web import fields
from upcall.web.api.answer_forms import LONGEST_NOTE
from upcall.web.api.documents import Documents
from upcall.web.call import Call


class CorrectionHandlers:
    """The handlers of `/v1/inquiries/{name}/correct` and `/v1/inquiries/{name}/ask-back`."""

    def __init__(self, broker: Broker, corrections: Corrections, documents: Documents) -> None:
        self._broker = broker
        self._corrections = corrections
        self._documents = documents

    async def correct(self, call: Call) -> Response:
        """Tell the agent that an answer was wrong, and what is right."""
        body = await call.body()
        words = fields.required_text(
            body, "text", most=LONGEST_NOTE, example='{"text": "Memcached, after all"}'
        )
        told = await self._corrections.correct(
            call.name, words, call.caller, via=fields.via(body), key=fields.text(body, "key") or ""
        )
        return await self._documents.corrected(told)

    async def ask_back(self, call: Call) -> Response:
        """Ask the asker something; the question stays open."""
        body = await call.body()
        words = fields.required_text(body, "text", most=LONGEST_NOTE, example='{"text": "Which version?"}')
        return await self._documents.settled(
            await self._broker.back.ask(call.name, words, call.caller, via=fields.via(body))
        )
