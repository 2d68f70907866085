"""Codex: `codex exec` where it may work on its own, its app server where a person is asked for permission."""

import re

from upcall.agents.codex import app as codex_app, exec as codex_exec
from upcall.agents.codex.transcript import CodexTranscripts
from upcall.domain.errors import InvalidRequest
from upcall.domain.run.program import Command, Permission, Session, Task
from upcall.ports.agent import Driver, Reader

OLDEST = (0, 166)


class Codex:
    """The adapter for OpenAI's Codex."""

    name = "codex"
    install_hint = "npm install -g @openai/codex, then run `codex` once to sign in"
    rest = 0.0
    hides_results = True
    transcripts = CodexTranscripts()

    def __init__(self, executable: str = "") -> None:
        self._executable = executable or "codex"

    def program(self) -> str:
        """What is started."""
        return self._executable

    def version_problem(self, version: str) -> str | None:
        """What is wrong with an installed version; it prints `codex-cli 0.166.0`."""
        found = re.search(r"(?<![\d.])([0-9]{1,6})\.([0-9]{1,6})\.[0-9]", version)
        needed = "Upcall needs Codex {}.{} or newer: npm install -g @openai/codex@latest".format(*OLDEST)
        if found is None:
            return f"this does not look like a version of Codex: {version.strip()[:80]!r}; {needed}"
        if (int(found[1]), int(found[2])) < OLDEST:
            return f"Codex {found[1]}.{found[2]} is too old; {needed}"
        return None

    def start(self, task: Task) -> Command:
        """How a task is begun."""
        if _is_talked_to(task):
            return codex_app.serve(self.program(), task)
        return codex_exec.start(self.program(), task)

    def resume(self, session: Session, message: str | None) -> Command:
        """How a session is taken up again.

        Raises:
            InvalidRequest: if there is nothing to say to it.
        """
        if message is None:
            raise InvalidRequest(
                "Codex cannot be resumed without a message", hint="say what it shall do next"
            )
        if _is_talked_to(session):
            return codex_app.serve(self.program(), session)
        return codex_exec.resume(self.program(), session, message)

    def attach(self, session: Session) -> Command:
        """How a person takes the session over in a terminal."""
        return Command(argv=(self.program(), "resume", session.id), cwd=session.cwd)

    def reader(self) -> Reader:
        """Reads what `codex exec` writes."""
        return codex_exec.ExecReader()

    def driver(self, told: Task | Session, message: str | None) -> Driver | None:
        """Talks to the app server, where there is one."""
        return codex_app.AppDriver(told, message) if _is_talked_to(told) else None


def _is_talked_to(told: Task | Session) -> bool:
    return told.permission is Permission.APPROVAL
