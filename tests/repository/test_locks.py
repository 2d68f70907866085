"""What is installed is what was locked, from whichever registry the machine uses."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PYTHON_LOCKS = ("bootstrap", "runtime", "dev", "docs", "frameworks", "frameworks-older-mcp", "peers")


def read_lock(root: Path, lock: str) -> list[str]:
    """The lock's entries, each with its continuation lines joined and comments dropped."""
    text = (root / f"requirements/{lock}.txt").read_text("utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def read_pins(root: Path, lock: str) -> dict[str, str]:
    entries = (entry.partition("==") for entry in read_lock(root, lock))
    return {canonicalize_name(name): rest.split()[0] for name, _, rest in entries}


def declared(root: Path, lock: str) -> list[str]:
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    runtime: list[str] = project["project"]["dependencies"]
    groups: dict[str, list[str]] = project["dependency-groups"]
    return {"runtime": runtime, "dev": runtime + groups["dev"]}.get(lock) or groups[lock]


@pytest.mark.parametrize("lock", PYTHON_LOCKS)
def test_every_locked_package_is_exact_and_hashed(root: Path, lock: str) -> None:
    entry = re.compile(r"[\w.-]+(\[[\w,.-]+\])?==\S+( ; .+?)?(\s+--hash=sha256:[0-9a-f]{64})+(\s+#.*)?")
    entries = read_lock(root, lock)
    assert entries
    assert [line[:80] for line in entries if not entry.fullmatch(line.strip())] == []


@pytest.mark.parametrize("lock", PYTHON_LOCKS)
def test_the_lock_is_as_new_as_what_pyproject_asks_for(root: Path, lock: str) -> None:
    pins = read_pins(root, lock)
    wanted = [Requirement(line) for line in declared(root, lock)]
    stale = [
        str(need)
        for need in wanted
        if not need.specifier.contains(pins.get(canonicalize_name(need.name), "0"))
    ]
    assert stale == [], "run: make lock"


def test_development_runs_on_the_runtime_versions(root: Path) -> None:
    assert read_pins(root, "runtime").items() <= read_pins(root, "dev").items()


def test_every_node_package_is_hashed_and_bound_to_no_registry(root: Path) -> None:
    manifest = json.loads((root / "tests/node/package.json").read_text("utf-8"))
    lock = json.loads((root / "tests/node/package-lock.json").read_text("utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    wanted = manifest["dependencies"] | manifest["optionalDependencies"]
    locked = lock["packages"][""]
    assert locked["dependencies"] | locked["optionalDependencies"] == wanted
    assert [name for name, package in packages.items() if "integrity" not in package] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert all(version[0].isdigit() for version in wanted.values())
