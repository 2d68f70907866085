"""The record that opencode keeps of its sessions: the database `opencode.db` in its own folder."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from upcall.agents.records import Fields, fields, home_of, text
from upcall.domain.inquiry.activity import Call, Step, Words, asks_now
from upcall.ports.foreign_files import inside, read_start
from upcall.ports.transcripts import AskingSession, SessionRecord

MOST_PARTS = 300
MOST_SESSIONS = 20
LONGEST_PART = 256 * 1024
PATIENCE = 0.5
"""Seconds that a read may wait while opencode writes."""

_OF_FOLDER = """
    SELECT id FROM session WHERE directory = ? AND parent_id IS NULL ORDER BY time_updated DESC LIMIT ?
"""
_PARTS = """
    SELECT json_extract(message.data, '$.role'), part.data FROM part JOIN message ON message.id = part.message_id
    WHERE part.session_id = ? AND length(part.data) < ? ORDER BY part.id DESC LIMIT ?
"""
_TURNS = "SELECT count(*) FROM message WHERE session_id = ? AND json_extract(data, '$.role') = 'assistant'"


class OpencodeTranscripts:
    """Reads the records of opencode. A session that it does not name is the one in the folder with this question as its last call."""

    def read(self, asking: AskingSession) -> SessionRecord | None:
        """See `Transcripts.read`."""
        with closing(_opened(asking)) as database:
            if asking.id:
                return _record(database, asking.id)
            for (name,) in database.execute(_OF_FOLDER, (asking.folder, MOST_SESSIONS)):
                record = _record(database, str(name))
                if asks_now(record.steps, asking.question):
                    return record
        return None


def _opened(asking: AskingSession) -> sqlite3.Connection:
    root = home_of(asking.environment, "XDG_DATA_HOME", ".local", "share") / "opencode"
    path = inside(root, "opencode.db")
    # SQLite opens it by its name: whether that may be read is found out here.
    read_start(path, 1)
    return _connected(path)


def _connected(path: Path) -> sqlite3.Connection:
    try:
        database = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=PATIENCE)
        database.execute("PRAGMA query_only = ON")
    except sqlite3.Error as problem:
        raise OSError(f"{path} cannot be read: {problem}") from problem
    return database


def _record(database: sqlite3.Connection, session: str) -> SessionRecord:
    try:
        rows = database.execute(_PARTS, (session, LONGEST_PART, MOST_PARTS)).fetchall()
        (turn,) = database.execute(_TURNS, (session,)).fetchone()
    except sqlite3.Error as problem:
        raise OSError(f"the record of opencode cannot be read: {problem}") from problem
    task, steps = "", list[Step]()
    for role, data in reversed(rows):
        part = fields(json.loads(data))
        if role == "user":
            task = text(part.get("text")) or task
        else:
            steps += _steps(part)
    return SessionRecord(task=task, turn=turn or None, steps=tuple(steps))


def _steps(part: Fields) -> Iterator[Step]:
    match part.get("type"):
        case "text":
            yield Words(text=text(part.get("text")))
        case "tool":
            yield Call(tool=text(part.get("tool")), input=fields(part.get("state")).get("input"))
        case _:
            return
