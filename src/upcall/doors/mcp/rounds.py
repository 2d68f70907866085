"""`tools/call` of 2026-07-28, where the server asks nothing of a client while a call waits.

A call comes back as a task where the request takes one, or with what the client is to put to its person (`InputRequiredResult`);
the client then calls again with what came of it. Nothing is kept between the two: the state that travels is the inquiry's id.
"""

from collections.abc import Mapping
from typing import cast

from upcall.domain.errors import UpcallError
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.definitions import PERMIT, WAIT
from upcall.doors.mcp.elicitation import Shows
from upcall.doors.mcp.fields import Message
from upcall.doors.mcp.meta import meta_of, wants_tasks
from upcall.doors.mcp.tasks import created
from upcall.doors.mcp.tools import ToolResult, Tools
from upcall.doors.mcp.watching import Watcher

STATE, RESPONSES = "requestState", "inputResponses"
LINK = "link:"
"""How the name of a request begins that is a link: opening it is no answer."""

Params = Mapping[str, object]


def takes_rounds(params: Params, shows: Shows) -> bool:
    """Whether a call may come back with something else than its result."""
    takes = bool(shows) or wants_tasks(meta_of(params)) or isinstance(params.get(STATE), str)
    return takes and params.get("name") != PERMIT


async def call_in_rounds(
    tools: Tools, params: Params, arguments: object, asker: Asker, watching: Watcher, shows: Shows
) -> ToolResult | Message:
    """A call's result, or the result that stands for it until the client calls again or asks for its task."""
    state = params.get(STATE)
    if isinstance(state, str):
        return await _continued(tools, params, state, asker, watching, shows)
    begun = await tools.start(str(params.get("name")), arguments, asker)
    if isinstance(begun, ToolResult):
        return begun
    if watching.opened is not None:
        watching.opened(begun)
    if wants_tasks(meta_of(params)):
        return created(begun)
    asked = await tools.elicitation.request(begun, shows)
    if asked is None:
        return await tools.call(WAIT, {"id": begun.id}, asker, watching)
    return _required(begun.id, asked)


async def _continued(
    tools: Tools, params: Params, state: str, asker: Asker, watching: Watcher, shows: Shows
) -> ToolResult | Message:
    responses = params.get(RESPONSES)
    response = cast("Params", responses).get(state) if isinstance(responses, Mapping) else None
    if response is not None:
        problem = await tools.elicitation.take(state, asker, shows, response)
        if problem and (asked := await _asked_again(tools, state, asker, shows, problem)) is not None:
            return _required(state, asked)
    return await tools.call(WAIT, {"id": state}, asker, watching)


async def _asked_again(
    tools: Tools, inquiry: str, asker: Asker, shows: Shows, problem: str
) -> Message | None:
    try:
        return await tools.elicitation.request(await tools.own(inquiry, asker), shows, problem)
    except UpcallError:
        # The call that waits for it says why.
        return None


def _required(inquiry: str, asked: Message) -> Message:
    name = f"{LINK}{inquiry}" if asked.get("mode") == "url" else inquiry
    requests = {name: {"method": "elicitation/create", "params": asked}}
    return {"resultType": "input_required", "inputRequests": requests, STATE: inquiry}
