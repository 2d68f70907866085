"""The previews of options in Claude Code's own questions, on the pages where people answer."""

import asyncio

import pytest

from tests.web.house import House
from tests.web.visitor import Visitor, words
from upcall.approvals.desk import ApprovalDesk
from upcall.domain.roles import Caller, Role
from upcall.doors.native import Call, decide

LAYOUTS = [
    {"label": "Tabs", "description": "one at a time", "preview": "[Files] [Search]\n<b>files</b>"},
    {"label": "Columns", "description": "both", "preview": "| Files | Search |"},
    {"label": "Neither", "description": ""},
]
QUESTIONS = {"questions": [{"question": "Which layout?", "header": "Layout", "options": LAYOUTS}]}


@pytest.mark.promise("raised/38")
async def test_the_previews_of_claudes_options_are_shown(live: House, ana: Visitor) -> None:
    builder = Caller(name="builder", role=Role.AGENT)
    desk = ApprovalDesk(live.broker, caller=builder, session="s1", door="claude-hook")
    call = Call(tool="AskUserQuestion", input=QUESTIONS, key="toolu_1")
    deciding = asyncio.create_task(decide(call, desk, 30))
    [event] = await live.store.events(0, wait=30)
    assert event.inquiry is not None
    for path in ("/", f"/i/{event.inquiry}"):
        page = await ana.looks(path)
        assert page.count('<div class="preview">') == 2
        assert "[Files] [Search]\n&lt;b&gt;files&lt;/b&gt;" in page
        assert "| Files | Search |" in words(page)
    await live.answered(event.inquiry, "1")
    verdict = await deciding
    assert verdict.input is not None
    # Its own questions go back as they came, previews included.
    assert verdict.input["questions"] == QUESTIONS["questions"]
    assert "'Which layout?': 'Tabs" in str(verdict.input["answers"])
