"""An MCP server that is not ours: its only tool wants a form filled in, and returns what came of that. Run as a program."""

import json
import sys
from typing import Any

TOOL = {
    "name": "deploy",
    "description": "Deploy the work.",
    "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}},
    "annotations": {"readOnlyHint": False, "destructiveHint": True},
}
FORM = {
    "type": "object",
    "properties": {"where": {"type": "string", "title": "Where?", "enum": ["staging", "production"]}},
    "required": ["where"],
}


def tell(message: dict[str, Any]) -> None:
    """Write a message."""
    sys.stdout.write(f"{json.dumps({'jsonrpc': '2.0', **message})}\n")
    sys.stdout.flush()


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What a request comes to."""
    params = asked.get("params") or {}
    match asked["method"]:
        case "initialize":
            version = params["protocolVersion"]
            information = {"name": "other", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": information}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            form = {"message": "Where shall it go?", "requestedSchema": FORM}
            tell({"id": "form", "method": "elicitation/create", "params": form})
            while (heard := json.loads(sys.stdin.readline())).get("id") != "form":
                pass
            return {"content": [{"type": "text", "text": f"Deployed: {json.dumps(heard.get('result'))}"}]}
        case _:
            return {}


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            tell({"id": request["id"], "result": answer(request)})
