"""Runs the tests of `make quick` on each Python that we support: `make pythons`, or `python -m tests.pythons 3.12 3.14`.

An interpreter is taken from PATH, from pyenv, or from uv, which downloads it where it can. One that cannot be had is left
out with a line that says so, or fails with `CI` set.
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
    uv = [str(TOOLS / "uv")]
    into = ["--quiet", "--python", str(environment / "bin" / "python")]
    locked = ["--require-hashes", "--no-deps", "-r", str(ROOT / "requirements" / "dev.txt")]
    for command in (
        [*uv, "venv", "--quiet", "--clear", "--python", python, str(environment)],
        [*uv, "pip", "install", *into, *locked],
        [*uv, "pip", "install", *into, "--no-deps", "--editable", str(ROOT)],
    ):
        subprocess.run(command, check=True, cwd=ROOT)
    program = [str(environment / "bin" / "python"), "-m", "pytest", "--quiet", "--numprocesses", "2"]
    chosen = ["-m", "not system and not thorough", *(f"tests/{folder}" for folder in QUICK)]
    return not subprocess.run([*program, *chosen], check=False, cwd=ROOT).returncode


def main(versions: Sequence[str]) -> int:
    """Test each version; the exit code says whether one has failed."""
    failed: list[str] = []
    for version in versions:
        found = interpreter(version)
        if found is None:
            sys.stdout.write(f"Python {version} is not on this machine, and uv cannot fetch it: left out.\n")
            failed += [version] if os.environ.get("CI") else []
            continue
        sys.stdout.write(f"Python {version}: {found}\n")
        sys.stdout.flush()
        if not passes(version, found):
            failed.append(version)
    sys.stdout.write(f"Failed: {', '.join(failed)}\n" if failed else "No version has failed.\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
