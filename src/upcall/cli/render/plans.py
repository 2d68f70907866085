"""A plan on a terminal: its lines with the numbers by which comments name them, and the comments that were given."""

from typing import Any

from upcall.domain.text.display import visible

Inquiry = dict[str, Any]

CHANGED = "Changed since the plan before:"


def plan_lines(inquiry: Inquiry) -> list[str]:
    """The plan, and how it differs from the one before."""
    drawn = [f"  {line}" for line in numbered(inquiry["context"])]
    if difference := (inquiry.get("plan") or {}).get("difference"):
        drawn += ["", f"  {CHANGED}"]
        drawn += [f"    {line}" for line in visible(difference).split("\n")]
    return ["", "  Plan (L3: … comments on line 3):", *drawn]


def numbered(plan: str) -> list[str]:
    """The lines of a plan with their numbers."""
    lines = visible(plan).split("\n")
    width = len(str(len(lines)))
    return [f"{number:>{width}} │ {line}" for number, line in enumerate(lines, 1)]


def comment_lines(answer: dict[str, Any]) -> list[str]:
    """What was said about passages of a plan."""
    lines: list[str] = []
    for comment in answer.get("comments") or []:
        where = f" (line {comment['line']})" if comment["line"] else ""
        passage = visible(comment["passage"]).split("\n")
        lines += [f"  > {line}" for line in passage[:-1]] + [f"  > {passage[-1]}{where}"]
        lines += [f"  {line}" for line in visible(comment["text"]).split("\n")]
    return lines
