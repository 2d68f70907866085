"""A rule by the first words of a command lets through nothing that these words do not say."""

from dataclasses import asdict, replace

import pytest

from tests.adversary.prefixes import OPTION_TRICKS, PATH_TRICKS, RUNNING_COMMANDS, SHELL_TRICKS
from tests.domain.test_rules import REPO, STATUS, allowed, asked, bash, remembered
from upcall.domain.approval import rules
from upcall.domain.approval.programs import offerable, prefix_problem
from upcall.domain.errors import InvalidRequest
from upcall.domain.records import Record

OFFERED = [" ".join(prefix) for prefix in offerable()]


@pytest.mark.promise("trust/23")
@pytest.mark.parametrize("command", OFFERED)
def test_no_rule_that_is_offered_lets_a_trick_through(command: str) -> None:
    rule = remembered(bash(command), "prefix")
    assert rule.prefix == tuple(command.split())
    assert allowed(rule, bash(command))
    assert allowed(rule, bash(f"{command} word src/file.py"))
    tricks = (*OPTION_TRICKS, *SHELL_TRICKS, *PATH_TRICKS)
    assert [trick for trick in tricks if allowed(rule, bash(f"{command} {trick}"))] == []


@pytest.mark.promise("trust/23")
@pytest.mark.parametrize(
    "command",
    [
        "git log --output=x",
        "git grep --open-files-in-pager=touch x",
        "git fetch --upload-pack touch",
        "cargo test --config x",
        "npm test --script-shell=touch",
        "go vet -vettool=touch",
    ],
)
def test_an_option_is_allowed_only_where_it_was_approved_and_with_its_value(command: str) -> None:
    rule = remembered(bash(command), "prefix")
    assert allowed(rule, bash(command)), "it was in the approved command"
    program, told, *_ = command.split()
    plain = remembered(bash(f"{program} {told}"), "prefix")
    assert not allowed(plain, bash(command))
    assert not allowed(rule, bash(command.replace("touch", "reboot").replace("x", "y")))


@pytest.mark.promise("trust/23")
def test_an_option_that_was_the_last_word_may_be_followed_by_arguments_and_any_other_only_by_its_own() -> (
    None
):
    rule = remembered(bash("git log --oneline -n 5 main --stat"), "prefix")
    assert allowed(rule, bash("git log --oneline -n 5 main --stat src"))
    assert allowed(rule, bash("git log dev --stat docs"))
    assert not allowed(rule, bash("git log -n 6"))
    assert not allowed(rule, bash("git log -n"))
    assert not allowed(rule, bash("git log --oneline dev"))


@pytest.mark.promise("trust/24")
@pytest.mark.parametrize("command", RUNNING_COMMANDS)
def test_no_prefix_is_offered_for_what_runs_other_programs(command: str) -> None:
    assert "prefix" not in rules.ways(asked(bash(command)).subject)
    with pytest.raises(InvalidRequest):
        remembered(bash(command), "prefix")


@pytest.mark.promise("trust/24")
@pytest.mark.parametrize(
    "prefix", ["uv run", "npm exec", "bundle exec", "python3 -m", "poetry run", "sed", "tar xf", "gdb"]
)
def test_a_prefix_made_by_hand_has_to_say_what_runs(prefix: str) -> None:
    words = rules.prefix_in(prefix)
    with pytest.raises(InvalidRequest):
        rules.checked(replace(STATUS, prefix=words))
    assert not allowed(replace(STATUS, prefix=words), bash(f"{prefix} anything"))


def test_a_prefix_made_by_hand_that_names_what_runs_is_kept_and_takes_no_options() -> None:
    rule = rules.checked(replace(STATUS, prefix=rules.prefix_in("uv run pytest -q")))
    assert allowed(rule, bash("uv run pytest -q tests/unit"))
    assert not allowed(rule, bash("uv run pytest -q -p evil"))
    assert not allowed(rule, bash("uv run --with evil pytest -q"))


def test_no_prefix_that_is_offered_would_be_refused() -> None:
    assert [prefix for prefix in offerable() if prefix_problem(prefix)] == []


def test_a_path_behind_a_prefix_lies_where_the_rule_holds() -> None:
    rule = remembered(bash("cat README"), "prefix")
    assert allowed(rule, bash(f"cat {REPO}/README src/a.py"))
    assert not allowed(rule, bash("cat /etc/shadow"))
    assert not allowed(rule, bash("cat ../other/README"))


def test_a_rule_that_was_kept_before_options_were_asks_about_every_option() -> None:
    rule = remembered(bash("git log --oneline"), "prefix")
    body = {name: value for name, value in asdict(rule).items() if name != "options"}
    kept = rules.rule_in(Record(kind=rules.KIND, key=rule.id, state="", at=0.0, body=body))
    assert allowed(kept, bash("git log"))
    assert not allowed(kept, bash("git log --oneline"))
