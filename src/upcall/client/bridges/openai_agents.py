"""`upcall.openai_agents`: tool calls of the OpenAI Agents SDK that need approval (`pip install upcall[openai-agents]`).

The state of an interrupted run stays with the program: it holds everything that was said, and what is loaded from it is run.
"""

# The library is in an environment of its own: see `frameworks` in pyproject.toml.
# pyright: reportMissingImports=false

import inspect
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias, Unpack

from agents import Agent, RunConfig, Runner, RunResult, RunState, TResponseInputItem
from agents.items import ToolApprovalItem

from upcall.client.bridges.putting import call_key, connected, denial, is_open, keyed, together
from upcall.client.client import Client
from upcall.client.outcome import Allowed, Verdict
from upcall.client.request import Waiting

State: TypeAlias = RunState[Any, Agent[Any]]
Keep = Callable[[State], Awaitable[None] | None]


async def run(
    agent: Agent[Any],
    # `input` is what the library calls it.
    input: str | list[TResponseInputItem] | State,  # noqa: A002
    *,
    keep: Keep | None = None,
    client: Client | None = None,
    context: Any = None,
    run_config: RunConfig | None = None,
    **waiting: Unpack[Waiting],
) -> RunResult:
    """As `Runner.run`, with each call that needs approval put to a person.

    `keep` is given the state before a person is asked. A program that was started again makes a `RunState` of what it kept
    and runs that: the calls that were open get their stored answers. The library cannot change a call: one that a person
    edited is rejected with what to call instead. A call that is not decided when a `timeout` ends stays an interruption.
    """
    given = input
    while True:
        result = await Runner.run(agent, given, context=context, run_config=run_config)
        if not result.interruptions:
            return result
        state = result.to_state()
        if keep is not None:
            kept = keep(state)
            if inspect.isawaitable(kept):
                await kept
        if not await _settle(state, result.interruptions, client, waiting):
            return result
        given, context = state, None


async def _settle(
    state: State, items: list[ToolApprovalItem], client: Client | None, waiting: Waiting
) -> bool:
    """Put every call to a person; whether all of them are decided."""
    decided: list[tuple[ToolApprovalItem, Verdict]] = []

    async def put(broker: Client, item: ToolApprovalItem) -> None:
        given = _arguments(item)
        held = keyed(call_key("openai-agents", item.call_id or ""), waiting)
        verdict = await broker.approve(item.qualified_name or "tool", given, editable=False, **held)
        decided.append((item, verdict))

    async with connected(client) as broker:
        await together(*(partial(put, broker, item) for item in items))
    for item, verdict in decided:
        if isinstance(verdict, Allowed):
            state.approve(item)
        elif not is_open(verdict):
            state.reject(item, rejection_message=denial(verdict))
    return not any(is_open(verdict) for _, verdict in decided)


def _arguments(item: ToolApprovalItem) -> dict[str, Any]:
    """The arguments of a call; those of a tool that takes text are the text."""
    text = item.arguments or "{}"
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    return given if isinstance(given, dict) else {"input": text}
