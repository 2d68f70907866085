"""Renew the samples of what the real programs say: `python -m tests.agents.capture [claude codex …]`."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.agents import samples, stories
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CLAUDE, PROGRAMS, Desk, Program
from tests.agents.stories import Stage
from tests.agents.work import Work
from upcall.home.files import Home

ALONE: dict[str, Callable[[Stage, Program], Work]] = {
    "asked": stories.asked,
    "commanded": stories.commanded,
    "refused": stories.refused,
    "failed": stories.failed,
}


@contextmanager
def stage() -> Iterator[tuple[Stage, Path]]:
    """A scratch folder with a desk for each program."""
    # A program that was killed may leave others writing for a moment longer.
    with (
        tempfile.TemporaryDirectory(prefix="upcall-", ignore_cleanup_errors=True) as scratch,
        Model() as model,
        Person(Home(Path(scratch) / "upcall")) as person,
        Desk(Path(scratch) / "desk", model.url) as desk,
    ):
        yield Stage(model=model, desk=desk, person=person), Path(scratch)
        model.check()


def capture(program: Program) -> None:
    """Play every story with this program."""
    for name, story in ALONE.items():
        with stage() as (played, scratch):
            samples.write(f"{program.name}-{name}", story(played, program).lines, scratch)
    with stage() as (played, scratch):
        first = stories.killed(played, program)
        samples.write(f"{program.name}-killed", first.lines, scratch)
        second = stories.resumed(played, program, stories.session_of(first))
        samples.write(f"{program.name}-resumed", second.lines, scratch)
    if program is CLAUDE:
        with stage() as (played, scratch):
            first = stories.deferred(played)
            samples.write("claude-deferred", first.lines, scratch)
            second = stories.undeferred(played, stories.session_of(first))
            samples.write("claude-undeferred", second.lines, scratch)
        with stage() as (played, scratch):
            samples.write("claude-delegated", stories.delegated(played).lines, scratch)


if __name__ == "__main__":
    for each in PROGRAMS:
        if each.name in sys.argv[1:] or not sys.argv[1:]:
            capture(each)
