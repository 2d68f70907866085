"""Which processes are ended together with an agent."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from upcall.runs.process.folder import RunFolder
from upcall.runs.process.keeper import keeper_command
from upcall.runs.process.trees import descendants

WAIT = "import sys; print(flush=True); sys.stdin.read()"


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells the command lines of processes in /proc"
)
@pytest.mark.parametrize("ours", ["keeper", "daemon"])
def test_a_daemon_that_an_agent_had_to_start_and_its_keepers_outlive_the_agent(
    ours: str, tmp_path: Path
) -> None:
    command = (
        keeper_command(RunFolder(tmp_path))
        if ours == "keeper"
        else [sys.executable, "-P", "-m", "upcall", "up", "--background"]
    )
    # With the command line of the real one behind a program that only waits.
    with (
        waiting([sys.executable, "-c", WAIT, *command[1:]]) as spared,
        waiting([sys.executable, "-c", WAIT]) as child,
    ):
        found = descendants(os.getpid())
        assert child.pid in found
        assert spared.pid not in found


def waiting(command: list[str]) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process
