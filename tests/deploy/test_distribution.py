"""What is published: a wheel and a source archive, equal whenever they are built, that install in one line."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from collections import defaultdict
from email import message_from_string
from pathlib import Path

import pytest

from tests.conftest import require
from tests.docs.pages import links
from upcall import __version__

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "upcall"
TOOLS = Path(sys.executable).parent
STARTS = 250
"""Ten seconds, where a bare interpreter takes 40 ms to start and to end."""


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
    return environment_of(tmp_path)


def environment_of(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
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


# It fetches every dependency first, which takes as long as the network and the disk do.
@pytest.mark.timeout(600)
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


@pytest.fixture(scope="module")
def installed(index: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The command as `pipx install upcall` leaves it, and the environment of the person who ran that."""
    home = tmp_path_factory.mktemp("person")
    person = environment_of(home)
    install = [str(TOOLS / "pipx"), "install", "--index-url", index, "upcall"]
    done = subprocess.run(install, env=person, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return home / ".local" / "bin" / "upcall", person


def run(installed: tuple[Path, dict[str, str]], *words: str, **variables: str) -> str:
    program, person = installed
    command = [str(program), *words]
    return subprocess.run(
        command, env=person | variables, capture_output=True, text=True, check=True, cwd=person["HOME"]
    ).stdout


@pytest.mark.promise("doorway/18")
def test_pipx_installs_the_command(installed: tuple[Path, dict[str, str]]) -> None:
    assert run(installed, "version").startswith(f"upcall {__version__}")


@pytest.mark.promise("doorway/22")
def test_what_is_installed_serves_a_home_of_the_release_before(
    installed: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(ROOT / "tests" / "compatibility" / "kept" / "0.1" / "home", home)
    waiting = json.loads(run(installed, "status", "--json", UPCALL_HOME=str(home)))["waiting"]
    questions = {each["questions"][0]["question"]: each["ref"] for each in waiting}
    told = run(installed, "answer", questions["Drop the table users?"], "approve", UPCALL_HOME=str(home))
    assert "Answered" in told
    run(installed, "down", UPCALL_HOME=str(home))


@pytest.mark.promise("doorway/35")
def test_the_first_question_is_asked_in_few_times_the_start_of_an_interpreter(
    index: str, stranger: dict[str, str], tmp_path: Path
) -> None:
    uvx = [str(TOOLS / "uv"), "tool", "run", "--no-config", "--default-index", index, "upcall"]
    # The cache is warm from here on, the home is new.
    subprocess.run([*uvx, "version"], env=stranger, check=True, capture_output=True)
    ask = [*uvx, "ask", "Which cache?", "--timeout", "0"]
    bare = min(seconds([sys.executable, "-c", "pass"], stranger, 0) for _ in range(5))
    first = min(
        seconds(ask, stranger | {"UPCALL_HOME": str(tmp_path / f"home-{number}")}, 12) for number in range(2)
    )
    for number in range(2):
        down = stranger | {"UPCALL_HOME": str(tmp_path / f"home-{number}")}
        subprocess.run([*uvx, "down"], env=down, check=True, capture_output=True)
    assert first / bare < STARTS


def seconds(command: list[str], environment: dict[str, str], code: int) -> float:
    """How long a command takes; it has to end with that exit code."""
    began = time.monotonic()
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return time.monotonic() - began


@pytest.mark.promise("doorway/22")
def test_the_wheel_holds_the_package_with_all_its_files_and_nothing_else(published: list[Path]) -> None:
    with zipfile.ZipFile(published[0]) as wheel:
        held = {name for name in wheel.namelist() if not name.endswith("/")}
    information = f"upcall-{__version__}.dist-info/"
    ours = {f"upcall/{file.relative_to(PACKAGE)}" for file in PACKAGE.rglob("*") if file.is_file()}
    assert {name for name in held if not name.startswith(information)} == {
        name for name in ours if "__pycache__" not in name
    }
    assert {"upcall/py.typed", "upcall/stores/sql/sqlite/0001_inquiries.sql"} <= held
    assert f"{information}licenses/LICENSE" in held


@pytest.mark.promise("doorway/21")
@pytest.mark.promise("doorway/22")
def test_the_metadata_is_fit_to_be_published(published: list[Path]) -> None:
    check = [str(TOOLS / "twine"), "check", "--strict", *map(str, published)]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    with zipfile.ZipFile(published[0]) as wheel:
        metadata = message_from_string(wheel.read(f"upcall-{__version__}.dist-info/METADATA").decode())
    urls = dict(each.split(", ") for each in metadata.get_all("Project-URL", []))
    assert set(urls) == {"Documentation", "Changelog", "Source", "Issues"}
    pythons = [
        each.rpartition(" ")[2]
        for each in metadata.get_all("Classifier", [])
        if re.fullmatch(r".*Python :: 3\.\d+", each)
    ]
    (tested,) = re.findall(r"^PYTHONS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert pythons == tested.split()


@pytest.mark.promise("doorway/21")
def test_the_published_links_of_the_readme_are_absolute_and_lead_to_files_of_this_project(
    published: list[Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(published[0]) as wheel:
        metadata = message_from_string(wheel.read(f"upcall-{__version__}.dist-info/METADATA").decode())
    page = tmp_path / "README.md"
    page.write_text(str(metadata.get_payload()), "utf-8")
    source = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Source"]
    raw = source.replace("github.com", "raw.githubusercontent.com")
    found = links(page)
    assert len(found) == len(links(ROOT / "README.md")) >= 8
    for link in found:
        file = link.removeprefix(f"{source}/blob/main/").removeprefix(f"{raw}/main/")
        assert (file != link, (ROOT / file).is_file()) == (True, True), link


def test_the_newest_section_of_the_changelog_is_this_version() -> None:
    sections = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[0] == __version__


@pytest.mark.promise("doorway/20")
@pytest.mark.thorough
def test_the_source_archive_passes_tests_of_its_own(published: list[Path], tmp_path: Path) -> None:
    """Those that need nothing beside the archive: what `deploy/` holds, every setting, the picture of the README, and its prose.

    All the others run the same files from the same archive's project; that every file of it is in the archive is tested above.
    """
    with tarfile.open(published[1]) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    chosen = [
        "tests/deploy/test_files.py",
        "tests/config",
        "tests/docs/test_picture.py",
        "tests/repository/test_text.py",
    ]
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    where = [sys.executable, "-c", "import upcall; print(upcall.__file__)"]
    assert subprocess.check_output(where, cwd=folder, env=environment, text=True).startswith(str(folder))


@pytest.mark.promise("doorway/22")
def test_the_release_check_runs_all_of_this_without_leaving_anything_out() -> None:
    told = subprocess.check_output(["make", "-n", "release-check"], cwd=ROOT, text=True)
    (line,) = [each for each in told.splitlines() if "pytest -v" in each]
    assert line.startswith("CI=1 ")
    for part in ("tests/deploy/test_distribution.py", "tests/compatibility", "tests/docs/test_pages.py"):
        assert part in line.split()
        assert (ROOT / part).exists()
