"""One event of a session on its way to the daemon, and the wait for what people decide or for the terminal.

It runs in the process of a hook, and loads little.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from upcall.doors.pipe.own_flags import kept_flags, words_of
from upcall.doors.terminal.programs import BEFORE_DIALOGS, CLAUDE, COPILOT
from upcall.doors.terminal.request import Address, UnreachableError, address, post
from upcall.doors.terminal.screen import Screen
from upcall.home.files import Home
from upcall.home.saved_environments import SavedEnvironment, SavedEnvironments

RETRIED = 30.0
"""Seconds in which a daemon that is restarted is looked for."""

NAP = 0.5
LEAVING = 2.0
"""Seconds that Claude Code takes to end after its terminal was closed; it ends its hooks first, and kills them a second later."""

ASKING = 0.75
"""Seconds in which the daemon says what it has asked; for so long a hook that is ended waits for it, so that it can be closed."""

RUNNING_TOOLS = ("Bash", "Task", "Agent", "WebFetch", "WebSearch", "mcp__")
"""Tools that may run for long after they were approved: only at their end is it known that they were."""


class EndedError(Exception):
    """The dialog is over, or its terminal is gone."""


class AnsweredError(Exception):
    """The dialog was answered in the terminal."""


class PressedError(Exception):
    """A key was pressed in the terminal."""


class Hook:
    """One event on its way to the daemon and back. Without a `screen` no person sits in the session.

    `check` is called a few times in a second, and may raise to end it. A session that `lives_on` needs no terminal.
    """

    def __init__(
        self,
        home: Home,
        event: Mapping[str, object],
        screen: Screen | None,
        *,
        program: str = CLAUDE,
        check: Callable[[], None] = lambda: None,
        lives_on: bool = False,
    ) -> None:
        self._home = home
        self._event = event
        self._screen = screen
        self._program = program
        self._check = check
        self._lives_on = lives_on
        self._asked = ""
        self._is_ended = False
        self._sent_at = 0.0
        self._pressed_at = 0.0
        self._children = None if screen is None else screen.children()
        # The other programs tell when a dialog was answered.
        self._is_running_tool = program == CLAUDE and str(event.get("tool_name", "")).startswith(
            RUNNING_TOOLS
        )
        self._is_before_dialog = program in BEFORE_DIALOGS

    def end(self) -> None:
        """End soon: the dialog is over, or its terminal is gone."""
        self._is_ended = True

    def run(self) -> Mapping[str, object]:
        """Send the event until the daemon has nothing more to wait for; returns its last reply, or an empty one."""
        heard_at, again = 0.0, False
        try:
            while True:
                to = address(self._home)
                try:
                    if to is None:
                        raise UnreachableError
                    self._sent_at = time.monotonic()
                    reply = post(to, self._body(to, again=again), self._look)
                except UnreachableError:
                    if self._is_ended or not heard_at or time.monotonic() - heard_at > RETRIED:
                        return {}
                    time.sleep(NAP)
                    continue
                except PressedError:
                    self._settle(to)
                    if self._is_before_dialog:
                        return {}
                    again = True
                    continue
                if not reply.get("again"):
                    self._forget()
                    return reply
                heard_at, again = time.monotonic(), True
                self._note(str(reply.get("asked") or ""), to)
        except EndedError:
            if self._asked and self._screen is not None and not self._lives_on:
                _apart(self._settle_if_answered)
            return {}
        except AnsweredError:
            self._settle(address(self._home))
            return {}

    def _settle_if_answered(self) -> None:
        if self._is_answered():
            self._settle(address(self._home))

    def _is_answered(self) -> bool:
        """Whether the person has closed the dialog. Where its terminal is gone instead, the question stays open."""
        screen = self._screen
        if screen is None or self._lives_on or not screen.is_there():
            return False
        until = time.monotonic() + LEAVING
        while time.monotonic() < until and screen.pressed_at() <= self._pressed_at:
            time.sleep(NAP / 5)
            if not screen.is_there():
                return False
        return True

    def _body(self, to: Address | None, *, again: bool) -> dict[str, object]:
        screen = self._screen
        return {
            "program": self._program,
            "hook": self._event,
            "idle": None if screen is None else self._idle(screen),
            "attended": screen is not None,
            "again": again,
            "asked": self._asked,
            "runner": self._runner() if to is not None and to.here else "",
        }

    def _idle(self, screen: Screen) -> float | None:
        """Seconds since the last key; a tool that began to run after it was approved is no dialog any more."""
        new = (screen.children() or frozenset()) - (self._children or frozenset())
        return 0.0 if self._pressed_at and (new or self._children is None) else screen.idle()

    def _runner(self) -> str:
        try:
            return (self._home.path / "runner").read_text().strip()
        except OSError:
            return ""

    def _note(self, asked: str, to: Address | None) -> None:
        """Remember what was asked, and save what its session needs to be resumed."""
        if not asked or asked == self._asked:
            return
        self._asked = asked
        if self._screen is None:
            return
        self._pressed_at = self._screen.pressed_at()
        if to is None or not to.here or self._program == COPILOT:
            return  # a session that is not resumed needs nothing of it
        folder = str(self._event.get("cwd") or self._event.get("directory") or "")
        flags = kept_flags(self._program, words_of(self._screen.process), folder)
        saved = SavedEnvironment(environment=dict(os.environ), arguments=flags, whole=True)
        # A full disk is no reason to lose the question.
        with suppress(OSError, ValueError):
            SavedEnvironments(self._home.path).save(asked, saved)

    def _look(self) -> None:
        self._check()
        screen = self._screen
        if self._is_ended and (self._asked or time.monotonic() - self._sent_at > ASKING):
            raise EndedError
        if screen is None:
            return
        if not screen.is_there():
            if not self._lives_on:
                raise EndedError
            if screen.pressed_at() > self._pressed_at > 0:
                raise AnsweredError  # its person has left it; of a terminal that was closed no key is known
            return
        if (
            self._asked
            and (self._is_running_tool or self._is_before_dialog)
            and screen.pressed_at() > self._pressed_at
        ):
            raise PressedError

    def _settle(self, to: Address | None) -> None:
        """Say that the dialog was answered in the terminal."""
        if to is not None and self._asked:
            with suppress(UnreachableError):
                post(to, {**self._body(to, again=True), "settled": True}, lambda: None)
            self._forget()
        self._asked = ""

    def _forget(self) -> None:
        if self._asked:
            with suppress(OSError, ValueError):
                SavedEnvironments(self._home.path).forget(self._asked)


def _apart(do: Callable[[], None]) -> None:
    """Do something in a process that outlives this one: Claude Code kills a hook with all of its processes soon after it has ended it."""
    if os.fork():
        return
    try:
        let_go()
        do()
    finally:
        os._exit(0)


def let_go() -> None:
    """Leave the program that started this process, which reads from a hook until all of its processes have closed these streams."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
