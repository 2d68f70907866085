"""The jobs of the page about programs, as GitHub and GitLab would run them: they go on after a yes, and stop after a no."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program, ended

PAGE = Path(__file__).parents[2] / "docs/programs.md"
VARIABLES = {
    "GITHUB_SHA": "4ec1082",
    "GITHUB_REPOSITORY": "ana/shop",
    "GITHUB_RUN_ID": "117",
    "CI_COMMIT_SHA": "4ec1082",
    "CI_PROJECT_PATH": "ana/shop",
    "CI_PIPELINE_ID": "118",
}


@pytest.fixture
def upcall(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path / "home")
    yield program
    program("down")


def jobs() -> dict[str, list[str]]:
    """The commands of each job."""
    github, gitlab = re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return {
        "github": re.findall(r"^ +- run: (.*)$", github, re.MULTILINE),
        "gitlab": re.findall(r"^ +- (.*)$", gitlab, re.MULTILINE),
    }


@pytest.mark.promise("programs/26")
@pytest.mark.parametrize("service", ["github", "gitlab"])
@pytest.mark.parametrize(("reply", "code"), [("yes", 0), ("no", 10)])
def test_a_job_waits_for_a_person(upcall: Program, service: str, reply: str, code: int) -> None:
    install, *commands = jobs()[service]
    assert len(commands) == 2
    assert install in {"pipx install upcall", "pip install upcall"}
    token = upcall("tokens", "create", "--role", "agent", "--name", "shop-ci").stdout.strip()
    elsewhere = upcall.environment | VARIABLES
    elsewhere |= {"UPCALL_URL": url_of(upcall), "UPCALL_TOKEN": token, "UPCALL_HOME": "/nonexistent"}

    job = subprocess.Popen(
        ["/bin/sh", "-e", "-c", "\n".join(commands)],
        env=elsewhere,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert job.stderr is not None
    ref = job.stderr.readline().split()[1].rstrip(".")
    assert upcall.json("show", ref)["questions"][0]["question"] == "Deploy 4ec1082 of ana/shop?"
    upcall("answer", ref, reply)

    done = ended(job)
    assert (done.returncode, "deploying" in done.stdout) == (code, code == 0), done.stderr


def url_of(upcall: Program) -> str:
    url: Any = json.loads((upcall.home / "run.json").read_text())["url"]
    return str(url)
