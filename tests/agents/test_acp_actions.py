"""What ACP agents tell of an action, drawn like that of any other agent. The calls are as Gemini CLI 0.61 and opencode 1.18 send them."""

from collections.abc import Mapping

import pytest

from upcall.agents.acp.actions import action_of
from upcall.domain.approval.actions import approval, shown
from upcall.domain.approval.rules import ways

HERE = "/home/ana/shop"
GEMINI = "gemini-cli"


def gemini_shell(title: str, details: str) -> dict[str, object]:
    content = {"content": {"text": details, "type": "text"}, "type": "content"}
    return {
        "toolCallId": "run_shell_command__1",
        "status": "pending",
        "title": title,
        "content": [content],
        "locations": [],
        "kind": "execute",
    }


def gemini_edit(title: str, *changes: tuple[str, str | None, str]) -> dict[str, object]:
    content = [
        {"path": path, "oldText": old, "newText": new, "_meta": {"kind": "modify"}, "type": "diff"}
        for path, old, new in changes
    ]
    return {
        "toolCallId": "replace__1",
        "status": "pending",
        "title": title,
        "content": content,
        "locations": [{"path": changes[0][0]}],
        "kind": "edit",
    }


@pytest.mark.promise("raised/40")
def test_a_command_of_gemini_is_a_command() -> None:
    action = action_of(
        gemini_shell("git status --short", f"[current working directory {HERE}] (see what changed)"),
        HERE,
        GEMINI,
    )
    assert action.input == {"command": "git status --short", "description": "see what changed"}
    draft = approval(action)
    assert draft.questions[0].text == "git status --short"
    assert "prefix" in ways(draft.subject)
    background = action_of(
        gemini_shell("npm start", f"[current working directory {HERE}] [background]"), HERE, GEMINI
    )
    assert background.input == {"command": "npm start", "run_in_background": True}


def test_a_command_that_runs_elsewhere_says_so_and_meets_no_rule_for_here() -> None:
    action = action_of(gemini_shell("git status", "[in ../other]"), HERE, GEMINI)
    assert action.input == {"command": "git status", "explanation": "[in ../other]"}
    assert "../other" in shown(action).more


def test_a_title_of_another_agent_is_shown_and_not_taken_for_the_whole_command() -> None:
    draft = approval(action_of(gemini_shell("git status", "It looks."), HERE, "some-agent"))
    assert draft.questions[0].text == "git status"
    assert "It looks." in draft.context
    assert "{" not in draft.context
    assert "prefix" not in ways(draft.subject)


@pytest.mark.promise("raised/40")
def test_an_edit_is_a_diff_of_what_changes() -> None:
    before = "".join(f"line {number}\n" for number in range(1, 41))
    action = action_of(
        gemini_edit(
            "a.txt: 20 => TWENTY", (f"{HERE}/a.txt", before, before.replace("line 20\n", "TWENTY\n"))
        ),
        HERE,
        GEMINI,
    )
    assert shown(action).text.split("\n") == [
        f"{HERE}/a.txt",
        "@@ -17,7 +17,7 @@",
        *(f" line {number}" for number in (17, 18, 19)),
        "-line 20",
        "+TWENTY",
        *(f" line {number}" for number in (21, 22, 23)),
    ]
    assert shown(action).more == ""
    new = shown(action_of(gemini_edit("Writing to b.txt", (f"{HERE}/b.txt", None, "hello\n")), HERE, GEMINI))
    assert new.text == f"{HERE}/b.txt\n@@ -0,0 +1,1 @@\n+hello"


def test_several_files_are_one_diff() -> None:
    action = action_of(
        gemini_edit("two files", (f"{HERE}/a", "1\n", "2\n"), (f"{HERE}/b", "3\n", "4\n")), HERE
    )
    assert shown(action).text == f"{HERE}/a\n@@ -1,1 +1,1 @@\n-1\n+2\n{HERE}/b\n@@ -1,1 +1,1 @@\n-3\n+4"


@pytest.mark.promise("raised/40")
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            {
                "title": 'Processing URLs from prompt: "fetch https://a.example"',
                "content": [],
                "locations": [],
                "kind": "fetch",
            },
            "Processing URLs",
        ),
        (
            {"title": "git status && ls", "kind": "execute", "rawInput": {"command": "git status && ls"}},
            "git status && ls",
        ),
        (
            {
                "title": f"{HERE}/new.txt",
                "kind": "edit",
                "rawInput": {"filepath": f"{HERE}/new.txt", "diff": "@@ -0,0 +1,1 @@\n+hello\n"},
            },
            f"{HERE}/new.txt\n@@ -0,0 +1,1 @@\n+hello",
        ),
    ],
)
def test_nothing_is_drawn_as_json(call: Mapping[str, object], text: str) -> None:
    seen = shown(action_of(call, HERE))
    assert seen.text.startswith(text)
    assert seen.more == ""


def test_contents_of_other_kinds_are_not_left_out() -> None:
    call = {
        "title": "Look",
        "kind": "read",
        "content": [{"type": "terminal", "terminalId": "t1"}],
        "locations": [{"path": "/a", "line": 3}],
    }
    seen = shown(action_of(call, HERE))
    assert seen.text == "Look"
    assert "t1" in seen.more
    assert "/a:3" in seen.more
