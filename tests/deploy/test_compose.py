"""All of `deploy/compose.yaml` in real containers, with the commands of the page as printed: `make compose-check`."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy import containers
from tests.docs.fences import fences
from tests.docs.pages import ROOT

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(1800)]
# What the image is made of, and what starts it.
PARTS = ("deploy", "src", "requirements", "pyproject.toml", "README.md", "LICENSE")
LARGEST = 200_000_000


class Stack:
    """A copy of the repository whose compose file is up, and a shell in it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {
            name: value for name, value in environment.items() if not name.startswith("UPCALL_")
        }
        self._environment |= {"PATH": programs, "UPCALL_HOME": str(folder / "nowhere")}

    def __call__(self, *lines: str) -> str:
        """Run lines of shell; gives what they print."""
        script = "set -eu\n" + "\n".join(lines)
        done = subprocess.run(
            ["bash", "-c", script],
            check=False,
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def compose(self, words: str) -> str:
        """Run a command of Compose."""
        return self(f"docker compose -f deploy/compose.yaml {words}")

    def inspect(self, thing: str) -> dict[str, Any]:
        """What Docker knows of an image or a container."""
        (found,) = json.loads(self(f"docker inspect {thing}"))
        return dict(found)


def printed(test: str) -> str:
    """The block of the page that a test runs."""
    (block,) = [fence for fence in fences() if any(by.endswith(f"::{test}") for by in fence.said("run by"))]
    return block.content


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    if not os.environ.get("UPCALL_CONTAINERS"):
        pytest.skip("builds four images, which takes minutes: make compose-check")
    lacking = containers.lacking()
    assert not lacking, f"make compose-check needs {lacking}"
    # The path of a socket has to be short, and a folder that containers use outlives no test that is kept.
    with tempfile.TemporaryDirectory() as name, containers.docker(Path(name)) as environment:
        folder = Path(name, "upcall")
        for part in PARTS:
            copied = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            (folder / part).parent.mkdir(exist_ok=True)
            copied(ROOT / part, folder / part)
        containers.debian(Path(name), environment)
        containers.stand_ins(environment)
        stack = Stack(folder, environment)
        yield stack
        stack.compose("down --volumes")


@pytest.mark.promise("doorway/34")
def test_one_command_starts_postgresql_two_daemons_and_nginx(stack: Stack) -> None:
    start, sign_in = printed("test_one_command_starts_postgresql_two_daemons_and_nginx").splitlines()
    stack(start)
    assert stack(sign_in.replace(" exec ", " exec -T ")).startswith("http://localhost:8080/sign-in?code=")
    assert stack("curl -sf http://localhost:8080/healthz")
    services = [json.loads(line) for line in stack.compose("ps --format json").splitlines()]
    assert {each["Service"]: each["Health"] for each in services} == {
        "postgres": "healthy",
        "upcall-0": "healthy",
        "upcall-1": "healthy",
        "nginx": "",
    }


def test_a_question_from_outside_is_answered_at_the_other_daemon(stack: Stack) -> None:
    agent = printed("test_a_question_from_outside_is_answered_at_the_other_daemon")
    token = stack(agent, "echo $UPCALL_TOKEN")
    as_agent = f"export UPCALL_URL=http://localhost:8080 UPCALL_TOKEN={token}"
    ask = "upcall ask 'Which cache?' -o Redis -o Memcached"
    ref = stack(as_agent, f"{ask} --timeout 0 --json | jq -r .ref || true")
    stack.compose(f"exec -T upcall-1 upcall answer {ref} 2")
    assert stack(as_agent, f"upcall wait {ref}") == "Memcached"


def test_settings_that_are_written_into_the_volume_are_read(stack: Stack) -> None:
    (stack.folder / "upcall.toml").write_text('ttl = "2h"\n')
    stack(printed("test_settings_that_are_written_into_the_volume_are_read"))
    stack.compose("exec -T upcall-0 upcall config check")
    assert stack.compose("exec -T upcall-0 sh -c 'cat $UPCALL_HOME/upcall.toml'") == 'ttl = "2h"'


@pytest.mark.promise("doorway/33")
def test_the_image_is_small_and_runs_without_root_on_a_root_that_is_only_read(stack: Stack) -> None:
    image = stack.inspect("upcall")
    assert image["Config"]["User"] == "10001"
    assert image["Config"]["Healthcheck"]["Test"][0] == "CMD"
    assert image["Size"] <= LARGEST
    daemon = stack.inspect(stack.compose("ps --quiet upcall-0"))
    assert daemon["State"]["Health"]["Status"] == "healthy"
    status = stack.compose("exec -T upcall-0 cat /proc/1/status").splitlines()
    facts = dict(line.split(":\t", 1) for line in status)
    assert facts["Uid"].split() == ["10001"] * 4
    assert int(facts["CapEff"], 16) == 0
    assert facts["NoNewPrivs"] == "1"
    assert "Read-only" in stack.compose("exec -T --user root upcall-0 touch /opt/written 2>&1 || true")


def test_a_daemon_that_is_stopped_ends_in_order_and_the_other_goes_on(stack: Stack) -> None:
    daemon = stack.compose("ps --quiet upcall-0")
    stack.compose("stop upcall-0")
    assert stack.inspect(daemon)["State"]["ExitCode"] == 0
    assert stack("curl -sf http://localhost:8080/healthz")
