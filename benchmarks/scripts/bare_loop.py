"""The least that answers `initialize`: a loop over standard input, without any of Upcall."""

import json
import sys

INFO = {"name": "bare", "version": "0"}


def main() -> None:
    """Answer every request."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message:
            result = {
                "protocolVersion": message.get("params", {}).get("protocolVersion"),
                "capabilities": {"tools": {}},
                "serverInfo": INFO,
            }
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
            sys.stdout.buffer.flush()


main()
