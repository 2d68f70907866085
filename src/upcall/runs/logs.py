"""What a run has written, in words that a person reads."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from upcall.agent_ports import Reader
from upcall.domain.program import (
    Asked,
    Deferred,
    Finished,
    Noticed,
    Refused,
    Said,
    SessionSeen,
    Spent,
    ToolCalled,
    ToolReturned,
    TurnTaken,
    Unreadable,
)
from upcall.runs.folder import ERRORS, RunFolder

MOST_COMPLAINTS = 20
LONGEST_COMPLAINT = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One thing that happened, and how far into the output that was."""

    at: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Some of a run's log; `over` says that nothing comes after `next_after`."""

    lines: tuple[LogLine, ...]
    next_after: int
    over: bool


def readable(reader: Reader, begins: int, data: bytes, *, raw: bool) -> list[LogLine]:
    """Whole lines of output as a person reads them; raw as they were written."""
    made: list[LogLine] = []
    at = begins
    for line in data.splitlines(keepends=True):
        at += len(line)
        text = line.decode("utf-8", "replace").rstrip("\n")
        if raw:
            made.append(LogLine(at=at, kind="raw", text=text))
        else:
            made += [LogLine(at=at, kind=kind, text=said) for kind, said in _told(reader.notice(text))]
    return made


def complaints(folder: RunFolder, at: int) -> list[LogLine]:
    """The last lines that a run's program wrote to its standard error, for the end of a log: no line has its time."""
    _, data = folder.read(max(folder.size(ERRORS) - LONGEST_COMPLAINT, 0), ERRORS, LONGEST_COMPLAINT)
    lines = data.decode("utf-8", "replace").splitlines()[-MOST_COMPLAINTS:]
    return [LogLine(at=at, kind="stderr", text=line) for line in lines]


def _told(noticed: Iterable[Noticed]) -> Iterable[tuple[str, str]]:
    for each in noticed:
        match each:
            case Said(text=text):
                yield "said", text
            case ToolCalled(name=name, input=given):
                yield "tool", f"{name} {json.dumps(dict(given), ensure_ascii=False)}" if given else name
            case ToolReturned(text=text, is_error=is_error):
                yield ("error" if is_error else "result"), text
            case Refused(tool=tool, reason=reason):
                yield "refused", f"{tool}: {reason}" if reason else tool
            case Asked(fields=fields):
                yield "asked", json.dumps(dict(fields), ensure_ascii=False)
            case Deferred(name=name):
                yield "waiting", name
            case Finished(ok=ok, text=text, reason=reason):
                yield ("finished" if ok else "failed"), text or reason
            case SessionSeen(id=session):
                yield "session", session
            case Unreadable(line=line):
                yield "raw", line
            case TurnTaken() | Spent():
                pass
