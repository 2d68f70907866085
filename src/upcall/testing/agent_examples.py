"""What the contract of adapters has a program do: a task, a session, and the door in its hands."""

from typing import Any

from upcall.domain.run.program import Door, Session, Task

__all__ = ["CWD", "DOOR", "SESSION", "TOKEN", "a_session", "a_task"]

TOKEN = "upcall_agent_Kx81-only-for-this-run"  # noqa: S105 - stands for one, and opens nothing
SESSION = "3f0e6a52-8f5d-4c8e-9d59-7b1f6f0d2a11"
CWD = "/home/ana/my project"
DOOR = Door(
    command=("/opt/upcall/bin/upcall", "mcp", "--wait", "block"),
    environment={"UPCALL_HOME": "/home/ana/.upcall", "UPCALL_TOKEN": TOKEN},
    url="http://127.0.0.1:7391",
    token=TOKEN,
    wait=54_321.0,
)


def a_task(**changes: Any) -> Task:
    """Something to do."""
    return Task(**{"prompt": "Fix the tests", "cwd": CWD, "door": DOOR, "session": SESSION, **changes})


def a_session(**changes: Any) -> Session:
    """One that was begun by such a task."""
    return Session(**{"id": SESSION, "cwd": CWD, "door": DOOR, **changes})
