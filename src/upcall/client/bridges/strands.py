"""`upcall.strands`: calls of tools of Strands Agents, put to a person. It needs no library beside it.

An edited call goes through: the tool runs with the input that the hook leaves.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Any, Unpack

from upcall.client.bridges.putting import call_key, decide_all, denial
from upcall.client.client import Client
from upcall.client.outcome import Allowed
from upcall.client.request import Waiting

BeforeTool = Callable[[Any], Awaitable[None]]


def before_tool(
    tools: Collection[str] | None = None, *, client: Client | None = None, **waiting: Unpack[Waiting]
) -> BeforeTool:
    """A hook for `agent.add_hook(…, BeforeToolCallEvent)` that holds calls of these tools, or of all, until a person has decided.

    A denial is the tool's result. No call of a turn runs before all of them are decided: the library keeps the results of a
    turn together, so a program that is killed while a person decides has run none of them. The key of a question is the
    call's id. A program with a session manager that was started again gives its agent no prompt: the open calls are put again,
    and get their stored answers.
    """

    async def decide(event: Any) -> None:
        if tools is not None and event.tool_use["name"] not in tools:
            return
        said = [each["toolUse"] for each in event.agent.messages[-1]["content"] if "toolUse" in each]
        calls = {
            call_key("strands", each["toolUseId"]): (each["name"], each["input"])
            for each in [*said, event.tool_use]
            if tools is None or each["name"] in tools
        }
        decided = await decide_all(client, calls, waiting)
        mine = decided[call_key("strands", event.tool_use["toolUseId"])]
        if isinstance(mine, Allowed):
            event.tool_use = {**event.tool_use, "input": dict(mine.input)}
        else:
            event.cancel_tool = denial(mine)

    return decide
