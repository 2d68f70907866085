"""The agent's side of `upcall mcp`: what came in on standard input, and what is owed on standard output.

How the daemon is reached is a link's business. Made, like everything that a pipe loads, of the cheapest parts of
the standard library.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable

from upcall.doors.mcp.broken_line import id_in
from upcall.doors.pipe.acknowledging import Acknowledging, can_tell
from upcall.home.files import ACKNOWLEDGING, PIPE_PROTOCOL

LONGEST_LINE = 8 * 1024 * 1024
LAST_REPLIES_WITHIN = 2.0
"""Seconds that requests which need no human get to be answered after the agent closed its side."""

LAST_TAKEN_WITHIN = 2.0
"""Seconds that an agent which closed its side gets to read what it was answered before that."""

REQUEST_KEY = "upcall/requestKey"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
HANDSHAKE_ID = "upcall:handshake"
"""Under this id the handshake is repeated on a new connection; the agent had its reply already."""

SERVER_ERROR = -32000

UNNAMED_SESSIONS = {"opencode": "OPENCODE", "gemini": "GEMINI_CLI"}
"""Programs that tell their servers who they are by a variable, and never which session it is."""

Message = dict[str, object]


class Request:
    """A message of the agent's that is owed a reply."""

    __slots__ = ("beats", "id", "line", "method", "modern", "opened", "sent", "thread", "token", "tool")

    def __init__(self, message: Message, line: bytes) -> None:
        params = _part(message, "params")
        meta = _part(params, "_meta")
        self.id = message["id"]
        self.method = message["method"]
        self.line = line
        self.tool = params.get("name") if self.method == "tools/call" else None
        turn = _part(meta, "x-codex-turn-metadata")
        # A helper of Codex's has a thread of its own, and belongs to the session that it helps.
        self.thread = turn.get("session_id" if "parent_thread_id" in turn else "thread_id")
        self.modern = VERSION_KEY in meta
        self.token = meta.get("progressToken")
        self.beats = 0
        self.sent = False
        self.opened: tuple[str, str] | None = None


class Uplink:
    """How the daemon is reached.

    `run` carries what comes back to the pipe, for ever, in a thread of its own; `request` makes a request
    outstanding under a name and gets it to the daemon sooner or later; `notify` passes on, if that is possible
    now, what is owed no reply; `acknowledge` tells the daemon that the agent has an inquiry's answer, with the next request at the
    latest, and `finish` waits until the daemon has heard so;
    `respond` gets the agent's response to a request of the daemon's there, under the id of that request; `foretell` is the
    result of a request where that is known before the daemon is reached.
    """

    __slots__ = ("acknowledge", "finish", "foretell", "notify", "request", "respond", "run")

    def __init__(
        self,
        run: Callable[[], None],
        request: Callable[[str, Request], None],
        notify: Callable[[bytes], None],
        acknowledge: Callable[[str], None],
        foretell: Callable[[Message, bytes], Message | None] = lambda message, line: None,
        respond: Callable[[str, bytes], None] = lambda name, line: None,
        finish: Callable[[float], None] = lambda within: None,
    ) -> None:
        self.finish = finish
        self.foretell = foretell
        self.run = run
        self.request = request
        self.notify = notify
        self.acknowledge = acknowledge
        self.respond = respond


class Pipe:
    """The agent's side: what it said, what it is owed."""

    def __init__(self, output: int = 1) -> None:
        self.name = os.urandom(16).hex()
        self.started = time.time()
        self.changed = threading.Condition()
        """Guards everything below; notified when there is something new to send or everything was answered."""
        self.outstanding: dict[str, Request] = {}
        self.shown: set[str] = set()
        """The daemon's own requests that the agent shows to its person, by their ids."""
        self.client: object = None
        """What the agent's program calls itself."""
        self.met: Message = {}
        """What the agent's program says of itself in its handshake."""
        self.thread: object = None
        """The thread of Codex that speaks through us, once it has said so."""
        self.handshake: bytes | None = None
        self.initialized: bytes | None = None
        self._used: set[str] = set()
        self._output = output
        self._writing = threading.Lock()
        self._taking: Acknowledging | None = None

    @property
    def protocol(self) -> int:
        """The protocol of this pipe: one without acknowledgements where the system does not report what the agent has read.

        A later message of the agent's is the evidence then.
        """
        return PIPE_PROTOCOL if can_tell(self._output) else ACKNOWLEDGING - 1

    def run(self, link: Uplink) -> int:
        """Pass messages on until the agent closes its side."""
        if self.protocol >= ACKNOWLEDGING:
            self.acknowledging(link)
        threading.Thread(target=link.run, daemon=True).start()
        source = sys.stdin.buffer
        try:
            while line := source.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                    while line and not line.endswith(b"\n"):
                        line = source.readline(LONGEST_LINE)
                    self.complain(-32600, f"a line has at most {LONGEST_LINE} bytes")
                elif line.strip():
                    self.take(line, link)
        except KeyboardInterrupt:
            return 0
        with self.changed:
            self.changed.wait_for(self._only_humans_are_awaited, LAST_REPLIES_WITHIN)
        if self._taking is not None:
            self._taking.finish(LAST_TAKEN_WITHIN)
            link.finish(LAST_TAKEN_WITHIN)
        return 0

    def acknowledging(self, link: Uplink) -> Acknowledging:
        """Tell the daemon from now on what the agent has taken."""
        self._taking = Acknowledging(self._output, link.acknowledge)
        return self._taking

    def take(self, line: bytes, link: Uplink) -> None:
        """One message of the agent's."""
        try:
            message = json.loads(line)
        except ValueError:
            self.complain(-32700, "Parse error: a message is one line of JSON")
            return
        except RecursionError:
            self.complain(-32600, "the message is nested too deeply", id_in(line))
            return
        if not isinstance(message, dict):
            self.complain(-32600, "a message is one JSON object; batches are not supported")
        elif not isinstance(message.get("method"), str):
            if "result" not in message and "error" not in message:
                self.complain(-32600, "method must be a string")
            else:
                self._responded(message, line, link)
        elif "id" not in message:
            self._notification(message, line, link)
        elif not isinstance(message["id"], str | int) or isinstance(message["id"], bool):
            self.complain(-32600, "id must be a string or an integer")
        else:
            self._request(message, link)

    def replied(self, line: bytes) -> None:
        """One line of the daemon's that is meant for the agent."""
        message = json.loads(line)
        if message.get("method") == "notifications/progress":
            self._progressed(message)
        elif "method" in message or message.get("id") is None:
            if self._is_news(message):
                self.write(line)
        elif message["id"] != HANDSHAKE_ID:
            name = json.dumps(message["id"])
            with self.changed:
                request = self.outstanding.pop(name, None)
                inquiry = None if request is None else _settled_in(message)
                if inquiry is not None and self._taking is not None:
                    # Together with the above: what the agent gives up from now on was not given up before.
                    self._taking.writing(name, inquiry)
                if request is not None and request.method == "initialize" and "result" in message:
                    self.handshake = as_handshake(request.line)
                self.changed.notify_all()
            # One that is not outstanding was answered before or taken back.
            if request is not None:
                self.write(line)
                if self._taking is not None:
                    self._taking.wrote(name)
            if inquiry is not None:
                self._close_forms(inquiry)

    def _is_news(self, message: Message) -> bool:
        """Whether a message that replies to nothing is passed on: a form that stands there already is not shown again."""
        with self.changed:
            if message.get("method") == "elicitation/create":
                name = str(message.get("id"))
                is_new = name not in self.shown
                self.shown.add(name)
                return is_new
            if message.get("method") == "notifications/cancelled":
                name = str(_part(message, "params").get("requestId"))
                was_shown = name in self.shown
                self.shown.discard(name)
                return was_shown
        return True

    def _close_forms(self, inquiry: str) -> None:
        """Close what the agent still shows of a question that is settled: the daemon may have forgotten it."""
        with self.changed:
            closed = [name for name in self.shown if f":{inquiry}:" in name]
            self.shown.difference_update(closed)
        for name in closed:
            params = {"requestId": name, "reason": "answered elsewhere"}
            self.write(dumped({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))

    def _responded(self, message: Message, line: bytes, link: Uplink) -> None:
        """The agent's person has answered a form, or closed it."""
        name = message.get("id")
        with self.changed:
            if not isinstance(name, str) or name not in self.shown:
                return
            self.shown.discard(name)
        link.respond(name, line)

    def opened(self, message: Message) -> None:
        """The daemon says which question a call became."""
        with self.changed:
            request = self.outstanding.get(json.dumps(message.get("request")))
            if request is not None:
                request.opened = (str(message.get("id")), str(message.get("ref")))

    def settle(self, reply: Callable[[Request], Message]) -> None:
        """Answer everything that is outstanding with what `reply` makes of it."""
        with self.changed:
            requests = list(self.outstanding.values())
            self.outstanding.clear()
            self.changed.notify_all()
        for request in requests:
            self.write(dumped({"jsonrpc": "2.0", "id": request.id, **reply(request)}))

    def complain(self, code: int, message: str, request_id: str | int | None = None) -> None:
        """Reply to something that has no id to reply to, or none that could be read for sure."""
        self.write(dumped({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}))

    def write(self, line: bytes) -> None:
        """Hand a line to the agent."""
        with self._writing:
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._output, rest) :]
            except OSError:
                # The agent is gone, and with it everything that this process is for.
                os._exit(0)

    def _notification(self, message: Message, line: bytes, link: Uplink) -> None:
        if message["method"] == "notifications/initialized":
            self.initialized = line
        elif message["method"] == "notifications/cancelled":
            name = json.dumps(_part(message, "params").get("requestId"))
            with self.changed:
                self.outstanding.pop(name, None)
            if self._taking is not None:
                self._taking.given_up(name)
        link.notify(line)

    def _request(self, message: Message, link: Uplink) -> None:
        name = json.dumps(message["id"])
        if message["method"] == "tools/call":
            params = _part(message, "params")
            key = f"{self.name}:{message['id']}"
            if name in self._used:
                # An id that is used again is another call; the same key would make it the earlier one.
                key += f":{len(self._used)}:{os.urandom(4).hex()}"
            self._used.add(name)
            params["_meta"] = _part(params, "_meta") | {REQUEST_KEY: key}
        if message["method"] == "initialize":
            self.met = _part(message, "params")
            self.client = _part(self.met, "clientInfo").get("name")
        line = dumped(message)
        foretold = link.foretell(message, line)
        if foretold is not None:
            self.write(dumped({"jsonrpc": "2.0", "id": message["id"], "result": foretold}))
            return
        request = Request(message, line)
        self.thread = request.thread or self.thread
        if self._taking is not None:
            self._taking.spoke()
        link.request(name, request)

    def _progressed(self, message: Message) -> None:
        """Another daemon counts from one again, but for the agent the value must never go back."""
        params = _part(message, "params")
        with self.changed:
            for request in self.outstanding.values():
                if request.token == params.get("progressToken"):
                    request.beats += 1
                    params["progress"] = request.beats
                    break
            else:
                return
        self.write(dumped(message))

    def _only_humans_are_awaited(self) -> bool:
        return all(request.method == "tools/call" for request in self.outstanding.values())


_encode = json.JSONEncoder(separators=(",", ":")).encode


def dumped(message: Message) -> bytes:
    """A message as one line."""
    return _encode(message).encode() + b"\n"


def refused(message: str) -> Message:
    """The part of a reply that says why there is no result."""
    return {"error": {"code": SERVER_ERROR, "message": message}}


def session_of(pipe: Pipe) -> tuple[str | None, object]:
    """The program that speaks through a pipe and its session, as far as either is known."""
    environ = os.environ
    if claude := environ.get("CLAUDE_CODE_SESSION_ID"):
        return "claude", claude
    if pipe.thread:
        return "codex", pipe.thread
    for name, variable in UNNAMED_SESSIONS.items():
        if environ.get(variable):
            # Few programs need it.
            from upcall.doors.pipe.own_flags import parent_words, session_in  # noqa: PLC0415

            return name, session_in(name, parent_words())
    return None, None


def introduction(pipe: Pipe) -> Message:
    """What a pipe says about itself. Nothing else of the environment is ever sent."""
    environ = os.environ
    program, session = session_of(pipe)
    return {
        "upcall": "pipe",
        "protocol": pipe.protocol,
        "pipe": pipe.name,
        "session": session,
        "program": program,
        "workspace": environ.get("CLAUDE_PROJECT_DIR") or _here(),
        "wait": environ.get("UPCALL_WAIT"),
        "client": pipe.client,
        "person": environ.get("UPCALL_PERSON"),
    }


def _here() -> str | None:
    try:
        # Path.cwd() is the same at more cost.
        return os.getcwd()  # noqa: PTH109
    except OSError:
        # The folder was deleted under us.
        return None


def _part(message: Message, name: str) -> Message:
    """An object inside a message, empty if there is none."""
    part = message.get(name)
    return part if isinstance(part, dict) else {}


def _settled_in(message: Message) -> str | None:
    """The inquiry that a person has answered or declined to answer, if a reply tells of one."""
    result = _part(message, "result")
    # The result of a task is inside what is told about the task.
    told = _part(result, "structuredContent") or _part(_part(result, "result"), "structuredContent")
    inquiry = told.get("id")
    return inquiry if told.get("status") in {"answered", "rejected"} and isinstance(inquiry, str) else None


def as_handshake(line: bytes) -> bytes:
    """The handshake as it is said to a daemon that the agent does not have to hear of."""
    message = json.loads(line)
    message["id"] = HANDSHAKE_ID
    return dumped(message)
