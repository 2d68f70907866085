"""An agent as a pipe sees it: a process that writes lines to `upcall mcp` and reads lines from it."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from upcall.home.files import Home

PATIENCE = 30.0
START = (
    "import sys; from pathlib import Path; from upcall.home.files import Home; from upcall.doors.pipe.pipe import main; "
    "sys.exit(main(Home(Path(sys.argv[1]))))"
)
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Agent:
    """Speaks to a pipe; what comes back is sorted by the id it answers."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.notifications: queue.Queue[dict[str, Any]] = queue.Queue()
        self._replies: dict[object, queue.Queue[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: object = None, *, request_id: object = None) -> None:
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method}
        if request_id is not None:
            message["id"] = request_id
        if params is not None:
            message["params"] = params
        self.send_line(json.dumps(message).encode())

    def reply(self, request_id: object) -> dict[str, Any]:
        """The reply to a request, once it is there."""
        return self._queue(request_id).get(timeout=PATIENCE)

    def has_reply(self, request_id: object) -> bool:
        return not self._queue(request_id).empty()

    def ask(self, request_id: object, method: str, params: object = None) -> dict[str, Any]:
        self.send(method, params, request_id=request_id)
        return self.reply(request_id)

    def initialize(self, *, met: bool = True) -> None:
        """Shake hands; `met` waits for the daemon as well, which the pipe alone answers for."""
        assert "result" in self.ask("init", "initialize", INITIALIZE)
        self.send("notifications/initialized")
        if met:
            assert self.ask("met", "ping")["result"] == {}

    def call(self, request_id: object, tool: str, arguments: object, **meta: object) -> None:
        self.send("tools/call", {"name": tool, "arguments": arguments, "_meta": meta}, request_id=request_id)

    def hang_up(self) -> int:
        """Close this side, and wait for the pipe to end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE)

    def _queue(self, request_id: object) -> "queue.Queue[dict[str, Any]]":
        with self._lock:
            return self._replies.setdefault(request_id, queue.Queue())

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message:
                self.notifications.put(message)
            else:
                self._queue(message["id"]).put(message)


@contextmanager
def agent(home: Home, **environ: str) -> Iterator[Agent]:
    """An agent that has started its pipe."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UPCALL_", "CLAUDE"))}
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(home.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=kept | environ,
    )
    try:
        yield Agent(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
