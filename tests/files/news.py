"""Waiting for files without sleeping: the system says when a folder changed."""

import json
import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from upcall.doors.files.inotify import ARRIVED, Inotify

CHANGED = 0x00000004
DELETED = 0x00000200
MOVED_FROM = 0x00000040
PATIENCE = 30.0
T = TypeVar("T")


def until(folder: Path, found: Callable[[], T | None]) -> T:
    """What `found` finds, once it does; it is asked whenever something changes in the folder."""
    news = Inotify()
    try:
        news.add(os.path.realpath(folder), ARRIVED | CHANGED | DELETED | MOVED_FROM)
        deadline = time.monotonic() + PATIENCE
        while True:
            result = found()
            if result is not None:
                return result
            rest = deadline - time.monotonic()
            assert rest > 0, f"nothing more happened in {folder}: {sorted(folder.iterdir())}"
            if select.select([news], [], [], rest)[0]:
                news.read()
    finally:
        news.close()


def is_there(path: Path) -> Path:
    """Return when there is such a file; the door may not have made its folder yet."""
    if not path.parent.exists():
        is_there(path.parent)
    return until(path.parent, lambda: path if path.exists() else None)


def is_gone(path: Path) -> None:
    """Return when there is no such file any more."""
    until(path.parent, lambda: None if path.exists() else True)


def response(group: Path, request: str) -> dict[str, Any]:
    """The response to a request, once it is there; it stays where it is."""
    text = is_there(group / "responses" / f"{request}.json").read_text()
    told: dict[str, Any] = json.loads(text)
    return told


def put_task(group: Path, request: str, **fields: object) -> Path:
    """A task as a program without Upcall would write it: elsewhere, then renamed."""
    task = {"type": "ask_user", "request_id": request, "questions": [{"question": "Which cache?"}], **fields}
    return put(group, f"{request}.json", json.dumps(task).encode())


def put(group: Path, name: str, content: bytes) -> Path:
    staged = group / "staging" / "as-written"
    staged.parent.mkdir(parents=True, exist_ok=True)
    (group / "tasks").mkdir(exist_ok=True)
    staged.write_bytes(content)
    return staged.rename(group / "tasks" / name)
