"""`upcall.strands`: calls of tools of Strands Agents, put to a person. It needs no library beside it.

An edited call goes through: the tool runs with the input that the hook leaves.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Any, Unpack

from upcall.client.bridges.putting import Call, call_key, decide_all, denial
from upcall.client.client import Client
from upcall.client.outcome import Allowed
from upcall.client.request import Waiting

BeforeTool = Callable[[Any], Awaitable[None]]


def before_tool(
    tools: Collection[str] | None = None, *, client: Client | None = None, **waiting: Unpack[Waiting]
) -> BeforeTool:
    """A hook for `agent.add_hook(…, BeforeToolCallEvent)` that holds calls of these tools, or of all, until a person has decided.

    A denial is the tool's result. No call of a turn runs before all of them are decided: the library keeps the results of a
    turn together, so a program that is killed while a person decides has run none of them. The key of a question is made of the
    session, the agent and the call's id, since some models number the calls of each conversation anew. A program with a session manager that was started again gives its agent no prompt: the open calls are put again,
    and get their stored answers.
    """

    async def decide(event: Any) -> None:
        mine = event.tool_use
        if tools is not None and mine["name"] not in tools:
            return
        said = [each["toolUse"] for each in event.agent.messages[-1]["content"] if "toolUse" in each]
        # A call without an id is put by its own event alone: it could not be told from the others.
        beside = [each for each in said if each["toolUseId"] and each["toolUseId"] != mine["toolUseId"]]
        whose = (event.agent.session_id, event.agent.agent_id)
        calls = [
            Call(call_key("strands", *whose, each["toolUseId"]), each["name"], each["input"])
            for each in [mine, *beside]
            if tools is None or each["name"] in tools
        ]
        decided, *_ = await decide_all(client, calls, waiting)
        if isinstance(decided, Allowed):
            event.tool_use = {**mine, "input": dict(decided.input)}
        else:
            event.cancel_tool = denial(decided)

    return decide
