"""How long a person who has just installed Upcall waits for the first question: `uvx upcall ask`, with uv's cache warm.

The wheel is built and installed from a static index of files, so that the network has no part in it. The home is new each time:
the daemon is started, the database made, and the question stored.
"""

import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.bench import ROOT, Bench, environment, median
from benchmarks.report import Figure, Target

TOOLS = Path(sys.executable).parent
PARKED = 12
"""The exit code of `upcall ask --timeout 0`: the question was asked, and has no answer yet."""


def run(bench: Bench) -> Iterator[Figure]:
    """A bare interpreter and a first question, in turns."""
    rounds = bench.size(7, 1)
    folder = bench.folder("first-question")
    uvx = [str(TOOLS / "uv"), "tool", "run", "--no-config", "--default-index", index(folder), "upcall"]
    common = {"UV_CACHE_DIR": str(folder / "cache"), "UV_PYTHON": sys.executable}
    # From here on the cache is warm.
    _seconds([*uvx, "version"], 0, **common)
    bare, first = list[float](), list[float]()
    for number in range(rounds):
        home = {**common, "UPCALL_HOME": str(folder / f"home-{number}")}
        bare.append(_seconds([sys.executable, "-c", "pass"], 0))
        first.append(_seconds([*uvx, "ask", "Which cache?", "--timeout", "0"], PARKED, **home))
        _seconds([*uvx, "down"], 0, **home)
    yield Figure(
        name="uvx upcall ask in a new home, cache warm → question stored, p50",
        measured=median(first),
        limit=median(bare),
        limit_name="a bare interpreter",
        unit="s",
        repetitions=rounds,
        target=Target(plus=10),
    )


def index(folder: Path) -> str:
    """The address of a package index that holds the wheel of this project and the packages of its lock file."""
    files = folder / "files"
    build = [str(TOOLS / "hatchling"), "build", "-t", "wheel", "-d", str(files)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    pip = [str(Path(sys.base_prefix) / "bin" / "python3"), "-m", "pip", "download", "--quiet", "--no-deps"]
    lock = ["--require-hashes", "-r", str(ROOT / "requirements" / "runtime.txt")]
    subprocess.run([*pip, "-d", str(files), *lock], check=True, capture_output=True)
    return written_index(folder / "simple", files.iterdir())


def written_index(folder: Path, files: Iterable[Path]) -> str:
    """Write the pages of a static index that leads to files, and return its address."""
    projects: defaultdict[str, list[Path]] = defaultdict(list)
    for file in files:
        projects[re.sub(r"[-_.]+", "-", file.name.partition("-")[0]).lower()].append(file)
    for project, found in projects.items():
        page = folder / project / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text("".join(f'<a href="{file.as_uri()}">{file.name}</a>\n' for file in found), "utf-8")
    return folder.as_uri()


def _seconds(command: list[str], code: int, **variables: str) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, env=environment(**variables), check=False, capture_output=True, text=True)
    if done.returncode != code:
        raise ChildProcessError(f"{command!r} ended with {done.returncode}: {done.stderr}")
    return time.perf_counter() - began
