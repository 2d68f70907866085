"""Hooks of ours among those of the user: put in once, taken out alone."""

import json
from typing import Any

import pytest

from upcall.setup.edits import JsonGroup
from upcall.setup.hooks import AWAY, codex_edits, hook_edits

OURS, *_ = hook_edits([AWAY], ["/opt/bin/upcall"], {})
THEIRS = {"type": "command", "command": "notify-send done"}


def settings(*groups: object) -> str:
    return json.dumps({"hooks": {"PermissionRequest": list(groups)}}, indent=2) + "\n"


def groups_in(text: str) -> list[Any]:
    found: list[Any] = json.loads(text).get("hooks", {}).get("PermissionRequest", [])
    return found


def test_a_hook_of_ours_in_a_group_of_others_leaves_them_where_it_goes() -> None:
    assert isinstance(OURS, JsonGroup)
    older = {"type": "command", "command": "/old/bin/upcall hook away", "timeout": 5}
    text = settings({"matcher": "Bash", "hooks": [THEIRS, older]})
    without = {"matcher": "Bash", "hooks": [THEIRS]}

    assert groups_in(OURS.put(text)) == [without, OURS.value]
    assert groups_in(OURS.take(text, None)) == [without]


@pytest.mark.parametrize("command", ("git hook away-team", "git hook away", "upcall hook away-team"))
def test_a_hook_of_another_program_is_none_of_ours(command: str) -> None:
    own = {"hooks": [{"type": "command", "command": command}]}
    assert groups_in(OURS.take(settings(own), None)) == [own]
    assert groups_in(OURS.put(settings(own)))[0] == own


def test_a_hook_of_codex_takes_the_place_of_an_earlier_one_and_goes_again() -> None:
    ours, *_ = codex_edits(["/opt/bin/upcall"], {})
    earlier, *_ = codex_edits(["/old/bin/upcall"], {})
    once = earlier.put("")
    assert ours.put(once) == ours.put(ours.put(once))
    assert "/old/bin/upcall" not in ours.put(once)
    assert "upcall" not in ours.take(once, None)
