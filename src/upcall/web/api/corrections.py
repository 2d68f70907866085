"""Corrections over HTTP."""

from starlette.responses import Response

from upcall.broker.corrections import Corrections
from upcall.web import fields
from upcall.web.api.answer_forms import LONGEST_NOTE
from upcall.web.api.documents import Documents
from upcall.web.call import Call


class CorrectionHandlers:
    """The handler of `/v1/inquiries/{name}/correct`."""

    def __init__(self, corrections: Corrections, documents: Documents) -> None:
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
