"""The record that Claude Code keeps of a session: `projects/FOLDER/SESSION.jsonl` in its own folder."""

import re
from collections.abc import Iterator
from pathlib import Path

from upcall.agents.records import Fields, fields, home_of, items, lines, text, words
from upcall.domain.inquiry.activity import Call, Step, Words
from upcall.ports.foreign_files import inside, read_end
from upcall.ports.transcripts import WINDOW, AskingSession, SessionRecord

MOST_FOLDERS = 5000
_NO_LETTER = re.compile(r"[^A-Za-z0-9]")


class ClaudeTranscripts:
    """Reads the records of Claude Code. Lines of subagents and of the program itself are left out."""

    def read(self, asking: AskingSession) -> SessionRecord | None:
        """See `Transcripts.read`."""
        path = _path(asking)
        if path is None:
            return None
        part = read_end(path, WINDOW)
        task, spoken, steps = "", set[str](), list[Step]()
        for line in lines(part):
            if line.get("isSidechain") is True or line.get("isMeta") is True:
                continue
            message = fields(line.get("message"))
            match line.get("type"):
                case "assistant":
                    spoken.add(text(message.get("id")))
                    steps += _steps(message)
                case "user":
                    task = _prompt(message) or task
                case "last-prompt":
                    task = text(line.get("lastPrompt")) or task
                case _:
                    continue
        turn = len(spoken) if part.whole else None
        return SessionRecord(task=task, turn=turn, steps=tuple(steps))


def _path(asking: AskingSession) -> Path | None:
    """The record of a session. Its folder is named after the one that the session began in."""
    root = home_of(asking.environment, "CLAUDE_CONFIG_DIR", ".claude") / "projects"
    name = f"{asking.id}.jsonl"
    likely = _NO_LETTER.sub("-", asking.folder)
    if (root / likely / name).exists():
        return inside(root, likely, name)
    for number, folder in enumerate(root.iterdir()):
        if number >= MOST_FOLDERS:
            break
        if (folder / name).exists():
            return inside(root, folder.name, name)
    return None


def _steps(message: Fields) -> Iterator[Step]:
    for block in map(fields, items(message.get("content"))):
        match block.get("type"):
            case "text":
                yield Words(text=text(block.get("text")))
            case "tool_use":
                yield Call(tool=text(block.get("name")), input=block.get("input"))
            case _:
                continue


def _prompt(message: Fields) -> str:
    """The words of the person; results of tools and what the program adds in brackets are none."""
    said = words(message.get("content")).strip()
    return "" if said.startswith("<") else said
