"""The plan agent of opencode: it writes a plan into a file, and `plan_exit` asks whether to go on with it.

The question has only the name of the file, so the plan is read through the server's own API.
"""

import re
from urllib.parse import quote

from upcall.agents.opencode.api import Api, RequestRefused
from upcall.agents.opencode.parts import Json, mapping, text

EXPERIMENT = "OPENCODE_EXPERIMENTAL_PLAN_MODE"
"""The variable that gives the plan agent its `plan_exit`."""

PLANS = ".opencode/plans/*.md"
"""The files of its plans, in the folder of a repository."""

YES = "Yes"
_ASKED = re.compile(r"Plan at (.+) is complete\. Would you like to switch to the build agent\b.*", re.DOTALL)


async def submitted_plan(api: Api, question: Json) -> str:
    """The plan that a question of opencode is about; empty if it is another question, or the file cannot be read."""
    asked = question.get("questions")
    first = mapping(asked[0]) if isinstance(asked, list) and len(asked) == 1 else {}
    found = _ASKED.fullmatch(text(first.get("question")))
    if found is None or not mapping(question.get("tool")):
        return ""
    try:
        read = mapping(await api.get(f"/file/content?path={quote(found[1], safe='')}"))
    except RequestRefused:
        return ""
    return text(read.get("content")).strip()
