"""`upcall.google_adk`: calls of tools of the Agent Development Kit, put to a person. It needs no library beside it.

An edited call goes through: the kit runs the tool with the arguments that the callback leaves.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Any, Unpack

from upcall.client.bridges.putting import Call, call_key, decide_all, denial
from upcall.client.client import Client
from upcall.client.outcome import Allowed
from upcall.client.request import Waiting

BeforeTool = Callable[[Any, dict[str, Any], Any], Awaitable[dict[str, Any] | None]]


def before_tool(
    tools: Collection[str] | None = None, *, client: Client | None = None, **waiting: Unpack[Waiting]
) -> BeforeTool:
    """A callback for `LlmAgent(before_tool_callback=…)` that holds calls of these tools, or of all, until a person has decided.

    A denial is the tool's result: `{"error": …}`. The key of a question is made of the session and the call, so an invocation
    that is resumed gets the stored answer. No call of a turn runs before all of them are decided: the kit keeps the results of a
    turn together, and resumes with all of its calls.
    """

    async def decide(tool: Any, args: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        if tools is not None and tool.name not in tools:
            return None
        session = tool_context.session
        mine = tool_context.function_call_id or ""
        turn = (each.get_function_calls() for each in reversed(session.events))
        said: list[Any] = next((each for each in turn if mine in {one.id for one in each}), [])
        # A call without an id is put by its own callback alone: it could not be told from the others.
        beside = [
            Call(call_key("google-adk", session.id, each.id), each.name, dict(each.args or {}))
            for each in said
            if each.id and each.id != mine and (tools is None or each.name in tools)
        ]
        own = Call(call_key("google-adk", session.id, mine), tool.name, args)
        decided, *_ = await decide_all(client, [own, *beside], waiting)
        if not isinstance(decided, Allowed):
            return {"error": denial(decided)}
        exactly = dict(decided.input)
        args.clear()
        args.update(exactly)
        return None

    return decide
