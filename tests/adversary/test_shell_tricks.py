"""Every trick of the corpora against every rule that an approval offers: none of them is let through."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.adversary.prefixes import (
    FIELD_TRICKS,
    OPTION_TRICKS,
    PATH_TRICKS,
    PLACE_TRICKS,
    RUNNING_COMMANDS,
    SHELL_TRICKS,
    TOOL_TRICKS,
)
from tests.domain.test_rules import REPO, allowed, asked, bash, remembered
from upcall.domain.approval import rules
from upcall.domain.approval.programs import offerable
from upcall.domain.run.program import Action

COMMANDS = (*(" ".join(prefix) for prefix in offerable()), *RUNNING_COMMANDS)
APPENDED = (*OPTION_TRICKS, *SHELL_TRICKS, *PATH_TRICKS)
TRIED = {"exact", "prefix", "directory", "tool"}


def given(command: str, more: Mapping[str, object]) -> Action:
    """The command with something beside it."""
    return Action(tool="Bash", input={"command": command, **more}, cwd=REPO)


def test_every_kind_of_rule_is_tried() -> None:
    assert set(rules.WAYS) == TRIED
    assert set(rules.ways(asked(bash("git status")).subject)) == TRIED


@pytest.mark.promise("proof/3")
@pytest.mark.parametrize("command", COMMANDS)
def test_an_exact_rule_lets_nothing_else_through(command: str) -> None:
    rule = remembered(bash(command), "exact")
    assert allowed(rule, bash(command))
    assert [trick for trick in APPENDED if allowed(rule, bash(f"{command} {trick}"))] == []
    assert [trick for trick in APPENDED if allowed(rule, bash(f"{command}{trick}"))] == []
    assert [more for more in FIELD_TRICKS if allowed(rule, given(command, more))] == []
    assert [place for place in PLACE_TRICKS if allowed(rule, bash(command, cwd=place))] == []
    assert [tool for tool in TOOL_TRICKS if allowed(rule, replace(bash(command), tool=tool))] == []


@pytest.mark.promise("proof/3")
@pytest.mark.parametrize("prefix", [" ".join(prefix) for prefix in offerable()])
def test_a_rule_by_prefix_lets_through_no_other_tool_place_or_field(prefix: str) -> None:
    rule = remembered(bash(prefix), "prefix")
    assert [more for more in FIELD_TRICKS if allowed(rule, given(prefix, more))] == []
    assert [place for place in PLACE_TRICKS if allowed(rule, bash(prefix, cwd=place))] == []
    assert [tool for tool in TOOL_TRICKS if allowed(rule, replace(bash(prefix), tool=tool))] == []
    # A path in front of the program, a variable, or a wrapper makes it another command.
    before = (
        "./",
        "/tmp/",
        "X=1 ",
        "PATH=. ",
        "env ",
        "sudo ",
        "time ",
        "exec ",
        "command ",
        "nohup ",
        "\\",
        "$x ",
    )
    assert [trick for trick in before if allowed(rule, bash(f"{trick}{prefix}"))] == []


@pytest.mark.promise("proof/3")
@pytest.mark.parametrize(
    "shell", ["./sh", "evil/bash", "/tmp/sh", "~/sh", "/home/ana/repo/bash", "/bin/../tmp/sh", "/sh"]
)
def test_a_program_that_has_only_the_name_of_a_shell_is_none(shell: str) -> None:
    rule = remembered(bash("git status"), "prefix")
    assert allowed(rule, bash("/usr/bin/bash -lc 'git status'"))
    assert allowed(rule, bash("git status", shell="/bin/sh -c"))
    assert not allowed(rule, bash(f"{shell} -c 'git status'"))
    assert not allowed(rule, bash([shell, "-lc", "git status"]))
    assert not allowed(rule, bash("git status", shell=f"{shell} -c"))


@pytest.mark.promise("proof/3")
@pytest.mark.parametrize("tool", ["Bash", "Read", "Write", "apply_patch", "mcp__files__move"])
def test_a_rule_for_a_directory_stays_in_it_and_with_its_tool(tool: str) -> None:
    given = {"command": "ls"} if tool == "Bash" else {"file_path": f"{REPO}/a"}
    rule = remembered(Action(tool=tool, input=given, cwd=REPO), "directory")
    assert allowed(rule, Action(tool=tool, input=given, cwd=f"{REPO}/sub"))
    for place in PLACE_TRICKS:
        assert not allowed(rule, Action(tool=tool, input=given, cwd=place)), place
    leaving = [place for place in (*PLACE_TRICKS, *PATH_TRICKS) if place not in {"", ".", "home/ana/repo"}]
    for field in ("file_path", "path", "destination", "uri", "notebook_path"):
        let = [
            place
            for place in leaving
            if allowed(rule, Action(tool=tool, input={**given, field: place}, cwd=REPO))
        ]
        assert let == [], field
    assert [name for name in TOOL_TRICKS if allowed(rule, Action(tool=name, input=given, cwd=REPO))] == []


@pytest.mark.promise("proof/3")
def test_a_rule_for_a_tool_is_for_that_name_and_that_agent_alone() -> None:
    rule = remembered(bash("ls"), "tool")
    assert allowed(rule, bash("anything at all"))
    assert [tool for tool in TOOL_TRICKS if allowed(rule, replace(bash("ls"), tool=tool))] == []
    for agent in ("Claude", "claude ", "claude\u200b", "cl\u0430ude", "local", "", "*", "claude/other"):
        assert not allowed(rule, bash("ls"), agent=agent), agent
    assert not allowed(rule, bash("ls"), now=100.0)
