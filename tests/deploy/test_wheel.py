"""What the image is made of: a wheel in an environment of its own, started and stopped as a container is."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from asyncio.subprocess import PIPE
from pathlib import Path

import httpx2
import pytest

ROOT = Path(__file__).parent.parent.parent
SECONDS = 60.0


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`upcall` from a wheel. What it depends on is not installed again but found where the tests have it."""
    folder = tmp_path_factory.mktemp("image")
    hatchling = Path(sys.executable).parent / "hatchling"
    build = [str(hatchling), "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    install = ["pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python), str(wheel)]
    subprocess.run([str(Path(sys.executable).parent / "uv"), *install], check=True)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "venv" / "bin" / "upcall"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What the image sets, except that the port may be any and the home is the test's."""
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    given = dict(re.findall(r"(UPCALL_\w+|PYTHON\w+)=(\S+)", text))
    assert given["UPCALL_HOST"] == "0.0.0.0"
    return {**given, "PATH": os.defpath, "UPCALL_PORT": "0", "UPCALL_HOME": str(tmp_path / "home")}


def test_it_is_the_wheel_that_runs(program: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [program, "version"], env=environment, capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout.startswith("upcall ")
    where = "import upcall; print(upcall.__file__)"
    found = subprocess.run(
        [program.parent / "python", "-c", where], capture_output=True, text=True, check=True, cwd="/"
    )
    assert found.stdout.startswith(str(program.parent.parent))


async def test_a_container_that_is_stopped_settles_whoever_waits(
    program: Path, environment: dict[str, str]
) -> None:
    home = Path(environment["UPCALL_HOME"])
    running = await asyncio.create_subprocess_exec(program, "up", env=environment, stdout=PIPE, cwd="/")
    assert running.stdout is not None
    assert b"is listening at" in await running.stdout.readline()
    port = json.loads((home / "run.json").read_text())["url"].rpartition(":")[2]
    token = (home / "agent.token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=SECONDS
    ) as agent:
        for path in ("/healthz", "/livez"):
            assert (await agent.get(path, headers={"Host": "localhost"})).status_code == 200
        # What a probe would hear that says nothing of whom it asks.
        assert (await agent.get("/healthz", headers={"Host": f"10.1.2.3:{port}"})).status_code == 421
        asked = (await agent.post("/v1/inquiries", json={"question": "Which cache?"})).json()
        waiting = asyncio.create_task(
            agent.get(f"/v1/inquiries/{asked['id']}/wait", params={"timeout": "10m"})
        )
        while "upcall_waiting_callers 1" not in await metrics(home, port):
            assert not waiting.done()
        running.send_signal(signal.SIGTERM)
        settled = await waiting
    assert (settled.status_code, settled.json()["state"]) == (200, "open")
    assert await running.wait() == 0
    assert not (home / "run.json").exists()


async def metrics(home: Path, port: str) -> str:
    headers = {"Authorization": f"Bearer {(home / 'owner.token').read_text().strip()}"}
    async with httpx2.AsyncClient(timeout=SECONDS, headers=headers) as owner:
        return (await owner.get(f"http://127.0.0.1:{port}/metrics")).text
