"""What Codex's app server asks of a person: each request as a question or an action for the desk, and the reply to it.

Requests that are not for a person are refused with a sentence, so that nothing is left waiting for us.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from upcall.agents.codex.forms import content_from, questions_in
from upcall.agents.codex.items import COMMAND, PATCH, Json, fields_in, list_in, mcp_tool, text_in
from upcall.agents.codex.settings import SERVER
from upcall.domain.run.program import Action, ToolCalled, ToolReturned
from upcall.ports.agent import Desk

QUESTION = "request_user_input"
HEARS: Literal["with_yes"] = "with_yes"
"""How words beside a yes reach the model: they steer its turn. Its protocol has no place for an edited action."""

SHELLS = {"bash", "dash", "fish", "ksh", "sh", "zsh"}
TOOL_IN_MESSAGE = re.compile(r'tool "(.+)"\?$', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the server is answered.

    `advice` is for the model, where the answer itself has no place for words, and so is `remark`, which is about a yes.
    `evidence` is what is noticed once the server has taken the answer.
    """

    result: Mapping[str, object] | None = None
    problem: str = ""
    advice: str = ""
    remark: str = ""
    evidence: ToolReturned | None = None


class Requests:
    """Has the server's requests decided at a desk; `changes` are the proposed file changes, by item."""

    def __init__(self, desk: Desk, changes: Mapping[str, Sequence[object]], cwd: str) -> None:
        self._desk = desk
        self._changes = changes
        self._cwd = cwd

    async def answer(self, request: Json) -> Reply:
        """The reply to a request, as long as that takes."""
        params = fields_in(request.get("params"))
        match request.get("method"):
            case "item/commandExecution/requestApproval":
                return await self._decision(command_in(params), params)
            case "item/fileChange/requestApproval":
                return await self._file_change(params)
            case "item/permissions/requestApproval":
                return await self._permissions(params)
            case "item/tool/requestUserInput":
                return await self._question(params)
            case "mcpServer/elicitation/request":
                return await self._elicitation(params, f"{text_in(params.get('turnId'))}/{request.get('id')}")
            case method:
                return Reply(problem=f"Upcall does not serve {method!r}")

    async def _decision(self, action: Action, params: Json) -> Reply:
        key = key_in(params)
        verdict = await self._desk.approve(action, key)
        if verdict.allowed:
            return Reply(result={"decision": "accept"}, remark=verdict.remark)
        refusal = ToolReturned(id=key, text=verdict.reason, is_error=True)
        return Reply(result={"decision": "decline"}, advice=verdict.reason, evidence=refusal)

    async def _file_change(self, params: Json) -> Reply:
        changes = self._changes.get(text_in(params.get("itemId")))
        if changes is None:
            # What cannot be shown cannot be approved; the model will propose it again.
            why = "This change could not be shown to a person, so it was not approved. Please propose it once more."
            return Reply(result={"decision": "decline"}, advice=why)
        given: dict[str, object] = {"changes": changes}
        if root := params.get("grantRoot"):
            given["grantRoot"] = root
        reason = text_in(params.get("reason"))
        action = Action(tool=PATCH, input=given, cwd=self._cwd, reason=reason, hears=HEARS)
        return await self._decision(action, params)

    async def _permissions(self, params: Json) -> Reply:
        wanted = fields_in(params.get("permissions"))
        action = Action(
            tool="request_permissions",
            input={"permissions": wanted},
            cwd=text_in(params.get("cwd")),
            reason=text_in(params.get("reason")),
            hears=HEARS,
        )
        verdict = await self._desk.approve(action, key_in(params))
        granted = {name: value for name, value in wanted.items() if value is not None}
        return Reply(
            result={"permissions": granted if verdict.allowed else {}, "scope": "turn"},
            advice="" if verdict.allowed else verdict.reason,
            remark=verdict.remark,
        )

    async def _question(self, params: Json) -> Reply:
        outcome = await self._desk.ask(questions_for(params), key_in(params))
        names = [text_in(each.get("id")) for each in _questions(params)]
        # Without an answer, the model reads in place of one what to make of that.
        answers = outcome.worded or tuple((outcome.text,) for _ in names)
        return Reply(
            result={
                "answers": {
                    name: {"answers": list(values)} for name, values in zip(names, answers, strict=False)
                }
            },
            evidence=ToolReturned(id=key_in(params), text=outcome.text, is_error=outcome.answers is None),
        )

    async def _elicitation(self, params: Json, key: str) -> Reply:
        server, message = text_in(params.get("serverName")), text_in(params.get("message"))
        meta = fields_in(params.get("_meta"))
        if meta.get("codex_approval_kind") == "mcp_tool_call":
            if server == SERVER:
                return Reply(result={"action": "accept", "content": {}})
            tool = TOOL_IN_MESSAGE.search(message)
            action = Action(
                tool=mcp_tool(server, tool[1] if tool else ""),
                input=fields_in(meta.get("tool_params")),
                cwd=self._cwd,
                reason=message,
                hears=HEARS,
            )
            verdict = await self._desk.approve(action, key)
            if verdict.allowed:
                return Reply(result={"action": "accept", "content": {}}, remark=verdict.remark)
            return Reply(result={"action": "decline"}, advice=verdict.reason)
        schema = fields_in(params.get("requestedSchema"))
        match params.get("mode"):
            case "form" | "openai/form" | "openaiForm":
                asked = questions_in(f"{message}\n\n(The MCP server {server} wants to know.)", schema)
            case "url":
                address = text_in(params.get("url"))
                asked = questions_in(f"{message}\n\n{address}\n\n(The MCP server {server} asks you.)", {})
            case _:
                return Reply(result={"action": "decline"})
        outcome = await self._desk.ask(asked, key)
        content = content_from(outcome.answers, schema) if outcome.answers else None
        if content is None:
            return Reply(result={"action": "decline"}, advice="" if outcome.answers else outcome.text)
        return Reply(result={"action": "accept", "content": content}, remark=outcome.note)


def key_in(params: Json) -> str:
    """Under which name a request is known: the same however often it is put, and through whichever connection."""
    return text_in(params.get("approvalId")) or text_in(params.get("itemId"))


def call_in(request: Json) -> ToolCalled | None:
    """The call that a request stands for, where the server tells of it in no other way."""
    params = fields_in(request.get("params"))
    if request.get("method") != "item/tool/requestUserInput":
        return None
    return ToolCalled(id=key_in(params), name=QUESTION, input={"questions": list_in(params.get("questions"))})


def command_in(params: Json) -> Action:
    """The command that shall be run: the script itself, and beside it the shell that Codex puts it into."""
    shell, script = _unwrapped(text_in(params.get("command")))
    given: dict[str, object] = {"command": script}
    if shell:
        given["shell"] = shell
    if (kind := params.get("kind")) not in (None, "command"):
        given["kind"] = kind
    for name in ("networkApprovalContext", "additionalPermissions"):
        if params.get(name) is not None:
            given[name] = params[name]
    return Action(
        tool=COMMAND,
        input=given,
        cwd=text_in(params.get("cwd")),
        reason=text_in(params.get("reason")),
        hears=HEARS,
    )


def questions_for(params: Json) -> Mapping[str, object]:
    """The model's own questions, as the desk takes them."""
    asked = [
        {
            "header": text_in(each.get("header")),
            "question": text_in(each.get("question")),
            "options": [fields_in(option) for option in list_in(each.get("options"))],
            "custom": bool(each.get("isOther")) or not each.get("options"),
        }
        for each in _questions(params)
    ]
    return {"questions": asked, "secret": any(each.get("isSecret") is True for each in _questions(params))}


def _questions(params: Json) -> list[Json]:
    return [fields_in(each) for each in list_in(params.get("questions"))]


def _unwrapped(command: str) -> tuple[str, str]:
    try:
        words = shlex.split(command)
    except ValueError:
        return "", command
    if len(words) == 3 and PurePath(words[0]).name in SHELLS and words[1] in ("-c", "-lc"):
        return " ".join(words[:2]), words[2]
    return "", command
