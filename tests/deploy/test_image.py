"""What can be tried of the image without building it; `make compose-check` builds it and tries the whole."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Program

DOCKERFILE = (Path(__file__).parents[2] / "deploy/Dockerfile").read_text("utf-8")
PORT = 8427


def test_the_health_check_tells_a_daemon_that_answers_from_one_that_is_gone(tmp_path: Path) -> None:
    (found,) = re.findall(r"^HEALTHCHECK .*? CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    program, *words = json.loads(found)
    assert program == "python"
    upcall = Program(tmp_path / "home")
    upcall("up", "--detach")
    own = json.loads((upcall.home / "run.json").read_text())["url"].rpartition(":")[2]
    command = [sys.executable, *(word.replace(str(PORT), own) for word in words)]
    assert own in command[-1]

    assert subprocess.run(command, check=False).returncode == 0
    upcall("down")
    assert subprocess.run(command, check=False, capture_output=True).returncode != 0
