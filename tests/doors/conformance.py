"""A server for the official conformance suite: our own doors, plus the fixture tools that its scenarios call.

The suite cannot send a token, so it is added here; everything else, the guard in front included, is what ships.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.doors.house import AGENT_TOKEN, PATIENCE, PERSON, House
from upcall.broker.broker import Reply
from upcall.doors.mcp.server import McpDoor

Context = ServerRequestContext[Any, Any]
Fixture = Callable[[Context], Awaitable[types.CallToolResult]]

SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}
SCHEMAS = {"json_schema_2020_12_tool": SCHEMA_2020_12, "test_x_mcp_header": HEADER_SCHEMA}


def said(text: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)


async def simple(ctx: Context) -> types.CallToolResult:
    return said("This is a simple text response for testing.")


async def failing(ctx: Context) -> types.CallToolResult:
    return said("This tool intentionally returns an error for testing", is_error=True)


async def progressing(ctx: Context) -> types.CallToolResult:
    for value in (0, 50, 100):
        await ctx.session.report_progress(value, 100, f"step {value}")
    return said("done")


async def reconnecting(ctx: Context) -> types.CallToolResult:
    assert ctx.close_sse_stream is not None
    await ctx.close_sse_stream()
    # The suite measures that its client comes back, which takes it a moment.
    await asyncio.sleep(0.1)
    return said("the stream was closed and resumed")


async def sampling(ctx: Context) -> types.CallToolResult:
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(-32021, "Missing required client capability", data)
    return said("the client can sample")


async def greeting(ctx: Context) -> types.CallToolResult:
    name = (ctx.params or {}).get("arguments", {}).get("name")
    return said(f"Hello, {name}!")


FIXTURES: dict[str, Fixture] = {
    "test_simple_text": simple,
    "test_error_handling": failing,
    "test_tool_with_progress": progressing,
    "test_reconnection": reconnecting,
    "json_schema_2020_12_tool": simple,
    "test_x_mcp_header": simple,
    "test_missing_capability": sampling,
    "greet": greeting,
}
CONFIRM = {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}
ASKING: dict[str, dict[str, Any]] = {
    "slow_compute": {},
    "failing_job": {},
    "confirm_delete": {"response_schema": CONFIRM},
}
"""Fixtures that become tasks: each of them is a question to a person, as every task of ours."""

SECOND = 0.1
"""How long a second of the suite takes here: its tasks shall take some, and the suite measures none."""


async def after_a_while(house: House, question: str, seconds: float) -> None:
    """Answer a question that the suite's fixture has asked."""
    await asyncio.sleep(seconds * SECOND)
    after = 0
    while True:
        for event in await house.broker.store.events(after, wait=PATIENCE):
            after = event.seq
            inquiry = await house.broker.store.get(event.inquiry) if event.inquiry else None
            if inquiry is not None and inquiry.questions[0].text == question:
                await house.broker.receive(inquiry.id, Reply(text="done"), PERSON)
                return


def with_fixtures(house: House, door: McpDoor) -> None:
    """Add the fixture tools beside ours."""
    server = door.server
    answering: set[asyncio.Task[None]] = set()
    listing, calling = server.get_request_handler("tools/list"), server.get_request_handler("tools/call")
    assert listing is not None
    assert calling is not None
    schema_of = server.get_tool_input_schema
    assert schema_of is not None

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams) -> types.ListToolsResult:
        ours: Any = await listing.handler(ctx, params)
        extra = [
            types.Tool(name=name, description="a fixture", input_schema=SCHEMAS.get(name, {"type": "object"}))
            for name in (*FIXTURES, *ASKING)
        ]
        return types.ListToolsResult(tools=[*ours.tools, *extra])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
        if params.name in ASKING:
            more, seconds = ASKING[params.name], (params.arguments or {}).get("seconds")
            question = f"{params.name} {uuid4()}"
            if not more:
                task = asyncio.create_task(after_a_while(house, question, float(seconds or 0)))
                answering.add(task)
                task.add_done_callback(answering.discard)
            asked = {"name": "ask_human", "arguments": {"question": question, **more}}
            ctx = replace(ctx, params={**(ctx.params or {}), **asked})
            params = params.model_copy(update=asked)
        fixture = FIXTURES.get(params.name)
        return await (calling.handler(ctx, params) if fixture is None else fixture(ctx))

    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.get_tool_input_schema = lambda name: SCHEMAS.get(name) or schema_of(name)


def with_token(app: ASGIApp) -> ASGIApp:
    """Every request gets the token that the suite has no way to send."""

    async def tokened(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            header = (b"authorization", f"Bearer {AGENT_TOKEN}".encode())
            scope["headers"] = [*scope["headers"], header]
        await app(scope, receive, send)

    return tokened
