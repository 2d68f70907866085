"""A program that speaks like Claude Code, finds the server in its work tree, and asks there as its prompt says."""

import asyncio
import json
import re
import sys
from pathlib import Path

from mcp import Client
from mcp.client.sse import sse_client
from mcp_types import TextContent


def tell(**event: object) -> None:
    """Write a line of the stream."""
    sys.stdout.write(f"{json.dumps(event)}\n")
    sys.stdout.flush()


async def asked(url: str, agent_id: str) -> str:
    """What a human replies."""
    async with Client(sse_client(url), mode="legacy") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "ask_human" in names
        told = await client.call_tool("ask_human", {"question": "Dark or light?", "agent_id": agent_id})
        (block,) = told.content
        assert isinstance(block, TextContent)
        return block.text


argv = sys.argv[1:]
if "--version" in argv:
    sys.stdout.write("2.1.325 (Claude Code)\n")
    sys.exit()
prompt = argv[argv.index("--append-system-prompt") + 1]
found = [json.loads(Path(name).read_text()) for name in (".claude/settings.json", ".mcp.json")]
Path("found.json").write_text(json.dumps({"prompt": prompt, "files": found}))
session = argv[argv.index("--session-id") + 1]
tell(type="system", subtype="init", session_id=session)
named = re.search(r'agent_id="([^"]*)"', prompt)
assert named is not None
reply = asyncio.run(asked(found[1]["mcpServers"]["poietai"]["url"], named[1]))
result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": reply}]}
tell(type="user", message={"content": [result]})
tell(type="assistant", message={"id": "m1", "content": [{"type": "text", "text": reply}]})
tell(type="result", subtype="success", result=reply, session_id=session)
