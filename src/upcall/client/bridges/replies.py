"""Interrupts of AG-UI: what a person is asked about each, and the reply that the agent is resumed with.

What a reply looks like is the framework's: an interrupt says it in its schema, and one of LangGraph has the value that the graph
was interrupted with.
"""

import json
from typing import Any

from upcall.client.bridges.conversation import Conversation, Fields
from upcall.client.bridges.interrupts import Undecided, answer
from upcall.client.bridges.putting import denial, is_open, keyed
from upcall.client.client import Client
from upcall.client.outcome import Allowed, Answered, Outcome, Parked
from upcall.client.request import Waiting

FLAGS = ("approved", "accepted", "confirmed")
"""What frameworks call the field of a reply that says yes or no."""

EDITED = "editedArgs"
YES, NO = "Yes", "No"


async def reply(
    broker: Client, interrupt: Fields, talk: Conversation, key: str, waiting: Waiting
) -> dict[str, Any]:
    """The `status` and the `payload` for an interrupt, once a person has said it.

    Raises:
        Undecided: if a timeout ends first.
    """
    metadata: Fields = interrupt.get("metadata") or {}
    if "raw" in (metadata.get("langgraph") or {}):
        return _resolved(await answer(broker, metadata["langgraph"]["raw"], key, waiting))
    held = keyed(key, waiting)
    schema: Fields = interrupt.get("responseSchema") or {}
    flag = next((each for each in FLAGS if each in (schema.get("properties") or {})), None)
    if flag or (not schema and interrupt.get("toolCallId")):
        return await _decided(broker, interrupt, talk, flag or FLAGS[0], held)
    return await _asked(broker, interrupt.get("message") or interrupt["reason"], schema, held)


async def _decided(
    broker: Client, interrupt: Fields, talk: Conversation, flag: str, held: Waiting
) -> dict[str, Any]:
    """The reply of a person to a call."""
    tool, given = _action(interrupt, talk)
    fields: Fields = (interrupt.get("responseSchema") or {}).get("properties") or {}
    reason = interrupt.get("message") or ""
    decided = await broker.approve(tool, given, reason=reason, editable=EDITED in fields, **held)
    if is_open(decided):
        raise Undecided
    if not isinstance(decided, Allowed):
        # A schema may forbid what it does not name.
        return _resolved(
            {flag: False} | ({"reason": denial(decided)} if "reason" in fields or not fields else {})
        )
    changed = dict(decided.input) != dict(given)
    return _resolved({flag: True} | ({EDITED: dict(decided.input)} if changed else {}))


async def _asked(broker: Client, question: str, schema: Fields, held: Waiting) -> dict[str, Any]:
    """The reply of a person to a question: a form, a choice or words."""
    ended: Outcome[Any]
    match schema:
        case {"properties": dict()}:
            ended = await broker.ask(question, response=schema, **held)
        case {"enum": [*choices]} if all(isinstance(each, str) for each in choices):
            ended = await broker.ask(question, options=choices, custom=False, **held)
        case {"type": "boolean"}:
            ended = await broker.ask(question, options=[YES, NO], custom=False, **held)
        case _:
            ended = await broker.ask(question, **held)
    match ended:
        case Parked():
            raise Undecided
        case Answered(value=value):
            return _resolved(value == YES if schema.get("type") == "boolean" else value)
        case _:
            return {"status": "cancelled"}


def _resolved(payload: Any) -> dict[str, Any]:
    return {"status": "resolved", "payload": payload}


def _action(interrupt: Fields, talk: Conversation) -> tuple[str, Fields]:
    """The call that a decision is about: what the agent has called, or all that the interrupt says about it."""
    call = talk.call(interrupt.get("toolCallId") or "")
    if call is None:
        return str(interrupt["reason"]), {
            name: interrupt[name] for name in ("message", "metadata") if interrupt.get(name)
        }
    try:
        given = json.loads(call["arguments"] or "{}")
    except ValueError:
        given = None
    return call["name"], given if isinstance(given, dict) else {"input": call["arguments"]}
