"""Upcall without its dependencies, in an environment whose frameworks hold the MCP SDK below ours."""

import json

from tests.frameworks.story import Story

ALONE = """
import json
from importlib.metadata import version

import upcall

try:
    upcall.sync.ask("Which cache?", timeout=0)
except upcall.errors.DaemonFailed as problem:
    print(json.dumps([version("mcp"), problem.code, problem.message, problem.hint]))
"""


async def test_beside_an_older_mcp_sdk_no_daemon_is_started_and_the_error_says_what_to_do(
    story_with_older_mcp: Story,
) -> None:
    story = story_with_older_mcp
    (story.work / "program.py").write_text(ALONE, "utf-8")
    del story.environment["UPCALL_URL"], story.environment["UPCALL_TOKEN"]
    story.environment["UPCALL_HOME"] = str(story.work / "home")

    version, code, message, hint = json.loads(await story.goes_on())

    assert version.startswith("1.")
    assert code == "daemon_failed"
    assert message == "no daemon runs, and none can be started here: 'itsdangerous' is not installed"
    assert "pipx install upcall" in hint
