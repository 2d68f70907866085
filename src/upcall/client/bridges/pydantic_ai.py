"""`upcall.pydantic_ai`: tool calls of Pydantic AI that need approval (`pip install upcall[pydantic-ai]`).

Calls that run elsewhere (`CallDeferred`) are left to the program: they are no decision of a person.
"""

# The library is in an environment of its own: see `frameworks` in pyproject.toml.
# pyright: reportMissingImports=false

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Unpack

from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelMessage

from upcall.client.bridges.putting import Call, call_key, decide_all, denial, is_open
from upcall.client.client import Client
from upcall.client.outcome import Allowed, Verdict
from upcall.client.request import Waiting

Handler = Callable[[RunContext[Any], DeferredToolRequests], Awaitable[DeferredToolResults | None]]
Keep = Callable[[Sequence[ModelMessage]], Awaitable[None] | None]


def handler(client: Client | None = None, *, keep: Keep | None = None, **waiting: Unpack[Waiting]) -> Handler:
    """A handler for `HandleDeferredToolCalls(handler=…)`: each call that needs approval is put to a person.

    `keep` is given the messages so far before a person is asked. A program that was started again runs its agent with them
    as the `message_history` and no prompt: the calls that were open are put again, and get their stored answers. A call that
    no person has decided when a `timeout` ends is left open, and is the output of the run.
    """

    async def handle(context: RunContext[Any], requests: DeferredToolRequests) -> DeferredToolResults | None:
        if not requests.approvals:
            return None
        if keep is not None:
            kept = keep(context.messages)
            if inspect.isawaitable(kept):
                await kept
        conversation = context.conversation_id or ""
        calls = [
            # Some models number the calls of each conversation anew.
            Call(
                call_key("pydantic-ai", conversation, each.tool_call_id), each.tool_name, each.args_as_dict()
            )
            for each in requests.approvals
        ]
        decided = zip(requests.approvals, await decide_all(client, calls, waiting), strict=True)
        settled = {each.tool_call_id: _result(verdict) for each, verdict in decided if not is_open(verdict)}
        return requests.build_results(approvals=settled)

    return handle


def _result(decided: Verdict) -> ToolApproved | ToolDenied:
    if isinstance(decided, Allowed):
        return ToolApproved(override_args=dict(decided.input))
    return ToolDenied(denial(decided))
