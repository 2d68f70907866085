"""The branch that a folder is on, from the files of its repository: no program is started."""

from pathlib import Path

from upcall.ports.foreign_files import read_start

HEAD = "ref: refs/heads/"
LONGEST_LINE = 4096


def branch_of(folder: str) -> str:
    """The name of the branch; empty where there is no repository, or none that can be read, or no branch."""
    here = Path(folder)
    try:
        for place in (here, *here.parents):
            git = place / ".git"
            if git.is_file():
                # A work tree has its files elsewhere, and says where.
                git = place / _line(git).removeprefix("gitdir:").strip()
            if git.is_dir():
                head = _line(git / "HEAD")
                return head.removeprefix(HEAD) if head.startswith(HEAD) else ""
    except (OSError, ValueError):
        return ""
    return ""


def _line(file: Path) -> str:
    return read_start(file, LONGEST_LINE).data.decode().strip()
