"""A rule for a directory allows only what names no place outside of it."""

from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from tests.domain.test_rules import REPO, allowed, remembered
from upcall.domain.approval import rules
from upcall.domain.approval.places import NOT_PLACES as KNOWN_TEXTS
from upcall.domain.run.program import Action


def inside(tool: str, given: dict[str, Any], cwd: str = REPO) -> bool:
    rule = remembered(Action(tool=tool, input={"file_path": f"{REPO}/a"}, cwd=REPO), "directory")
    return allowed(rule, Action(tool=tool, input=given, cwd=cwd))


STAYING: list[tuple[str, dict[str, Any]]] = [
    ("NotebookEdit", {"notebook_path": f"{REPO}/a.ipynb", "new_source": "/etc/passwd", "cell_id": "c1"}),
    ("Read", {"file_path": f"{REPO}/a.py", "offset": 1, "limit": None}),
    ("Write", {"file_path": "sub/a.py", "content": "cd /etc; cat ~/.ssh/id $HOME ../.."}),
    ("Edit", {"file_path": "a.py", "old_string": "/etc", "new_string": "../..", "replace_all": True}),
    ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "/a", "new_string": "/b"}]}),
    (
        "apply_patch",
        {
            "changes": [
                {"path": "a.py", "kind": {"type": "update", "move_path": "b.py"}, "diff": "-/etc\n+/usr"}
            ]
        },
    ),
    ("apply_patch", {"changes": {"src/a.py": {"kind": "add", "content": "/etc"}}, "grantRoot": REPO}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** End Patch"}),
    ("mcp__files__move", {"source": f"{REPO}/a", "destination": f"{REPO}/b"}),
    ("Read", {"file_path": f"{REPO}/app/(group)/[id]/@modal/[...slug]/page.tsx"}),
    ("Read", {"file_path": f"{REPO}/node_modules/@scope/a b/c (1).d.ts"}),
    ("Glob", {"pattern": "src/**/*.{ts,tsx}"}),
    ("apply_patch", {"diff": "diff --git a/a.py b/b c.py\n--- a/a.py\n+++ b/b c.py\n@@ -1 +1 @@\n-x\n+/y"}),
    ("apply_patch", {"path": "a.py", "diff": "@@ -1 +1 @@\n-a\n+b"}),
    ("mcp__files__read_many", {"paths": ["a", f"{REPO}/b"]}),
    ("Bash", {"command": "make test", "description": "x"}),
]

LEAVING: list[tuple[str, dict[str, Any]]] = [
    ("apply_patch", {"patch": "*** Begin Patch\n  *** Update File: /etc/passwd\n-x\n+y\n*** End Patch"}),
    ("apply_patch", {"patch": "*** Begin Patch\n\t*** Add File: /etc/x\n+y\n*** End Patch"}),
    ("apply_patch", {"diff": '--- "/etc/x"\n+++ "/etc/x"\n@@ -1 +1 @@\n-a\n+b'}),
    ("apply_patch", {"diff": "---\t/etc/x\n+++\t/etc/x\n@@ -1 +1 @@\n-a\n+b"}),
    ("apply_patch", {"diff": "*** /etc/x\n--- a\n"}),
    ("apply_patch", {"diff": "Index: /etc/x\n@@ -0,0 +1 @@\n+b"}),
    ("apply_patch", {"diff": "diff --git a/x b//etc/x\nnew file mode 100644"}),
    ("apply_patch", {"diff": "diff --git a//etc/x b//etc/x\nnew file mode 100644"}),
    ("apply_patch", {"diff": "@@ -1 +1 @@\n-a\n+b"}),
    ("Glob", {"pattern": "{/etc/passwd,a}"}),
    ("Glob", {"pattern": "{..,a}/b"}),
    ("Glob", {"pattern": "{a,../..}/b"}),
    ("mcp__files__read_many", {"paths": f"{REPO}/a,/etc/b"}),
    ("mcp__files__read_many", {"paths": f"{REPO}/a /etc/b"}),
    ("mcp__files__read_many", {"paths": f"{REPO}/a:~/b"}),
    ("mcp__files__read", {"uri": "file:/etc/passwd"}),
    ("mcp__files__read", {"uri": "%2e%2e/%2E%2E/etc/passwd"}),
    ("mcp__files__read", {"path": " /etc/passwd"}),
    ("mcp__files__read", {"path": "@/etc/passwd"}),
    ("NotebookEdit", {"notebook_path": "/home/ana/.bashrc", "new_source": "x"}),
    ("NotebookEdit", {"file_path": "a.py", "notebook_path": "../other.ipynb"}),
    ("Read", {"file_path": "/etc/shadow"}),
    ("Read", {"file_path": "~/.ssh/id_rsa"}),
    ("Read", {"file_path": "$HOME/.ssh/id_rsa"}),
    ("Glob", {"pattern": "/etc/**"}),
    ("Grep", {"pattern": "x", "path": "/home/ana"}),
    ("LS", {"path": ".."}),
    ("Write", {"file_path": f"{REPO}/../x", "content": ""}),
    ("Write", {"file_path": "a", "path": "/etc/cron.d/x", "content": ""}),
    (
        "apply_patch",
        {"changes": [{"path": "a.py", "kind": {"type": "update", "move_path": "/etc/x"}, "diff": "-a"}]},
    ),
    (
        "apply_patch",
        {"changes": [{"path": "a.py", "kind": {"type": "update", "move_path": "../x"}, "diff": "-a"}]},
    ),
    ("apply_patch", {"changes": {"/etc/x": {"kind": "add", "content": "a"}}}),
    ("apply_patch", {"changes": {"..": {"kind": "add", "content": "a"}}}),
    ("apply_patch", {"changes": [{"path": "a.py", "diff": "-a"}], "grantRoot": "/"}),
    ("apply_patch", {"changes": [{"path": "a.py", "diff": "-a"}], "grantRoot": "/home/ana"}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: a.py\n*** Move to: /etc/x\n*** End Patch"}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: ../x\n+a\n*** End Patch"}),
    ("Edit", {"diff": "--- a/a.py\n+++ b/../../x\n@@\n"}),
    ("Edit", {"diff": "diff --git a/a b/b\nrename from a\nrename to /etc/x\n"}),
    ("mcp__files__move", {"source": f"{REPO}/a", "destination": "/tmp/b"}),
    ("mcp__files__read_many", {"paths": ["a", "/etc/shadow"]}),
    ("mcp__files__read", {"options": {"deep": [{"where": "/etc/shadow"}]}}),
    ("mcp__files__read", {"uri": "file:///etc/shadow"}),
    ("mcp__web__fetch", {"url": "https://example.com"}),
    ("Windows", {"path": "C:\\Windows"}),
    ("Bash", {"command": "make test", "workdir": "/elsewhere"}),
    ("Odd", {"path": object()}),
    ("Many", {"paths": ["a"] * 1001}),
]


@pytest.mark.promise("trust/28")
@pytest.mark.parametrize(("tool", "given"), STAYING)
def test_what_names_only_places_in_the_directory_is_allowed_there(tool: str, given: dict[str, Any]) -> None:
    assert inside(tool, given)
    assert not inside(tool, given, cwd="/elsewhere")


@pytest.mark.promise("trust/28")
@pytest.mark.parametrize(("tool", "given"), LEAVING)
def test_what_names_a_place_elsewhere_or_cannot_be_read_asks_a_person(
    tool: str, given: dict[str, Any]
) -> None:
    rule = remembered(Action(tool=tool, input={"file_path": "a"}, cwd=REPO), "directory")
    action = Action(tool=tool, input=given, cwd=REPO)
    assert not rules.allows(rule, action, "claude", 1.0, exact="")


@pytest.mark.promise("trust/28")
@example("patch", "/etc/x")
@example("diff", "../x")
@given(st.text(max_size=12), st.sampled_from(["/etc/x", "../x", "a/../../x", "~/x", "file:///x", "$HOME"]))
def test_no_name_of_a_field_lets_a_path_out_unless_it_holds_text(name: str, path: str) -> None:
    if name in KNOWN_TEXTS:
        return
    assert not inside("T", {"file_path": "a", name: path} if name != "file_path" else {name: path})
    assert not inside("T", {"file_path": "a", "more": [{name: [path]}]})
