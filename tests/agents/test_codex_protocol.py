"""Every message between us and Codex's app server, held against the schema that the installed program writes itself."""

import json
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from jsonschema import Draft7Validator  # type: ignore[import-untyped]  # it has no stubs among our tools
from websockets.asyncio.client import unix_connect

from tests.agents.codex_bench import Bench, answered, door_to
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CODEX, Desk, need
from tests.agents.script import Call, Say
from upcall.agents.codex.requests import Requests
from upcall.domain.answer.outcome import Outcome
from upcall.domain.run.program import Action, Session, Task, Verdict

THREAD = {"threadId": "t1", "turnId": "u1", "startedAtMs": 1}
COMMAND = {
    "method": "item/commandExecution/requestApproval",
    "id": 0,
    "params": {
        **THREAD,
        "itemId": "call_1",
        "kind": "command",
        "reason": "May I?",
        "command": "/bin/bash -lc 'rm -rf \"my build\" && make'",
        "cwd": "/w",
        "availableDecisions": ["accept", "cancel"],
    },
}
FILE = {
    "method": "item/fileChange/requestApproval",
    "id": 1,
    "params": {**THREAD, "itemId": "call_2", "reason": None, "grantRoot": None},
}
PERMISSIONS = {
    "method": "item/permissions/requestApproval",
    "id": 2,
    "params": {
        **THREAD,
        "itemId": "call_3",
        "cwd": "/w",
        "permissions": {"network": {"enabled": True}, "fileSystem": None},
        "reason": "To install.",
    },
}
QUESTION = {
    "method": "item/tool/requestUserInput",
    "id": 3,
    "params": {
        **THREAD,
        "itemId": "call_4",
        "isBlocking": True,
        "questions": [
            {
                "id": "key",
                "header": "Key",
                "question": "Which key?",
                "isOther": False,
                "isSecret": True,
                "options": None,
            }
        ],
    },
}
MCP_TOOL = {
    "method": "mcpServer/elicitation/request",
    "id": 4,
    "params": {
        "threadId": "t1",
        "turnId": "u1",
        "serverName": "other",
        "mode": "form",
        "_meta": {"codex_approval_kind": "mcp_tool_call", "tool_params": {"x": "1"}},
        "message": 'Allow the other MCP server to run tool "danger"?',
        "requestedSchema": {"type": "object", "properties": {}},
    },
}
FORM = {
    "method": "mcpServer/elicitation/request",
    "id": 5,
    "params": {
        "threadId": "t1",
        "turnId": "u1",
        "serverName": "other",
        "mode": "form",
        "_meta": None,
        "message": "How shall it look?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "colour": {"type": "string", "title": "Colour", "enum": ["red", "blue"]},
                "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
                "count": {"type": "integer", "description": "how many"},
                "sure": {"type": "boolean"},
            },
            "required": ["colour", "count"],
        },
    },
}
RESPONSES = {
    "item/commandExecution/requestApproval": "CommandExecutionRequestApprovalResponse",
    "item/fileChange/requestApproval": "FileChangeRequestApprovalResponse",
    "item/permissions/requestApproval": "PermissionsRequestApprovalResponse",
    "item/tool/requestUserInput": "ToolRequestUserInputResponse",
    "mcpServer/elicitation/request": "McpServerElicitationRequestResponse",
}
CHANGES = [{"path": "/w/a", "kind": {"type": "add"}, "diff": "hello\n"}]

Check = Callable[[str, object], None]


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """Holds a message against one of the program's schemas."""
    need(CODEX)
    folder = tmp_path_factory.mktemp("codex-schema")
    desk = Desk(folder / "desk", "http://127.0.0.1:9")
    subprocess.run(
        [
            *(desk.home.parent / "bin/codex", "app-server", "generate-json-schema"),
            *("--experimental", "--out", folder / "schema"),
        ],
        env=desk.environment,
        check=True,
        capture_output=True,
        timeout=60,
    )
    read: dict[str, Any] = {}

    def check(name: str, message: object) -> None:
        if name not in read:
            read[name] = json.loads((folder / "schema" / f"{name}.json").read_text())
        Draft7Validator(read[name]).validate(message)

    return check


class Decided:
    """A desk that has the same word for every request."""

    def __init__(self, verdict: Verdict, outcome: Outcome) -> None:
        self.seen: list[tuple[str, object]] = []
        self._verdict = verdict
        self._outcome = outcome

    async def ask(self, fields: Mapping[str, object], key: str, *, wait: float | None = None) -> Outcome:
        self.seen.append((key, fields))
        return self._outcome

    async def approve(self, action: Action, key: str, *, wait: float | None = None) -> Verdict:
        self.seen.append((key, action))
        return self._verdict

    async def put_plan(
        self, plan: str, key: str, *, edits: bool = True, wait: float | None = None
    ) -> Verdict:
        return await self.approve(Action(tool="plan", input={"plan": plan}), key, wait=wait)


YES = Verdict(allowed=True)
NO = Verdict(allowed=False, reason="Never.")
PARKED = Outcome(status="parked", id="i", ref="a1", text="No answer yet.")
FILLED = answered(("blue",), ("a", "b"), ("3",), ("Yes",))


@pytest.mark.parametrize(
    ("request_", "outcome", "expected"),
    [
        (COMMAND, PARKED, {"decision": "accept"}),
        (FILE, PARKED, {"decision": "accept"}),
        (PERMISSIONS, PARKED, {"permissions": {"network": {"enabled": True}}, "scope": "turn"}),
        (QUESTION, answered(("k-1",)), {"answers": {"key": {"answers": ["k-1"]}}}),
        (MCP_TOOL, PARKED, {"action": "accept", "content": {}}),
        (
            FORM,
            FILLED,
            {"action": "accept", "content": {"colour": "blue", "many": ["a", "b"], "count": 3, "sure": True}},
        ),
    ],
    ids=["command", "file", "permissions", "question", "mcp tool", "form"],
)
async def test_a_yes_is_what_the_program_calls_a_yes(
    schema: Check, request_: dict[str, Any], outcome: Outcome, expected: object
) -> None:
    schema("ServerRequest", request_)
    reply = await Requests(Decided(YES, outcome), {"call_2": CHANGES}, "/w").answer(request_)
    assert reply.result == expected
    schema(RESPONSES[request_["method"]], reply.result)


@pytest.mark.parametrize(
    ("request_", "expected", "advice"),
    [
        (COMMAND, {"decision": "decline"}, "Never."),
        (FILE, {"decision": "decline"}, "Never."),
        (PERMISSIONS, {"permissions": {}, "scope": "turn"}, "Never."),
        (QUESTION, {"answers": {"key": {"answers": ["No answer yet."]}}}, ""),
        (MCP_TOOL, {"action": "decline"}, "Never."),
        (FORM, {"action": "decline"}, "No answer yet."),
    ],
    ids=["command", "file", "permissions", "question", "mcp tool", "form"],
)
async def test_a_no_is_never_taken_for_a_yes_and_comes_with_its_reason(
    schema: Check, request_: dict[str, Any], expected: object, advice: str
) -> None:
    reply = await Requests(Decided(NO, PARKED), {"call_2": CHANGES}, "/w").answer(request_)
    assert (reply.result, reply.advice) == (expected, advice)
    schema(RESPONSES[request_["method"]], reply.result)


async def test_the_desk_sees_exactly_what_is_asked() -> None:
    desk = Decided(YES, answered(("x",)))
    requests = Requests(desk, {"call_2": CHANGES}, "/w")
    for request in (COMMAND, FILE, QUESTION, MCP_TOOL):
        await requests.answer(request)
    command, file, question, tool = desk.seen
    script = {"command": 'rm -rf "my build" && make', "shell": "/bin/bash -lc"}
    action = partial(Action, cwd="/w", hears="with_yes")
    assert command == ("call_1", action(tool="exec_command", input=script, reason="May I?"))
    assert file == ("call_2", action(tool="apply_patch", input={"changes": CHANGES}))
    asked = {"header": "Key", "question": "Which key?", "options": [], "custom": True}
    assert question == ("call_4", {"questions": [asked], "secret": True})
    allow = 'Allow the other MCP server to run tool "danger"?'
    assert tool == ("u1/4", action(tool="mcp__other__danger", input={"x": "1"}, reason=allow))


async def test_our_own_tool_needs_nobodys_leave() -> None:
    desk = Decided(NO, PARKED)
    request = {**MCP_TOOL, "params": {**MCP_TOOL["params"], "serverName": "upcall"}}  # type: ignore[dict-item]  # a sample
    assert (await Requests(desk, {}, "/w").answer(request)).result == {"action": "accept", "content": {}}
    assert desk.seen == []


async def test_a_change_that_cannot_be_shown_is_declined_without_asking() -> None:
    desk = Decided(YES, PARKED)
    reply = await Requests(desk, {}, "/w").answer(FILE)
    assert reply.result == {"decision": "decline"}
    assert "once more" in reply.advice
    assert desk.seen == []


@pytest.mark.parametrize("count", ["many", "", "3.5"])
async def test_a_form_that_cannot_be_filled_in_is_declined(count: str) -> None:
    desk = Decided(YES, answered(("blue",), ("a",), (count,), ("No",)))
    assert (await Requests(desk, {}, "/w").answer(FORM)).result == {"action": "decline"}


@pytest.mark.parametrize("method", ["account/chatgptAuthTokens/refresh", "item/tool/call", "new/thing", None])
async def test_a_request_that_is_not_for_people_is_refused_with_a_sentence(method: str | None) -> None:
    reply = await Requests(Decided(YES, PARKED), {}, "/w").answer({"method": method, "id": 9, "params": []})
    assert reply.result is None
    assert "does not serve" in reply.problem


async def test_everything_that_is_said_follows_the_programs_own_schema(
    schema: Check, model: Model, desk: Desk, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, heard = wiretap(monkeypatch)
    patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n"
    model.play(Call("apply_patch", {"input": patch}), Say("Then not."), Say("Gladly."))
    common: dict[str, Any] = {
        "cwd": str(desk.work),
        "door": door_to(person.home),
        "arguments": ("-c", 'sandbox_mode="read-only"'),
    }
    async with Bench(desk, Task(prompt="Do it.", session="", **common)) as bench:
        (await bench.counter.visit(1)).said.set_result(NO)
        await bench.finish()
    async with Bench(desk, Session(id=bench.session, **common), "Go on.") as again:
        await again.finish()

    assert heard
    methods = {message["method"] for message in sent if "method" in message}
    assert methods >= {"initialize", "thread/start", "thread/resume", "turn/start", "turn/steer"}
    for message in sent:
        if "method" not in message:
            schema("FileChangeRequestApprovalResponse", message["result"])
        else:
            schema("ClientRequest" if "id" in message else "ClientNotification", message)
    for message in heard:
        if "method" in message:
            schema("ServerRequest" if "id" in message else "ServerNotification", message)


def wiretap(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[Any]]:
    """Everything that is sent and heard over connections from here on."""
    sent: list[Any] = []
    heard: list[Any] = []

    async def connect(*args: Any, **options: Any) -> Any:
        connection = await unix_connect(*args, **options)
        send = connection.send

        async def send_too(text: str) -> None:
            sent.append(json.loads(text))
            await send(text)

        monkeypatch.setattr(connection, "send", send_too)
        return connection

    def parse(text: str) -> Any:
        heard.append(json.loads(text))
        return heard[-1]

    monkeypatch.setattr("upcall.agents.codex.link.unix_connect", connect)
    monkeypatch.setattr("upcall.agents.codex.link.parsed", parse)
    return sent, heard
