"""What is published: a wheel and a source archive, equal whenever they are built, that install in one line."""

import os
import re
import subprocess
import sys
import tarfile
from collections import defaultdict
from pathlib import Path

import pytest

from tests.conftest import require

ROOT = Path(__file__).parent.parent.parent
TOOLS = Path(sys.executable).parent


def built(folder: Path) -> list[Path]:
    subprocess.run([TOOLS / "hatchling", "build", "-d", folder], cwd=ROOT, check=True, capture_output=True)
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel and the source archive, in the order of their names."""
    return built(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def index(published: list[Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a package index that holds the wheel and the packages of the lock file, and nothing else."""
    folder = tmp_path_factory.mktemp("index")
    interpreter = Path(sys.base_prefix) / "bin" / "python3"
    download = [str(interpreter), "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps"]
    lock = ROOT / "requirements" / "runtime.txt"
    fetched = subprocess.run(
        [*download, "-d", folder / "files", "-r", lock], check=False, capture_output=True
    )
    require(fetched.returncode == 0, "a package registry")
    projects: defaultdict[str, list[Path]] = defaultdict(list)
    for wheel in [*(folder / "files").iterdir(), published[0]]:
        projects[re.sub(r"[-_.]+", "-", wheel.name.partition("-")[0]).lower()].append(wheel)
    for project, files in projects.items():
        page = folder / "simple" / project / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text("".join(f'<a href="{file.as_uri()}">{file.name}</a>\n' for file in files))
    return (folder / "simple").as_uri()


@pytest.fixture
def stranger(tmp_path: Path) -> dict[str, str]:
    """The environment of a person who has nothing of Upcall's yet."""
    return {
        "HOME": str(tmp_path),
        "PATH": f"{TOOLS}:{os.defpath}",
        "LANG": "C.UTF-8",
        "PIPX_DEFAULT_PYTHON": sys.executable,
        "UV_PYTHON": sys.executable,
    }


@pytest.mark.promise("doorway/19")
def test_what_is_built_twice_is_equal(published: list[Path], tmp_path: Path) -> None:
    again = built(tmp_path / "again")
    assert [file.name for file in again] == [file.name for file in published]
    assert [file.read_bytes() for file in again] == [file.read_bytes() for file in published]


def test_the_source_archive_holds_every_file_of_the_project(published: list[Path]) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=False, capture_output=True, text=True)
    require(listed.returncode == 0, "a clone of the repository")
    with tarfile.open(published[1]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert set(listed.stdout.splitlines()) - held == set()


def test_uvx_runs_the_demonstration(index: str, stranger: dict[str, str]) -> None:
    run = [
        str(TOOLS / "uv"),
        "tool",
        "run",
        "--no-config",
        "--default-index",
        index,
        "upcall",
        "demo",
        "--scripted",
    ]
    done = subprocess.run(
        run, env=stranger, capture_output=True, text=True, check=False, cwd=stranger["HOME"]
    )
    assert done.returncode == 0, done.stderr
    assert "Each asked once, although the daemon was restarted in the middle" in done.stdout


@pytest.mark.promise("doorway/18")
def test_pipx_installs_the_command(index: str, stranger: dict[str, str], tmp_path: Path) -> None:
    install = [str(TOOLS / "pipx"), "install", "--index-url", index, "upcall"]
    done = subprocess.run(install, env=stranger, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    program = tmp_path / ".local" / "bin" / "upcall"
    told = subprocess.run([program, "version"], env=stranger, capture_output=True, text=True, check=True)
    assert told.stdout.startswith("upcall ")
