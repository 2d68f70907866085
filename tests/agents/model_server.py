"""A scripted model on loopback, in place of four vendors' services: programs talk to it as to the real ones.

It enforces what the services enforce about a conversation's shape, keeps every request for the test to look at, and
answers asides (titles, token counts, lists of models) without touching the script.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Self
from uuid import uuid4

from typing_extensions import override

from tests.agents.anthropic_model import MESSAGES
from tests.agents.chat_model import CHAT
from tests.agents.dialect import PROMPT_TOKENS, Dialect, Json, Play, Reply, Word, as_json
from tests.agents.gemini_model import GENERATE, STREAM
from tests.agents.responses_model import RESPONSES
from tests.agents.script import Call, Conversation, Look, Refuse, Say, ScriptError, Step, Turn

DIALECTS = (MESSAGES, RESPONSES, CHAT, GENERATE, STREAM)
PATIENCE = 60.0
TITLE = "Your task is to generate a very short title"
"""How codex-acp wants a title, at any moment and with every tool offered."""

TITLING = frozenset({"apply_patch"})
"""The tools with which Codex in a terminal wants one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request for words."""

    dialect: str
    conversation: Conversation
    aside: bool
    """Whether the program asked for its own sake: such a request offers no tools."""
    body: Json


class Model:
    """A model that follows a script, and everything it was told."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.problem = ""
        self._steps: list[Step] = []
        self._played = 0
        self._otherwise: Look = _at_the_end
        self._names = count(1)
        self._news = threading.Condition()
        self._server = _Server(self.answer)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        """Where it is; programs add their own paths."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def play(self, *steps: Step) -> None:
        """Say these turns, one for each request that offers tools; later calls add to them."""
        self._steps.extend(steps)

    def follow(self, look: Look) -> None:
        """Once those turns are over, let this function find each further one in the conversation."""
        self._otherwise = look

    @property
    def left(self) -> int:
        """How many turns no program has asked for yet."""
        return len(self._steps) - self._played

    @property
    def conversations(self) -> list[Conversation]:
        """What the model was told, request by request, without asides."""
        return [request.conversation for request in self.requests if not request.aside]

    def is_spoken_to(self) -> bool:
        """Whether a program has sent anything but asides."""
        return bool(self.conversations)

    def wait_for(self, wanted: Callable[[Conversation], object]) -> Conversation:
        """The first conversation that is `wanted`, once there is one."""
        with self._news:
            found = self._news.wait_for(
                lambda: next(filter(wanted, self.conversations), None) or self.problem, PATIENCE
            )
        self.check()
        assert isinstance(found, Conversation), "the model was never told that"
        return found

    def check(self) -> None:
        """Fail if script and program did not fit together."""
        assert not self.problem, self.problem

    def answer(self, dialect: Dialect, body: Json) -> Reply:
        """Reply to one request, and keep it."""
        conversation = dialect.listen(body)
        titling = any(each.startswith(TITLE) for each in conversation.prompts[-1:])
        aside = titling or {tool.name for tool in conversation.tools} <= TITLING
        with self._news:
            self.requests.append(
                Request(dialect=dialect.name, conversation=conversation, aside=aside, body=body)
            )
            self._news.notify_all()
        step = Say("Fine.") if aside else self._next()
        try:
            if faults := conversation.faults():
                raise ScriptError("; ".join(faults))
            turn = step(conversation) if callable(step) else step
            reply = self._reply(dialect, body, conversation, turn)
        # Every problem here is the test's failure; a dropped connection would only be tried again.
        except Exception as problem:  # noqa: BLE001
            message = f"{dialect.name}: {problem!r}"
            reply = as_json(dialect.refuse(400, message), 400)
            with self._news:
                # Programs try again; later problems follow from the first one.
                self.problem = self.problem or message
                self._news.notify_all()
        return reply

    def _next(self) -> Step:
        with self._news:
            if self._played == len(self._steps):
                return self._otherwise
            self._played += 1
            return self._steps[self._played - 1]

    def _reply(self, dialect: Dialect, body: Json, conversation: Conversation, turn: Turn) -> Reply:
        if isinstance(turn, Refuse):
            return as_json(dialect.refuse(turn.status, turn.message), turn.status)
        parts = [turn] if isinstance(turn, Say | Call) else turn
        words = [_word(dialect, conversation, part) for part in parts]
        return dialect.speak(body, f"reply{next(self._names)}", words)


def _at_the_end(conversation: Conversation) -> Turn:
    heard = str(conversation.messages[-1:])[:300]
    raise ScriptError(f"the script is over, and the program goes on: it told the model {heard}")


def _word(dialect: Dialect, conversation: Conversation, part: Say | Call) -> Word:
    if isinstance(part, Say):
        return part
    name = f"{dialect.call_prefix}{uuid4().hex[:24]}"
    return Play(id=name, tool=conversation.find(part.tool), arguments=dict(part.arguments))


Answer = Callable[[Dialect, Json], Reply]


class _Server(ThreadingHTTPServer):
    """Loopback only, a thread for each connection."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Addresses and bytes; what is said is the model's business."""

    protocol_version = "HTTP/1.1"
    server_version = "scripted"
    sys_version = ""

    def do_POST(self) -> None:
        body: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        dialect = next((each for each in DIALECTS if path.endswith(each.path)), None)
        if dialect is not None:
            assert isinstance(self.server, _Server)
            self._send(self.server.answer(dialect, body))
        elif path.endswith(("/count_tokens", ":countTokens")):
            self._send(as_json({"input_tokens": PROMPT_TOKENS, "totalTokens": PROMPT_TOKENS}))
        else:
            self._send(_nothing_here(path))

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        models = {"object": "list", "data": [], "models": []}
        self._send(as_json(models) if path.endswith("/models") else _nothing_here(path))

    def do_HEAD(self) -> None:
        self._send(Reply(body=b""))

    def do_CONNECT(self) -> None:
        """Programs take us for their proxy to the rest of the world, and there is none."""
        self._send(_nothing_here(self.path, 403))

    def _send(self, reply: Reply) -> None:
        self.close_connection = True
        try:
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(reply.body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(reply.body)
        except (BrokenPipeError, ConnectionResetError):
            # Killed while it waited, which tests do; the request is on record.
            return

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Requests are kept for the test, not printed."""


def _nothing_here(path: str, status: int = 404) -> Reply:
    return as_json({"error": {"message": f"the scripted model has nothing at {path}"}}, status)
