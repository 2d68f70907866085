"""On which branch somebody works in a folder, read from git's own files."""

from pathlib import Path

HEAD = "ref: refs/heads/"
LONGEST = 4096


def branch_of(folder: str) -> str:
    """The name of the branch; empty where there is no repository, or none that can be read, or no branch."""
    here = Path(folder)
    try:
        for place in (here, *here.parents):
            git = place / ".git"
            if git.is_file():
                # A work tree has its files elsewhere, and says where.
                git = place / git.read_text()[:LONGEST].removeprefix("gitdir:").strip()
            if git.is_dir():
                head = (git / "HEAD").read_text()[:LONGEST].strip()
                return head.removeprefix(HEAD) if head.startswith(HEAD) else ""
    except (OSError, ValueError):
        return ""
    return ""
