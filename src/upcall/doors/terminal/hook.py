"""`upcall hook away` and `upcall hook permissions`: what a program starts for each event of a session that a person started.

It passes the event on to the daemon, with the time since the last key, and prints what people have decided. Where anything is missing it
prints nothing and exits with 0: then the program does what it would do without Upcall. `codex.py` has what is different with Codex.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from upcall.doors.pipe.own_flags import words_of
from upcall.doors.terminal.programs import CODEX, COPILOT, GEMINI, OPENCODE
from upcall.doors.terminal.request import address
from upcall.doors.terminal.screen import Screen, has_terminal
from upcall.doors.terminal.waiting import EndedError, Hook, let_go
from upcall.home.files import Home

AWAY, PERMISSIONS = "away", "permissions"
NOT_A_SCREEN = frozenset({"run", "serve", "web", "acp", "github", "pr"})
"""Commands of opencode that draw no dialogs."""

BLOCKING = 2
"""The exit code that gives Claude Code the words on standard error."""

CODEX_SOCKET = "app-server-control/app-server-control.sock"
HELD = ("PermissionRequest", "PreToolUse", "Stop")
"""The events of Codex after which a person is asked."""


def main(home: Home, words: Sequence[str]) -> int:
    """Be a hook: read one event from standard input."""
    try:
        event = json.loads(sys.stdin.read())
    except ValueError:
        return 0
    if not isinstance(event, dict) or "UPCALL_RUN" in os.environ:
        return 0
    signal.signal(signal.SIGTERM, _ended)
    match words:
        case [kind] if kind in {AWAY, PERMISSIONS}:
            return _of_claude(home, event, kind)
        case [_, program] if program == OPENCODE:
            return _of_opencode(home, event)
        case [_, program] if program == CODEX:
            return _of_codex(home, event)
        case [_, program, name] if program == COPILOT:
            return _before_dialog(home, event, program, name)
        case [_, program] if program == GEMINI:
            return _before_dialog(home, event, program, str(event.get("hook_event_name", "")))
        case _:
            return 0


def _of_claude(home: Home, event: Mapping[str, object], kind: str) -> int:
    screen = Screen.above(os.getppid())
    # Without its screen, Claude Code calls itself `sdk-cli` or the like.
    attended = screen is not None and os.environ.get("CLAUDE_CODE_ENTRYPOINT", "cli") == "cli"
    if attended is not (kind == AWAY):
        return 0
    hook = Hook(home, event, screen if attended else None)
    reply = _until_ended(hook)
    if wake := reply.get("wake"):
        _say(hook, sys.stderr, str(wake))
        return BLOCKING
    if say := reply.get("say"):
        _say(hook, sys.stdout, json.dumps(say))
    return 0


def _of_opencode(home: Home, event: Mapping[str, object]) -> int:
    """Its plugin starts this hook, ends it with `SIGUSR1` once a dialog is answered, and reads the reply."""
    screen = Screen.above(os.getppid())
    if screen is None or NOT_A_SCREEN.intersection(words_of(screen.process)[1:2]):
        return 0
    hook = Hook(home, event, screen, program=OPENCODE)
    signal.signal(signal.SIGUSR1, lambda *_: hook.answered())
    reply = _until_ended(hook)
    # From here on the plugin takes what is printed, or has dropped it.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    if told := {name: reply[name] for name in ("decision", "said") if name in reply}:
        _say(hook, sys.stdout, json.dumps(told))
    return 0


def _before_dialog(home: Home, event: Mapping[str, object], program: str, name: str) -> int:
    """Wait only while the person is away: the dialog is shown when the hook has ended without a word."""
    from upcall.doors.terminal.before import is_asked, output, told  # noqa: PLC0415 - no other program needs it

    screen = Screen.above(os.getppid())
    if screen is None or not is_asked(program, name, event, words_of(screen.process), os.environ):
        return 0
    hook = Hook(home, told(name, event), screen, program=program)
    if say := output(program, name, _until_ended(hook)):
        _say(hook, sys.stdout, json.dumps(say))
    return 0


def _of_codex(home: Home, event: Mapping[str, object]) -> int:
    """Leave a process behind that waits beside the terminal; Codex shows the dialog when its hook has ended."""
    socket = f"{os.environ.get('CODEX_HOME') or os.path.expanduser('~/.codex')}/{CODEX_SOCKET}"  # noqa: PTH111 - pathlib costs more than the rest
    # Started by a Codex with a terminal, it is a hook of `codex exec` or of a Codex without its server in the background.
    if (
        address(home) is None
        or not os.path.exists(socket)  # noqa: PTH110 - as above
        or has_terminal("codex", os.getppid())
    ):
        return 0
    screen = Screen.of("codex", str(event.get("cwd", "")))
    if screen is None or os.fork():
        return 0
    let_go()
    if event.get("hook_event_name") not in HELD:
        Hook(home, event, screen, program=CODEX).run()
        return 0
    # Only here are asyncio and a WebSocket needed, and Codex does not wait for them.
    from upcall.doors.terminal.codex import wait_beside  # noqa: PLC0415 - see above

    # The system takes only short paths, and where its own is long Codex has left a link to a short one.
    wait_beside(home, event, screen, os.path.realpath(socket))
    return 0


def _until_ended(hook: Hook) -> Mapping[str, object]:
    """Run a hook that its program ends with `SIGTERM` when the dialog is over."""
    signal.signal(signal.SIGTERM, lambda *_: hook.end())
    return hook.run()


def _say(hook: Hook, stream: TextIO, words: str) -> None:
    """Print what was decided, and have the daemon told whether the program was still there afterwards."""
    try:
        stream.write(f"{words}\n")
        stream.flush()
    except OSError:
        # What could not be printed stays in the buffer, and would be printed once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        hook.acknowledge(printed=False)
    else:
        hook.acknowledge(printed=True)


def _ended(*_: object) -> None:
    raise EndedError
