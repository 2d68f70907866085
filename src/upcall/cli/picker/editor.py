"""The person's own editor, on the terminal of the picker."""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from upcall.cli.failures import CommandFailed

USUAL = ("sensible-editor", "editor", "nano", "vi")
HINT = "set EDITOR to the one that you use"


def written_in_editor(text: str, name: str) -> str:
    """The text after the person has edited it. It stands in a folder that no other user can look into, and is gone afterwards.

    Raises:
        CommandFailed: if there is no editor, it does not end well, or it leaves no text.
    """
    command = _command()
    with tempfile.TemporaryDirectory(prefix="upcall-") as folder:
        file = Path(folder) / name
        file.write_text(text, "utf-8")
        # Ctrl-C is for the editor. A handler, unlike ignoring it, is not inherited.
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            ended = subprocess.run([*command, str(file)], check=False).returncode
        except OSError as problem:
            raise CommandFailed(f"{command[0]} cannot be started: {problem.strerror}", hint=HINT) from None
        finally:
            signal.signal(signal.SIGINT, before)
        if ended:
            raise CommandFailed(f"{command[0]} ended with status {ended}", hint=HINT)
        try:
            return file.read_text("utf-8", "replace")
        except OSError as problem:
            raise CommandFailed(f"{command[0]} left no text: {problem.strerror}", hint=HINT) from None


def _command() -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(os.environ.get(name, ""))
        except ValueError as problem:
            raise CommandFailed(f"{name} is not a command: {problem}", hint=HINT) from None
        if words:
            return words
    found = next(filter(None, map(shutil.which, USUAL)), None)
    if found is None:
        raise CommandFailed("no editor was found", hint=HINT)
    return [found]
