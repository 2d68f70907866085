"""`upcall.crewai`: calls of tools of CrewAI, put to a person.

The library runs a tool whose hook has failed. Here a hook never fails: where no person can be asked, the call is blocked.
"""

# The library is in an environment of its own: see `frameworks-older-mcp` in pyproject.toml.
# pyright: reportMissingImports=false

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Unpack

from crewai import hooks
from crewai.utilities.string_utils import sanitize_tool_name

from upcall.client import sync
from upcall.client.bridges.putting import Occurrences, call_key, denial, keyed, without_key
from upcall.client.outcome import Allowed
from upcall.client.request import Waiting


@contextmanager
def approvals(
    run: str,
    tools: Collection[str] | None = None,
    *,
    client: sync.Client | None = None,
    **waiting: Unpack[Waiting],
) -> Iterator[None]:
    """Hold calls of these tools, or of all, until a person has decided, as long as the block lasts. A denial is the result.

    The library has no name for a call and keeps none. `run` names the work: a program that was started again with the same
    one gets the stored answer when its crew makes the same call again. Give work that is to be decided anew another name.
    """
    without_key(waiting)
    names = None if tools is None else {sanitize_tool_name(each) for each in tools}
    met = Occurrences()
    denied: dict[int, tuple[Any, str]] = {}

    def before(context: Any) -> bool | None:
        if names is not None and sanitize_tool_name(context.tool_name) not in names:
            return None
        reason = _decided(context, run, met, client, waiting)
        if reason is None:
            return None
        # The library has the same dict for both hooks of a call, and one of its own for each call. It is kept here until then, so
        # that no other one gets its identity.
        denied[id(context.tool_input)] = context.tool_input, reason
        return False

    def after(context: Any) -> str | None:
        _, reason = denied.pop(id(context.tool_input), (None, None))
        return reason

    hooks.register_before_tool_call_hook(before)
    hooks.register_after_tool_call_hook(after)
    try:
        yield
    finally:
        hooks.unregister_before_tool_call_hook(before)
        hooks.unregister_after_tool_call_hook(after)


def _decided(
    context: Any, run: str, met: Occurrences, client: sync.Client | None, waiting: Waiting
) -> str | None:
    """Why a call is denied. None where it is allowed: its input is then the approved one."""
    approve = sync.approve if client is None else client.approve
    try:
        call = json.dumps([context.tool_name, context.tool_input], sort_keys=True, default=str)
        key = call_key("crewai", run, call, met.number(call))
        decided = approve(context.tool_name, context.tool_input, **keyed(key, waiting))
    except Exception as problem:  # noqa: BLE001 - the library would swallow it, and run the tool
        return f"Not allowed: no person could be asked: {problem}"
    if not isinstance(decided, Allowed):
        return denial(decided)
    exactly = dict(decided.input)
    context.tool_input.clear()
    context.tool_input.update(exactly)
    return None
