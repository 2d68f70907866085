"""Plans of Claude: put to a person as what they are, and sent back with their comments."""

from collections.abc import Mapping, Sequence
from typing import Any

from upcall.client.bridges.putting import words
from upcall.client.client import Client
from upcall.client.outcome import Allowed, Answered, Denied, Verdict
from upcall.client.request import Waiting

PLAN_TOOL = "ExitPlanMode"
QUESTION = "Shall this plan be carried out?"
APPROVED = ("approve", "accept_edits")


async def put_plan(broker: Client, given: Mapping[str, Any], waiting: Waiting) -> Verdict:
    """Have a plan decided; what a person wants changed is the reason of the denial."""
    ended = await broker.ask(QUESTION, plan=str(given["plan"]), **waiting)
    if not isinstance(ended, Answered):
        return Denied(reason=words(ended), by="", outcome=ended)
    answer = ended.inquiry["answer"]
    if answer["decision"] in APPROVED:
        return Allowed(input=given, note="", by=ended.by, outcome=ended)
    said = commented(answer["note"], answer["comments"])
    wanted = "change the plan and submit it again" if answer["decision"] == "revise" else "drop the plan"
    return Denied(reason=f"{wanted}. {said}".strip(), by=ended.by, outcome=ended)


def accepts_edits(decided: Verdict) -> bool:
    """Whether files may be changed without further questions."""
    return (
        isinstance(decided.outcome, Answered)
        and decided.outcome.inquiry["answer"].get("decision") == "accept_edits"
    )


def commented(note: str, comments: Sequence[Mapping[str, Any]]) -> str:
    """What a person said, each comment under the passage that it is about.

    >>> print(commented("Nearly.", [{"text": "Use SQLite.", "passage": "1. Install Redis", "line": 3}]))
    Nearly.
    <BLANKLINE>
    > 1. Install Redis
    Use SQLite.
    """
    parts = [note] if note else []
    for comment in comments:
        lines = [f"> {line}" for line in comment["passage"].split("\n") if comment["passage"]]
        parts.append("\n".join([*lines, comment["text"]]))
    return "\n\n".join(parts)
