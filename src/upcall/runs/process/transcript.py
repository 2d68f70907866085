"""What a run has written, in words that a person reads."""

import json
import logging
from collections.abc import Iterable
from contextlib import suppress

from upcall.domain.run import program
from upcall.ports.agent import Reader
from upcall.ports.runs import LogLine
from upcall.runs.process.folder import ERRORS, NOTICED, OUTPUT, Output, RunFolder

log = logging.getLogger("upcall.runs")

MOST_COMPLAINTS = 20
LONGEST_COMPLAINT = 16 * 1024
REMEMBERED = 1 << 20
"""How many bytes of what was noticed before are looked at for what is told again."""


def lines_of(stream: str, reader: Reader, begins: int, data: bytes, *, raw: bool) -> list[LogLine]:
    """Whole lines of a stream as a person reads them."""
    return written(begins, data) if stream == NOTICED else readable(reader, begins, data, raw=raw)


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


class Transcript:
    """Writes down what is noticed of a process that is talked to, since its output does not tell it.

    A daemon that takes such a process over may be told its history again, from the beginning: that is not written twice.
    """

    def __init__(self, folder: RunFolder) -> None:
        known, _ = folder.last_lines(REMEMBERED, NOTICED)
        self._told_before = known.splitlines(keepends=True)
        self._output = Output(folder, NOTICED)

    def write(self, noticed: program.Noticed) -> None:
        """Add it. A log that cannot be written is no reason to stop a run."""
        for kind, text in _told([noticed]):
            line = json.dumps({"kind": kind, "text": text}).encode() + b"\n"
            if line in self._told_before:
                del self._told_before[: self._told_before.index(line) + 1]
                continue
            self._told_before.clear()
            try:
                self._output.append(line)
            except OSError as problem:
                log.warning("what a run does cannot be written down: %s", problem)

    def close(self) -> None:
        """Let go."""
        self._output.close()


def stream_of(folder: RunFolder, *, raw: bool) -> str:
    """Where a run's log is: in its output, unless the daemon has written down what it noticed."""
    return NOTICED if not raw and folder.segments(NOTICED) else OUTPUT


def written(begins: int, data: bytes) -> list[LogLine]:
    """Whole lines of what was noticed."""
    made: list[LogLine] = []
    at = begins
    for line in data.splitlines(keepends=True):
        at += len(line)
        with suppress(ValueError, TypeError, KeyError):
            told = json.loads(line)
            made.append(LogLine(at=at, kind=str(told["kind"]), text=str(told["text"])))
    return made


def complaints(folder: RunFolder, at: int) -> list[LogLine]:
    """The last lines that a run's program wrote to its standard error, for the end of a log: no line has its time."""
    _, data = folder.read(max(folder.size(ERRORS) - LONGEST_COMPLAINT, 0), ERRORS, LONGEST_COMPLAINT)
    lines = data.decode("utf-8", "replace").splitlines()[-MOST_COMPLAINTS:]
    return [LogLine(at=at, kind="stderr", text=line) for line in lines]


def _told(noticed: Iterable[program.Noticed]) -> Iterable[tuple[str, str]]:
    for each in noticed:
        match each:
            case program.Said(text=text):
                yield "said", text
            case program.Planned(text=text):
                yield "plan", text
            case program.ToolCalled(name=name, input=given):
                yield "tool", f"{name} {json.dumps(dict(given), ensure_ascii=False)}" if given else name
            case program.ToolReturned(text=text, is_error=is_error):
                yield ("error" if is_error else "result"), text
            case program.ActionRefused(tool=tool, reason=reason):
                yield "refused", f"{tool}: {reason}" if reason else tool
            case program.Asked(fields=fields):
                yield "asked", json.dumps(dict(fields), ensure_ascii=False)
            case program.Deferred(name=name):
                yield "waiting", name
            case program.Finished(ok=ok, text=text, reason=reason):
                yield ("finished" if ok else "failed"), text or reason
            case program.SessionSeen(id=session):
                yield "session", session
            case program.Unreadable(line=line):
                yield "raw", line
            case program.TurnTaken() | program.Spent():
                pass
