"""`work_tree_server`: files in the folder of a Claude Code run through which its program finds the daemon.

The address in them is good for that run alone. Versions of the program look in different places, so both files have it.
The rest of these files stays as it is, and the entry is removed when the process has ended.
"""

from pathlib import Path

from upcall.config.presets.settings import PresetSettings
from upcall.setup.edits import JsonDialect, JsonEntry
from upcall.setup.plan import PlannedFile, additions, apply, read_file, removals

NAMES = (".claude/settings.json", ".mcp.json")
ADAPTER = "claude"


class WorkTree:
    """Writes and removes the entry. `server` is the name of our server in it, `url` the address of the daemon."""

    def __init__(self, server: str, url: str) -> None:
        self._server = server
        self._url = url

    def furnish(self, folder: str, token: str) -> None:
        """Write the entry.

        Raises:
            UnusableFile: if one of the files cannot be read or changed.
        """
        apply(additions(self._files(folder, token)))

    def clear(self, folder: str, token: str) -> None:
        """Remove the entry, unless another run has replaced it with its own.

        Raises:
            UnusableFile: as above.
        """
        mine = [file for file in self._files(folder, token) if token in (read_file(file.path) or "")]
        apply(removals(mine))

    def _files(self, folder: str, token: str) -> list[PlannedFile]:
        entry = JsonEntry(("mcpServers", self._server), {"type": "sse", "url": f"{self._url}/sse/{token}"})
        plain = JsonDialect(comments=False)
        return [PlannedFile(path=Path(folder) / name, dialect=plain, edits=[entry]) for name in NAMES]


def work_tree(settings: PresetSettings, url: str, adapter: str) -> WorkTree | None:
    """The entry for runs of an adapter; None without the setting, or for programs that read other files."""
    if not settings.work_tree_server or adapter != ADAPTER:
        return None
    return WorkTree(settings.work_tree_server, url)
