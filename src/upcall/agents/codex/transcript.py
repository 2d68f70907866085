"""The record that Codex keeps of a session: `sessions/YEAR/MONTH/DAY/rollout-…-SESSION.jsonl` in its own folder."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from upcall.agents.records import Fields, fields, home_of, lines, text, words
from upcall.domain.inquiry.activity import Call, Step, Words
from upcall.ports.foreign_files import inside, read_end
from upcall.ports.transcripts import WINDOW, AskingSession, SessionRecord


class CodexTranscripts:
    """Reads the records of Codex."""

    def read(self, asking: AskingSession) -> SessionRecord | None:
        """See `Transcripts.read`."""
        path = _path(asking)
        if path is None:
            return None
        part = read_end(path, WINDOW)
        task, replies, steps = "", 0, list[Step]()
        for line in lines(part):
            payload = fields(line.get("payload"))
            if line.get("type") == "token_usage_record":
                replies += 1
            if line.get("type") != "response_item":
                continue
            task = _prompt(payload) or task
            steps += _steps(payload)
        turn = replies if part.whole and replies else None
        return SessionRecord(task=task, turn=turn, steps=tuple(steps))


def _path(asking: AskingSession) -> Path | None:
    """The record of a session. The day of its folder is that of the session's id, by the clock of the machine."""
    root = home_of(asking.environment, "CODEX_HOME", ".codex") / "sessions"
    began = datetime.fromtimestamp((UUID(asking.id).int >> 80) / 1000, UTC)
    for days in (0, -1, 1):
        day = began + timedelta(days=days)
        names = (f"{day:%Y}", f"{day:%m}", f"{day:%d}")
        for found in root.joinpath(*names).glob(f"rollout-*-{asking.id}.jsonl"):
            return inside(root, *names, found.name)
    return None


def _steps(payload: Fields) -> Iterator[Step]:
    match payload.get("type"):
        case "message" if payload.get("role") == "assistant":
            yield Words(text=words(payload.get("content"), "output_text"))
        case "function_call":
            yield Call(tool=_tool(payload), input=_arguments(payload))
        case "custom_tool_call":
            yield Call(tool=text(payload.get("name")), input=text(payload.get("input")))
        case "local_shell_call":
            yield Call(tool="shell", input=payload.get("action"))
        case _:
            return


def _tool(payload: Fields) -> str:
    namespace = text(payload.get("namespace"))
    name = text(payload.get("name"))
    return f"{namespace}__{name}" if namespace else name


def _arguments(payload: Fields) -> object:
    given = text(payload.get("arguments"))
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def _prompt(payload: Fields) -> str:
    """The words of the person; what the program adds in brackets is none."""
    if payload.get("type") != "message" or payload.get("role") != "user":
        return ""
    said = words(payload.get("content"), "input_text").strip()
    return "" if said.startswith("<") else said
