"""An adapter for Gemini CLI that needs no rest, in a package of another author: so that tests do not wait for the minute.

A daemon finds it on its own path, so it has to be started anew: `pytest.mark.cold`.
"""

from pathlib import Path

import pytest

SETTINGS = '[agents.gemini]\nadapter = "rested"\n'
ADAPTER = """
from upcall.agents.gemini.adapter import Gemini

class Rested(Gemini):
    rest = 0.0
"""


def install(package: Path, patch: pytest.MonkeyPatch) -> None:
    """Write the package into an empty folder, and have daemons find it."""
    (package / "rested_gemini.py").write_text(ADAPTER)
    information = package / "rested_gemini-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: rested-gemini\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[upcall.agents]\nrested = rested_gemini:Rested\n")
    patch.setenv("PYTHONPATH", str(package))
