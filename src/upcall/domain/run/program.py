"""The values of adapters: what an agent's program is started with, and what its output reports.

An adapter describes commands and reads output. Processes are started by the supervisor.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class Permission(StrEnum):
    """How much an agent may do without asking a person."""

    APPROVAL = "approval"
    AUTONOMOUS = "autonomous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """How a program reaches Upcall: the command of the stdio door with its environment, and the daemon's address.

    `token` is the run's own and can only ask. `wait` is for how many seconds a call may be blocked. `advice` is what
    its owner wants a program to be told about asking; empty is our own words. `aliases` are further names of the tool that
    asks, and `server` is a further name of ours that the program may find us under by itself.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    url: str
    token: str
    wait: float = 24 * 3600.0
    advice: str = ""
    aliases: tuple[str, ...] = ()
    server: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task for a program: the prompt, the folder and the permission mode.

    `session` is a fresh uuid for programs that let us choose their session's id; `arguments` are further ones
    of the program, given by the person who started the run.
    """

    prompt: str
    cwd: str
    door: Door
    session: str
    permission: Permission = Permission.APPROVAL
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation that can be taken up again, exactly as it was begun."""

    id: str
    cwd: str
    door: Door
    permission: Permission = Permission.APPROVAL
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process to start, never through a shell. `environment` is added to what its run is allowed to have.

    `files` are written into the working directory before it starts, by relative name; an empty text removes one.
    """

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSeen:
    """The program told its session's id."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTaken:
    """The model has spoken once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """A tool was called; `input` is as the model gave it."""

    id: str
    name: str
    input: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned:
    """A tool's result reached the model, which is the evidence that it has an answer in it."""

    id: str
    text: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Words of the model."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The steps of a plan that the program follows, as Markdown; it tells them and has nothing decided about them."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Usage since the last report; None where the program does not report it."""

    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRefused:
    """The program, or its sandbox, refused an action by itself."""

    tool: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """The program ends here to wait for a decision about this call, and is to be resumed without a prompt."""

    id: str
    name: str
    input: Mapping[str, object] = field(default_factory=dict)


SESSION_GONE = "session_gone"
"""Why a program's work ended that does not know its session any more, so that trying again is useless."""

LOST_TOUCH = "lost_touch"
"""Why a program's work ended that was talked to by a daemon which is gone, and that can only go on in a new process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The program's own word about how its work ended; `reason` is a short code where it did not end well."""

    ok: bool
    text: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The program wrote a question into its text, and is expected to end its turn and wait."""

    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWords:
    """The last reports of a process, which decide the state of its run after its end; None until one comes."""

    finished: Finished | None = None
    deferred: Deferred | None = None
    asked: Asked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A line that is not what the program promised to write."""

    line: str


Noticed = (
    SessionSeen
    | TurnTaken
    | ToolCalled
    | ToolReturned
    | Said
    | Planned
    | Spent
    | ActionRefused
    | Deferred
    | Finished
    | Asked
    | Unreadable
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something that an agent wants to do: the tool, its input to the last byte, and where.

    `editable` says whether its program runs the tool with another input, if a person changed it. `hears` is how words that a
    person writes beside a yes reach its model: with the yes, when the tool has run (`after`), or not at all.
    """

    tool: str
    input: Mapping[str, object]
    cwd: str = ""
    reason: str = ""
    editable: bool = False
    hears: Literal["", "with_yes", "after"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether an action may be done; `reason` is for the agent to read. An open verdict is not a yes.

    `inquiry` is the id of the one that a person decided, or can still decide. `input` is what the tool runs with, where a person
    edited it or the agent expects it back. `remark` is for the model to read beside a yes. Of a plan, `accepts_edits` says that
    files may be changed without further questions.
    """

    allowed: bool
    reason: str = ""
    open: bool = False
    inquiry: str = ""
    input: Mapping[str, object] | None = None
    accepts_edits: bool = False
    remark: str = ""
