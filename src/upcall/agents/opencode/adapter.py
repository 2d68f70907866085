"""opencode: `run` where nothing has to be approved, and otherwise `serve`, which puts its questions and prompts to people."""

import os
import re
from collections.abc import Mapping

from upcall.agents.opencode import run as opencode_run
from upcall.agents.opencode.settings import PASSWORD, environment, password
from upcall.agents.opencode.transcript import OpencodeTranscripts
from upcall.agents.prompt import advice_of, with_advice
from upcall.domain.errors import InvalidRequest
from upcall.domain.run.program import Command, Permission, Session, Task
from upcall.ports.agent import Driver, Reader

OLDEST = (1, 18)
PROVED = "1.18.33"

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", re.ASCII)
_OF_THE_PROMPT = {"--agent": "agent", "--model": "model", "-m": "model", "--variant": "variant"}


class Opencode:
    """Starts, talks to and resumes opencode. `surroundings` are the variables that its processes have anyway."""

    name = "opencode"
    install_hint = f"npm install -g opencode-ai@{PROVED}"
    rest = 0.0
    hides_results = True
    transcripts = OpencodeTranscripts()

    def __init__(self, executable: str = "", surroundings: Mapping[str, str] | None = None) -> None:
        self._executable = executable or "opencode"
        self._surroundings = os.environ if surroundings is None else surroundings

    def program(self) -> str:
        """What is started."""
        return self._executable

    def version_problem(self, version: str) -> str | None:
        """Too old for what we say to it, or no version at all."""
        found = _VERSION.search(version)
        if found is None:
            return f"{version.strip()[:80]!r} is no version of opencode; {PROVED} is known to work"
        if tuple(map(int, found.groups())) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            return (
                f"opencode {found[0]} is too old: it takes {oldest} or newer, and {PROVED} is known to work"
            )
        return None

    def start(self, task: Task) -> Command:
        """Begin a session."""
        return self._command(task, with_advice(task.prompt, advice_of(task.door)))

    def resume(self, session: Session, message: str | None) -> Command:
        """Go on with a session, which always takes words."""
        if message is None:
            raise InvalidRequest("opencode is resumed with a message", hint="say what it is to go on with")
        return self._command(session, message)

    def attach(self, session: Session) -> Command:
        """The session in a terminal, where a person answers for themselves."""
        prompt, _ = split(session.arguments)
        chosen = [
            word for flag in ("agent", "model") if flag in prompt for word in (f"--{flag}", prompt[flag])
        ]
        which = ("--session", session.id) if session.id else ("--continue",)
        return Command(argv=(self._executable, *chosen, *which), cwd=session.cwd)

    def reader(self) -> Reader:
        """Reads the stream of `run`; what `serve` prints tells nothing."""
        return opencode_run.RunReader()

    def driver(self, told: Task | Session, message: str | None) -> Driver | None:
        """Talks to `serve`; `run` is only read."""
        if told.permission is Permission.AUTONOMOUS:
            return None
        # It brings an HTTP client, which only those need who talk to a server.
        from upcall.agents.opencode.serve import ServeDriver  # noqa: PLC0415

        return ServeDriver(told, message, split(told.arguments)[0])

    def _command(self, told: Task | Session, words: str) -> Command:
        variables = environment(told.door, told.permission, self._surroundings)
        if told.permission is Permission.AUTONOMOUS:
            session = told.id if isinstance(told, Session) else None
            argv = (self._executable, *opencode_run.arguments(told.arguments, session))
            return Command(argv=argv, cwd=told.cwd, environment=variables, stdin=words)
        _, more = split(told.arguments)
        return Command(
            argv=(self._executable, "serve", *more, "--port", "0", "--hostname", "127.0.0.1"),
            cwd=told.cwd,
            environment={**variables, PASSWORD: password(told.door)},
        )


def split(arguments: tuple[str, ...]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Arguments of `run` that a server is told with each prompt, and those that the process itself takes."""
    prompt: dict[str, str] = {}
    rest: list[str] = []
    left = list(arguments)
    while left:
        flag, equals, value = left.pop(0).partition("=")
        if flag not in _OF_THE_PROMPT or not (equals or left):
            rest.append(flag + equals + value)
        else:
            prompt[_OF_THE_PROMPT[flag]] = value if equals else left.pop(0)
    return prompt, tuple(rest)
