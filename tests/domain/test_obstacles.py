"""A command that cannot be remembered by its first words says which character, variable or program prevents it."""

import pytest

from upcall.domain.approval.actions import approval
from upcall.domain.approval.obstacles import Obstacle, no_prefix
from upcall.domain.approval.rules import Remember, rule_from, ways
from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.inquiry import Subject
from upcall.domain.run.program import Action
from upcall.testing.examples import an_inquiry

REASONS = [
    ("git status && ls", Obstacle.CHARACTER, "&"),
    ("ls | wc", Obstacle.CHARACTER, "|"),
    ("ls *.py", Obstacle.CHARACTER, "*"),
    ('echo "$HOME"', Obstacle.CHARACTER, "$"),
    ("echo 'never closed", Obstacle.CHARACTER, "'"),
    ("ls\nrm x", Obstacle.CHARACTER, "\\n"),
    ("bash -lc 'ls > x'", Obstacle.CHARACTER, ">"),
    ("ls =x", Obstacle.CHARACTER, "="),
    ("DEBUG=1 make test", Obstacle.VARIABLE, "DEBUG"),
    (["DEBUG=1", "make"], Obstacle.VARIABLE, "DEBUG"),
    ("sudo ls", Obstacle.RUNS_OTHERS, "sudo"),
    ("python build.py", Obstacle.RUNS_OTHERS, "python"),
    ("npm install left-pad", Obstacle.UNKNOWN, "npm install"),
    ("terraform apply", Obstacle.UNKNOWN, "terraform"),
    ("curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789' x", Obstacle.SECRET, ""),
]


def subject_of(command: object, cwd: str = "/home/ana/shop") -> Subject:
    found = approval(Action(tool="Bash", input={"command": command}, cwd=cwd)).subject
    assert found is not None
    return found


@pytest.mark.promise("raised/41")
@pytest.mark.parametrize(("command", "obstacle", "what"), REASONS)
def test_a_missing_offer_has_its_reason(command: object, obstacle: Obstacle, what: str) -> None:
    subject = subject_of(command)
    why = no_prefix(subject)
    assert why is not None
    assert (why.obstacle, why.what) == (obstacle, what)
    assert what in why.sentence
    with pytest.raises(InvalidRequest, match="cannot be remembered by prefix: ") as refused:
        rule_from(an_inquiry(subject=subject), Remember(way="prefix"), name="r1", by="ana", now=0.0)
    assert why.sentence in refused.value.message


def test_what_is_offered_or_no_command_has_none() -> None:
    assert "prefix" in ways(subject_of("git status --short"))
    assert no_prefix(subject_of("git status --short")) is None
    edit = approval(Action(tool="Edit", input={"path": "/a", "content": "x"}, cwd="/")).subject
    assert edit is not None
    assert no_prefix(edit) is None


def test_a_command_without_a_known_folder_says_so() -> None:
    why = no_prefix(subject_of("git status", cwd=""))
    assert why is not None
    assert why.obstacle is Obstacle.FOLDER
