"""MCP's extension `io.modelcontextprotocol/tasks`: an inquiry is the task, so it is as durable as the question.

Knows neither the SDK nor a transport. A task is over when its inquiry is settled, or when a person asks back; what the asker says
to that is another call, and with it another task of the same inquiry.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.inquiry import Cancelled, Inquiry, Open
from upcall.doors.mcp import wire
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.checks import INVALID, ProtocolError
from upcall.doors.mcp.elicitation import Shows
from upcall.doors.mcp.fields import Message
from upcall.doors.mcp.meta import TASKS, declares_tasks, meta_of
from upcall.doors.mcp.tools import ToolResult, Tools

GET, UPDATE, CANCEL = "tasks/get", "tasks/update", "tasks/cancel"
METHODS = (GET, UPDATE, CANCEL)
POLL_MS = 2000
"""Milliseconds between two looks at a task: people take longer, and thousands may look."""

Params = Mapping[str, object]


class Tasks:
    """The tasks of one broker's tools."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def do(
        self, method: str, params: Params, asker: Asker, shows: Shows
    ) -> tuple[Message, ToolResult | None]:
        """The result of a request about a task, and the outcome that it carries, if the task is over.

        Raises:
            ProtocolError: if the request does not declare tasks, or there is no such task.
        """
        if not declares_tasks(meta_of(params)):
            needed: Message = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
            raise ProtocolError(wire.MISSING_CAPABILITY, "Missing required client capability", needed)
        name = params.get("taskId")
        if not isinstance(name, str):
            raise ProtocolError(wire.INVALID_PARAMS, INVALID, "")
        inquiry_id, _, heard = name.partition(".")
        try:
            inquiry = await self._tools.own(inquiry_id, asker)
            if inquiry.id != inquiry_id:
                raise ProtocolError(wire.INVALID_PARAMS, "Task not found")
            match method:
                case "tasks/update":
                    await self._update(inquiry, params.get("inputResponses"), asker, shows)
                case "tasks/cancel":
                    if inquiry.is_open:
                        await self._tools.withdraw(inquiry, asker, "the client cancelled its task")
                case _:
                    return await self._get(name, inquiry, int(heard or 0), asker, shows)
        except (UpcallError, ValueError) as problem:
            raise ProtocolError(wire.INVALID_PARAMS, f"Task not found: {problem}") from problem
        return {}, None

    async def _get(
        self, name: str, inquiry: Inquiry, heard: int, asker: Asker, shows: Shows
    ) -> tuple[Message, ToolResult | None]:
        if inquiry.is_open and len(inquiry.asked_back) <= heard:
            asked = await self._tools.elicitation.request(inquiry, replace(shows, url=False))
            if asked is None:
                return document(name, inquiry, "working"), None
            requests = {inquiry.id: {"method": "elicitation/create", "params": asked}}
            return {**document(name, inquiry, "input_required"), "inputRequests": requests}, None
        if isinstance(inquiry.state, Cancelled):
            return document(name, inquiry, "cancelled"), None
        told = await self._tools.finish(inquiry, asker)
        result = wire.called(told, modern=False) | {"resultType": "complete"}
        return {**document(name, inquiry, "completed"), "result": result}, told

    async def _update(self, inquiry: Inquiry, responses: object, asker: Asker, shows: Shows) -> None:
        if not isinstance(responses, Mapping):
            raise ProtocolError(wire.INVALID_PARAMS, INVALID, "")
        response = cast("Params", responses).get(inquiry.id)
        if response is not None:
            await self._tools.elicitation.take(inquiry.id, asker, shows, response)


def created(inquiry: Inquiry) -> Message:
    """The result of a call that became a task."""
    heard = len(inquiry.asked_back)
    name = f"{inquiry.id}.{heard}" if heard else inquiry.id
    return {"resultType": "task", **document(name, inquiry, "working")}


def document(name: str, inquiry: Inquiry, status: str) -> Message:
    """A task as it is told, without what belongs to its status."""
    state = inquiry.state
    changed = inquiry.asked_at if isinstance(state, Open) else state.closing.at
    said = (
        f"Waiting for a human to answer (ref {inquiry.ref})"
        if isinstance(state, Open)
        else inquiry.state_name
    )
    return {
        "taskId": name,
        "status": status,
        "statusMessage": said,
        "createdAt": _moment(inquiry.asked_at),
        "lastUpdatedAt": _moment(changed),
        "ttlMs": max(int((inquiry.expires_at - inquiry.asked_at) * 1000), 1),
        "pollIntervalMs": POLL_MS,
    }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
