"""Approving for good, and looking after the rules that come of it."""

import json
from typing import Any

from tests.cli.conftest import Program
from upcall.cli.client import ASKER, Client
from upcall.home.files import Home


def put(program: Program, command: str) -> str:
    """The ref of an action that waits for approval."""
    program("status")
    action: dict[str, Any] = {"tool": "Bash", "input": {"command": command}, "cwd": "/srv/app"}
    client = Client(ASKER, Home(program.home))
    ref: str = client.post("/v1/inquiries", {"action": action})["ref"]
    client.hang_up()
    return ref


def test_an_approval_can_be_remembered(shared: Program) -> None:
    ref = put(shared, "npm test -- --watch")
    shown = shared("show", ref).stdout
    assert "--always exact|prefix|directory|tool" in shown
    assert "npm test" in shown
    assert "SHA-256: " in shown
    done = shared("answer", ref, "approve", "--always", "prefix", "--for", "7d")
    assert "It is remembered" in done.stdout

    (rule,) = [rule for rule in shared.json("rules", "list")["items"] if rule["prefix"] == "npm test"]
    assert f"{rule['id']}  local may run: npm test … in /srv/app" in shared("rules", "list").stdout
    assert "npm test -- --watch" in shared("rules", "show", rule["id"]).stdout
    assert shared.json("rules", "show", rule["id"]) == rule
    assert shared("rules", "revoke", rule["id"]).returncode == 0
    gone = shared("rules", "show", rule["id"])
    assert (gone.returncode, "there is no rule" in gone.stderr) == (1, True)


def test_without_a_word_more_exactly_this_is_remembered(shared: Program) -> None:
    ref = put(shared, "make deploy | tee log")
    shared("answer", ref, "approve", "--always")
    (rule,) = [
        rule for rule in shared.json("rules", "list")["items"] if rule["shown"] == "make deploy | tee log"
    ]
    assert rule["as"] == "exact"


def test_a_denial_is_not_remembered_as_a_rule(shared: Program) -> None:
    ref = put(shared, "make clean")
    done = shared("answer", ref, "no", "--always", "exact")
    assert done.returncode == 1
    assert "only an approval can be remembered" in done.stderr
    assert shared.json("show", ref)["state"] == "open"


def test_a_rule_can_be_made_by_hand(shared: Program) -> None:
    made = shared("rules", "add", "--agent", "claude", "--prefix", "git status", "--for", "1h", "--json")
    rule = json.loads(made.stdout)
    assert (rule["agent"], rule["prefix"], rule["as"]) == ("claude", "git status", "prefix")
    refused = shared("rules", "add", "--prefix", "git status; reboot")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


def test_votes_are_shown_until_there_are_enough(upcall: Program) -> None:
    upcall.home.mkdir(parents=True)
    (upcall.home / "upcall.toml").write_text("[approvals]\nquorum = 2\n")
    ref = put(upcall, "make")
    assert "1 of 2 approvals" in upcall("answer", ref, "yes").stdout
    assert "1 of 2 approvals" in upcall("status").stdout
    assert "Approved: 1 of 2 approvals" in upcall("show", ref).stdout
    again = upcall("answer", ref, "yes")
    assert again.returncode == 15
    assert "approved" in again.stdout
