"""What `upcall setup` writes is what the pages show, to the letter."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import PAGES, ROOT, blocks
from upcall.setup.clients import CLIENTS, ServerCommand, UserFolders, files_for
from upcall.setup.plan import additions

DOOR = ServerCommand(command=("upcall", "mcp", "--wait", "block"), environment={})
STEPS = 5


def written(agent: str, folder: Path) -> dict[str, str]:
    """The files that setup makes where there are none, by their names in the user's folder."""
    files = files_for(agent, UserFolders(home=folder, environment={}), DOOR, prompt=False)
    return {str(each.path.relative_to(folder)): each.after or "" for each in additions(files)}


def servers_on(page: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries for our server that a page shows."""
    for language, read in (("json", json.loads), ("toml", tomllib.loads)):
        for block in blocks(language):
            if block.page.name == page:
                shown = read(block.content)
                for parent in ("mcpServers", "mcp", "mcp_servers"):
                    if "upcall" in shown.get(parent, {}):
                        yield block.place, shown[parent]["upcall"]


@pytest.mark.promise("doorway/17")
@pytest.mark.parametrize("agent", list(CLIENTS))
def test_setup_writes_the_files_that_its_page_shows(agent: str, tmp_path: Path) -> None:
    page = (ROOT / "docs/setup.md").read_text()
    for name, text in written(agent, tmp_path).items():
        language = "toml" if name.endswith(".toml") else "json"
        assert f"`~/{name}`:\n\n```{language}\n{text}```\n" in page


@pytest.mark.promise("doorway/17")
def test_the_entries_on_the_page_about_agents_are_those_that_setup_writes(tmp_path: Path) -> None:
    servers: list[dict[str, Any]] = []
    for agent in CLIENTS:
        for name, text in written(agent, tmp_path).items():
            read: dict[str, Any] = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
            for parent in ("mcpServers", "mcp", "mcp_servers"):
                if parent in read:
                    entry = read[parent]["upcall"]
                    servers.append({key: value for key, value in entry.items() if value != {}})
    shown = list(servers_on("agents.md"))
    assert len(shown) >= len(CLIENTS)
    for place, entry in shown:
        assert entry in servers, place


@pytest.mark.promise("doorway/17")
def test_every_page_gives_a_call_the_time_that_setup_gives_it(tmp_path: Path) -> None:
    """Also the pages about other ways to start our server: a shorter one is found out only by waiting a day."""
    limits = {
        limit
        for agent in CLIENTS
        for text in written(agent, tmp_path).values()
        for limit in re.findall(r"\btimeout\b.*?(\d+)|\btool_timeout_sec\b.*?(\d+)", text)
    }
    assert limits == {("86460000", ""), ("", "86460")}
    for page in PAGES:
        for name, entry in servers_on(page.name):
            assert entry.get("timeout", 86460000) == 86460000, name
            assert entry.get("tool_timeout_sec", 86460) == 86460, name


@pytest.mark.promise("doorway/9")
def test_a_working_slack_takes_five_steps_at_most() -> None:
    page = (ROOT / "docs/channel-slack.md").read_text().partition("\n## ")[0]
    numbers = [line.partition(".")[0] for line in page.splitlines() if line[:1].isdigit()]
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert 0 < len(numbers) <= STEPS
    for command in (
        "upcall setup slack",
        "upcall channels add slack",
        "upcall people add",
        "upcall channels test slack",
    ):
        assert command in page
