"""The record that Gemini CLI keeps of a session: `tmp/PROJECT/chats/session-….jsonl` in its own folder."""

import json
from collections.abc import Iterator
from pathlib import Path

from upcall.agents.records import Fields, fields, home_of, items, lines, text, words
from upcall.domain.inquiry.activity import Call, Step, Words
from upcall.ports.foreign_files import inside, read_end, read_start
from upcall.ports.transcripts import WINDOW, AskingSession, SessionRecord

LARGEST_LIST = 1024 * 1024
MOST_RECORDS = 50
RECENT = 60.0
"""Seconds before its question in which a session has written what its model said."""


class GeminiTranscripts:
    """Reads the records of Gemini CLI.

    It does not tell its session, and writes a call down when it has ended. So the session that asks is the one in its
    folder that has just written words of its model without a result; where there are two, neither is read.
    """

    def read(self, asking: AskingSession) -> SessionRecord | None:
        """See `Transcripts.read`."""
        chats = _chats(asking)
        found = [record for path in _latest(chats, asking) if (record := _read(path)).complete]
        return found[0] if len(found) == 1 else None


def _chats(asking: AskingSession) -> Path:
    """The folder with the records of a project, by the list that Gemini CLI keeps."""
    own = home_of(asking.environment, "GEMINI_CLI_HOME") / ".gemini"
    projects = fields(json.loads(read_start(inside(own, "projects.json"), LARGEST_LIST).data))
    name = text(fields(projects.get("projects")).get(asking.folder))
    if not name or name in {".", ".."} or "/" in name:
        raise FileNotFoundError(f"Gemini CLI knows no project in {asking.folder!r}")
    return inside(own, "tmp", name, "chats")


def _latest(chats: Path, asking: AskingSession) -> list[Path]:
    """The records that were written just before the question, or that of the session by its id."""
    named = f"-{asking.id[:8]}.jsonl" if asking.id else ".jsonl"
    recent = [
        path
        for path in chats.iterdir()
        if path.name.startswith("session-")
        and path.name.endswith(named)
        and (asking.id or abs(asking.asked_at - path.lstat().st_mtime) <= RECENT)
    ]
    return sorted(recent)[-MOST_RECORDS:]


def _read(path: Path) -> SessionRecord:
    part = read_end(path, WINDOW)
    # A message is written again when there is more of it: the last one counts.
    messages: dict[str, Fields] = {}
    for line in lines(part):
        if name := text(line.get("id")):
            messages[name] = line
    task, steps, spoken, last = "", list[Step](), 0, fields(None)
    for last in messages.values():
        match last.get("type"):
            case "user":
                task = _prompt(last) or task
            case "gemini":
                spoken += 1
                steps += _steps(last)
            case _:
                continue
    complete = last.get("type") == "gemini" and not last.get("toolCalls")
    return SessionRecord(
        task=task, turn=spoken if part.whole and spoken else None, steps=tuple(steps), complete=complete
    )


def _steps(message: Fields) -> Iterator[Step]:
    yield Words(text=words(message.get("content")))
    for call in map(fields, items(message.get("toolCalls"))):
        yield Call(tool=text(call.get("name")), input=call.get("args"))


def _prompt(message: Fields) -> str:
    """The words of the person; results of tools and what the program adds in brackets are none."""
    said = words(message.get("content")).strip()
    return "" if said.startswith("<") else said
