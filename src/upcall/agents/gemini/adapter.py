"""Gemini CLI, which is talked to over the Agent Client Protocol in both modes.

Only there does it take a server for one session: `gemini -p` reads servers from the files of the user and the project,
which are not ours to write, and from those of the system, which have to be root's.
"""

import re
from dataclasses import replace

from upcall.agents.acp.adapter import PACKAGES, AcpDriver
from upcall.agents.acp.reading import AcpReader
from upcall.agents.gemini.transcript import GeminiTranscripts
from upcall.domain.errors import InvalidRequest
from upcall.domain.run.program import Command, Door, Permission, Session, Task
from upcall.ports.agent import Driver, Reader

OLDEST = (0, 61)
PROVED = "0.61.0"

PATIENCE = 540
"""Seconds that a call of ours may take: over this protocol Gemini gives up after 600, and nothing raises that."""

REST = 90.0
"""Seconds after its start in which a session is not resumed: its file is named after the minute in which the session began,
and loading it within that minute would overwrite it. The program may take half a minute to begin the session."""

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", re.ASCII)


class Gemini:
    """Starts, talks to and resumes `gemini --acp`. It does not end with its input, and has to be ended."""

    name = "gemini"
    install_hint = f"npm install -g @google/gemini-cli@{PROVED}"
    rest = REST
    hides_results = True
    transcripts = GeminiTranscripts()
    packages = PACKAGES

    def __init__(self, executable: str = "") -> None:
        self._executable = executable or "gemini"

    def program(self) -> str:
        """What is started."""
        return self._executable

    def version_problem(self, version: str) -> str | None:
        """Too old for what we say to it, or no version at all."""
        found = _VERSION.search(version)
        if found is None:
            return f"{version.strip()[:80]!r} is no version of Gemini CLI; {PROVED} is known to work"
        if tuple(map(int, found.groups())) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            return (
                f"Gemini CLI {found[0]} is too old: it takes {oldest} or newer, and {PROVED} is known to work"
            )
        return None

    def start(self, task: Task) -> Command:
        """The same process for every task: what to do is told by the driver."""
        return self._command(task)

    def resume(self, session: Session, message: str | None) -> Command:
        """The same process again; the session is loaded by the driver.

        The flag names the session for the clean-up at the program's start: a resumed session has a second, empty file, and
        without the flag the next process removes that file together with the session's own.
        """
        if message is None:
            raise InvalidRequest("gemini is resumed with a message", hint="say what it is to go on with")
        command = self._command(session)
        return replace(command, argv=(*command.argv, "--resume", session.id))

    def attach(self, session: Session) -> Command:
        """The session in a terminal, where a person answers for themselves."""
        argv = (self._executable, *session.arguments, "--resume", session.id or "latest")
        return Command(argv=argv, cwd=session.cwd)

    def reader(self) -> Reader:
        """Reads the messages that a process sends."""
        return AcpReader()

    def driver(self, told: Task | Session, message: str | None) -> Driver | None:
        """Always: it is talked to."""
        return AcpDriver(replace(told, door=patient(told.door)), message)

    def _command(self, told: Task | Session) -> Command:
        # Said in any case, so that no settings of the user's make it freer than its run.
        mode = "yolo" if told.permission is Permission.AUTONOMOUS else "default"
        return Command(
            argv=(self._executable, *told.arguments, "--acp", "--approval-mode", mode),
            cwd=told.cwd,
            environment={**told.door.environment, "UPCALL_TOKEN": told.door.token},
        )


def patient(door: Door) -> Door:
    """The same door with calls that return *parked* before Gemini gives them up; an answer then continues the session."""
    command = list(door.command)
    if "--wait" in command:
        at = command.index("--wait")
        del command[at : at + 2]
    seconds = round(min(door.wait, PATIENCE))
    return replace(door, command=(*command, "--wait", str(seconds)))
