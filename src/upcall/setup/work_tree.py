"""Files in a run's own folder by which its program finds us: an address that is good for this run alone.

Where programs look differs between versions, so it is in both places. What else is in these files stays, and our entry goes
when the process has ended.
"""

from pathlib import Path

from upcall.setup.edits import Entry, Json
from upcall.setup.plan import File, additions, apply, read_file, removals

NAMES = (".claude/settings.json", ".mcp.json")


class WorkTree:
    """Knows what our server is called there, and at which address the daemon is."""

    def __init__(self, server: str, url: str) -> None:
        self._server = server
        self._url = url

    def furnish(self, folder: str, token: str) -> None:
        """Write the entry.

        Raises:
            UnusableFile: if a file of that name cannot be read, or not be changed.
        """
        apply(additions(self._files(folder, token)))

    def clear(self, folder: str, token: str) -> None:
        """Take the entry out, unless another run has put its own there meanwhile.

        Raises:
            UnusableFile: as above.
        """
        mine = [file for file in self._files(folder, token) if token in (read_file(file.path) or "")]
        apply(removals(mine))

    def _files(self, folder: str, token: str) -> list[File]:
        entry = Entry(("mcpServers", self._server), {"type": "sse", "url": f"{self._url}/sse/{token}"})
        plain = Json(comments=False)
        return [File(path=Path(folder) / name, dialect=plain, edits=[entry]) for name in NAMES]
