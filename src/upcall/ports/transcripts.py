"""The seam to the records that agent programs keep of their own sessions: read, never written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from upcall.domain.inquiry.activity import Step
from upcall.ports.agent import Agent

WINDOW = 4 * 1024 * 1024
"""How many bytes at the end of a record are looked at. A longer record has no count of turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingSession:
    """The session that asks, as its pipe has told of it.

    `id` is empty where the program does not tell it. `question` is the text that the session asks, by which a record can show
    that it is the record of this session. `environment` has the variables that say where the program keeps its records.
    """

    id: str
    folder: str
    question: str
    asked_at: float
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """The end of a session's record. It is `complete` if its program writes nothing more before the call that asks returns."""

    task: str = ""
    turn: int | None = None
    steps: tuple[Step, ...] = ()
    complete: bool = False


class Transcripts(Protocol):
    """Reads the records of one program. It blocks, so it is called in a thread."""

    def read(self, asking: AskingSession) -> SessionRecord | None:
        """The record of the session that asks, and of no other; None where there is none that is certain to be its own.

        Raises:
            OSError, ValueError: if it cannot be read.
        """
        ...


def transcripts_of(agent: Agent) -> Transcripts | None:
    """What reads the records of an agent's program: `transcripts = …` in its adapter."""
    found: Transcripts | None = getattr(agent, "transcripts", None)
    return found
