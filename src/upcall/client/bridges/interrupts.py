"""Interrupts of graphs: what their values mean, and what a graph is resumed with. It knows the forms, and no library.

There are requests of langchain's `HumanInTheLoopMiddleware` (all calls of a turn at once, or one for each), those of the older agent
inbox, and questions.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from upcall.client.bridges.putting import denial, is_open, keyed, together, words
from upcall.client.client import Client
from upcall.client.outcome import Allowed, Denied, Parked, Verdict
from upcall.client.request import Waiting

Fields = Mapping[str, Any]

APPROVE, EDIT, REJECT, RESPOND = "approve", "edit", "reject", "respond"


class Undecided(Exception):
    """No person has decided when the timeout ended."""


async def answer(broker: Client, value: Any, key: str, waiting: Waiting) -> Any:
    """What an interrupt with this value is resumed with, once a person has said it.

    Raises:
        Undecided: if a timeout ends first.
    """
    match value:
        case {"action_requests": [*requests], "review_configs": [*configs]} if _are_reviewed(
            requests, configs
        ):
            allowed = {each["action_name"]: each["allowed_decisions"] for each in configs}

            async def decided(each: Fields, at: str) -> dict[str, Any]:
                kinds = allowed.get(each["name"], [APPROVE, EDIT, REJECT])
                return await _decision(broker, each, kinds, at, waiting)

            return {"decisions": await _each(requests, key, decided)}
        case {"type": "tool_approval"} if _is_call(value, "name"):
            return await _decision(broker, value, [APPROVE, EDIT, REJECT], key, waiting)
        case {"action_request": _} if _is_of_inbox(value):
            return [await _inbox_response(broker, value, key, waiting)]
        case [{"action_request": _}, *_] if all(map(_is_of_inbox, value)):

            async def responded(each: Fields, at: str) -> dict[str, Any]:
                return await _inbox_response(broker, each, at, waiting)

            return await _each(value, key, responded)
        case _:
            return await _said(broker, value, key, waiting)


async def _each(
    requests: Sequence[Fields], key: str, put: Callable[[Fields, str], Awaitable[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Put the requests of one interrupt to a person together, each under a key of its own; replies in their order.

    Raises:
        Undecided: if a timeout ends before all of them are decided.
    """
    found: dict[int, dict[str, Any]] = {}

    async def one(number: int, each: Fields) -> None:
        # Those beside it still have until the end of their own time.
        with suppress(Undecided):
            found[number] = await put(each, f"{key}-{number}" if key else "")

    await together(*(partial(one, number, each) for number, each in enumerate(requests)))
    if len(found) < len(requests):
        raise Undecided
    return [found[number] for number in range(len(requests))]


def _are_reviewed(requests: Sequence[Any], configs: Sequence[Any]) -> bool:
    known = all(
        isinstance(each, Mapping)
        and isinstance(each.get("allowed_decisions"), list)
        and "action_name" in each
        for each in configs
    )
    return known and all(_is_call(each, "name") for each in requests)


def _is_of_inbox(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("config"), Mapping)
        and _is_call(value.get("action_request"), "action")
    )


def _is_call(value: Any, name: str) -> bool:
    """Whether a value names a tool, and what it is given. A value of another form is a question."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get(name), str)
        and isinstance(value.get("args") or {}, Mapping)
    )


async def _decision(
    broker: Client, request: Fields, allowed: Sequence[str], key: str, waiting: Waiting
) -> dict[str, Any]:
    """A decision in the words of the middleware; where a person can only respond, it is a question."""
    args: Fields = request.get("args") or {}
    reason = request.get("description") or ""
    if not {APPROVE, EDIT} & set(allowed) and RESPOND in allowed:
        question = reason or f"{request['name']}: {json.dumps(args, ensure_ascii=False)}"
        return {"type": RESPOND, "message": await _said(broker, question, key, waiting)}
    decided = await _verdict(broker, request["name"], args, reason, key, waiting, editable=EDIT in allowed)
    if not isinstance(decided, Allowed):
        only_respond = RESPOND in allowed and REJECT not in allowed
        return {"type": RESPOND if only_respond else REJECT, "message": denial(decided)}
    if dict(decided.input) == dict(args) and (APPROVE in allowed or EDIT not in allowed):
        return {"type": APPROVE}
    return {"type": EDIT, "edited_action": {"name": request["name"], "args": dict(decided.input)}}


async def _inbox_response(broker: Client, request: Fields, key: str, waiting: Waiting) -> dict[str, Any]:
    """A response in the words of the agent inbox; what only wants words is a question."""
    action, config = request["action_request"], request["config"]
    args: Fields = action.get("args") or {}
    if not config.get("allow_accept") and not config.get("allow_edit"):
        question = request.get("description") or f"{action['action']}: {json.dumps(args, ensure_ascii=False)}"
        return {"type": "response", "args": await _said(broker, question, key, waiting)}
    reason, editable = request.get("description") or "", bool(config.get("allow_edit"))
    decided = await _verdict(broker, action["action"], args, reason, key, waiting, editable=editable)
    if isinstance(decided, Allowed):
        edited = dict(decided.input) != dict(args)
        return {
            "type": "edit" if edited else "accept",
            "args": {"action": action["action"], "args": dict(decided.input)},
        }
    if config.get("allow_respond"):
        return {"type": "response", "args": denial(decided)}
    return {"type": "ignore", "args": None}


async def _verdict(
    broker: Client, tool: str, args: Fields, reason: str, key: str, waiting: Waiting, *, editable: bool
) -> Verdict:
    held = keyed(key, waiting)
    decided = await broker.approve(tool, args, reason=reason, editable=editable, **held)
    if isinstance(decided, Denied) and is_open(decided):
        raise Undecided
    return decided


async def _said(broker: Client, value: Any, key: str, waiting: Waiting) -> str:
    """The words of a person to a question: text, or a mapping with a `question` and perhaps `options`."""
    held = keyed(key, waiting)
    match value:
        case {"question": str(question), "options": [*options]} if all(
            isinstance(each, str) for each in options
        ):
            ended = await broker.ask(question, options=options, **held)
        case {"question": str(question)} | str(question):
            ended = await broker.ask(question, **held)
        case _:
            shown = json.dumps(value, ensure_ascii=False, indent=2, default=str)
            ended = await broker.ask(
                "The graph waits for a person.", context=f"```json\n{shown}\n```", **held
            )
    if isinstance(ended, Parked):
        raise Undecided
    return words(ended)
