"""Tasks for adapters to begin with the real programs: with a daemon's own door, and a token that it knows."""

import os
import subprocess
import sys
from uuid import uuid4

from tests.agents.person import Person
from tests.agents.programs import Desk
from tests.agents.work import Work
from upcall.domain.run.program import Command, Door, Permission, Session, Task

PIPE = (sys.executable, "-m", "upcall", "mcp", "--wait", "block")


def a_door(person: Person, wait: float = 3600.0) -> Door:
    """The stdio door of a person's daemon, with a token of an agent."""
    made = subprocess.run(
        [
            sys.executable,
            "-m",
            "upcall",
            "tokens",
            "create",
            "--role",
            "agent",
            "--name",
            f"run-{uuid4().hex}",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "UPCALL_HOME": str(person.home.path)},
    )
    token = made.stdout.strip()
    environment = {"UPCALL_HOME": str(person.home.path), "UPCALL_TOKEN": token}
    return Door(command=PIPE, environment=environment, url="", token=token, wait=wait)


def a_real_task(
    desk: Desk, person: Person, permission: Permission, prompt: str = "Set up the cache."
) -> Task:
    """Something to do at a desk."""
    return Task(
        prompt=prompt,
        cwd=str(desk.work),
        door=a_door(person),
        session=str(uuid4()),
        permission=permission,
    )


def session_of(task: Task, name: str) -> Session:
    """The session that a task has begun."""
    return Session(
        id=name, cwd=task.cwd, door=task.door, permission=task.permission, arguments=task.arguments
    )


def begin(desk: Desk, command: Command) -> Work:
    """Start a command at a desk, and give it what it is to read."""
    process = subprocess.Popen(
        command.argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=command.cwd,
        env={**desk.environment, **command.environment},
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(command.stdin)
    process.stdin.close()
    return Work(process)
