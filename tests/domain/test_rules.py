"""A remembered rule applies to what it was made for, and to nothing else."""

import shlex
import string
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from upcall.domain.approval import actions, rules
from upcall.domain.approval.commands import simple_words
from upcall.domain.approval.programs import options_in
from upcall.domain.approval.rules import Remember, Rule
from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.run.program import Action

REPO = "/home/ana/repo"
STATUS = Rule(id="r1", by="ana", made_at=0.0, expires_at=100.0, tool="Bash", prefix=("git", "status"))


def bash(command: object, cwd: str = REPO, **more: object) -> Action:
    return Action(tool="Bash", input={"command": command, **more}, cwd=cwd)


def asked(action: Action) -> Inquiry:
    draft = actions.approval(action)
    return Inquiry(
        id="01",
        ref="a7",
        kind=draft.kind,
        questions=draft.questions,
        origin=Origin(agent="claude", session="s", door="d"),
        asked_at=0.0,
        expires_at=100.0,
        digest=draft.digest,
        subject=draft.subject,
    )


def remembered(action: Action, way: Any, **more: Any) -> Rule:
    wanted = Remember(way=way, seconds=100.0, **more)
    return rules.rule_from(asked(action), wanted, name="r1", by="ana", now=0.0)


def allowed(rule: Rule, action: Action, agent: str = "claude", now: float = 1.0) -> bool:
    return rules.allows(rule, action, agent, now, actions.exactly(action))


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "  git  status src ",
        "git status 'my file' \"and this\"",
        ["git", "status"],
        "bash -lc 'git status src'",
        "/bin/sh -c 'git status'",
        ["bash", "-lc", "git status"],
    ],
)
def test_a_prefix_allows_commands_that_begin_with_its_words(command: object) -> None:
    assert allowed(STATUS, bash(command))


@pytest.mark.parametrize(
    "command",
    [
        "git stash",
        "git statusx",
        "git",
        "'git status'",
        "git status; reboot",
        "git status;reboot",
        "git status && reboot",
        "git status & reboot",
        "git status | sh",
        "git status || reboot",
        "git status $(reboot)",
        "git status `reboot`",
        "git status ${IFS}",
        "git status $HOME",
        'git status "$(reboot)"',
        "git status > /etc/passwd",
        "git status < secrets",
        "git status\nreboot",
        "git status\rreboot",
        "git status\x0breboot",
        "git status\u2028reboot",
        "git status (reboot)",
        "git status {a,b}",
        "git status *",
        "git status ~/x",
        "git status # x",
        "git status !!",
        "git status \\\nreboot",
        "git status \\; reboot",
        "GIT_PAGER=reboot git status",
        "git status 'open",
        'git status "open',
        "( git status )",
        "! git status",
        "bash -lc 'git status; reboot'",
        "bash -c 'git status' reboot",
        "eval git status",
        "sudo git status",
        "git status =ls",
        "git\tstatus",
        "",
        " ",
        [],
        ["git", 7],
        ["bash", "-lc", "git status; reboot"],
        None,
        7,
    ],
)
def test_a_prefix_allows_nothing_that_could_be_another_command(command: object) -> None:
    assert not allowed(STATUS, bash(command))


BARE = string.ascii_letters + string.digits + "_./:@%+,=-"
"""What no shell interprets outside of quotes."""


def printable(excluded: str) -> st.SearchStrategy[str]:
    characters = st.characters(
        exclude_categories=("C", "Z"), include_characters=" ", exclude_characters=excluded
    )
    return st.text(characters, max_size=8)


PIECES = st.one_of(
    st.text(BARE, max_size=8).map(lambda text: (text, text)),
    printable("'\\").map(lambda text: (f"'{text}'", text)),
    printable('"\\$`!').map(lambda text: (f'"{text}"', text)),
)
"""Parts of a word: as they are typed, and as a shell reads them."""

ARGUMENTS = st.lists(
    # An argument that begins like this is neither an option nor a setting.
    st.lists(PIECES, max_size=3).map(
        lambda pieces: (
            "./" + "".join(piece[0] for piece in pieces),
            "./" + "".join(piece[1] for piece in pieces),
        )
    ),
    max_size=4,
)
HARMFUL = st.one_of(
    st.sampled_from(list(";|&()<>{}*?~!#[]^`$\\\n\r\t\x0b\x00\u2028\u200b\xa0")),
    st.sampled_from(['"$HOME"', '"`reboot`"', '"!!"', '"\\""', "'\\'", "$'x'", "<(", "$(", "&&", "\\\n"]),
)


def line(arguments: list[tuple[str, str]], blanks: str = " ") -> str:
    return blanks.join(["git status", *(typed for typed, _ in arguments)])


def is_plain(command: str) -> bool:
    """Reads character by character whether quotes come in pairs, and whether a shell would interpret anything."""
    quote = ""
    for char in command:
        if char == "\\" or not char.isprintable():
            return False
        if quote:
            quote = "" if char == quote else quote
            if quote == '"' and char in "$`!":
                return False
        elif char in "'\"":
            quote = char
        elif char not in BARE + " ":
            return False
    return not quote


@given(ARGUMENTS, st.sampled_from([" ", "  ", "    "]))
def test_plain_arguments_after_a_prefix_are_allowed_and_read_as_a_shell_reads_them(
    arguments: list[tuple[str, str]], blanks: str
) -> None:
    command = line(arguments, blanks)
    values = ("git", "status", *(value for _, value in arguments))
    assert simple_words(command) == tuple(shlex.split(command)) == values
    assert allowed(STATUS, bash(command))


@given(ARGUMENTS, HARMFUL, ARGUMENTS)
@example([], "; reboot", [])
def test_what_a_shell_interprets_is_refused_wherever_it_stands(
    before: list[tuple[str, str]], harmful: str, after: list[tuple[str, str]]
) -> None:
    rest = "".join(f" {typed}" for typed, _ in after)
    assert not allowed(STATUS, bash(f"{line(before)}{harmful}{rest}"))
    assert not allowed(STATUS, bash(f"{line(before)} {harmful}{rest}"))


@given(ARGUMENTS, st.sampled_from("'\""), st.text(BARE + " ", max_size=10))
def test_a_quote_that_stays_open_is_refused(before: list[tuple[str, str]], quote: str, after: str) -> None:
    assert not allowed(STATUS, bash(f"{line(before)} {quote}{after}"))


@settings(max_examples=500)
@given(
    st.one_of(
        st.text(BARE + " '\"", max_size=40), st.text(BARE + " '\"$`!\\;", max_size=12), st.text(max_size=40)
    )
)
@example("; reboot")
@example("'a' \"b\"")
@example("'$HOME'")
def test_a_prefix_allows_any_text_exactly_if_all_of_it_is_arguments_and_none_is_an_option(rest: str) -> None:
    command = f"git status {rest}"
    plain = is_plain(command)
    words = tuple(shlex.split(command)) if plain else ()
    plain = plain and not any(word.startswith("=") for word in words)
    assert simple_words(command) == (words if plain else None)
    assert allowed(STATUS, bash(command)) == (plain and not options_in(words[2:]))


SEPARATORS = st.sampled_from(
    [";", "|", "&", "&&", "||", "\n", "\r\n", " ; ", "`", "$(", " > ", "<(", "\\\n", "&!", "|&"]
)


@pytest.mark.promise("spec/117")
@given(st.text(st.characters(exclude_characters="'\""), max_size=15), SEPARATORS, st.text(max_size=15))
def test_no_prefix_matches_a_command_that_contains_another(before: str, separator: str, after: str) -> None:
    assert not allowed(STATUS, bash(f"git status {before}{separator}reboot {after}"))


def test_a_prefix_is_of_one_tool_and_of_nothing_that_may_change_its_meaning() -> None:
    assert allowed(STATUS, bash("git status", description="look", timeout=5))
    assert allowed(STATUS, bash("git status", shell="/bin/bash -lc"))
    assert not allowed(STATUS, bash("git status", shell="/bin/reboot -c"))
    assert not allowed(STATUS, bash("git status", shell="bash -lc reboot"))
    assert not allowed(STATUS, replace(bash("git status"), tool="RemoteBash"))
    assert not allowed(STATUS, bash("git status", dangerouslyDisableSandbox=True))
    assert not allowed(STATUS, bash("git status", workdir="/elsewhere"))
    assert not allowed(STATUS, bash("git status", cmd="reboot"))
    assert not allowed(STATUS, Action(tool="Bash", input={}))


@pytest.mark.parametrize("text", ["git status; x", "a | b", "$(x)", "", "X=1 make", "'"])
def test_a_prefix_has_to_be_one_simple_command(text: str) -> None:
    with pytest.raises(InvalidRequest):
        rules.prefix_in(text)


@pytest.mark.parametrize(
    "prefix",
    [
        "bash",
        "sudo apt",
        "env",
        "xargs rm",
        "find .",
        "/usr/bin/env x",
        "python3",
        "python3 -c",
        "node -e",
        "time make",
    ],
)
def test_a_prefix_that_says_too_little_is_refused(prefix: str) -> None:
    words = rules.prefix_in(prefix)
    with pytest.raises(InvalidRequest):
        rules.checked(replace(STATUS, prefix=words))
    assert not allowed(replace(STATUS, prefix=words), bash(f"{prefix} anything"))


@pytest.mark.parametrize(
    ("command", "ways"),
    [
        ("git status -s", ("exact", "prefix", "directory", "tool")),
        ("npm run-script test:unit", ("exact", "directory", "tool")),
        ("npm test -- --watch", ("exact", "prefix", "directory", "tool")),
        ("ls", ("exact", "prefix", "directory", "tool")),
        ("rm -rf build", ("exact", "directory", "tool")),
        ("git status; reboot", ("exact", "directory", "tool")),
        ("sudo reboot", ("exact", "directory", "tool")),
        ("curl -H 'Authorization: Bearer abcdef123456789' x", ("exact", "directory", "tool")),
    ],
)
def test_only_rules_that_would_be_valid_are_offered(command: str, ways: tuple[str, ...]) -> None:
    inquiry = asked(bash(command))
    assert rules.ways(inquiry.subject) == ways
    for way in ways:
        assert allowed(remembered(bash(command), way), bash(command))


@pytest.mark.parametrize("cwd", ["", "relative", "/", "/home/../etc", "/home/a\nb"])
def test_a_place_that_says_nothing_is_not_offered(cwd: str) -> None:
    assert "directory" not in rules.ways(asked(bash("ls", cwd)).subject)
    with pytest.raises(InvalidRequest):
        remembered(bash("ls", cwd), "directory")


def test_an_exact_rule_is_for_the_same_command_in_the_same_place() -> None:
    rule = remembered(bash("make deploy | tee log"), "exact")
    assert allowed(rule, bash("make deploy | tee log", description="again"))
    assert not allowed(rule, bash("make deploy | tee log "))
    assert not allowed(rule, bash("make deploy | tee log", f"{REPO}/sub"))
    assert not allowed(rule, bash("make deploy | tee log", sandbox=False))


def test_a_remembered_prefix_counts_where_it_was_approved() -> None:
    rule = remembered(bash("cargo test --workspace"), "prefix")
    assert rule.prefix == ("cargo", "test")
    assert allowed(rule, bash("cargo test", f"{REPO}/sub"))
    assert not allowed(rule, bash("cargo test", "/tmp/evil"))
    assert not allowed(rule, bash("cargo install"))


def test_a_person_may_give_a_longer_prefix_that_the_command_begins_with() -> None:
    rule = remembered(bash("rm -rf build/cache"), "prefix", prefix="rm -rf build/cache")
    assert rule.prefix == ("rm", "-rf", "build/cache")
    for wrong in ("rm -rf /", "rm; reboot"):
        with pytest.raises(InvalidRequest):
            remembered(bash("rm -rf build"), "prefix", prefix=wrong)


EDIT = {"file_path": f"{REPO}/a.py", "old_string": "a", "new_string": "b"}


@pytest.mark.parametrize(
    ("cwd", "path", "expected"),
    [
        (REPO, f"{REPO}/a.py", True),
        (REPO, "sub/a.py", True),
        (f"{REPO}/sub", "a.py", True),
        (f"{REPO}/", "a.py", True),
        (REPO, "/etc/passwd", False),
        (REPO, "../other/a.py", False),
        (REPO, f"{REPO}/../other", False),
        (f"{REPO}/..", "a.py", False),
        (f"{REPO}-evil", "a.py", False),
        ("", f"{REPO}/a.py", False),
    ],
)
def test_a_directory_is_left_by_no_detour(cwd: str, path: str, expected: object) -> None:
    rule = remembered(Action(tool="Edit", input=EDIT, cwd=REPO), "directory")
    action = Action(tool="Edit", input={**EDIT, "file_path": path}, cwd=cwd)
    assert allowed(rule, action) == expected


@pytest.mark.promise("spec/117")
def test_a_rule_is_for_its_tool_its_agent_and_its_time() -> None:
    mail = Action(tool="send_mail", input={"to": "ana"})
    rule = remembered(mail, "tool")
    assert allowed(rule, replace(mail, input={"to": "ben"}))
    assert not allowed(rule, replace(mail, tool="send_money"))
    assert not allowed(rule, mail, agent="codex")
    assert allowed(rule, mail, now=99.9)
    assert not allowed(rule, mail, now=100.0)
    assert allowed(replace(rule, agent=None), mail, agent="codex")


def test_a_rule_without_conditions_is_none() -> None:
    empty = Rule(id="r", by="ana", made_at=0.0, expires_at=100.0)
    assert not allowed(empty, bash("ls"))
    with pytest.raises(InvalidRequest):
        rules.checked(empty)


@given(st.sampled_from(["exact", "prefix", "tool", "directory"]))
def test_a_rule_comes_back_as_it_was_kept(way: Any) -> None:
    rule = remembered(bash("git status"), way)
    assert rules.rule_in(rules.record_of(rule)) == rule
    assert rule.way == way
    assert (rule.by, rule.inquiry, rule.shown, rule.agent) == ("ana", "01", "git status", "claude")


def test_a_plain_approval_cannot_be_remembered() -> None:
    with pytest.raises(InvalidRequest):
        rules.rule_from(
            replace(asked(bash("x")), subject=None), Remember(way="exact"), name="r", by="ana", now=0.0
        )
