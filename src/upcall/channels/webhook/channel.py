"""A program of your own as a channel: Upcall sends it signed questions, and it sends signed answers.

It is sent to the address in the settings and nowhere else: nothing that is asked or answered leads anywhere, and no
redirect is followed.
"""

import asyncio
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import httpx2

from upcall.channels.webhook import signing
from upcall.domain.channel.degrading import VERDICTS
from upcall.domain.channel.showing import (
    Capabilities,
    Choice,
    Control,
    Finding,
    Given,
    Inbound,
    Reference,
    View,
)
from upcall.domain.document import timestamp
from upcall.domain.errors import InvalidRequest
from upcall.ports.channel import Callback, CallbackReply, Inbox, Refused, SignedOut, Unavailable
from upcall.ports.json_reading import NotJson, read_json

CAPABILITIES = Capabilities(
    radio=100, checkboxes=100, option_label=200, form=10, text_input=True, link=True, body=12_000
)
SECONDS = 15.0
TOO_MANY = 429
LATER = {408, 425, TOO_MANY}
"""Statuses after which the same request may work later."""

NOT_LET_IN = {401, 403, 407}
"""Statuses that are about the signature, and not about what was sent."""

LONGEST_NAME = 200
EXAMPLE = '{"inquiry": "…", "answers": [["Redis"]], "user": "U1"}'


class NotUnderstood(Exception):
    """A request that is signed, but not of the documented form."""


class Webhook:
    """One address that receives questions, and may send answers."""

    capabilities: Capabilities = CAPABILITIES

    def __init__(self, *, url: str, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._url = url
        self._key = signing.key_in(secret)
        self._clock = clock
        self._http = httpx2.AsyncClient(timeout=SECONDS, follow_redirects=False)

    async def show(self, view: View, place: str) -> Reference:
        """Send a question; sent again, it has the same id."""
        name = _message(view, place)
        await self._send(name, "inquiry.shown", {"message": name, "place": place, **as_document(view)})
        return Reference(place=place, message=name)

    async def find(self, view: View, place: str) -> Reference | None:
        """The message of a question that is over, and that the program may have taken without our knowing it.

        One that is still asked is sent again instead: under its name it is the same message.
        """
        if view.outcome is None:
            return None
        return Reference(place=place, message=_message(view, place), is_certain=False)

    async def refresh(self, reference: Reference, view: View) -> None:
        """Send the present state of a question."""
        data = {"message": reference.message, "place": reference.place, **as_document(view)}
        name = f"{reference.message}_{view.stage.replace(':', '-')}"
        await self._send(name, "inquiry.updated", data)

    async def tell(self, reference: Reference, line: str) -> None:
        """Send a reminder."""
        data = {"message": reference.message, "place": reference.place, "line": line}
        await self._send(f"{reference.message}_{secrets.token_hex(4)}", "inquiry.reminded", data)

    async def listen(self, inbox: Inbox) -> None:
        """Wait: the program calls us."""
        await inbox.connected()
        await asyncio.Event().wait()

    async def called(self, callback: Callback, inbox: Inbox) -> CallbackReply:
        """Take an answer that is signed with our secret."""
        if callback.method != "POST":
            return _reply(405, {"error": "send it with POST"})
        if not signing.is_genuine(self._key, callback.headers, self._clock(), callback.body):
            return _reply(401, {"error": "the signature is missing, wrong or too old"})
        try:
            inbound = await _inbound(callback.headers["webhook-id"], callback.body, inbox)
        except NotUnderstood as problem:
            return _reply(400, {"error": str(problem), "hint": f"send {EXAMPLE}"})
        heard = await inbox.receive(inbound)
        return _reply(503 if heard.again else 200, {"accepted": heard.accepted, "line": heard.line or None})

    async def check(self) -> Sequence[Finding]:
        """Whether the address takes what we send."""
        try:
            await self._send(f"msg_{secrets.token_hex(8)}", "ping", {})
        except (Refused, Unavailable) as problem:
            return [
                Finding(ok=False, text=f"url: {problem}", hint="it replies with a status from 200 to 299")
            ]
        return [Finding(ok=True, text="the address takes what is sent to it")]

    async def close(self) -> None:
        """Let go of every connection."""
        await self._http.aclose()

    async def _send(self, name: str, kind: str, data: Mapping[str, object]) -> None:
        now = self._clock()
        document = {"type": kind, "timestamp": timestamp(now), "data": data}
        body = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"content-type": "application/json", **signing.headers(self._key, name, now, body)}
        try:
            response = await self._http.post(self._url, content=body, headers=headers)
        except httpx2.TransportError as error:
            raise Unavailable(f"it cannot be reached: {type(error).__name__}") from error
        status = response.status_code
        if 200 <= status < 300:
            return
        if status >= 500 or status in LATER:
            # With Retry-After the worker waits; without it, the question takes the next route meanwhile.
            said = response.headers.get("retry-after", "") if status == TOO_MANY else ""
            raise Unavailable(f"it says {status}", after=_after(said))
        if status in NOT_LET_IN:
            raise SignedOut(f"it says {status}: check `secret` here and there")
        raise Refused(f"it says {status}")


def _message(view: View, place: str) -> str:
    return f"msg_{view.inquiry}_{hashlib.sha256(place.encode()).hexdigest()[:8]}"


def as_document(view: View) -> dict[str, object]:
    """A view as JSON."""
    return {
        "inquiry": view.inquiry,
        "ref": view.ref,
        "state": view.stage.partition(":")[0],
        "heading": view.heading,
        "context": view.context,
        "approval": view.approval,
        "questions": [
            {
                "header": asked.header,
                "question": asked.text,
                "options": [{"label": each.full, "description": each.description} for each in asked.choices],
                "multiSelect": asked.control is Control.CHECKBOXES,
                "custom": asked.custom,
            }
            for asked in view.questions
        ],
        "progress": view.progress or None,
        "more": view.more or None,
        "link": view.link or None,
        "outcome": view.outcome,
    }


async def _inbound(name: str, body: bytes, inbox: Inbox) -> Inbound:
    """What a person did, as the program says."""
    try:
        sent = read_json(body)
    except NotJson:
        raise NotUnderstood("the body is not JSON") from None
    except InvalidRequest as problem:
        raise NotUnderstood(problem.message) from None
    if not isinstance(sent, dict):
        raise NotUnderstood("the body is not a JSON object")
    document = cast("Mapping[str, object]", sent)
    user, inquiry = _name(document, "user"), document.get("inquiry")
    if user is None:
        raise NotUnderstood("user: who it was, as text")
    if inquiry is not None and _name(document, "inquiry") is None:
        raise NotUnderstood("inquiry: an inquiry's id, as text")
    words, answers = document.get("text"), document.get("answers")
    if (words is None) == (answers is None):
        raise NotUnderstood("either text or answers")
    given = None
    if answers is not None:
        view = None if inquiry is None else await inbox.view(str(inquiry))
        if view is None:
            raise NotUnderstood("inquiry: there is none of that id")
        given = _given(view, answers)
    elif not isinstance(words, str):
        raise NotUnderstood("text: text")
    return Inbound(
        id=name[:LONGEST_NAME],
        user=user,
        place=user,
        inquiry=None if inquiry is None else str(inquiry),
        given=given,
        words=str(words or ""),
    )


def _name(document: Mapping[str, object], key: str) -> str | None:
    value = document.get(key)
    return value if isinstance(value, str) and 0 < len(value) <= LONGEST_NAME else None


def _given(view: View, answers: object) -> tuple[Given, ...]:
    """An answer for each question: labels as they were shown, and words of one's own."""
    if not isinstance(answers, list) or len(answers) != len(view.questions):
        raise NotUnderstood("answers: one list of texts for each question")
    return tuple(
        _one(values, asked.choices, approval=view.approval)
        for values, asked in zip(answers, view.questions, strict=True)
    )


def _one(values: object, choices: Sequence[Choice], *, approval: bool) -> Given:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise NotUnderstood("answers: one list of texts for each question")
    # The verdicts of an approval have one name each, in every language of its choices.
    labels = list(VERDICTS) if approval else [choice.full for choice in choices]
    picks = tuple(labels.index(value) for value in values if value in labels)
    own = [str(value) for value in values if value not in labels]
    if len(own) > 1:
        raise NotUnderstood("answers: at most one text that is not among the options")
    return Given(picks=picks, words="".join(own))


def _reply(status: int, document: Mapping[str, object]) -> CallbackReply:
    return CallbackReply(
        status=status,
        body=json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"),
        media_type="application/json",
    )


def _after(said: str) -> float | None:
    return float(said) if said.isascii() and said.isdigit() and len(said) < 8 else None
