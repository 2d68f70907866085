"""`upcall.langgraph`: interrupts of LangGraph and langchain (`pip install upcall[langgraph]`).

It answers what `interrupt()` is called with: requests of `HumanInTheLoopMiddleware` (all calls at once, or one for each), those of
the older agent inbox, and questions. What was said is in the graph's checkpoints, which stay with the program.
"""

# The library is in an environment of its own: see `frameworks` in pyproject.toml.
# pyright: reportMissingImports=false

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Unpack

from langgraph.types import Command, Interrupt

from upcall.client.bridges.interrupts import Undecided, answer
from upcall.client.bridges.putting import call_key, connected, together
from upcall.client.client import Client
from upcall.client.request import Waiting


# `input` and `config` are what the library calls them.
async def run(
    graph: Any,
    input: Any,  # noqa: A002 - see above
    config: Mapping[str, Any],
    *,
    client: Client | None = None,
    **waiting: Unpack[Waiting],
) -> Any:
    """As `graph.ainvoke`, with each interrupt put to a person and the graph resumed with what they said.

    The graph has a checkpointer, and the config a `thread_id`. A program that was started again gives None for the input:
    interrupts of its thread that are open are put again, and get their stored answers. Interrupts that no person has answered
    when a `timeout` ends stay open; the result has them as `__interrupt__`.
    """
    open_ones = (await graph.aget_state(config)).interrupts if input is None else ()
    result = None
    while True:
        if not open_ones:
            result = await graph.ainvoke(input, config)
            open_ones = (await graph.aget_state(config)).interrupts
            if not open_ones:
                return result
        thread = str(config["configurable"]["thread_id"])
        answers = await _answers(open_ones, thread, client, waiting)
        if answers is None:
            return result if result is not None else {"__interrupt__": list(open_ones)}
        input, open_ones = Command(resume=answers), ()  # noqa: A001 - see above


async def _answers(
    interrupts: Sequence[Interrupt], thread: str, client: Client | None, waiting: Waiting
) -> dict[str, Any] | None:
    """What each interrupt is resumed with, or None if one is still open."""
    found: dict[str, Any] = {}

    async def put(broker: Client, each: Interrupt) -> None:
        # Those beside it still have until the end of their own time.
        with suppress(Undecided):
            found[each.id] = await answer(broker, each.value, call_key("langgraph", thread, each.id), waiting)

    async with connected(client) as broker:
        await together(*(partial(put, broker, each) for each in interrupts))
    return found if all(each.id in found for each in interrupts) else None
