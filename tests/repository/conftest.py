"""The repository as the tests about it see it."""

import subprocess
from pathlib import Path

import pytest

NOT_OURS = {".git", ".venv", "node_modules", "__pycache__"}


@pytest.fixture(scope="session")
def root() -> Path:
    return Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def sources(root: Path) -> list[Path]:
    """Every module of the package."""
    return sorted((root / "src/upcall").rglob("*.py"))


@pytest.fixture(scope="session")
def files(root: Path) -> list[Path]:
    """Every file of the repository: tracked, or new and not ignored."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        found = [root / name for name in listing.stdout.split("\0") if name]
    else:  # an unpacked archive has no git
        found = [path for path in root.rglob("*") if not NOT_OURS & set(path.relative_to(root).parts)]
    return sorted(path for path in found if path.is_file())
