"""What a hook of a session reports: the event of its program, and what the hook saw of the terminal.

Events are read in the words of Claude Code; `vocabularies.py` has those of the other programs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from upcall.domain.errors import InvalidRequest
from upcall.domain.roles import Caller
from upcall.doors.native import Fields
from upcall.doors.terminal.dialogs import FINISHED, Dialog
from upcall.doors.terminal.programs import CLAUDE
from upcall.doors.terminal.vocabularies import ASKED, SPOKEN, VOCABULARIES
from upcall.ports.json_reading import read_json

HELD = (ASKED, FINISHED)
USED = ("PostToolUse", "PostToolUseFailure")
ENDED = "SessionEnd"
EVENTS = (*HELD, *USED, SPOKEN, ENDED)
HUNG_UP = "other"
"""The reason of an end that was not typed in the terminal."""

LONGEST_NAME = 1000
HINT = "run `upcall setup AGENT --away`, which writes these hooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One report. `idle` are the seconds since the last key, `asked` is the inquiry that the hook has put before.

    Of a session that is not `attended` no person sees the terminal. `settled` says that the dialog was answered there. `runner` is the
    machine of the session, where the hook knows it; `program` is what the session is one of, and `process` is the hook. One that
    `acknowledges` tells later of the inquiry with which its program was still there after it was given the answer (`acknowledged`), or
    not (`missed`).
    """

    program: str
    event: Fields
    name: str
    session: str
    idle: float | None
    attended: bool
    again: bool
    asked: str
    settled: bool
    runner: str
    process: int
    acknowledges: bool
    acknowledged: str
    missed: str

    @property
    def tool(self) -> str:
        """The tool that the event is about."""
        return str(self.event.get("tool_name", ""))

    @property
    def workspace(self) -> str | None:
        """The folder of the session."""
        cwd = self.event.get("cwd")
        return cwd if isinstance(cwd, str) and cwd else None

    @property
    def is_over(self) -> bool:
        """Whether the person has ended what the session waited for: by a prompt, or by leaving it on purpose."""
        return self.name == SPOKEN or (self.name == ENDED and self.event.get("reason") != HUNG_UP)

    @property
    def is_held(self) -> bool:
        """Whether it waits for a decision."""
        return self.name in HELD

    def dialog(self, caller: Caller) -> Dialog:
        """The dialog that it is about."""
        if self.name == FINISHED:
            return Dialog(self.session_of(caller), FINISHED, self.event.get("prompt_id"))
        return Dialog(self.session_of(caller), self.tool, self.event.get("tool_input"))

    def session_of(self, caller: Caller) -> str:
        """The session, told from one that another agent calls by the same name."""
        return f"{caller.name}\n{caller.run}\n{self.session}"


def report_in(body: bytes) -> Report:
    """Read a report.

    Raises:
        InvalidRequest: if it is none.
    """
    sent = read_json(body, "what the hook sent")
    fields = cast("Fields", sent) if isinstance(sent, Mapping) else {}
    event = fields.get("hook")
    if not isinstance(event, Mapping):
        raise InvalidRequest("`hook` is not the event of a hook", hint=HINT)
    program = fields.get("program", CLAUDE)
    if not isinstance(program, str) or program not in VOCABULARIES:
        raise InvalidRequest(f"no sessions of {program!r} are known here"[:200], hint=HINT)
    event = VOCABULARIES[program](cast("Fields", event))
    name, session, idle = event.get("hook_event_name"), event.get("session_id"), fields.get("idle")
    if name not in EVENTS:
        raise InvalidRequest(f"nothing is decided here on {name!r}"[:200], hint=HINT)
    if not isinstance(session, str) or not 0 < len(session) <= LONGEST_NAME:
        raise InvalidRequest("`session_id` is missing", hint=HINT)
    return Report(
        program=program,
        event=event,
        name=str(name),
        session=session,
        idle=float(idle) if isinstance(idle, int | float) else None,
        attended=fields.get("attended") is True,
        again=fields.get("again") is True,
        asked=_name(fields, "asked"),
        settled=fields.get("settled") is True,
        runner=_name(fields, "runner"),
        process=process if isinstance(process := fields.get("process"), int) else 0,
        acknowledges=fields.get("acknowledges") is True,
        acknowledged=_name(fields, "acknowledged"),
        missed=_name(fields, "missed"),
    )


def _name(fields: Fields, key: str) -> str:
    return str(fields.get(key) or "")[:LONGEST_NAME]
