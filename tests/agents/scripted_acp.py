"""An ACP agent without a model: what it does is the first word of its prompt. Run as a program."""

import asyncio
import json
import os
import sys
from typing import Any, cast

from acp import RequestError, run_agent
from acp.helpers import update_agent_message_text
from acp.schema import (
    AgentCapabilities,
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationUrlSessionMode,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
)
from pydantic import AnyUrl

FORM = {
    "type": "object",
    "properties": {
        "cache": {"type": "string", "title": "Cache", "oneOf": [{"const": "r", "title": "Redis"}]},
        "size": {"type": "integer", "title": "Size"},
        "tools": {"type": "array", "title": "Tools", "items": {"type": "string", "enum": ["lint", "tests"]}},
        "now": {"type": "boolean", "title": "Now?"},
        "note": {"type": "string", "title": "Note"},
    },
    "required": ["cache", "size", "tools", "now"],
}

# No JSON, no object, replies to no request, and an update of an unknown kind.
NOISE = """\
not JSON
[1]
{"id": {}, "result": 1}
{"id": 0, "result": 2}
{"method": "session/update", "params": {"update": {"sessionUpdate": "new"}}}
"""


class Scripted:
    def __init__(self) -> None:
        self._client: Any = None

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=protocol_version, agent_capabilities=AgentCapabilities(load_session=False)
        )

    async def new_session(self, **_: Any) -> NewSessionResponse:
        if "--logged-out" in sys.argv:
            raise RequestError.auth_required({"details": "run `scripted login`"})
        return NewSessionResponse(session_id="s-1")

    async def cancel(self, **_: Any) -> None:
        return

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        match prompt[0].text.split()[0]:
            case "form":
                await self._form(session_id, FORM)
            case "empty":
                await self._form(session_id, {"type": "object", "properties": {}})
            case "link":
                await self._link(session_id, prompt[0].text.split()[1])
            case "always":
                await self._permission(session_id, ["allow_always", "reject_once"])
            case "nothing":
                await self._permission(session_id, [])
            case "noise":
                sys.stdout.write(NOISE)
                sys.stdout.flush()
            case "files":
                await self._refused("fs/read_text_file", {"sessionId": session_id, "path": "/etc/passwd"})
                await self._refused("terminal/create", {"sessionId": session_id, "command": "sh"})
            case "refuse":
                return PromptResponse(stop_reason="refusal")
            case "fail":
                raise RequestError.internal_error({"details": "the model is gone"})
            case "die":
                os._exit(3)
            case _:
                pass
        await self._say(session_id, "done")
        return PromptResponse(stop_reason="end_turn")

    async def _form(self, session_id: str, schema: Any) -> None:
        mode = ElicitationFormSessionMode(
            session_id=session_id, requested_schema=ElicitationSchema.model_validate(schema)
        )
        filled = await self._client.create_elicitation(message="How shall I set it up?", mode=mode)
        await self._say(session_id, json.dumps(filled.model_dump(mode="json", exclude_none=True)))

    async def _link(self, session_id: str, url: str) -> None:
        mode = ElicitationUrlSessionMode(session_id=session_id, elicitation_id="e-1", url=AnyUrl(url))
        visited = await self._client.create_elicitation(message="Sign in to the tracker", mode=mode)
        await self._say(session_id, json.dumps(visited.model_dump(mode="json", exclude_none=True)))

    async def _permission(self, session_id: str, kinds: list[str]) -> None:
        call = ToolCallUpdate(
            tool_call_id="c-1", title="rm -rf build", kind="execute", raw_input={"command": "rm"}
        )
        options = [PermissionOption(option_id=kind, name=kind, kind=cast("Any", kind)) for kind in kinds]
        said = await self._client.request_permission(session_id=session_id, tool_call=call, options=options)
        await self._say(session_id, json.dumps(said.outcome.model_dump(mode="json", by_alias=True)))

    async def _refused(self, method: str, params: dict[str, Any]) -> None:
        try:
            await self._client._conn.send_request(method, params)
        except RequestError as refused:
            await self._say(params["sessionId"], f"{method}: {refused.code} ")

    async def _say(self, session_id: str, text: str) -> None:
        await self._client.session_update(session_id=session_id, update=update_agent_message_text(text))


if __name__ == "__main__":
    asyncio.run(run_agent(cast("Any", Scripted()), use_unstable_protocol=True))
