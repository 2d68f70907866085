"""The way from a pipe to the daemon on the same machine: one connection, made again whenever it breaks."""

import json
import os
import socket
import threading
import time

from upcall.doors.pipe.agent_side import Message, Pipe, Request, as_handshake, dumped, introduction, refused
from upcall.doors.pipe.first_replies import FirstReplies
from upcall.home.files import ACKNOWLEDGING, Home, Running

OLDEST_DAEMON = 1
"""The oldest daemon that this pipe can work with; newer ones serve every older pipe."""

RESTART_WITHIN = 1.0
"""Seconds that a daemon which went away gets to come back by itself before another one is started."""

GIVE_UP_AFTER = 60.0
SHORTEST_NAP, LONGEST_NAP = 0.05, 2.0
REPEATED = 100
"""How many acknowledgements are said again on a new connection: the old one may have broken before they arrived."""

CLOCK_SLACK = 0.02
"""A file's time is that of the last tick of the kernel, up to 10 ms behind the clock."""

DOWN = "Upcall was put down"


class PutDownError(Exception):
    """A person ran `upcall down`: no daemon is to be started."""


class UnreachableError(Exception):
    """There is no daemon to talk to, and why."""


class LocalPipe:
    """Finds the daemon by the home's runtime file, and starts one when there is none and something to send."""

    def __init__(self, pipe: Pipe, home: Home) -> None:
        self._pipe = pipe
        self._home = home
        self._socket: socket.socket | None = None
        self._sending = threading.Lock()
        """Held while sending, never while receiving: a full buffer on one side must not stop the other."""
        self._since = pipe.started
        self._met = False
        self._first = FirstReplies(home)
        self._is_wanted = False
        """Whether the agent began, and the daemon has not heard of it."""
        self._has_saved = False
        """Whether there may be files to remove: most pipes are those of programs that save none."""
        self._taken: list[str] = []
        self._responses: list[bytes] = []
        self._is_heard = False
        """Whether the daemon at the other end knows what an acknowledgement is."""
        self._knows_taken = False
        """The same of the daemon that was met last, so presumably of the next one."""

    def run(self) -> None:
        """Keep the connection up, and read from it."""
        while True:
            try:
                connection = self._connect()
                self._listen(connection)
            except PutDownError:
                self._pipe.settle(_put_down)
            except UnreachableError as problem:
                self._refuse(str(problem))
            # The agent must get a reply to its request after any error.
            except Exception as problem:  # noqa: BLE001
                self._refuse(f"the pipe to Upcall failed: {problem!r}")
            self._is_wanted = False
            self._disconnect()

    def request(self, name: str, request: Request) -> None:
        """Remember it, and send it if there is a connection; a new connection sends what is outstanding."""
        with self._sending:
            with self._pipe.changed:
                self._pipe.outstanding[name] = request
                self._pipe.changed.notify_all()
            self._send([request.line], [request])

    def foretell(self, message: Message, line: bytes) -> Message | None:
        """What the daemon will say, as long as it was not met; the handshake is repeated to it."""
        if self._met or self._home.was_put_down_since(self._since - CLOCK_SLACK):
            return None
        result = self._first.to(message)
        if result is None or message["method"] != "initialize":
            return result
        with self._sending:
            with self._pipe.changed:
                self._pipe.handshake = as_handshake(line)
                self._is_wanted = True
                self._pipe.changed.notify_all()
            # A connection that was made before does not say it; one that is made later does.
            self._send([self._pipe.handshake], [])
        return result

    def notify(self, line: bytes) -> None:
        """Pass it on now or never: what a new connection must know is said again by `_introduce`."""
        with self._sending:
            self._send([line], [])

    def acknowledge(self, inquiry: str) -> None:
        """Say that the agent has an answer; saying it twice does no harm."""
        if self._has_saved:
            # As below.
            from upcall.doors.pipe.environment import forget_environment  # noqa: PLC0415

            forget_environment(self._home, inquiry)
        with self._sending:
            self._taken = [*self._taken, inquiry][-REPEATED:]
            if self._is_heard:
                self._send([_taken(inquiry)], [])

    def respond(self, name: str, line: bytes) -> None:
        """Pass on what a person has answered; said again on a new connection, it does no harm."""
        with self._sending:
            self._responses = [*self._responses, line if line.endswith(b"\n") else line + b"\n"][-REPEATED:]
            self._send([self._responses[-1]], [])

    def _send(self, lines: list[bytes], requests: list[Request]) -> None:
        if self._socket is None:
            return
        for request in requests:
            request.sent = True
        try:
            self._socket.sendall(b"".join(lines))
        except OSError:
            # The reading side sees it too and connects again; what is outstanding is sent then.
            return

    def _refuse(self, sentence: str) -> None:
        self._pipe.settle(lambda request: refused(sentence))

    def _connect(self) -> socket.socket:
        """A connection on which everything outstanding has been sent; while there is nothing, no hurry."""
        began, nap = time.monotonic(), SHORTEST_NAP
        while True:
            needed = self._is_needed()
            running = self._home.running()
            if running is None and needed:
                if self._home.was_put_down_since(self._since - CLOCK_SLACK):
                    raise PutDownError
                if not self._met or time.monotonic() - began >= RESTART_WITHIN:
                    running = self._start()
            if running is not None:
                try:
                    return self._introduce(running)
                except OSError as problem:
                    if needed:
                        self._forget_if_dead()
                    if needed and time.monotonic() - began >= GIVE_UP_AFTER:
                        raise UnreachableError(_unreachable(running, problem)) from problem
            with self._pipe.changed:
                # Woken by the agent's next message; only a daemon that should be there is looked for more often.
                if self._is_needed() == needed:
                    self._pipe.changed.wait(nap if needed or self._met else None)
            nap = min(nap * 2, LONGEST_NAP)
            if not needed:
                began = time.monotonic()

    def _is_needed(self) -> bool:
        return self._is_wanted or bool(self._pipe.outstanding)

    def _start(self) -> Running:
        # Only who starts a daemon needs to know how, and how that fails.
        from upcall.domain.errors import UpcallError  # noqa: PLC0415

        # As above.
        from upcall.home.launch import ensure_running  # noqa: PLC0415

        try:
            return ensure_running(self._home)
        except UpcallError as problem:
            hint = f" ({problem.hint})" if problem.hint else ""
            raise UnreachableError(f"Upcall could not be started: {problem.message}{hint}") from problem
        except OSError as problem:
            raise UnreachableError(f"Upcall could not be started: {problem}") from problem

    def _forget_if_dead(self) -> None:
        # As above.
        from upcall.home.instance import forget_dead  # noqa: PLC0415

        forget_dead(self._home)

    def _introduce(self, running: Running) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", running.pipe_port), timeout=5)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(None)
        hello = introduction(self._pipe) | {"token": os.environ.get("UPCALL_TOKEN") or running.token}
        with self._sending:
            with self._pipe.changed:
                requests = list(self._pipe.outstanding.values())
                before = [self._pipe.handshake, self._pipe.initialized if self._pipe.handshake else None]
            self._socket = connection
            self._is_heard = self._knows_taken
            lines = [
                dumped(hello),
                *(line for line in before if line),
                # Before the requests: a question that the agent asks again now is not the one whose answer it has.
                *(_taken(inquiry) for inquiry in self._taken if self._is_heard),
                *self._responses,
                *(request.line for request in requests),
            ]
            self._send(lines, requests)
        return connection

    def _listen(self, connection: socket.socket) -> None:
        rest = b""
        while True:
            try:
                data = connection.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line.startswith(b'{"upcall":'):
                    self._told(json.loads(line))
                elif line:
                    self._pipe.replied(line + b"\n")

    def _told(self, message: Message) -> None:
        match message["upcall"]:
            case "daemon":
                protocol = message.get("protocol")
                if not isinstance(protocol, int) or protocol < OLDEST_DAEMON:
                    raise UnreachableError(
                        f"the running Upcall ({message.get('version')}) is too old for this `upcall mcp`: restart it "
                        f"with `{_typed()} up --replace`"
                    )
                self._met, self._since, self._is_wanted = True, time.time(), False
                with self._sending:
                    was_heard, self._is_heard = self._is_heard, protocol >= ACKNOWLEDGING
                    self._knows_taken = self._is_heard
                    if self._is_heard and not was_heard and self._taken:
                        self._send([_taken(inquiry) for inquiry in self._taken], [])
            case "error":
                problem = message.get("error")
                told = problem if isinstance(problem, dict) else {}
                raise UnreachableError(
                    f"Upcall refused this pipe: {told.get('message')} ({told.get('hint')})"
                )
            case "opened":
                self._pipe.opened(message)
                # Only a pipe with a question that waits needs it.
                from upcall.doors.pipe.environment import save_environment  # noqa: PLC0415

                self._has_saved |= save_environment(self._pipe, self._home, str(message.get("id")))
            case _:
                # Said by a newer daemon to newer pipes.
                pass

    def _disconnect(self) -> None:
        with self._sending:
            connection, self._socket = self._socket, None
            self._is_heard = False
        if connection is not None:
            connection.close()


def _taken(inquiry: str) -> bytes:
    return dumped({"upcall": "taken", "id": inquiry})


def _put_down(request: Request) -> Message:
    """The reply to a request after `upcall down`: a call that was under way is parked."""
    again = f"start it with `{_typed()} up`"
    if request.tool is None:
        return refused(f"{DOWN}: {again}")
    if request.sent and request.opened is not None:
        name, ref = request.opened
        text = (
            f"No answer yet: {DOWN}. The question stays open as {name} (ref {ref}). Once Upcall is up again "
            f'(`{_typed()} up`), call wait_for_answer with id "{name}". This is not an answer, and not a yes.'
        )
        return _result(request, text, {"status": "parked", "id": name, "ref": ref})
    if request.sent and request.tool in ("ask_human", "confirm_action", "wait_for_answer"):
        text = (
            f"No answer: {DOWN} before it said under which id the question is kept. Once it is up again "
            f"(`{_typed()} up`), ask again. This is not an answer, and not a yes."
        )
        return _result(request, text, {"status": "parked"})
    problem = {"code": "put_down", "message": DOWN, "hint": again}
    return _result(request, f"Error: {DOWN}. To use it again, {again}.", {"error": problem}, is_error=True)


def _result(request: Request, text: str, structured: Message, *, is_error: bool = False) -> Message:
    result = {
        "content": [{"type": "text", "text": text}],
        # As from the daemon: a client may show its model nothing else.
        "structuredContent": structured if is_error else {**structured, "message": text},
        "isError": is_error,
    }
    return {"result": result | ({"resultType": "complete"} if request.modern else {})}


def _typed() -> str:
    """How the person at this machine types our command."""
    # It loads what a pipe that works never needs.
    from upcall.home.program import program  # noqa: PLC0415

    return program()


def _unreachable(running: Running, problem: OSError) -> str:
    return f"Upcall (process {running.pid}) does not answer: {problem}. Restart it with `{_typed()} up --replace`"
