"""An adapter for Gemini CLI that needs no rest, in a package of another author: so that tests do not wait for the minute.

Gemini CLI names a session's file by the minute, and loading it within the one it began in would overwrite it. So the
file gets an older name, in the moment in which the session is resumed: before that, an old process may still write to it.

A daemon finds it on its own path, so it has to be started anew: `pytest.mark.cold`.
"""

from pathlib import Path

import pytest

SETTINGS = '[agents.gemini]\nadapter = "rested"\n'
ADAPTER = """
import re
from pathlib import Path

from upcall.agents.gemini.adapter import Gemini

class Rested(Gemini):
    rest = 0.0

    def resume(self, session, message):
        for file in Path(session.cwd).parent.glob("home/.gemini/tmp/*/chats/session-*.jsonl"):
            older = file.with_name(re.sub("session-.{16}-", "session-2026-01-01T00-00-", file.name))
            # A resumed session has a second, empty file of the same end.
            if not older.exists():
                file.rename(older)
        return super().resume(session, message)
"""


def install(package: Path, patch: pytest.MonkeyPatch) -> None:
    """Write the package into an empty folder, and have daemons find it."""
    (package / "rested_gemini.py").write_text(ADAPTER)
    information = package / "rested_gemini-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: rested-gemini\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[upcall.agents]\nrested = rested_gemini:Rested\n")
    patch.setenv("PYTHONPATH", str(package))
