"""The dialogs that are open in terminals, as far as their hooks wait here, and which of them were answered there."""

import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from upcall.doors.native import QUESTION_TOOL

REMEMBERED = 60.0
"""Seconds for which an answered dialog is known: its hook may be between two requests."""

FINISHED = "Stop"
"""In place of a tool: the session has finished its turn."""


class Dialog:
    """One dialog of a session: a tool that asks to be used, or the end of a turn."""

    def __init__(self, session: str, tool: str, given: object) -> None:
        self.session = session
        self.tool = tool
        self.name = name_of(session, tool, given)
        self.settled = asyncio.Event()


class Dialogs:
    """Those of all sessions at this daemon."""

    def __init__(self) -> None:
        self._open: list[Dialog] = []
        self._settled: dict[str, float] = {}

    @contextmanager
    def waiting(self, dialog: Dialog, now: float, *, again: bool) -> Iterator[None]:
        """Have a dialog found while its hook waits. One that comes again may have been settled meanwhile."""
        if not again:
            self._settled.pop(dialog.name, None)
        elif now < self._settled.get(dialog.name, 0.0):
            dialog.settled.set()
        self._open.append(dialog)
        try:
            yield
        finally:
            self._open.remove(dialog)

    def settle(self, session: str, now: float, tool: str = "", given: object = None) -> None:
        """A tool was used, so its dialog is over; without one, so is every dialog of the session."""
        self._settled = {name: until for name, until in self._settled.items() if now < until}
        name = name_of(session, tool, given)
        if tool:
            self._settled[name] = now + REMEMBERED
        for dialog in self._open:
            if dialog.name == name or (not tool and dialog.session == session):
                self._settled[dialog.name] = now + REMEMBERED
                dialog.settled.set()


def name_of(session: str, tool: str, given: object) -> str:
    """What a dialog and the use of its tool have in common. Answers are in a question's input only afterwards."""
    if tool == QUESTION_TOOL and isinstance(given, Mapping):
        given = given.get("questions")
    parts = [session, tool, given]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
