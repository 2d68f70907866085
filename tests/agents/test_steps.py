"""The steps of a plan that programs only tell, and a plan that an ACP agent submits as a switch of its mode."""

import json

from upcall.agents.acp.reading import AcpReader
from upcall.agents.acp.requests import plan_in, way_to, way_with_edits
from upcall.agents.codex.exec import ExecReader
from upcall.domain.run.program import Planned

OFFERED = [("allow_always", "bypassPermissions"), ("allow_always", "acceptEdits"), ("allow_once", "default")]


def test_codex_exec_tells_its_steps_whenever_they_change() -> None:
    items = [{"text": "Install", "completed": True}, {"text": "Test", "completed": False}]
    lines = [
        json.dumps({"type": kind, "item": {"id": "1", "type": "todo_list", "items": items}})
        for kind in ("item.started", "item.updated", "item.completed")
    ]
    reader = ExecReader()
    told = [each for line in lines for each in reader.notice(line)]
    assert told[:2] == [Planned(text="- [x] Install\n- [ ] Test")] * 2


def test_an_acp_agent_tells_its_steps() -> None:
    entries = [
        {"content": "Install", "status": "completed", "priority": "high"},
        {"content": "Test", "status": "in_progress"},
        {"content": " "},
    ]
    update = {"sessionUpdate": "plan", "entries": entries}
    message = {"method": "session/update", "params": {"sessionId": "s", "update": update}}
    assert AcpReader().read(message)[-1] == Planned(text="- [x] Install\n- [ ] **Test**")
    for odd in ("x", [], [3], None):
        update["entries"] = odd  # type: ignore[assignment]  # what an agent may send
        assert not [each for each in AcpReader().read(message) if isinstance(each, Planned)]


def test_a_submitted_plan_is_told_from_other_calls_and_never_bypasses_permissions() -> None:
    plan = {"kind": "switch_mode", "rawInput": {"plan": "1. Install\n"}}
    assert plan_in(plan) == "1. Install"
    assert [plan_in({**plan, "kind": "edit"}), plan_in({"kind": "switch_mode", "rawInput": {}})] == ["", ""]
    assert way_with_edits(OFFERED) == "acceptEdits"
    assert way_to(OFFERED, allow=True) == "default"
    assert way_with_edits(OFFERED[:1]) is None
