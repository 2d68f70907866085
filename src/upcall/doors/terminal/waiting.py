"""One event of a session on its way to the daemon, and the wait for what people decide or for the terminal.

It runs in the process of a hook, and loads little.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from upcall.doors.pipe.own_flags import kept_flags, words_of
from upcall.doors.terminal.programs import BEFORE_DIALOGS, CLAUDE, COPILOT, LEAVING
from upcall.doors.terminal.request import Address, UnreachableError, address, post
from upcall.doors.terminal.screen import Screen, is_running, program_above
from upcall.home.files import Home
from upcall.home.saved_environments import SavedEnvironment, SavedEnvironments

RETRIED = 30.0
"""Seconds in which a daemon that is restarted is looked for."""

NAP = 0.5
ASKING = 0.75
"""Seconds in which the daemon says what it has asked; for so long a hook that is ended waits for it, so that the card can be closed."""

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
        self._process = program_above(os.getppid()) if screen is None else screen.process
        self._asked = ""
        self._handed = ""
        self._is_ended = False
        self._is_over = False
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

    def answered(self) -> None:
        """End soon: the dialog was answered in the terminal."""
        self._is_over = True

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
                    return self._taken(reply)
                heard_at, again = time.monotonic(), True
                self._note(str(reply.get("asked") or ""), to)
                if self._is_over:
                    raise AnsweredError
        except EndedError:
            if self._asked and (self._screen is not None or self._handed) and not self._lives_on:
                _apart(self._settle_if_answered)
            return {}
        except AnsweredError:
            self._settle(address(self._home))
            return {}

    def acknowledge(self, *, printed: bool) -> None:
        """After the answer was printed: have the daemon told whether the program was still there. The program waits for none of it."""
        if self._handed:
            _apart(partial(self._watch, printed=printed))

    def confirm(self, *, taken: bool) -> None:
        """Tell the daemon whether the program has taken the answer, until the daemon has heard it."""
        if not self._handed:
            return
        from upcall.doors.terminal.acknowledging import ACKNOWLEDGED, MISSED, tell  # noqa: PLC0415 - few hooks need it

        body = {**self._named(), ACKNOWLEDGED if taken else MISSED: self._handed}
        if tell(self._home, body, self._is_there) and taken:
            self._forget()

    def settle(self) -> None:
        """Say that the dialog was answered in the terminal, and that the answer from elsewhere came too late."""
        self._settle(address(self._home))

    def _watch(self, *, printed: bool) -> None:
        from upcall.doors.terminal.acknowledging import stays  # noqa: PLC0415 - few hooks need it

        self.confirm(taken=printed and stays(self._is_there))

    def _taken(self, reply: Mapping[str, object]) -> Mapping[str, object]:
        """The last reply of the daemon. An answer that comes after the program has ended the hook is not printed any more."""
        if not reply.get("acknowledge"):
            self._forget()
            return reply
        self._handed = self._asked = str(reply["handed"])
        self._look_for_end()
        return reply

    def _settle_if_answered(self) -> None:
        if self._is_answered():
            self._settle(address(self._home))
        else:
            # The daemon may have handed an answer over in this very moment.
            self._handed = self._handed or self._asked
            self.confirm(taken=False)

    def _is_there(self) -> bool:
        """Whether the program is still there, and in the terminal that it had."""
        return is_running(self._process) if self._screen is None else self._screen.is_there()

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
            **self._named(),
            "acknowledges": True,
            "process": os.getpid(),
            "idle": None if screen is None else self._idle(screen),
            "attended": screen is not None,
            "again": again,
            "asked": self._asked,
            "runner": self._runner() if to is not None and to.here else "",
        }

    def _named(self) -> dict[str, object]:
        return {"program": self._program, "hook": self._event}

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
        self._look_for_end()
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

    def _look_for_end(self) -> None:
        """Raise if the program has ended this hook, once it is known what was asked: that has to be closed."""
        waited = time.monotonic() - self._sent_at
        if self._is_over and (self._asked or waited > RETRIED):
            raise AnsweredError
        if self._is_ended and (self._asked or waited > ASKING):
            raise EndedError

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
