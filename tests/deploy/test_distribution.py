"""What is published: a wheel and a source archive, equal whenever they are built, that install in one line."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from benchmarks.first_question import PARKED, written_index
from tests.conftest import require
from tests.docs.pages import links
from upcall import __version__

# The index fetches every dependency first, which takes as long as the network and the disk do.
pytestmark = pytest.mark.timeout(600)
ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "upcall"
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
    lock = folder / "lock.txt"
    # What every installation needs, and one extra.
    extra = re.findall(r"^agent-client-protocol==(?:.*\\\n)*.*$", _lock("dev"), re.MULTILINE)
    lock.write_text("\n".join([_lock("runtime"), *extra]))
    fetched = subprocess.run(
        [*download, "-d", folder / "files", "-r", lock], check=False, capture_output=True
    )
    require(fetched.returncode == 0, "a package registry")
    return written_index(folder / "simple", [*(folder / "files").iterdir(), published[0]])


def _lock(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text()


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


@pytest.mark.promise("doorway/24")
def test_pipx_upgrades_the_command(installed: tuple[Path, dict[str, str]]) -> None:
    # It remembers the index that it installed from, which has one version.
    upgrade = [str(TOOLS / "pipx"), "upgrade", "upcall"]
    done = subprocess.run(upgrade, env=installed[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"upcall is already at latest version {__version__}" in done.stdout


@pytest.mark.promise("doorway/2")
def test_an_extra_is_added_with_the_command_that_upcall_prints(
    installed: tuple[Path, dict[str, str]],
) -> None:
    program, person = installed
    python = program.resolve().with_name("python")
    code = "from upcall.home.program import installing; print(installing('acp'))"
    printed = subprocess.check_output([python, "-c", code], env=person, text=True).strip()
    assert printed == "pipx inject upcall 'upcall[acp]'"
    index = json.loads((python.parents[1] / "pipx_metadata.json").read_text())["main_package"]["pip_args"]
    # The index is an option of pipx, where a person has it in their settings.
    command = f"{printed} --index-url {index[-1]}"
    done = subprocess.run(["sh", "-c", command], env=person, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    subprocess.run([python, "-c", "import acp"], env=person, check=True)


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
def test_the_first_question_needs_nothing_but_a_warm_cache(
    index: str, stranger: dict[str, str], tmp_path: Path
) -> None:
    """How long it takes is the figure `first-question` of `make bench`."""
    uvx = [str(TOOLS / "uv"), "tool", "run", "--no-config", "--default-index", index]
    subprocess.run([*uvx, "upcall", "version"], env=stranger, check=True, capture_output=True)
    person = stranger | {"UPCALL_HOME": str(tmp_path / "home")}
    ask = [*uvx, "--offline", "upcall", "ask", "Which cache?", "--timeout", "0"]
    done = subprocess.run(ask, env=person, check=False, capture_output=True, text=True)
    assert done.returncode == PARKED, done.stderr
    assert "stays open" in done.stderr
    subprocess.run([*uvx, "upcall", "down"], env=person, check=True, capture_output=True)


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
