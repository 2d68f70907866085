"""The program that plays an agent in these tests: its task is Python, and its output is JSON lines.

program.py start SESSION TASK
program.py resume SESSION MESSAGE
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def tell(**what: object) -> None:
    """Write a line."""
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


def hang() -> None:
    """Do nothing, for ever."""
    while True:
        signal.pause()


def child(code: str) -> None:
    """Start a process of its own, which inherits everything, as the children of most programs do."""
    subprocess.Popen([sys.executable, "-c", code], close_fds=False)


how, session, words = sys.argv[1:]
if how == "resume":
    tell(heard=words)
    then = Path("then.py")
    words = then.read_text() if then.exists() else "tell(turn=True); tell(result='resumed')"
else:
    tell(session=session)
# What it is told to do is the test's own.
exec(words, {"tell": tell, "hang": hang, "child": child, "os": os, "sys": sys, "time": time, "Path": Path})
