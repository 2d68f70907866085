"""A session of Claude Code as far as Upcall sees it: its pipe, and the record that it keeps."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.browser.conftest import Desk
from tests.doors.agent import agent
from upcall.cli.client import inquiry_path

SESSION = "6c1f2e9e-5f0e-4b7a-9d51-0d6a5a3a9c11"


@contextmanager
def asking(
    desk: Desk, folder: Path, record: list[dict[str, Any]], **question: Any
) -> Iterator[dict[str, Any]]:
    """A session with this record asks; its inquiry, once what led to it was read."""
    project = folder / "shop-api"
    (project / ".git").mkdir(parents=True)
    (project / ".git/HEAD").write_text("ref: refs/heads/feature/cache\n")
    kept = folder / "claude/projects/-shop"
    kept.mkdir(parents=True)
    call = {"type": "tool_use", "name": "mcp__upcall__ask_human", "input": question}
    lines = [*record, {"type": "assistant", "message": {"id": "m-last", "content": [call]}}]
    (kept / f"{SESSION}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    variables = {
        "CLAUDE_CODE_SESSION_ID": SESSION,
        "CLAUDE_PROJECT_DIR": str(project),
        "UPCALL_WAIT": "block",
    }
    with agent(desk.home, CLAUDE_CONFIG_DIR=str(folder / "claude"), **variables) as session:
        session.initialize()
        session.call(1, "ask_human", question)
        yield _observed(desk)


def said(name: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    """A message of the model in a record."""
    return {"type": "assistant", "message": {"id": name, "content": list(blocks)}}


def words(text: str) -> dict[str, Any]:
    """Words of the model."""
    return {"type": "text", "text": text}


def use(tool: str, **given: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"type": "tool_use", "name": tool, "input": given}


def prompt(text: str) -> dict[str, Any]:
    """What the person has said."""
    return {"type": "user", "message": {"role": "user", "content": text}}


def _observed(desk: Desk) -> dict[str, Any]:
    after = 0
    while True:
        news = desk.owner.get(f"/v1/events?after={after}&wait=10")
        assert news["items"], "what led to the question was not read"
        for event in news["items"]:
            if event["type"] == "activity":
                found: dict[str, Any] = desk.owner.get(inquiry_path(event["inquiry"]))
                return found
        after = news["next_after"]
