"""Gemini CLI in a terminal: what its hooks can decide of a dialog, which is why there is no `--away` for it."""

import json
from pathlib import Path

import pytest

from tests.agents.model_server import Model
from tests.agents.programs import GEMINI, Desk, need
from tests.agents.screens import Screen
from tests.agents.script import Call, Say

HOOK = """\
#!/bin/sh
case "$(cat)" in
*made0*) echo '{"decision": "deny", "reason": "not this one"}' ;;
*) echo '{"decision": "allow"}' ;;
esac
"""


@pytest.mark.promise("raised/10")
def test_a_hook_of_gemini_denies_a_tool_and_its_yes_does_not_spare_the_dialog(
    model: Model, desk: Desk, tmp_path: Path
) -> None:
    need(GEMINI)
    hook = tmp_path / "hook"
    hook.write_text(HOOK)
    hook.chmod(0o700)
    entry = {"hooks": [{"type": "command", "command": str(hook)}]}
    desk.change_gemini_settings({"hooks": {"BeforeTool": [entry]}})
    touch = [Call("run_shell_command", {"command": f"touch made{number}"}) for number in range(2)]
    model.play(*touch, Say("All is done."))
    screen = Screen(desk, GEMINI, "--approval-mode", "default")
    try:
        screen.until("Type your message")
        screen.prompt("Do the task.")
        screen.until("Allow execution of")
        denied = model.wait_for(lambda heard: heard.results)
        assert "not this one" in json.dumps(denied.results)
        screen.press("\r", (desk.work / "made1").exists)
        screen.until("All is done.")
    finally:
        screen.close()
    assert not (desk.work / "made0").exists()
