"""Runs the tests of `make quick` on each Python that we support: `make pythons`, or `python -m tests.pythons 3.12 3.14`.

An interpreter is taken from PATH, from pyenv, or from uv, which downloads it where it can. One that cannot be had is left
out with a line that says so, which is a failure with `CI` set.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(sys.executable).parent
QUICK = ("domain", "ports", "config", "broker", "approvals", "dispatch", "contracts", "web")


def interpreter(version: str) -> str | None:
    """A working interpreter of a version."""
    named = [Path(folder, f"python{version}") for folder in os.get_exec_path()]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    named += [found / "bin" / "python" for found in sorted(pyenv.glob(f"{version}.*"), reverse=True)]
    for candidate in named:
        if candidate.exists() and _is(str(candidate), version):
            return str(candidate)
    uv = str(TOOLS / "uv")
    subprocess.run([uv, "python", "install", "--quiet", version], check=False, capture_output=True)
    told = subprocess.run(
        [uv, "python", "find", "--managed-python", version], check=False, capture_output=True, text=True
    )
    return told.stdout.strip() or None


def _is(candidate: str, version: str) -> bool:
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    told = subprocess.run([candidate, "-c", script], check=False, capture_output=True, text=True)
    return told.stdout.strip() == version


def passes(version: str, python: str) -> bool:
    """Whether the tests pass, in an environment of the locked packages."""
    environment = ROOT / ".venv" / f"python-{version}"
    inside = str(environment / "bin" / "python")
    make = [str(TOOLS / "uv"), "venv", "--quiet", "--clear", "--python", python, str(environment)]
    locked = ["--require-hashes", "--no-deps", "-r", str(ROOT / "requirements" / "dev.txt")]
    ours = ["--no-deps", "--editable", str(ROOT)]
    if not (_done(make) and _installed(inside, python, locked) and _installed(inside, python, ours)):
        sys.stdout.write(f"Python {version}: what the tests need cannot be installed.\n")
        return False
    program = [inside, "-m", "pytest", "--quiet", "--numprocesses", "2"]
    chosen = ["-m", "not system and not thorough", *(f"tests/{folder}" for folder in QUICK)]
    return _done([*program, *chosen])


def _installed(inside: str, python: str, what: Sequence[str]) -> bool:
    """Whether packages could be installed. Networks fail, and pip may know a mirror that uv does not, as in the Makefile."""
    uv = [str(TOOLS / "uv"), "pip", "install", "--quiet", "--python", inside, *what]
    pip = [python, "-m", "pip", "--python", inside, "install", "--quiet", *what]
    return _done(uv) or _done(uv) or _done(pip)


def _done(command: Sequence[str]) -> bool:
    return not subprocess.run(command, check=False, cwd=ROOT).returncode


def main(versions: Sequence[str]) -> int:
    """Test each version; the exit code says whether one has failed."""
    passed: list[str] = []
    failed: list[str] = []
    missing: list[str] = []
    for version in versions:
        found = interpreter(version)
        if found is None:
            missing.append(version)
            continue
        sys.stdout.write(f"Python {version}: {found}\n")
        sys.stdout.flush()
        (passed if passes(version, found) else failed).append(version)
    for said, which in (
        ("passed", passed),
        ("FAILED", failed),
        ("left out: not on this machine, and uv cannot fetch it", missing),
    ):
        sys.stdout.writelines(f"Python {version} {said}\n" for version in which)
    return int(bool(failed or (missing and os.environ.get("CI"))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
